"""One operator at a time, outside of compiled functions: the same methods of our tensors and of PyTorch's."""

from __future__ import annotations

from typing import Any


def twice(x: Any) -> Any:
    return x + x


def scaled(x: Any) -> Any:
    return x * 2.0


def part(x: Any) -> Any:
    return x[1:3]


def turned(x: Any) -> Any:
    return x.T


def viewed(x: Any) -> Any:
    return x.view(4, 4)


def reshaped(x: Any) -> Any:
    return x.reshape(4, 4)


def unsqueezed(x: Any) -> Any:
    return x.unsqueeze(0)


def added_up(x: Any) -> Any:
    return x.sum()


def tanh(x: Any) -> Any:
    return x.tanh()


def softmax(x: Any) -> Any:
    return x.softmax(-1)


def added(x: Any, y: Any) -> Any:
    return x + y


def added_in_place(x: Any, y: Any) -> Any:
    x += y
    return x


def every_other(x: Any) -> Any:
    return x[::2] * 2.0


def average(x: Any) -> Any:
    return x.mean()


def largest(x: Any) -> Any:
    return x.max()


def sum_of_rows(x: Any) -> Any:
    return x.sum(1)


def sum_of_columns(x: Any) -> Any:
    return x.sum(0)


def softmax_of_columns(x: Any) -> Any:
    return x.softmax(0)


def remainders(n: int) -> int:
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s
