"""Programs with objects that have operators, and containers' methods; what they do is what CPython does."""

# ruff: noqa

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class V:
    def __init__(self, x: int): self.x = x
    def __add__(self, o: 'V') -> 'V': return V(self.x + o.x)
    def __radd__(self, o: int) -> 'V': return V(self.x + o)
    def __rsub__(self, o: int) -> 'V': return V(o - self.x)
    def __neg__(self) -> 'V': return V(-self.x)
    def __invert__(self) -> 'V': return V(-self.x - 1)
    def __abs__(self) -> 'V': return V(abs(self.x))
    def __eq__(self, o: 'V') -> bool: return self.x == o.x
    def __lt__(self, o: 'V') -> bool: return self.x < o.x
    def __str__(self) -> str: return "V(" + str(self.x) + ")"
    def __len__(self) -> int: return self.x
    def __int__(self) -> int: return self.x
    def __float__(self) -> float: return self.x / 2
    def __contains__(self, k: int) -> bool: return k == self.x
    def __getitem__(self, k: int) -> int: return k * self.x
    def __setitem__(self, k: int, v: int): self.x = k + v
    def __delitem__(self, k: int): self.x = -k
    def __call__(self, k: int = 4) -> int: return k + self.x
    def __iadd__(self, o: int) -> 'V':
        self.x += o
        return self
    def __ge__(self, o: int) -> bool: return self.x >= o
    def __pow__(self, o: int) -> int: return o
    def __matmul__(self, o: 'V') -> int: return o.x * self.x
    def __floordiv__(self, o: int) -> int: return self.x // o


class R:
    def __init__(self, x: int): self.x = x
    def __repr__(self) -> str: return "R!"
    def __bool__(self) -> bool: return self.x > 3
    def __ne__(self, o: 'R') -> bool: return self.x != o.x + 1


def radd(v: V): return (3 + v).x, (3 - v).x


def unary(v: V): return (-v).x, (~v).x, abs(v).x


def cmp(v: V): return v == V(3), v != V(3), v < V(4), v > V(1), 3 <= v, not v == V(3), v >= 2


def strs(v: V, r: R): return str(v), f"{v}-{r}", "{}".format(v), str(r), "%s" % v, f"{v.x}"


def casts(v: V): return int(v), float(v), len(v), bool(v), 1 if v else 2, (not v), int(v) if V(0) else 0, int("7")


def items(v: V):
    a = v[3], 3 in v, 4 not in v
    v[2] = 5
    b = v.x
    v[2] += 1
    c = v.x
    del v[4]
    return a, b, c, v.x, v(), v(1)


def iadd(v: V):
    w = v
    v += 5
    return v is w, v.x


def misc(v: V): return v ** 3, v @ V(4), v // 2


def rbool(v: V, r: R): return bool(r), r != R(2), (1 if not r else 3), (1 if r and v.x > 1 else 0), (1 if v.x > 1 and r else 0)


def srt(v: V):
    l = [V(3), v, V(1), V(2)]
    l.sort()
    m = sorted([V(9), V(2)])
    l2 = [V(3), V(7)]
    l2.sort(reverse=True)
    return [x.x for x in l], [x.x for x in m], [x.x for x in l2]


def prints(v: V, r: R):
    print(v, r, 3)


def sum_(v: V): return min(v.x, 3)


def slices(v: V): return v[1]


CASES: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (radd, lambda: (V(3),)),
    (unary, lambda: (V(3),)),
    (cmp, lambda: (V(3),)),
    (strs, lambda: (V(3), R(3))),
    (casts, lambda: (V(3),)),
    (items, lambda: (V(3),)),
    (iadd, lambda: (V(3),)),
    (misc, lambda: (V(3),)),
    (rbool, lambda: (V(3), R(3))),
    (srt, lambda: (V(3),)),
    (prints, lambda: (V(3), R(3))),
    (sum_, lambda: (V(3),)),
    (slices, lambda: (V(3),)),
]
