"""Programs of plain Python: lists, dicts, sets and texts, without arrays."""

from __future__ import annotations


def pascal(n: int) -> int:
    row, rows = [1], [[0]]
    for _ in range(n):
        rows.append(row)
        row = [1] + [row[j] + row[j + 1] for j in range(len(row) - 1)] + [1]
    return sum(rows[n // 2])


def primes(n: int) -> list[int]:
    sieve = [True] * (n + 1)
    sieve[0] = sieve[1] = False
    for i in range(2, int(n**0.5) + 1):
        if sieve[i]:
            sieve[i * i :: i] = [False] * len(sieve[i * i :: i])
    return [i for i, is_prime in enumerate(sieve) if is_prime]


def most_words(text: str) -> list[int]:
    counts: dict[str, int] = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [count * len(word) for word, count in ranked]


def is_balanced(text: str) -> bool:
    opened = {")": "(", "]": "[", "}": "{"}
    waiting: list[str] = []
    for c in text:
        if c in "([{":
            waiting.append(c)
        elif not waiting or waiting.pop() != opened[c]:
            return False
    return not waiting


def common_parts(text: str, k: int) -> int:
    counts: dict[str, int] = {}
    for i in range(len(text) - k + 1):
        part = text[i : i + k]
        if part in counts:
            counts[part] += 1
        else:
            counts[part] = 1
    return max(counts.values()) * len(counts)


def sort_by_merging(items: list[int]) -> list[int]:
    def ordered(items: list[int]) -> list[int]:
        if len(items) <= 1:
            return items
        middle = len(items) // 2
        left, right = ordered(items[:middle]), ordered(items[middle:])
        out: list[int] = []
        i = j = 0
        while i < len(left) and j < len(right):
            if left[i] <= right[j]:
                out.append(left[i])
                i += 1
            else:
                out.append(right[j])
                j += 1
        return out + left[i:] + right[j:]

    return ordered(items)


def hull(points: list[tuple[float, float]]) -> int:
    def turn(o: tuple[float, float], a: tuple[float, float], b: tuple[float, float]) -> float:
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    lower: list[tuple[float, float]] = []
    for p in sorted(points):
        while len(lower) >= 2 and turn(lower[-2], lower[-1], p) <= 0:
            lower.pop()
        lower.append(p)
    return len(lower)


def parsed(text: str) -> tuple[int, int]:
    total = wrong = 0
    for part in text.split(";"):
        try:
            total += int(part)
        except ValueError:
            wrong += 1
    return total, wrong


def longest_collatz(n: int) -> int:
    known = {1: 1}
    best = 0
    for start in range(1, n):
        x = start
        path: list[int] = []
        while x not in known:
            path.append(x)
            x = x // 2 if x % 2 == 0 else 3 * x + 1
        length = known[x]
        for p in reversed(path):
            length += 1
            known[p] = length
        best = max(best, known[start])
    return best


def solved(board: list[list[int]]) -> list[list[int]]:
    def fits(board: list[list[int]], r: int, c: int, v: int) -> bool:
        for i in range(9):
            if board[r][i] == v or board[i][c] == v or board[3 * (r // 3) + i // 3][3 * (c // 3) + i % 3] == v:
                return False
        return True

    def fill(board: list[list[int]]) -> bool:
        for r in range(9):
            for c in range(9):
                if board[r][c] == 0:
                    for v in range(1, 10):
                        if fits(board, r, c, v):
                            board[r][c] = v
                            if fill(board):
                                return True
                            board[r][c] = 0
                    return False
        return True

    answer = [list(row) for row in board]
    fill(answer)
    return answer
