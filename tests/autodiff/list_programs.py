"""Programs with lists of tensors and of numbers, to be differentiated: most make numbers of the elements."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


def appended_numbers(x: Tensor) -> Tensor:
    parts: list[float] = []
    for i in range(x.size(0)):
        parts.append(float(x[i]) * float(x[i]))
    return flambeau.tensor(parts, dtype=flambeau.float64).sum() * x.sum()


def summed_numbers(x: Tensor) -> Tensor:
    parts = [float(x[i]) ** 2 for i in range(x.size(0))]
    return x.sum() * sum(parts) + sum(parts, float(x[0]))


def repeated_reads(x: Tensor) -> Tensor:
    parts = [float(x[0]), float(x[1]) * 2.0]
    total = x.sum() * 0.0
    for p in parts:
        total = total + p * x[0] + parts[0] * parts[1]
    return total


def changed_numbers(x: Tensor) -> Tensor:
    parts = [0.5] * x.size(0)
    for i in range(x.size(0)):
        parts[i] = parts[i - 1] * float(x[i]) + 0.25
    return flambeau.tensor(parts, dtype=flambeau.float64) @ x


def nested_numbers(x: Tensor) -> Tensor:
    rows = [[float(x[0]), float(x[1]) ** 2], [float(x[1]) * float(x[0]), 3.0]]
    return flambeau.tensor(rows, dtype=flambeau.float64).cos().sum() * x[-1]


def as_numbers(x: Tensor) -> Tensor:
    parts: list[float] = x.tolist()
    rows: list[list[float]] = flambeau.outer(x, x).tolist()
    total = x.sum() * 0.0
    for row in rows:
        total = total + row[0] * x[-1] + row[-1]
    return total + parts[1] * x.sum() * max(parts) / min(parts)


def parts_of_numbers(x: Tensor) -> Tensor:
    parts: list[float] = x.tolist()
    both = parts[1:] + parts[:-1]
    return flambeau.tensor(both * 2, dtype=flambeau.float64).sin().sum() * sum(both[::2])


def put_elsewhere(x: Tensor) -> Tensor:
    parts: list[float] = []
    for i in range(x.size(0)):
        parts.insert(0, float(x[i]) ** 2)
    parts.extend([float(x[0]), 2.0])
    parts.reverse()
    parts += [float(x[-1]) * 0.5]
    first = parts.pop(0)
    return x.sum() * parts.pop() * first + parts[-1] + parts[1] * x[0]


def numbers_of_rounds(x: Tensor) -> Tensor:
    total = x.sum() * 0.0
    for i in range(x.size(0)):
        parts = [float(x[j]) * 0.5 for j in range(i + 1)]
        for p in parts:
            total = total + p * p * x[i]
    return total


def carried_numbers(x: Tensor) -> Tensor:
    parts = [float(x[0])]
    for i in range(x.size(0)):
        more = [parts[-1] * float(x[i])]
        parts = parts + more
    return sum(parts) * x[0]


def chosen_numbers(x: Tensor) -> Tensor:
    parts = [1.0, 2.0]
    if bool(x.sum() > 0):
        parts = [float(x[0]), float(x[1]) ** 2]
    return parts[0] * parts[1] * x.sum()


def tensors_read_twice(x: Tensor) -> Tensor:
    parts: list[Tensor] = []
    for i in range(x.size(0)):
        parts.append(x[i] * x[i])
    total = flambeau.stack(parts).sin().sum()
    for p in parts:
        total = total + p * 2
    return total + flambeau.stack(parts[1:] + parts[:1]).cumsum(0).prod()


def tensors_chosen(x: Tensor) -> Tensor:
    parts = [x * 2, x.sin()]
    total = x.sum() * 0.0
    for i in range(3):
        for p in parts:
            total = total + (p * x[i % x.size(0)]).sum()
        parts = [parts[1], parts[0] * 0.5]
    return total


def nested_lists_that_grow(x: Tensor) -> Tensor:
    rows: list[list[Tensor]] = []
    for i in range(x.size(0)):
        rows.append([x[i], x[0] * 2])
    rows[0].append(x[1] * x[1])
    total = x.sum() * 0.0
    for row in rows:
        for item in row:
            total = total + item * item * row[0]
    return total


def sizes_of_numbers(x: Tensor) -> Tensor:
    c, y = 0.1, x.clone()
    for i in range(x.size(0)):
        c = c * 0.5 - float(x[i]) ** 2 / (1.0 + abs(c))
        y.mul_(c)
    return y.sum()


def _joined(parts: list[Tensor] | None) -> Tensor:
    if parts is None:
        return flambeau.zeros(1, dtype=flambeau.float64)
    return flambeau.stack(parts).sum(0) * parts[-1].sin()


def lists_that_may_be_none(x: Tensor) -> Tensor:
    parts = [x]
    for _ in range(3):
        parts.append(_joined(parts).cos() * 0.5)
    return flambeau.cat(parts).sum()


def seen_differently(x: Tensor) -> Tensor:
    parts = [x.sin()]
    seen = flambeau.jit.annotate(list[Tensor] | None, parts)
    assert seen is not None
    y = flambeau.cat(seen, 0) * 2
    parts.append(y)
    seen.append(y * x)
    return flambeau.cat(seen, 0).sum() + (parts[0] * parts[2]).sum()


PROGRAMS = (
    appended_numbers, summed_numbers, repeated_reads, changed_numbers, nested_numbers, as_numbers, parts_of_numbers,
    put_elsewhere, numbers_of_rounds, carried_numbers, chosen_numbers, tensors_read_twice, tensors_chosen,
    nested_lists_that_grow, sizes_of_numbers, lists_that_may_be_none, seen_differently,
)  # fmt: skip
