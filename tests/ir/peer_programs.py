"""Programs that the peer compiles; `torch` is put in by the tests."""

# ruff: noqa: SIM108, UP032, UP045

from __future__ import annotations

from typing import Any, Optional

torch: Any = None


def arithmetic(x, y):
    return torch.relu(x * y + 2) - y.abs().sqrt()


def branch(x, n: int):
    if n > 2:
        x = x * n
    else:
        x = x - 1
    return x


def early_return(x, n: int):
    for i in range(n):
        if i == 3:
            return x * i
        x = x + i
    return x


def collatz(n: int):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def lists(n: int):
    squares = [i * i for i in range(n)]
    squares.append(7)
    squares[0] = -1
    return squares[1:], sum(squares), len(squares)


def strings(n: int, s: str):
    return "{} of {}".format(n, s.upper()) + "!" if n > 0 else s[::-1]


def dicts(n: int):
    table = {"a": n}
    table["b"] = n + 1
    total = 0
    for key, value in table.items():
        total += value * len(key)
    return total, "c" in table


def views(x):
    y = x.clone()
    y[0, 1:] = 5
    y.t().add_(1)
    return y[..., -1], y.view(-1)[:3]


def reductions(x, y):
    return x.sum(1), (x * y).mean(), torch.softmax(x, 0), x.max(1)[1]


def products(x, y):
    return torch.mm(x, y.t()), torch.matmul(x.t(), y)


def tuples(x, n: int):
    pair = (x, n)
    (a, b), c = pair, 1.5
    return a * b, c, (b, (a,))


def optional(x, n: Optional[int]):
    if n is None:
        return x
    return x * n


CALLS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "arithmetic": (arithmetic, ("x", "y")),
    "branch": (branch, ("x", 3)),
    "early_return": (early_return, ("x", 6)),
    "collatz": (collatz, (27,)),
    "lists": (lists, (5,)),
    "strings": (strings, (2, "cat")),
    "dicts": (dicts, (4,)),
    "views": (views, ("x",)),
    "reductions": (reductions, ("x", "y")),
    "products": (products, ("x", "y")),
    "tuples": (tuples, ("x", 2)),
    "optional": (optional, ("x", 4)),
}
