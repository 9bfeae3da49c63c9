"""Programs about values and expressions, for comparing printed code. They are compiled, never run."""

# ruff: noqa
import torch, math
from typing import *
from torch import Tensor


class Pair(NamedTuple):
    a: int
    b: Tensor


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


def c2(a: Acc, l: List[Acc]):
    l.append(a)
    return l[0].n, [a], {"x": a}


def nt(x: int, y: Tensor):
    p = Pair(x, y)
    q = Pair(b=y, a=3)
    l = [p, q]
    return p, l, p.a, p.b, p[0]


def getitem(x: List[int], s: str, d: Dict[str, Tensor], t: Tuple[int, str], y: Tensor):
    return (
        x[0],
        s[1],
        s[1:3],
        d["a"],
        t[0],
        [1, 2, 3][x[0]],
        x[1:],
        x[::2],
        "abc"[x[0]],
        y[0],
        y[1, 2],
        y[..., 0],
        y[y > 0],
        y[[0, 1]],
        y[None],
        y[:, 1:2],
    )


def longs(x: Tensor, y: Tensor):
    a = torch.sigmoid(
        torch.tanh(torch.relu(torch.cos(torch.sin(x + y) * 2) + torch.exp(x - y)) * torch.log(x)) / torch.sqrt(y)
    )
    return torch.cat(
        [torch.cos(a), torch.sin(a) + torch.exp(a * 2.5), a.add_(1), torch.mul(a, torch.neg(a).add_(a)), a], 0
    ), a.add(1, alpha=2)


def strs(s: str, x: int):
    t = "%d %s" % (x, s)
    u = f"{x} and {s}"
    return (
        s.upper(),
        s + "a",
        "a" < s,
        s.split(","),
        s.replace("a", "b"),
        ",".join([s, t, u]),
        s.find("a"),
        ord("a"),
        chr(x),
        s.strip(),
        s.startswith("x"),
        "\x00\x7f\t\r\n\a\b\f\v\\'\"?",
        int("3"),
        float("1.5"),
        str(1.5),
    )


def maths(x: float, n: int):
    return (
        math.sin(x),
        math.pi,
        math.floor(x),
        math.inf,
        math.nan,
        math.pow(x, 2),
        abs(x),
        round(x),
        x**2,
        x**n,
        n**2,
        2**n,
        x // 2,
        x % 2,
        n << 2,
        n >> 1,
        n ^ 3,
        n | 1,
        x == n,
        pow(x, n),
        max(x, 2.0),
        min([1, 2]),
        sum([1, n]),
        bool(n),
        abs(1 + 2j),
        1e100,
        1.5e-7,
        123456789.0,
        9999999999.0,
        -0.5,
        9223372036854775807,
    )


def misc(x: Tensor, y: Optional[Tensor], f: float, t: Tuple[int, Tensor]):
    d = x.device
    e = x.dtype
    a, (b, c) = 1, (2, x)
    (p, q) = t
    v, i = torch.max(x, 0)
    w = torch.jit.annotate(List[Tensor], [])
    z = torch.empty(0, dtype=torch.float64, device=d)
    k = int(x.sum()) + int(f)
    mm = torch.einsum("ij,jk->ik", [x, x])
    s = torch.split(x, 2)
    ch = torch.chunk(x, 2, dim=1)
    u, r = torch.unique(x, return_inverse=True), x.shape[0]
    n = x.numel()
    g: Optional[int] = None
    torch.manual_seed(3)
    o = torch.nn.functional.dropout(x, 0.5, True)
    o2 = torch.ops.aten.add(x, x)
    st = torch.stack([x, x])
    torch._assert(n > 3, "m")
    return (
        a,
        b,
        c,
        p,
        q,
        w,
        z,
        k,
        mm,
        s,
        ch,
        u,
        r,
        d,
        e,
        g,
        o,
        o2,
        st,
        v[i],
        -x,
        x @ x,
        x and n,
        not x,
        x.T,
        x.mT,
        x.is_cuda,
        x.ndim,
        x.stride(),
        x.type(),
        x.new_zeros([2]),
    )


def misc2(x: Tensor, y: List[Tensor], n: int):
    a, b = x, y[0]
    a, b = b, a
    c = y[0] if n > 1 else y[1]
    l = [x, x]
    l2 = l + y
    l.extend(y)
    l.insert(0, x)
    p = l.pop()
    k = len(l)
    i = [3, 1, 2]
    i.sort()
    i.reverse()
    j = i.copy()
    l.clear()
    dd = dict([("a", 1)])
    ks = dd.keys()
    vs = list(dd.values())
    m = dd.get("a", 3)
    m2 = dd.setdefault("b", 2)
    dd.update({"c": 4})
    h = "a" in dd
    ok = 1 < n <= 3
    r = list(range(n))
    it = torch.tensor([1, 2, 3])
    it2 = torch.tensor([[1.5, 2.5]], dtype=torch.half)
    sub = 1 - x
    return (
        a,
        b,
        c,
        l2,
        p,
        k,
        i,
        j,
        ks,
        vs,
        m,
        m2,
        h,
        ok,
        r,
        it,
        it2,
        sub,
        2 / x,
        2**x,
        1 + x,
        x**2,
        x // 2,
        x % 2,
        x == 1,
        x is y[0],
        any([True]),
        all([n > 1]),
        (1, "a", None, [1]),
        {1: (2, 3)},
        [(1, "b")],
        {"a": [1]},
        {},
        [[]],
        [None],
        [1.5],
        [True],
        [2j],
    )


def anyf(x: Any, l: List[Any]):
    y: Any = 3
    z: List[Any] = [1, "a"]
    return x, y, z, l


def numbers(x: Tensor, f: float):
    n = 3
    return torch.add(x, f), torch.full([2], 3.0), n


