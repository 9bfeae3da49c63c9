"""Short programs as NumPy's and Numba's users write them: searches, dynamic programming, simulation, transforms."""

from __future__ import annotations

import heapq
import math
from collections import deque

import numpy as np


def breadth_first(indptr: np.ndarray, indices: np.ndarray, start: int):
    found = np.full(len(indptr) - 1, -1)
    found[start] = 0
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for k in range(indptr[at], indptr[at + 1]):
            to = indices[k]
            if found[to] < 0:
                found[to] = found[at] + 1
                waiting.append(to)
    return found


def shortest(indptr: np.ndarray, indices: np.ndarray, lengths: np.ndarray, start: int):
    found = np.full(len(indptr) - 1, 1e18)
    found[start] = 0.0
    heap = [(0.0, start)]
    while heap:
        so_far, at = heapq.heappop(heap)
        if so_far > found[at]:
            continue
        for k in range(indptr[at], indptr[at + 1]):
            to = indices[k]
            if so_far + lengths[k] < found[to]:
                found[to] = so_far + lengths[k]
                heapq.heappush(heap, (found[to], to))
    return found


def page_rank(indptr: np.ndarray, indices: np.ndarray, rounds: int):
    n = len(indptr) - 1
    rank = np.ones(n) / n
    for _ in range(rounds):
        new = np.full(n, 0.15 / n)
        for u in range(n):
            share = 0.85 * rank[u] / (indptr[u + 1] - indptr[u])
            for k in range(indptr[u], indptr[u + 1]):
                new[indices[k]] += share
        rank = new
    return rank


def knapsack(weights: np.ndarray, values: np.ndarray, capacity: int):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best


def viterbi(seen: np.ndarray, start: np.ndarray, moves: np.ndarray, shows: np.ndarray):
    steps, states = len(seen), len(start)
    score = np.zeros((steps, states))
    came = np.zeros((steps, states), dtype=np.int64)
    score[0] = np.log(start) + np.log(shows[:, seen[0]])
    for t in range(1, steps):
        for s in range(states):
            ways = score[t - 1] + np.log(moves[:, s])
            came[t, s] = np.argmax(ways)
            score[t, s] = np.max(ways) + np.log(shows[s, seen[t]])
    path = np.zeros(steps, dtype=np.int64)
    path[-1] = np.argmax(score[-1])
    for t in range(steps - 2, -1, -1):
        path[t] = came[t + 1, path[t + 1]]
    return path


def option_price(count: int, price: float, strike: float, rate: float, volatility: float):
    np.random.seed(3)
    total = 0.0
    for _ in range(count):
        z = np.random.normal()
        end = price * math.exp(rate - 0.5 * volatility * volatility + volatility * z)
        total += max(end - strike, 0.0)
    return math.exp(-rate) * total / count


def walks(count: int, steps: int):
    np.random.seed(1)
    places = np.zeros((count, 2), dtype=np.int64)
    for i in range(count):
        for _ in range(steps):
            way = np.random.randint(0, 4)
            if way == 0:
                places[i, 0] += 1
            elif way == 1:
                places[i, 0] -= 1
            elif way == 2:
                places[i, 1] += 1
            else:
                places[i, 1] -= 1
    return places


def equalised(image: np.ndarray):
    counts = np.zeros(256, dtype=np.int64)
    for value in image.ravel():
        counts[value] += 1
    up_to = np.cumsum(counts)
    low = up_to[up_to > 0][0]
    table = np.zeros(256, dtype=np.uint8)
    for i in range(256):
        table[i] = max(0, round((up_to[i] - low) / (image.size - low) * 255))
    return table[image]


def transform(x: np.ndarray):
    n = len(x)
    y = x.astype(np.complex128)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            y[i], y[j] = y[j], y[i]
    size = 2
    while size <= n:
        half = size // 2
        w = np.exp(-2j * np.pi / size * np.arange(half))
        for s in range(0, n, size):
            for k in range(half):
                u, v = y[s + k], y[s + k + half] * w[k]
                y[s + k] = u + v
                y[s + k + half] = u - v
        size *= 2
    return y


def recursive_transform(x: np.ndarray) -> np.ndarray:
    n = len(x)
    if n == 1:
        return x
    even, odd = recursive_transform(x[::2]), recursive_transform(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate((even + turned, even - turned))


def bits(n: int):
    total = 0
    for i in range(n):
        v = i
        while v:
            v &= v - 1
            total += 1
    return total


def subsets(weights: np.ndarray, target: int):
    n, found = len(weights), 0
    for chosen in range(1 << n):
        total = 0
        for i in range(n):
            if chosen >> i & 1:
                total += weights[i]
        if total == target:
            found += 1
    return found


def matrix_powers(m: np.ndarray, n: int) -> np.ndarray:
    power = np.eye(len(m)) + 0j
    for _ in range(n):
        power = power @ m
        power = power / np.abs(power).max()
    return power


def spectrogram(x: np.ndarray, size: int, step: int) -> np.ndarray:
    window = np.hanning(size)
    frames = (len(x) - size) // step + 1
    out = np.zeros((frames, size // 2 + 1), dtype=np.complex128)
    for i in range(frames):
        out[i] = np.fft.rfft(x[i * step : i * step + size] * window)
    return out


def grouped(keys: np.ndarray, values: np.ndarray):
    sums = {}
    for k in range(keys.max() + 1):
        sums[k] = np.zeros(values.shape[1])
    for i in range(len(keys)):
        sums[keys[i]] += values[i]
    total = 0.0
    for k in sums:
        total += sums[k].max()
    return total


def spins(field: np.ndarray, steps: int, warmth: float, seed: int):
    np.random.seed(seed)
    field = field.copy()
    n, energy = field.shape[0], 0
    for _ in range(steps):
        i, j = int(np.random.random() * n), int(np.random.random() * n)
        around = field[(i + 1) % n, j] + field[i - 1, j] + field[i, (j + 1) % n] + field[i, j - 1]
        change = 2 * field[i, j] * around
        if change <= 0 or np.random.random() < np.exp(-change / warmth):
            field[i, j] = -field[i, j]
            energy += change
    return energy
