"""Small programs as native code, by the interpreter and by the reference: one meaning, to the last bit and view."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor
from tests.codegen.graph.one_meaning import Arguments, agree

INF, NAN = float("inf"), float("nan")
LARGE = (1 << 63) - 1


def floats(*sizes: int, dtype: str = "float64") -> Tensor:
    """Numbers from -2 upwards in steps of 0.75."""
    count = 1
    for n in sizes:
        count *= n
    return (flambeau.arange(count).to(getattr(flambeau, dtype)) * 0.75 - 2).reshape(sizes)


def ints(*values: int, dtype: str = "int64") -> Tensor:
    return flambeau.tensor(values, dtype=getattr(flambeau, dtype))


def special() -> Tensor:
    return flambeau.tensor([NAN, -0.0, INF, -INF, 0.0, 1e-310, 2.5, -2.5], dtype=flambeau.float64)


CONTROL: dict[str, tuple[str, Arguments]] = {
    "a sum": ("""
def f(x: Tensor) -> float:
    t = 0.0
    for i in range(x.size(0)):
        t += float(x[i]) * i
    return t
""", lambda: (floats(9),)),
    "an index beyond a list that is never made": ("""
def f(n: int, v: float) -> float:
    values: list[float] = [v, float(n), v * 2]
    return 1.0 + values[n]
""", lambda: (3, 2.5)),
    "an early return": ("""
def f(x: Tensor, wanted: float) -> int:
    for i in range(x.size(0)):
        if float(x[i]) == wanted:
            return i
    return -1
""", lambda: (floats(9), 1.0)),
    "a return of a row from two loops": ("""
def f(x: Tensor, limit: float) -> Tensor:
    for i in range(x.size(0)):
        for j in range(x.size(1)):
            if float(x[i, j]) > limit:
                return x[i]
    return x[:, 0]
""", lambda: (floats(3, 4), 1.0)),
    "break and continue": ("""
def f(x: Tensor, n: int) -> Tuple[int, float]:
    seen, t = 0, 0.0
    for i in range(n):
        if i % 3 == 1:
            continue
        if i > 7:
            break
        seen += 1
        x[i] += 1
        t -= float(x[i])
    return seen, t
""", lambda: (floats(9), 20)),
    "while": ("""
def f(n: int) -> Tuple[int, int]:
    iterations = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        iterations += 1
    return n, iterations
""", lambda: (27,)),
    "elements added to numbers": ("""
def f(x: Tensor, w: Tensor, k: Tensor) -> Tuple[float, int, int]:
    total, count = 0.5, 3
    for i in range(x.size(0)):
        total += x[i] * w[i % 2]
        count = count * 2 + k[i % 2]
        count -= k[0]
    return total, count, k.size(0)
""", lambda: (floats(5), floats(2, dtype="float32"), ints(4, -7, dtype="int32"))),
    "ranges in both directions": ("""
def f(low: int, high: int, step: int) -> List[int]:
    seen: List[int] = []
    for i in range(low, high, step):
        seen.append(i)
    for i in range(high, low, -step):
        seen.append(i)
    return seen
""", lambda: (-7, 12, 5)),
    "a range without a step": ("""
def f(step: int) -> int:
    n = 0
    for i in range(0, 3, step):
        n += i
    return n
""", lambda: (0,)),
    "views that branches choose": ("""
def f(x: Tensor, n: int) -> Tuple[Tensor, Tensor]:
    y = x
    for i in range(n):
        y = x[i:] if i % 2 == 0 else y.t()
        y[0] = float(i)
    return y, x
""", lambda: (floats(4, 4)[0:3].t(), 4)),
    "rows that loops carry": ("""
def f(x: Tensor, n: int) -> Tuple[Tensor, Tensor]:
    y, z = x[0], x[0, 0]
    for i in range(n):
        y, z = x[i], x[i, i]
    return y, z
""", lambda: (floats(4, 4), 3)),
    "elements that branches choose": ("""
def f(x: Tensor, n: int) -> Tensor:
    if n > 2:
        y = x[1]
    else:
        y = x[2]
    for i in range(n):
        n += i
    return y
""", lambda: (floats(4), 3)),
    "a call in a loop": ("""
def g(x: Tensor, i: int) -> Tensor:
    if i % 2 == 0:
        return x[i]
    return x[i] * 2

def f(x: Tensor) -> List[Tensor]:
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(g(x, i))
    return rows
""", lambda: (floats(3, 2),)),
    "calls that write and return in the middle": ("""
def g(x: Tensor, k: int) -> int:
    for i in range(x.size(0)):
        if i == k:
            return i
        x[i] = k
    return -1

def f(x: Tensor) -> Tuple[int, int]:
    return g(x, 2), g(x[1:], 9)
""", lambda: (floats(5),)),
    "an assertion": ("""
def f(x: Tensor, limit: float) -> Tensor:
    for i in range(x.size(0)):
        x[i] *= 2
        assert float(x[i]) < limit, f"too large at {i}"
    return x
""", lambda: (floats(9), 3.0)),
    "a raise in a call": ("""
def g(n: int) -> int:
    if n > 3:
        raise ValueError(f"not {n}")
    return n

def f(x: Tensor) -> int:
    t = 0
    for i in range(x.size(0)):
        x[i] = i
        t += g(i)
    return t
""", lambda: (floats(6),)),
}  # fmt: skip

SHARING: dict[str, tuple[str, Arguments]] = {
    "an argument": ("""
def f(x: Tensor) -> Tensor:
    x.mul_(2)
    return x
""", lambda: (floats(3, 4),)),
    "parts of an argument": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    a, b = x[1:], x[:, 1:]
    a[0] = 7
    return a, b, b[1]
""", lambda: (floats(3, 4),)),
    "the same view twice": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    y = x[1:]
    return y, y
""", lambda: (floats(3),)),
    "a new tensor twice": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    y = x + 1
    return y, y
""", lambda: (floats(3),)),
    "views of a new tensor": ("""
def f(x: Tensor) -> List[Tensor]:
    y = x * 2
    y[0] = -1
    return [y[1:], y, y[::2], y.t()]
""", lambda: (floats(3, 4),)),
    "a view of a new tensor alone": ("""
def f(x: Tensor) -> Tensor:
    y = x.clone()
    y[0] = -1
    return y[1:, 1]
""", lambda: (floats(3, 4),)),
    "tuples in lists": ("""
def f(x: Tensor, n: int) -> List[Tuple[int, Tensor]]:
    out: List[Tuple[int, Tensor]] = []
    for i in range(n):
        out.append((i, x[i]))
        out.append((-i, x[i] + 1))
    return out
""", lambda: (floats(3, 2), 3)),
    "a list that grows": ("""
def f(x: Tensor, n: int) -> List[Tensor]:
    ys = [x]
    for i in range(n):
        ys.append(ys[-1] * 2)
        ys[-1][0] = float(i)
    x += 1
    ys.insert(1, x)
    ys.pop(0)
    return ys
""", lambda: (floats(3), 4)),
    "a list that stays as it is": ("""
def f(xs: List[int]) -> List[int]:
    for i in range(3):
        xs.append(i)
    return xs
""", lambda: ([5],)),
    "None or a tensor": ("""
def f(x: Optional[Tensor], n: int) -> Optional[Tensor]:
    y: Optional[Tensor] = None
    for i in range(n):
        if x is not None:
            y = x[i]
            y += 1
    return y
""", lambda: (floats(3, 2), 2)),
    "None": ("""
def f(x: Optional[Tensor], n: int) -> Tuple[Optional[Tensor], Optional[int]]:
    m: Optional[int] = None
    for i in range(n):
        m = i if x is None else None
    return x, m
""", lambda: (None, 2)),
    "an argument and its view": ("""
def f(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]:
    for i in range(y.size(0)):
        y[i] = x[i] + 1
    return x, y
""", lambda: (lambda x: (x, x[1:]))(floats(5))),
    "the same argument twice": ("""
def f(x: Tensor, y: Tensor) -> Tensor:
    for i in range(1, x.size(0)):
        x[i] += y[i - 1]
    return y
""", lambda: (lambda x: (x, x))(floats(5))),
    "element tensors that stay views": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    a = x[0]
    b = x[1] + 0
    for i in range(x.size(0)):
        x[i] = 5 + i
    return a, b
""", lambda: (floats(3),)),
    "the largest element": ("""
def f(x: Tensor, n: int) -> Tuple[Tensor, Optional[Tensor]]:
    t = x[0]
    b: Optional[Tensor] = None
    for i in range(n):
        if bool(x[i] > t):
            t = x[i]
        if b is None or bool(x[i] > b):
            b = x[i]
    return t, b
""", lambda: (floats(5), 4)),
    "elements that are views, or new": ("""
def f(x: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor]:
    y = x * 2
    t = y[0] if n > 1 else x[0] + 1
    u = x[0] * 3
    for i in range(n):
        t = y[i] if i % 2 == 0 else t + 1
        u = u + x[i]
    return t, y, u
""", lambda: (floats(5), 3)),
    "a tuple of elements": ("""
def f(x: Tensor, n: int) -> Tuple[Tensor, Tensor]:
    p = (x[0], x[1] * 2)
    for i in range(n):
        p = (p[1], x[i])
    return p
""", lambda: (floats(5), 3)),
    "elements put into a list": ("""
def f(x: Tensor, n: int) -> List[Tensor]:
    r = [x[0], x[1] + 1]
    for i in range(n):
        r[i % 2] = r[0] + r[1]
        r.append(x[i])
    r[0] += 1
    return r
""", lambda: (floats(5), 3)),
    "a 0-d tensor that is written": ("""
def f(x: Tensor, n: int) -> Tensor:
    t = x
    for i in range(n):
        t += i
    return t
""", lambda: (flambeau.tensor(1.5), 4)),
}  # fmt: skip

VIEWS: dict[str, tuple[str, Arguments]] = {
    "slices with steps": ("""
def f(x: Tensor) -> Tensor:
    for i in range(3):
        x[i::2] = x[i::2] * 2 + i
        x[-2:, 0] = i
    return x[1:-1]
""", lambda: (floats(6, 2),)),
    "an empty slice": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    for i in range(3):
        x[5:2] = float(i)
    return x[4:2], x[9:] + 1
""", lambda: (floats(4, 2),)),
    "nothing comes back new": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    y = x + 1
    for i in range(y.size(0)):
        y[i] = i
    return y, y[0:0]
""", lambda: (floats(0),)),
    "axes move": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    y = x.permute(2, 0, 1)
    for i in range(y.size(0)):
        y[i, 0] = float(i)
    return y, y.unsqueeze(1), x.transpose(0, 1)
""", lambda: (floats(2, 3, 4),)),
    "squeezed": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    y = x.squeeze(1)
    for i in range(3):
        y[i] = y[i] * 2
    return y, x.unsqueeze(0)
""", lambda: (floats(3, 1, 2),)),
    "squeezed and transposed": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    y = x * 2
    for i in range(3):
        y[i] += i
    z = y.squeeze(1)
    return y.unsqueeze(3).squeeze([1, -1]), y.unsqueeze(0).squeeze([0, 2]), z.mT + 1, y.mH.squeeze(-1), z.adjoint()
""", lambda: (floats(3, 1, 2),)),
    "squeezed without axes": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    s = x.sum()
    for i in range(2):
        s = s + x[i]
    return s.squeeze(), x.unsqueeze(1).squeeze(1) * 2
""", lambda: (floats(3),)),
    "a reshape that is a view": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    y = x.reshape(-1)
    for i in range(3):
        y[i] = i
    return y, x.view(2, -1)
""", lambda: (floats(4, 3),)),
    "a view of other sizes": ("""
def f(x: Tensor, n: int) -> Tensor:
    for i in range(2):
        x[0] = i
    return x.view(n, 5)
""", lambda: (floats(4, 6), 3)),
    "spread out": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    y = x.expand(3, 4)
    t = y * 1
    for i in range(3):
        t[i] += y[i]
    return y, t
""", lambda: (floats(4),)),
    "rows changed by rows": ("""
def f(x: Tensor) -> Tensor:
    for i in range(1, x.size(0)):
        x[i] -= x[i - 1] * 0.5
        x[i, 1:] += x[i, :-1]
    return x
""", lambda: (floats(4, 3).t(),)),
    "elements side by side": ("""
def f(y: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor]:
    z = y
    m = flambeau.stack([y[0] > y[1], y[1] > y[0]], -1)
    for i in range(n):
        z = z + 0.25 * flambeau.stack([z[1], -z[0] * i])
    return z, m, flambeau.stack([y.sum()])
""", lambda: (floats(2), 5)),
    "elements of two dtypes side by side": ("""
def f(y: Tensor, n: Tensor) -> Tensor:
    for i in range(3):
        y = y + flambeau.stack([y[0], n[1]])
    return flambeau.stack([y[0], n[1], n[0] > 0], -1)
""", lambda: (floats(2), ints(1, 2))),
    "chunks and stacks": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    a, b = x.chunk(2)
    for i in range(2):
        a[i] = b[i] * i
    return flambeau.stack([a, b]), flambeau.cat([b, a], 1)
""", lambda: (floats(4, 3),)),
    "pieces of one size, and of several": ("""
def f(x: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    a, b, c = x.split(n, 1)
    p, q = x.split([n, x.size(1) - n], 1)
    u, v = flambeau.split_with_sizes(x, [1, 3])
    for i in range(2):
        a[i] = p[i] * i + c[i, 0]
    return b + 1, q * 2, a, v
""", lambda: (floats(4, 5), 2)),
    "a clone of what lies crosswise": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    y = x.clone()
    for i in range(2):
        y[i] = i
    return y, y.contiguous()
""", lambda: (floats(4, 3).t(),)),
    "0-d": ("""
def f(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, float]:
    t = x + y
    for i in range(3):
        t = t * y
    return t, x, float(t)
""", lambda: (flambeau.tensor(1.5), flambeau.tensor(-2.0))),
}  # fmt: skip

READ_AND_WRITE = """
def f(x: Tensor, n: int, v: float) -> Tuple[Tensor, List[Tensor], float]:
    seen: List[Tensor] = []
    for i in range(x.size(0) - 1):
        x[i] = x[i + 1] + x[i] * n
        x[i + 1] -= n
        seen.append(x[i] * 2)
    x[-1] = v
    x[1:3] = x[2:4] + n
    return x, seen, float(x[0])
"""
DIVISIONS = """
def f(x: Tensor, y: Tensor) -> List[Tensor]:
    found: List[Tensor] = []
    for i in range(x.size(0)):
        found.append(x[i] // y[i])
        found.append(x[i] % y[i])
        x[i] = x[i] // y[i]
    return found
"""
NUMBERS: dict[str, tuple[str, Arguments]] = {
    "overflow": ("""
def f(a: int, b: int, n: int) -> List[int]:
    seen: List[int] = []
    for i in range(n):
        a = a * 6364136223846793005 + b
        seen.append(a)
        seen.append(-a - b)
        seen.append(abs(a))
    return seen
""", lambda: (LARGE, -LARGE - 1, 5)),
    "quotients and remainders": ("""
def f(numbers: List[int], by: List[int]) -> List[int]:
    seen: List[int] = []
    for a in numbers:
        for b in by:
            seen.append(a // b)
            seen.append(a % b)
    return seen
""", lambda: ([7, -7, 0, LARGE, -LARGE - 1], [3, -3, 1, -1, LARGE, -LARGE - 1])),
    "a quotient by zero": ("""
def f(x: Tensor, n: int) -> int:
    t = 0
    for i in range(9):
        x[i] = i
        t += 100 // (n - i)
    return t
""", lambda: (floats(9), 4)),
    "a remainder of floats by zero": ("""
def f(x: float, n: int) -> float:
    t = 0.0
    for i in range(9):
        t += x % (n - i)
    return t
""", lambda: (1.5, 4)),
    "remainders of floats": ("""
def f(numbers: List[float], by: List[float]) -> List[float]:
    seen: List[float] = []
    for a in numbers:
        for b in by:
            seen.append(a // b)
            seen.append(a % b)
    return seen
""", lambda: ([7.5, -7.5, 0.0, -0.0, INF, NAN, 1e300], [2.0, -2.0, INF, -INF, NAN, 1e-300])),
    "shifts": ("""
def f(numbers: List[int], by: List[int]) -> List[int]:
    seen: List[int] = []
    for a in numbers:
        for b in by:
            seen.append(a << b)
            seen.append(a >> b)
    return seen
""", lambda: ([1, -1, 5, -LARGE - 1], [0, 1, 31, 63])),
    "shifts too far": ("""
def f(numbers: List[int], by: List[int]) -> List[int]:
    seen: List[int] = []
    for a in numbers:
        for b in by:
            seen.append(a << b)
            seen.append(a >> b)
    return seen
""", lambda: ([1, -8], [64, 65, 1000, -1])),
    "special floats": ("""
def f(x: Tensor) -> List[float]:
    seen: List[float] = []
    for i in range(x.size(0)):
        for j in range(x.size(0)):
            a, b = float(x[i]), float(x[j])
            seen.append(a * b + a)
            seen.append(min(a, b))
            seen.append(max(a, b))
            seen.append(-a)
            if a < b or a == b:
                seen.append(1.0)
    return seen
""", lambda: (special(),)),
    "floats become integers": ("""
def f(x: Tensor, y: Tensor) -> int:
    t = 0
    for i in range(y.size(0)):
        y[i] = x[i + 4]
        t += int(x[i + 4])
    return t
""", lambda: (special(), ints(1, 2, 3, 4, dtype="int32"))),
    "an infinity becomes an int": ("""
def f(x: Tensor, y: Tensor) -> int:
    t = 0
    for i in range(x.size(0)):
        y[i] = i
        t += int(float(x[3 - i]))
    return t
""", lambda: (special(), floats(8))),
    "powers": ("""
def f(a: float, n: int) -> List[float]:
    seen: List[float] = []
    for i in range(-2, n):
        seen.append(a ** i)
        seen.append(float(i) ** a)
    return seen
""", lambda: (2.5, 4)),
    "bits": ("""
def f(x: Tensor, n: int) -> Tuple[Tensor, int]:
    t = 0
    for i in range(x.size(0)):
        x[i] ^= n
        t |= int(x[i]) & 6
        x[i] = ~x[i]
    return x, t
""", lambda: (ints(1, 200, 7, dtype="uint8"), 5)),
    "comparisons across types": ("""
def f(a: int, b: float, x: Tensor) -> Tuple[List[bool], Tensor]:
    seen: List[bool] = []
    for i in range(3):
        seen.append(a + i < b)
        seen.append(a + i == b)
        seen.append(bool(x[i] > a))
    return seen, x > b
""", lambda: ((1 << 53) + 1, 2.0**53, floats(3))),
    "truth": ("""
def f(x: Tensor) -> int:
    n = 0
    for i in range(x.size(0)):
        if x[i] and not x[i - 1]:
            n += 1
        if bool(x[i]):
            n += 10
    return n
""", lambda: (flambeau.tensor([True, False, True, True]),)),
    "filled": ("""
def f(x: Tensor, v: float, n: int) -> Tuple[Tensor, Tensor, Tensor]:
    for i in range(n):
        x.fill_(v)
    return x, flambeau.full([2, 2], n), flambeau.zeros(3, dtype=flambeau.int16)
""", lambda: (floats(3), -0.0, 2)),
    "filled with what does not fit": ("""
def f(x: Tensor, v: int) -> Tensor:
    for i in range(3):
        x.fill_(v + i)
    return x
""", lambda: (ints(1, 2, dtype="int8"), 126)),
    "an element that does not fit": ("""
def f(x: Tensor, v: int) -> Tensor:
    for i in range(2):
        x[i] = v + i
    return x
""", lambda: (ints(1, 2, dtype="int8"), 127)),
    "filled with what float32 cannot hold": ("""
def f(x: Tensor, v: float) -> Tensor:
    for i in range(5):
        x[0] = v
        x.fill_(v)
        v *= 1e10
    return x
""", lambda: (floats(3, dtype="float32"), 1e10)),
    "filled with an infinity": ("""
def f(x: Tensor, v: float) -> Tensor:
    for i in range(2):
        x[0] = 1e39
        x.fill_(v)
    return x
""", lambda: (floats(3, dtype="float32"), -INF)),
    "nothing filled with what does not fit": ("""
def f(x: Tensor, v: int) -> Tensor:
    for i in range(2):
        x.fill_(v)
    return x
""", lambda: (flambeau.zeros(0, dtype=flambeau.int8), 300)),
    "negative numbers without a sign": ("""
def f(v: int) -> List[Tensor]:
    xs: List[Tensor] = []
    for i in range(4):
        xs.append(flambeau.full([2], v - i, dtype=flambeau.uint8))
    return xs
""", lambda: (-253,)),
    "copies onto parts of itself": ("""
def f(x: Tensor) -> Tensor:
    for i in range(2):
        x[:, 1:] = x[:, :-1]
        x[1:] = x[:-1]
        x.t()[1:] += x[1:]
    return x
""", lambda: (floats(4, 4),)),
    "full of what does not fit": ("""
def f(v: int) -> Tensor:
    x = flambeau.zeros(2)
    for i in range(2):
        x[i] = i
    return flambeau.full([2], v, dtype=flambeau.uint8)
""", lambda: (-1,)),
}  # fmt: skip

WRONG: dict[str, tuple[str, Arguments]] = {
    "sizes that do not fit": ("""
def f(x: Tensor, y: Tensor) -> Tensor:
    for i in range(3):
        x[i] = y
    return x
""", lambda: (floats(3, 2), floats(3))),
    "an index too large": ("""
def f(x: Tensor, n: int) -> float:
    t = 0.0
    for i in range(n):
        x[i, 1] = t
        t += float(x[i, 0])
    return t
""", lambda: (floats(4, 2), 9)),
    "an index in a list": ("""
def f(xs: List[int], n: int) -> int:
    t = 0
    for i in range(n):
        t += xs[i]
    return t
""", lambda: ([1, 2, 3], 9)),
    "pop from nothing": ("""
def f(xs: List[int], x: Tensor) -> int:
    t = 0
    while True:
        x[0] += 1
        t += xs.pop()
    return t
""", lambda: ([1, 2, 3], floats(2))),
    "unpacking too much": ("""
def f(xs: List[int], x: Tensor) -> int:
    for i in range(2):
        x[i] = i
    a, b = xs
    return a + b
""", lambda: ([1, 2, 3], floats(2))),
    "truth of many": ("""
def f(x: Tensor) -> int:
    n = 0
    for i in range(3):
        x[i, 0] = i
        if x[i] > 0:
            n += 1
    return n
""", lambda: (floats(3, 2),)),
}  # fmt: skip

IN_PART: dict[str, tuple[str, Arguments]] = {
    "an int of a float": ("""
def f(x: Tensor, n: int) -> int:
    count = 3
    for i in range(n):
        count += x[i]
    return count
""", lambda: (floats(5), 3)),
    "a list of tensors of several ranks and types": ("""
def f(x: Tensor, n: int) -> List[Tensor]:
    ys = [x]
    for i in range(n):
        ys.append(x[i])
        ys.append(x[i] > 0)
    return ys
""", lambda: (floats(3, 2), 2)),
    "elements of several types": ("""
def f(x: Tensor, n: int) -> List[Tensor]:
    ys: List[Tensor] = []
    for i in range(n):
        ys.append(x[i] * 2)
        ys.append(x[i] > 0)
        ys.append(x)
    return ys
""", lambda: (floats(3), 2)),
    "elements in a list, written there": ("""
def f(x: Tensor, n: int) -> List[Tensor]:
    ys: List[Tensor] = []
    for i in range(n):
        ys.append(x[i] * 2)
        ys.append(x[i])
    for i in range(n):
        ys[i] += 10
    return ys
""", lambda: (floats(3), 3)),
    "written where elements repeat": ("""
def f(x: Tensor) -> Tensor:
    y = x.expand(3, 4)
    for i in range(3):
        y[i] += 1
    y += 1
    return x
""", lambda: (floats(4),)),
    "copied to where elements repeat": ("""
def f(x: Tensor, y: Tensor) -> Tensor:
    for i in range(3):
        y[i] = i
        x[:] = y
    return x
""", lambda: (floats(4).expand(3, 4), floats(4))),
    "filled where elements repeat": ("""
def f(x: Tensor) -> Tensor:
    for i in range(3):
        x.fill_(i)
        x[0] = 5
    return x
""", lambda: (floats(4).expand(3, 4),)),
    "one list under two names": ("""
def f(x: Tensor, n: int) -> Tuple[List[int], List[int], List[Tensor], Tensor]:
    d = {"a": n}
    ys, ts = [1], [x * 1]
    zs, first = ys, ts[0]
    for i in range(d["a"]):
        zs = zs + [i] if i == 1 else zs
        ys.append(i)
        ts.append(ts[0] + i)
        ts[0][0] = i
    zs.append(100)
    first += 1
    return ys, zs, ts, first
""", lambda: (floats(3), 3)),
    "an error after a list of an argument grew": ("""
def f(x: Tensor, n: int, ys: List[Tensor]) -> List[Tensor]:
    d = {"a": n}
    for i in range(d["a"]):
        ys.append(x[i] * 2)
    return ys
""", lambda: (floats(3, 2), 5, [floats(2)])),
    "a list that a dict has made": ("""
def f(x: Tensor, n: int) -> Tuple[List[Tensor], List[int], Dict[str, int]]:
    table = {"n": n}
    ys = [x * 2]
    ks: List[int] = []
    for i in range(table["n"]):
        ys.append(ys[-1] * 2 + x[i])
        ks.append(i)
    ys.append(ys[1][1:])
    return ys, ks, table
""", lambda: (floats(3), 3)),
    "tensors of a list": ("""
def f(xs: List[Tensor]) -> Tuple[Tensor, List[Tensor]]:
    for x in xs:
        x[0] = 9
    return xs[0], xs
""", lambda: ([floats(3), floats(2)],)),
    "one tensor twice in a list": ("""
def f(xs: List[Tensor]) -> Tensor:
    for x in xs:
        x += 1
    return xs[1]
""", lambda: ((lambda x: ([x, x],))(floats(3)))),
    "a reshape that is a copy": ("""
def f(x: Tensor) -> Tensor:
    y = x.t().reshape(-1)
    for i in range(3):
        y[i] = i
    return y
""", lambda: (floats(4, 3),)),
    "a reshape of gaps": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    y = x.reshape(2, 2, 3)
    for i in range(2):
        y[i] = i
    return y, x
""", lambda: (floats(4, 6)[:, ::2],)),
    "a view of gaps": ("""
def f(x: Tensor) -> Tensor:
    t = 0
    for i in range(2):
        t += i
    return x.view(12)
""", lambda: (floats(4, 6)[:, ::2],)),
    "a number that int64 cannot hold in an element": ("""
def f(x: Tensor, v: float) -> Tensor:
    for i in range(2):
        x[i] = v
    return x
""", lambda: (ints(1, 2), 1e300)),
    "in-place arithmetic with a number of another kind": ("""
def f(x: Tensor, v: float) -> Tensor:
    for i in range(2):
        x += v
    return x
""", lambda: (ints(1, 2), 1.5)),
    "no tensor": ("""
def f(x: Optional[Tensor], y: Tensor) -> Tensor:
    for i in range(2):
        y[i] = i
    assert x is not None
    return x
""", lambda: (None, floats(2))),
    "a slice that goes nowhere": ("""
def f(x: Tensor, n: int) -> Tensor:
    for i in range(3):
        x[i:] += 1
        x = x[::n]
    return x
""", lambda: (floats(3, 2), 0)),
    "full of a nan": ("""
def f(v: float) -> Tensor:
    x = flambeau.zeros(2)
    for i in range(2):
        x[i] = i
    return flambeau.full([2], v, dtype=flambeau.int32)
""", lambda: (NAN,)),
    "special elements": ("""
def f(x: Tensor) -> List[Tensor]:
    seen: List[Tensor] = []
    for i in range(x.size(0)):
        seen.append(flambeau.sqrt(x[i]))
        seen.append(flambeau.maximum(x[i], x[0] * 0))
        seen.append(flambeau.sign(x[i]))
        seen.append(x[i] == x[-i - 1])
        x[i] = -x[i]
    return seen
""", lambda: (special(),)),
    "shifts of elements": ("""
def f(x: Tensor, y: Tensor) -> List[Tensor]:
    seen: List[Tensor] = []
    for i in range(x.size(0)):
        seen.append(x[i] << y[i])
        seen.append(x[i] >> y[i])
    return seen
""", lambda: (ints(1, -1, 5, -8, dtype="int32"), ints(3, 31, 32, -1, dtype="int32"))),
}  # fmt: skip
"""What native code does not do, or not alone."""

ALL = CONTROL | SHARING | VIEWS | NUMBERS | WRONG


@pytest.mark.parametrize("name", ALL)
def test_programs(name: str) -> None:
    agree(*ALL[name])


@pytest.mark.parametrize("name", IN_PART)
def test_programs_that_are_not_native_as_a_whole(name: str) -> None:
    agree(*IN_PART[name], is_native=False)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_elements_are_read_and_written(dtype: str) -> None:
    agree(READ_AND_WRITE, lambda: (ints(1, 0, 3, 100, dtype=dtype), 1, 2.0), is_native=False)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64", "float32", "float64"])
def test_divisions_of_elements(dtype: str) -> None:
    kind = getattr(flambeau, dtype)
    low = -7 if kind != flambeau.uint8 else 7
    agree(DIVISIONS, lambda: (ints(7, low, 7, low, 0).to(kind), ints(3, 3, low, low, 1).to(kind)), is_native=False)
    agree(DIVISIONS, lambda: (ints(7, 6, 5).to(kind), ints(1, 0, 1).to(kind)), is_native=False)


@pytest.mark.parametrize("batch", [3, 2, 0, -1, -2])
def test_one_size_of_a_view_follows_from_variables(batch: int) -> None:
    """With -1 among sizes that are variables: sizes that do not fit, and a second -1, are the operator's errors."""

    def regrouped(x: flambeau.Tensor, n: int) -> flambeau.Tensor:
        return x.view(n, 1, -1, 2) + 1.0

    scripted = flambeau.script(regrouped)
    x = flambeau.arange(12.0)
    for _ in range(4):
        scripted(x, 3)
    assert scripted.explain(measure=False).is_native
    if batch in (2, 3):
        assert scripted(x, batch).tolist() == regrouped(x, batch).tolist()
        return
    with pytest.raises(RuntimeError) as expected:
        regrouped(x, batch)
    with pytest.raises(RuntimeError) as caught:
        scripted(x, batch)
    assert str(expected.value) in str(caught.value)


def test_pieces_that_do_not_come_out_are_refused_as_ever() -> None:
    scripted = flambeau.script(_in_three)
    x = flambeau.arange(10.0).reshape(2, 5)
    for _ in range(3):
        assert [t.tolist() for t in scripted(x, 2)] == [[[0, 1], [5, 6]], [[2, 3], [7, 8]], [[4], [9]]]
    assert "native from end to end" in str(scripted.explain())
    for size, text in ((1, "found 5"), (3, "found 2"), (-1, "non-negative"), (0, "can only be 0")):
        with pytest.raises((ValueError, RuntimeError), match=text):
            scripted(x, size)


def _in_three(x: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    a, b, c = x.split(n, 1)
    return a * 1, b * 1, c * 1
