"""Programs written to go wrong: aliases through containers and loops, writes seen from afar, ways out of loops."""

from __future__ import annotations

import linecache
from typing import Any, Optional

import pytest

import flambeau
from flambeau import Tensor
from tests.random_programs.check import PATHS, difference, outcome

PROGRAMS = {
    "a list of what each round made": """
def f(x: Tensor, n: int) -> Tensor:
    ys = [x]
    for i in range(n):
        ys.append(ys[-1] * 1)
        ys[-1][0] = float(i)
    return flambeau.stack(ys)
""",
    "two names that change places": """
def f(x: Tensor, n: int) -> Tensor:
    a = x
    b = x
    for i in range(n):
        a, b = b * 1, a
        b += 1
    return a + b
""",
    "an early return from rounds that write": """
def f(x: Tensor, n: int) -> Tensor:
    for i in range(3):
        y = x.clone()
        y[0] = float(i)
        if i == n:
            return y
        x = y + 0
    return x
""",
    "views, contiguous and not": """
def f(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
    y = x.reshape(-1)
    z = y.contiguous()
    y[0] = 5
    w = x + 0.0
    x.mul_(2)
    return w, z
""",
    "conversions that convert nothing": """
def f(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
    y = x.to(x.dtype)
    y.add_(1)
    v = x.expand(x.shape).detach()
    v.add_(n)
    return y, v
""",
    "a list under two names": """
def f(x: Tensor, n: int) -> tuple[Tensor, list[int]]:
    r = [1]
    q = r
    for i in range(n):
        q = q + [i]
        r.append(i * 10)
    q += [7]
    return x, r + q
""",
    "one row three times": """
def f(x: Tensor, n: int) -> tuple[Tensor, list[list[int]]]:
    row = [0, 0]
    rows = [row for _ in range(3)]
    rows[0][1] = n
    return x, rows
""",
    "a view of what is no longer named": """
def f(x: Tensor, n: int) -> Tensor:
    t = x if n > 2 else x.clone()
    u = t[0]
    t = t * 1
    u.zero_()
    while n > 0:
        n -= 1
        u = u + t[0]
        if n == 3:
            break
    return x + u
""",
    "nested loops and ways out": """
def f(x: Tensor, n: int) -> tuple[int, int]:
    a, b = 0, 1
    for i in range(n):
        for j in range(i):
            if j == 2:
                break
            if (i + j) % 3 == 0:
                continue
            a += j
            if a > 6:
                return a, b
        else_ = b
        b = b * 2 + else_
    return a, b
""",
    "masks and strides": """
def f(x: Tensor, n: int) -> Tensor:
    m = x > 1
    x[m] = 0
    m2 = ~m
    x[m2] += 10
    x[:, 0] *= 2
    x[0, ::2] -= x[1, ::2]
    return x.masked_fill(m & m2, 3)
""",
    "nothing but empty tensors": """
def f(x: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    a = x[:0].sum(1)
    b = x[:0].sum(0)
    c = flambeau.cat([x[:0], x])
    return a, b, c.view(3, 2)[n % 3:]
""",
    "parts that split, unbind and chunk give": """
def f(x: Tensor, n: int) -> Tensor:
    parts = x.split(1)
    parts[0].add_(1)
    p, q = x.unbind(0)
    q.copy_(p)
    c = x.chunk(2, 1)
    c[1].neg_()
    return x * 1
""",
    "lists in a dict": """
def f(x: Tensor, n: int) -> tuple[str, dict[str, list[int]]]:
    d: dict[str, list[int]] = {}
    for i in range(n):
        k = str(i % 3)
        if k not in d:
            d[k] = []
        d[k].append(i)
    return ','.join(sorted(d.keys())), d
""",
    "changed in place under another name": """
def f(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
    y = x * 2
    z = y
    y += 1
    y = y * 3
    z -= 1
    return y, z
""",
    "rows that are views, and old sums": """
def f(x: Tensor, n: int) -> Tensor:
    acc = flambeau.zeros(3, dtype=x.dtype)
    for row in x:
        old = acc
        acc = acc + row
        old.add_(100)
        row.mul_(acc)
    return acc
""",
    "a tensor that may be None": """
def f(x: Tensor, n: int) -> Tensor:
    o: Optional[Tensor] = None
    for i in range(n):
        if o is None:
            o = x[0]
        else:
            o = o + i
            if i > 3:
                o.add_(1)
    return x.clone() if o is None else o.expand(2, 3) + x
""",
    "softmax along an axis drawn at run time": """
def f(x: Tensor, n: int) -> Tensor:
    return flambeau.softmax(x, n % 2) + flambeau.softmax(x.t(), -1).t() + x.var(1, keepdim=True) + x.mean()
""",
    "narrow integers that wrap": """
def f(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
    i = x.to(flambeau.int64)
    j = i // 2 + i % 3 - (i * n >> 1)
    k = j.to(flambeau.int8) * 100
    return j, k + i.to(flambeau.uint8)
""",
}


def arguments(number: int, transposed: bool) -> tuple[Tensor, int]:
    rows = [[0.0, 3.0, 1.0], [2.0, -1.0, 4.0]]
    if not transposed:
        return flambeau.tensor(rows), number
    return flambeau.tensor(rows).t().contiguous().t(), number


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_paths_do_what_python_does(name: str) -> None:
    source, filename = PROGRAMS[name], f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict[str, Any] = {"flambeau": flambeau, "Tensor": Tensor, "Optional": Optional, "__name__": "corners"}
    exec(compile(source, filename, "exec"), namespace)
    function = namespace["f"]
    scripted = {path: flambeau.script(function, **options) for path, options in PATHS.items()}
    for number in range(6):
        for transposed in (False, True):
            want = _outcome(function, number, transposed)
            for path, one in scripted.items():
                found = difference(want, _outcome(one, number, transposed))
                assert found is None, f"{path}, n = {number}: {found}"


def _outcome(function: Any, number: int, transposed: bool) -> Any:
    x, n = arguments(number, transposed)
    return outcome(function, (x, n))
