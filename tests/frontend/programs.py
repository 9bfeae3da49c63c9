"""Programs of plain Python values with arguments to call them with: what they compute is what CPython says."""

# ruff: noqa

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Tuple, Union

LIMIT = 7
NAMES = ("a", "b")


def arithmetic(x: int, y: int, z: float):
    return x + y, x - y, x * y, x / y, x // y, x % y, -x, x + z, z * y, z // 2, z % 2.5, z**2, x & y, x | y, x ^ y, x << 2, x >> 1


def comparisons(x: int, y: int, z: float):
    return x < y, x <= y, x > y, x >= y, x == y, x != z, x < y < 9, 1 < x <= y != 3, not x, x == 1 and y == 2, x > 7 or y == 2 or z > 3


def early_return(x: int) -> int:
    if x > 10:
        return 1
    if x > 5:
        if x > 7:
            return 2
        y = 3
    else:
        y = 4
    return x + y


def nested_return(x: int):
    for i in range(x):
        for j in range(i):
            if i * j > 6:
                return i + j
            elif i * j == 5:
                continue
    return -1


def break_continue(x: int):
    total = 0
    i = 0
    while i < x:
        i += 1
        if i == 3:
            continue
        if i == 8:
            break
        if i % 2 == 0:
            if i == 6:
                total += 100
                continue
            total += 10
        total += 1
    return total, i


def return_in_while(x: int):
    while True:
        x = x + 3
        if x > 20:
            if x % 2 == 0:
                return x
            x += 1
        elif x == 12:
            break
    return -x


def break_else_path(x: List[int]):
    found = -1
    for v in x:
        if v < 0:
            found = v
            break
        elif v > 100:
            if v > 200:
                continue
            found = 100
        else:
            found = 0
        found += 1
    return found


def conditions_with_effects(x: List[int]):
    y: List[int] = []
    while len(x) > 0 and x.pop() != 3:
        y.append(len(x))
        if len(x) == 2:
            continue
        y.append(-1)
    return x, y


def raises_in_one_arm(x: int):
    if x < 0:
        raise ValueError("negative")
    else:
        y = x * 2
    return y + 1


def optional_default(x: Optional[int], y: Optional[int] = None):
    if x is None:
        x = 5
    if y is not None and y > 2:
        x = x + y
    z = y if y is not None else 1
    return x * z


def optional_chain(x: Optional[int], y: Optional[int]):
    if x is None or y is None:
        return 0
    return x + y


def early_exit_refines(x: Optional[str]):
    if x is None:
        return "none"
    while len(x) < 4:
        x = x + "!"
    return x


def union(x: Union[int, str]):
    if isinstance(x, int):
        return x + 1
    else:
        return len(x)


def lists(x: List[int]):
    y = [i * 2 for i in x]
    y.append(3)
    y[0] = y[-1] + 1
    y += [4, 5]
    z = y[1:3] + y[::-1][:2]
    del y[1]
    return y, z, len(x), 3 in x, [(i, j) for i, j in zip(x, y)], sorted(x), sum(x), min(x), max(x), x == y


def dicts(x: Dict[str, int]):
    y = {k: x[k] * 2 for k in x}
    y["new"] = 1
    y["new"] += 4
    total = 0
    for k, v in y.items():
        total += v + len(k)
    for k in x:
        total += x[k]
    return y, total, "a" in x, x.get("a"), x.get("zz", 9), list(x.keys()), list(x.values()), len(x)


def strings(x: str):
    out = ""
    for c in x:
        out = c + out
    return out, x.upper(), x[1:], x[-1], "ell" in x, x.split("l"), f"{x} has {len(x)}", "{}-{}".format(x, 3), x * 1 if False else x, x.find("l"), "%s!" % x


def tuples(x: Tuple[int, str, float]):
    a, b, c = x
    (d, *e), f = (1, 2, 3), 4
    g, *h = x
    return a, b, c, d, len(e), f, g, h[1], len(h), x[0], x[-1], x[1:], (1, 2) + (3,), len(x), x[0] in (1, 2), (1, 2) == (1, 2)


def swap(x: int, y: int):
    x, y = y, x
    a = b = x + 1
    x, (y, a) = a + 1, (x, y)
    return x, y, a, b


def unrolled(x: Tuple[int, float]):
    total = 0.0
    for v in x:
        total += v
    for i, v in enumerate((10, 20)):
        total += i * v
    return total


def iterables(x: List[int]):
    out: List[int] = []
    for i in range(2, 10, 3):
        out.append(i)
    for i in range(5, 0, -2):
        out.append(i)
    for i, v in enumerate(x, 1):
        out.append(i * v)
    for a, (b, c) in zip(x, zip(range(9), x)):
        out.append(a * b + c)
    for i in reversed(x):
        out.append(i)
    for i in reversed(range(3)):
        out.append(i)
    for i in reversed(range(1, 6, 2)):
        out.append(i)
    return out


def shadowed_comprehension(x: List[int]):
    i = 100
    y = [i + 1 for i in x]
    z = [[i * j for j in range(i)] for i in range(3)]
    return i, y, z


def ternaries(x: int):
    a = 1 if x > 0 else 2 if x < -5 else 3
    b = "pos" if x > 0 else "neg"
    return a, b, (x if x > 3 else -x) + 1


def globals_are_constants(x: int):
    return x + LIMIT, NAMES, NAMES[1], math.pi


def helper(x: int, y: int = 3, *, z: int):
    return x * y + z


def calls(x: int):
    return helper(x, z=1), helper(x, 5, z=2), helper(y=x, x=2, z=3), early_return(x)


def mathematics(x: float):
    return math.sqrt(x), math.floor(x), math.ceil(x), math.exp(x), math.log(x), math.sin(x), math.pow(x, 2), abs(-x), int(x), float(3), bool(x), str(7), min(x, 2.0), max(x, 1.5), divmod(7, 2), math.isnan(x), math.copysign(x, -1.0)


def always_raises(x: int) -> int:
    raise RuntimeError("no")


def assertion(x: int):
    assert x > 2, "too small"
    assert x < 10
    return x


def loop_carried_swap(n: int):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def while_with_or(x: int, y: int):
    n = 0
    while x > 0 or y > 0:
        x -= 2
        y -= 3
        n += 1
        if n > 50:
            break
    return x, y, n


def dead_code(x: int):
    for i in range(x):
        if i == 2:
            break
            x = 100
        continue
        x = 200
    return x
    return 5


def many_exits(x: int, y: int):
    r = 0
    for i in range(x):
        if i == y:
            if y > 3:
                return r
            else:
                r += 1
                if r > 2:
                    break
        elif i > y:
            r += 10
            if r > 100:
                raise ValueError("big")
            continue
        r += 1
    else_value = r * 2
    if else_value > 6:
        return else_value
    return -else_value


def nested_loops_break(n: int):
    c = 0
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            for k in range(n):
                if k == 2:
                    continue
                if k > 3:
                    break
                c += k
        if c > 40:
            break
    return c


def deleted(x: int):
    y = x + 1
    z = y * 2
    del y
    y = z
    return y


def list_of_lists(n: int):
    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            grid[i][j] += i * j
    return grid, sum([sum(row) for row in grid])


def string_keys(words: List[str]):
    counts: Dict[str, int] = {}
    for w in words:
        if w in counts:
            counts[w] += 1
        else:
            counts[w] = 1
    best = ""
    for w, c in counts.items():
        if best == "" or c > counts[best]:
            best = w
    return counts, best


def empty_containers(n: int):
    a: List[Tuple[int, str]] = []
    b: Dict[int, List[str]] = {}
    for i in range(n):
        a.append((i, str(i)))
        b[i] = [str(i)] * i
    c: Optional[List[int]] = None
    if n > 2:
        c = [n]
    return a, b, c, list(range(n)), tuple((1, 2)), dict([("a", 1)])


def optional_in_loop(x: List[int]):
    best: Optional[int] = None
    for v in x:
        if best is None or v > best:
            best = v
    return best


def half(x: int) -> Optional[int]:
    if x % 2 == 0:
        return x // 2
    return None


def while_refines(x: Optional[int]):
    n = 0
    while x is not None and x > 0:
        n += x
        x = half(x)
    return n, x


def assigned_after_test(x: Optional[int], y: int):
    if x is not None:
        y += x
        x = None
    else:
        x = 3
    if x is None:
        return y
    return x + y


def isinstance_of_any(x: Any):
    if isinstance(x, (int, float)):
        return 1
    elif isinstance(x, str) and len(x) > 2:
        return len(x)
    if isinstance(x, List[int]) if False else False:
        return 9
    return 0


def while_false(x: int):
    while False:
        x += 1
    return x


def unicode_names(größe: int):
    höhe = größe + 1
    for ñ in range(höhe):
        größe += ñ
    return größe


def nothing(x: int):
    """Only a text."""


def partly_nothing(x: int):
    if x > 2:
        return x


def closure(limit: int, name: str):
    def inner(x: int):
        return x + limit, name + str(half(limit))

    return inner


def dict_constructors(x: Dict[str, int]):
    a = dict(b=1, c=x["a"])
    d: Dict[str, List[int]] = dict()
    d["q"] = [1]
    e: Optional[List[int]] = list()
    return a, d, dict(x), dict(x, z=3), dict([("k", 1.5)]), dict(zip([1, 2], ["a", "b"])), list(x.items()), e


CASES: List[Tuple[Any, List[Tuple[Any, ...]]]] = [
    (arithmetic, [(7, 3, 2.5), (-7, 3, -0.5), (7, -3, 1e3)]),
    (comparisons, [(1, 2, 3.0), (5, 8, 5.0), (0, 0, 0.0), (2, 2, 9.5)]),
    (early_return, [(n,) for n in (11, 9, 6, 5, -1)]),
    (nested_return, [(n,) for n in (0, 2, 4, 6, 20)]),
    (break_continue, [(n,) for n in (0, 3, 7, 20)]),
    (return_in_while, [(n,) for n in (0, 1, 4)]),
    (break_else_path, [([1, 2],), ([150],), ([250, 3, -4, 5],), ([],)]),
    (conditions_with_effects, [([1, 2, 3, 4, 5],), ([],), ([5, 6],)]),
    (raises_in_one_arm, [(3,), (-1,)]),
    (optional_default, [(1, 3), (None, None), (2, None), (None, 5)]),
    (optional_chain, [(1, 3), (None, 1), (2, None)]),
    (early_exit_refines, [("ab",), (None,), ("abcdef",)]),
    (union, [(3,), ("abc",)]),
    (lists, [([3, 1, 2],), ([5, 5],)]),
    (dicts, [({"a": 1, "bb": 2},)]),
    (strings, [("hello",), ("l",)]),
    (tuples, [((1, "x", 2.5),)]),
    (swap, [(1, 2)]),
    (unrolled, [((1, 2.5),)]),
    (iterables, [([4, 5],), ([],), ([1, 2, 3],)]),
    (shadowed_comprehension, [([1, 2],)]),
    (ternaries, [(1,), (-3,), (-9,), (4,)]),
    (globals_are_constants, [(1,)]),
    (calls, [(2,), (8,)]),
    (mathematics, [(2.25,), (0.5,)]),
    (always_raises, [(1,)]),
    (assertion, [(3,), (1,), (11,)]),
    (loop_carried_swap, [(0,), (1,), (10,)]),
    (while_with_or, [(5, 9), (0, 0), (1000, 1)]),
    (dead_code, [(0,), (5,)]),
    (many_exits, [(x, y) for x in (0, 3, 9) for y in (0, 2, 5)] + [(40, 1)]),
    (nested_loops_break, [(0,), (3,), (7,)]),
    (deleted, [(1,)]),
    (list_of_lists, [(3,), (0,)]),
    (string_keys, [(["a", "b", "a"],), ([],)]),
    (empty_containers, [(0,), (3,)]),
    (optional_in_loop, [([1, 5, 2],), ([],)]),
    (closure(4, "four"), [(1,)]),
    (dict_constructors, [({"a": 5},)]),
    (while_refines, [(8,), (7,), (None,), (0,)]),
    (assigned_after_test, [(1, 2), (None, 2)]),
    (isinstance_of_any, [(1,), ("abc",), ("a",), (2.5,), (None,)]),
    (while_false, [(1,)]),
    (unicode_names, [(3,)]),
    (nothing, [(1,)]),
    (partly_nothing, [(1,), (3,)]),
]
"""Each function with the argument lists it is called with."""
