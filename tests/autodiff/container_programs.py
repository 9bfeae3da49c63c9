"""Programs with containers whose items change their sizes, lie in each other or are written, to be differentiated: most
make numbers of elements, so that there is no way back but that of a graph."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


def items_become_shorter(x: Tensor) -> Tensor:
    parts = [x.sin(), x * 2]
    for i in range(x.size(0) - 1):
        parts[i % 2] = parts[i % 2][1:] * float(parts[0][0])
    return parts[0].sum() + (parts[1] ** 2).sum()


def items_become_longer(x: Tensor) -> Tensor:
    parts = [x.sin(), x * 2]
    for i in range(3):
        parts[i % 2] = flambeau.cat([parts[i % 2], parts[0]]).cos()
    return parts[0].sum() + (parts[1] ** 2).sum() * float(x[0])


def rows_become_longer(x: Tensor) -> Tensor:
    rows = [[x, x * 0.5], [x.sin()]]
    for i in range(3):
        rows[i % 2] = rows[1] + rows[0]
    total = x * float(x[0])
    for row in rows:
        for item in row:
            total = (total * item + 0.3).sin()
    return total.sum()


def table_of_constant_places(x: Tensor) -> Tensor:
    rows = [[x, x * 0.5], [x.sin()]]
    for i in range(x.size(0)):
        rows[0][1] = rows[0][1] * float(x[i])
        rows[-1][0] = (rows[0][1] + rows[1][0]).sin()
    total = rows[0][0] * 0.3
    for row in rows:
        for item in row:
            total = (total + item).sin()
    return total.sum()


def dict_in_a_loop(x: Tensor) -> Tensor:
    state = {"place": x * 1.5, "speed": x.sin()}
    for i in range(x.size(0)):
        state["speed"] = state["speed"] * 0.9 - state["place"] * float(x[i]) * 0.1
        state["place"] = state["place"] + state["speed"]
    total = x.sum() * 0.0
    for key in state:
        total = total + (state[key] ** 2).sum()
    for key, value in state.items():
        total = total + value[0] * len(key)
    return total


def dict_of_numbers(x: Tensor) -> Tensor:
    sums = {"a": 0.5, "b": 0.0}
    for i in range(x.size(0)):
        if i == 1:
            sums["b"] = float(x[0])
        sums["a"] = sums["a"] * float(x[i])
        sums["b"] += sums["a"]
    return x.sum() * sums["b"] * sums["a"]


def dict_of_lists(x: Tensor) -> Tensor:
    found = {"even": [x * 0.5], "odd": [x.cos()]}
    for i in range(x.size(0)):
        found["even"].append(found["odd"][-1] * float(x[i]))
        found["odd"][0] = found["odd"][0] + x * 0.1
    total = x.sum() * 0.0
    for items in found.values():
        for item in items:
            total = total + item.sin().sum()
    return total


def pairs_in_a_list(x: Tensor) -> Tensor:
    pairs = [(x, x.cos()), (x * 0.5, x * x)]
    for i in range(x.size(0)):
        pairs[0] = (pairs[0][1] * float(x[i]), pairs[0][0])
    total = x.sum() * 0.0
    for a, b in pairs:
        total = total + (a * b).sum()
    return total


def optionals_in_a_list(x: Tensor) -> Tensor:
    slots: list[Tensor | None] = [None, x * 2]
    for i in range(x.size(0)):
        if i > 0:
            slots[0] = x * float(x[i])
    total = x.sum()
    for slot in slots:
        if slot is not None:
            total = total + (slot * slot).sum()
    return total


def optional_of_a_loop(x: Tensor) -> Tensor:
    best: Tensor | None = None
    for i in range(x.size(0)):
        if float(x[i]) > 0.5:
            best = x * 0.6 if best is None else (best + x * float(x[i])).sin()
    if best is None:
        return x.sum()
    return (best * x.cos()).sum()


def written_before_it_is_carried(x: Tensor) -> Tensor:
    y = x.clone()
    y[0] = y[-1] * 0.5
    a, b = y, y * 1.5
    for i in range(x.size(0) - 1):
        a, b = b.sin(), a * 0.5 + b * float(x[i])
    return (a * b).sum() + (a * x).sum()


def written_after_it_was_carried(x: Tensor) -> Tensor:
    y = x.clone()
    a, b = y, y * 1.5
    for i in range(x.size(0) - 3):
        a, b = b.sin(), a * 0.5 + b * float(x[i])
    total = (a * b).sum()
    y.mul_(float(x[0]))
    return total + (y * x).sum()


def item_written_in_place(x: Tensor) -> Tensor:
    y = x * 1.2
    parts = [y, x.sin()]
    parts[0][0] = parts[1][-1] * float(x[1])
    parts[1] += y
    for i in range(2):
        parts[1][i] *= 0.5
    return (parts[0] * parts[1] + y).sum()


def table_that_grows(x: Tensor) -> Tensor:
    rows = [[x, x.cos(), x * 0.3]]
    for i in range(3):
        row = [rows[i][0] * float(x[i])]
        for j in range(1, 3):
            row.append((row[j - 1] * 0.5 + rows[i][j] * x).sin())
        rows.append(row)
    return (rows[-1][-1] + rows[1][0] * 0.2).sum()


def table_of_numbers(x: Tensor) -> Tensor:
    rows = [[float(x[i]) for i in range(x.size(0))]]
    for i in range(2):
        row: list[float] = []
        for j in range(x.size(0)):
            row.append(rows[-1][j] * rows[i][j - 1] + 0.5)
        rows.append(row)
    return x.sum() * sum(rows[-1]) + flambeau.tensor(rows, dtype=flambeau.float64).sin().sum()


PROGRAMS = (
    items_become_shorter, items_become_longer, rows_become_longer, table_of_constant_places, dict_in_a_loop,
    dict_of_numbers, dict_of_lists, pairs_in_a_list, written_before_it_is_carried,
    written_after_it_was_carried, item_written_in_place, optionals_in_a_list, optional_of_a_loop,
    table_that_grows,
)  # fmt: skip
TO_FIRST_ORDER = (table_of_numbers,)
"""Those whose first derivative is a graph, and whose second is not: a formula there asks the run."""
