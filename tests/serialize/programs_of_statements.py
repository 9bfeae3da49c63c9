"""Programs about statements, names and parameters, for comparing printed code. They are compiled, never run."""

# ruff: noqa
import torch
from typing import *
from torch import Tensor


@torch.jit.script
class Acc:
    def __init__(self, n: int):
        self.n = n
        self.items: List[int] = []
        self.o = torch.jit.annotate(Optional[int], None)

    def add(self, k: int) -> int:
        self.items.append(k)
        self.n += k
        if self.o is None:
            self.o = k
        return self.n

    def __len__(self) -> int:
        return len(self.items)

    @property
    def total(self) -> int:
        return self.n * 2

    @staticmethod
    def st(x: int) -> int:
        return x

    def __add__(self, o: int) -> int:
        return self.n + o


def c1(n: int):
    a = Acc(n)
    a.add(3)
    a.n = 4
    a.items[0] += 2
    return a.add(5), a.n, len(a), a.total, Acc.st(3), a + 3


def c3(x: Optional[Acc]):
    if x is not None:
        return x.n
    return 0


def forks(x: Tensor, n: int):
    f1 = torch.jit.fork(c1, n)
    fs = [torch.jit.fork(c1, i) for i in range(3)]
    r = torch.jit.wait(f1)
    return r, [torch.jit.wait(f) for f in fs]


def assign(y: Tensor, x: List[int], d: Dict[str, int]):
    y[0] = 1
    y[1:2] = y
    y[y > 0] = 0.0
    y[0] += 1
    x[0] = 3
    d["a"] = x[0]
    x[0] += 1
    del d["a"]
    x += [1]
    y.add_(1).mul_(2)
    y.zero_()
    z = y.add_(1) + y.mul_(2)
    print(y.add_(3), y.add_(4))
    return z, y.sum().item()


def opts(
    a: Optional[Tensor], b: Optional[List[int]], c: Union[int, str, Tensor], d: Optional[Tuple[int, Optional[str]]]
):
    if isinstance(c, int):
        r = c + 1
    elif isinstance(c, str):
        r = len(c)
    else:
        r = c.dim()
    if a is None:
        a = torch.zeros(2)
    if b is None or len(b) == 0:
        b = [1]
    if d is not None and d[1] is not None:
        r += d[0]
    assert a is not None
    x: Union[int, str] = 3
    if r > 2:
        x = "a"
    return r, a, b, x


def opt_loop(n: int, l: List[Optional[Tensor]]) -> Optional[Tensor]:
    best: Optional[Tensor] = None
    k: Union[int, float] = 1
    for i in range(n):
        t = l[i]
        if best is None:
            best = t
        k = 2.0
    while best is None:
        best = torch.ones(1)
    return best


def loops(n: int, xs: List[Tensor], s: str, d: Dict[str, int]):
    t = 0
    for x in xs:
        t += x.dim()
    for i, x in enumerate(xs):
        t += i
    for a, b in zip(xs, range(n)):
        t += b
    for ch in s:
        t += ord(ch)
    for k in d:
        t += d[k]
    for k, v in d.items():
        t += v
    for i in range(1, n):
        for j in range(n, 0, -1):
            if i == j:
                continue
            t += i * j
    for q in (1, 2.5, "a"):
        print(q)
    while t < 100 and n > 0:
        t *= 2
        if t == 50:
            break
    else_ = [i * 2 for i in range(n)]
    dc = {i: i * i for i in range(n)}
    nested = [[x + i for x in else_] for i in range(n)]
    return t, else_, dc, nested


def early(x: int, t: Tensor):
    if x > 1:
        if x > 2:
            return t
        t = t + 1
    for i in range(x):
        if i == 3:
            return t * i
        t = t + i
    while True:
        t = t * 2
        if t.sum() > 3:
            break
    return t


def raises(x: int):
    if x < 0:
        raise ValueError("bad " + str(x))
    elif x == 1:
        raise Exception
    elif x == 2:
        raise KeyError("a", "b")
    assert x < 5, f"x is {x}"
    assert x != 3
    return x


def names(in_: Tensor, while_1: int, ops: Tensor, CONSTANTS: Tensor, torch_: int, int_: int):
    aten = in_ + 1
    attribute = aten * aten
    fork = attribute + 2
    uninitialized = fork * fork
    getattr_ = uninitialized - 1
    a0 = in_ + 1
    a = a0 * a0
    a = a * a
    a = a / a
    a1 = a * a
    _0 = a1 + a1
    _ = _0 - _0
    x__ = _ + _
    annotate = x__ * x__
    unchecked_cast = annotate * annotate
    range_ = unchecked_cast * unchecked_cast
    unwrap_optional = range_ * range_
    nan = unwrap_optional * unwrap_optional
    infj = nan + nan
    return infj + infj, ops, CONSTANTS


def names2(x: Tensor):
    len = x + x
    print = len * len
    str = print + print
    bool = str + str
    sorted = bool + bool
    range = sorted * sorted
    float = range + range
    isinstance = float + float
    int = isinstance * isinstance
    torch = int * int
    list = torch + torch
    self = list * list
    tuple = self + self
    min = tuple * tuple
    awaitable = min + min
    return awaitable * awaitable


def names3(x: Tensor):
    print_ = x
    _forked = x + x
    __torch__ = _forked * _forked
    device = __torch__ + __torch__
    hasattr = device * device
    id = hasattr + hasattr
    match = id + id
    type = match * match
    async_ = type + type
    Tensor = async_ * async_
    List = Tensor + Tensor
    exec = List * List
    nanj = exec * exec
    rpc_async = nanj * nanj
    __forked_function = rpc_async * rpc_async
    dict = __forked_function * __forked_function
    f = dict * dict
    super = f * f
    unused = super + super
    ignore = unused * unused
    range_ = ignore * ignore
    wait = range_ * range_
    return wait * wait


def empties():
    return


def one_out() -> Tuple[int]:
    return (1,)


def voidf(x: Tensor):
    x.add_(1)


def noret(x: Tensor) -> None:
    print(x)


def retnone(x: Optional[int]) -> Optional[int]:
    if x is None:
        return None
    return x


def defaults(
    a: int = 3,
    b: float = 2,
    c: str = "x\ny",
    d: Optional[int] = None,
    e: Tuple[int, int] = (1, 2),
    g: bool = True,
    h: float = 1e-5,
    i: float = float("inf"),
):
    return a, b, c, d, e, g, h, i


def kwonly(x: Tensor, n: int, m: int = 2):
    return x + n + m


def callkw(x: Tensor):
    return kwonly(x, n=3), defaults(b=1.0)


def withs(x: Tensor):
    with torch.no_grad():
        y = x + 1
    with torch.no_grad():
        y = y * 2
        with torch.autograd.profiler.record_function("a") as r:
            y = y + 2
    return y
