"""Elements as indexes, rows as tuples, functions that call themselves, as written for Numba and for Python."""

from __future__ import annotations

from flambeau import Tensor


def gather(x: Tensor, index: Tensor) -> float:
    total = 0.0
    for k in range(len(index)):
        total += x[index[k]]
    return total


def count(index: Tensor, n: int) -> int:
    counts = [0] * n
    for k in range(len(index)):
        counts[index[k]] += 1
    return max(counts)


def edges(rank: Tensor, pairs: Tensor) -> float:
    total = 0.0
    for k in range(pairs.shape[0]):
        total += rank[pairs[k, 0]] * rank[pairs[k, 1]]
    return total


def greatest(x: Tensor) -> float:
    high, low = x[0], x[0]
    for k in range(1, len(x)):
        high = max(high, x[k])
        low = min(low, x[k])
    return float(high - low)


def reached(walls: Tensor) -> int:
    rows, columns = walls.shape[0], walls.shape[1]
    seen = [0] * (rows * columns)
    waiting = [(0, 0)]
    found = 0
    while len(waiting) > 0:
        i, j = waiting.pop()
        if 0 <= i < rows and 0 <= j < columns and walls[i, j] == 0 and seen[i * columns + j] == 0:
            seen[i * columns + j] = 1
            found += 1
            waiting.append((i + 1, j))
            waiting.append((i - 1, j))
            waiting.append((i, j + 1))
            waiting.append((i, j - 1))
    return found


def dot(pairs: list[tuple[float, float]]) -> float:
    total = 0.0
    for a, b in pairs:
        total += a * b
    return total


def quotients(xs: list[int]) -> int:
    total = 0
    for x in xs:
        try:
            total += 100 // x
        except ZeroDivisionError:
            total -= 1
    return total


def fib(n: int) -> int:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def queens(n: int, row: int, columns: int, falling: int, rising: int) -> int:
    if row == n:
        return 1
    found = 0
    free = ((1 << n) - 1) & ~(columns | falling | rising)
    while free != 0:
        bit = free & -free
        free ^= bit
        found += queens(n, row + 1, columns | bit, (falling | bit) << 1, (rising | bit) >> 1)
    return found


def tree(at: int, left: Tensor, right: Tensor, values: Tensor) -> float:
    if at < 0:
        return 0.0
    return float(values[at]) + tree(int(left[at]), left, right, values) + tree(int(right[at]), left, right, values)
