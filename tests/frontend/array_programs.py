"""Programs as users of NumPy and Numba write them: functions of arrays, with arguments to call them with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

rng = np.random.default_rng(7)
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []


def program(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Note a program with the arguments that it is tried with."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((function, arguments))
        return function

    return note


@program(rng.random(50))
def loop_sum(a: np.ndarray) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i]
    return total


@program(rng.random(50).astype(np.float32))
def loop_sum_single(a: np.ndarray):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i]
    return total


@program(rng.integers(0, 256, (6, 7)).astype(np.uint8))
def histogram(image: np.ndarray) -> np.ndarray:
    counts = np.zeros(256, dtype=np.int64)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            counts[image[i, j]] += 1
    return counts


@program(rng.random(40), 0.0, 1.0, 8)
def histogram_of_floats(x: np.ndarray, low: float, high: float, bins: int) -> np.ndarray:
    counts = np.zeros(bins, dtype=np.int64)
    width = (high - low) / bins
    for v in x:
        k = int((v - low) / width)
        if k == bins:
            k -= 1
        if 0 <= k < bins:
            counts[k] += 1
    return counts


@program(rng.permutation(40).astype(np.float64))
def insertion_sort(a: np.ndarray) -> np.ndarray:
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


def sift(a: np.ndarray, start: int, end: int) -> None:
    root = start
    while 2 * root + 1 <= end:
        child = 2 * root + 1
        if child + 1 <= end and a[child] < a[child + 1]:
            child += 1
        if a[root] < a[child]:
            a[root], a[child] = a[child], a[root]
            root = child
        else:
            return


@program(rng.permutation(30))
def heap_sort(a: np.ndarray) -> None:
    n = len(a)
    for start in range((n - 2) // 2, -1, -1):
        sift(a, start, n - 1)
    for end in range(n - 1, 0, -1):
        a[end], a[0] = a[0], a[end]
        sift(a, 0, end - 1)


@program(rng.permutation(30).astype(np.float64), 0, 29)
def quick_sort(a: np.ndarray, low: int, high: int) -> None:
    if low < high:
        pivot = a[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        quick_sort(a, low, j)
        quick_sort(a, i, high)


@program(rng.permutation(17).astype(np.float64))
def merge_sort(a: np.ndarray) -> np.ndarray:
    n = len(a)
    out = a.copy()
    other = np.empty_like(a)
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or out[i] <= out[j]):
                    other[k] = out[i]
                    i += 1
                else:
                    other[k] = out[j]
                    j += 1
        out, other = other, out
        width *= 2
    return out


@program(np.sort(rng.random(20)), 0.5)
def binary_search(a: np.ndarray, x: float) -> int:
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@program(60)
def sieve(n: int) -> np.ndarray:
    prime = np.ones(n + 1, dtype=np.bool_)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return np.nonzero(prime)[0]


@program(np.array([2, 3, 4, 5]), np.array([3, 4, 5, 6]), 5)
def knapsack(weights: np.ndarray, values: np.ndarray, capacity: int) -> int:
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[capacity]


@program(rng.integers(0, 4, 12), rng.integers(0, 4, 9))
def edit_distance(a: np.ndarray, b: np.ndarray) -> int:
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int32)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


@program(rng.integers(0, 4, 12), rng.integers(0, 4, 9))
def longest_common_subsequence(a: np.ndarray, b: np.ndarray) -> int:
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


@program(rng.random(12), rng.random(15))
def dynamic_time_warping(x: np.ndarray, y: np.ndarray) -> float:
    n, m = len(x), len(y)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = abs(x[i - 1] - y[j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m]


@program(rng.random((8, 9)), 3)
def jacobi(u: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u = new
    return u


@program(rng.random((8, 9)), 3)
def gauss_seidel(u: np.ndarray, steps: int) -> None:
    n, m = u.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / 4


@program(rng.random(20), 0.1, 5)
def heat(u: np.ndarray, r: float, steps: int) -> np.ndarray:
    for _ in range(steps):
        u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@program(rng.integers(0, 2, (7, 8)).astype(np.uint8), 3)
def game_of_life(board: np.ndarray, steps: int) -> np.ndarray:
    n, m = board.shape
    for _ in range(steps):
        after = np.zeros_like(board)
        for i in range(n):
            for j in range(m):
                alive = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            alive += board[(i + di) % n, (j + dj) % m]
                if alive == 3 or (board[i, j] == 1 and alive == 2):
                    after[i, j] = 1
        board = after
    return board


@program(rng.random((9, 8)), np.ones((3, 3)) / 9)
def convolve(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    n, m = image.shape
    k = kernel.shape[0] // 2
    out = np.zeros((n - 2 * k, m - 2 * k))
    for i in range(k, n - k):
        for j in range(k, m - k):
            total = 0.0
            for a in range(-k, k + 1):
                for b in range(-k, k + 1):
                    total += image[i + a, j + b] * kernel[a + k, b + k]
            out[i - k, j - k] = total
    return out


@program(rng.random((9, 8)).astype(np.float32))
def sobel(image: np.ndarray) -> np.ndarray:
    n, m = image.shape
    out = np.zeros_like(image)
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            gx = image[i - 1, j + 1] + 2 * image[i, j + 1] + image[i + 1, j + 1]
            gx -= image[i - 1, j - 1] + 2 * image[i, j - 1] + image[i + 1, j - 1]
            gy = image[i + 1, j - 1] + 2 * image[i + 1, j] + image[i + 1, j + 1]
            gy -= image[i - 1, j - 1] + 2 * image[i - 1, j] + image[i - 1, j + 1]
            out[i, j] = np.sqrt(gx * gx + gy * gy)
    return out


@program(rng.integers(0, 256, (5, 6, 3)).astype(np.uint8))
def grey(image: np.ndarray) -> np.ndarray:
    out = np.empty(image.shape[:2], dtype=np.uint8)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            r, g, b = image[i, j]
            out[i, j] = int(0.299 * r + 0.587 * g + 0.114 * b)
    return out


@program(rng.integers(0, 256, (5, 6)).astype(np.uint8), 128)
def threshold(image: np.ndarray, level: int) -> np.ndarray:
    return np.where(image > level, 255, 0).astype(np.uint8)


@program(rng.random((7, 7)))
def median_filter(image: np.ndarray) -> np.ndarray:
    out = image.copy()
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            window = image[i - 1 : i + 2, j - 1 : j + 2].flatten()
            window.sort()
            out[i, j] = window[4]
    return out


@program(rng.random((10, 2)), rng.random((3, 2)), 4)
def k_means(points: np.ndarray, centres: np.ndarray, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    n, k = points.shape[0], centres.shape[0]
    labels = np.zeros(n, dtype=np.int64)
    for _ in range(rounds):
        for i in range(n):
            best, where = np.inf, 0
            for c in range(k):
                d = ((points[i] - centres[c]) ** 2).sum()
                if d < best:
                    best, where = d, c
            labels[i] = where
        for c in range(k):
            mine = points[labels == c]
            if len(mine) > 0:
                centres[c] = mine.mean(axis=0)
    return labels, centres


@program(rng.random((8, 3)))
def distances(x: np.ndarray) -> np.ndarray:
    n = len(x)
    d = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            d[i, j] = np.sqrt(np.sum((x[i] - x[j]) ** 2))
    return d


@program(rng.random((8, 3)), rng.integers(0, 3, 8), rng.random(3), 3)
def nearest_neighbours(x: np.ndarray, y: np.ndarray, q: np.ndarray, k: int) -> int:
    d = np.sqrt(((x - q) ** 2).sum(axis=1))
    order = np.argsort(d)
    votes = np.zeros(y.max() + 1, dtype=np.int64)
    for i in order[:k]:
        votes[y[i]] += 1
    return votes.argmax()


@program(rng.random(12), 0.01, 0.1)
def kalman(z: np.ndarray, q: float, r: float) -> np.ndarray:
    x = np.zeros(len(z))
    estimate, p = z[0], 1.0
    for k in range(len(z)):
        p = p + q
        gain = p / (p + r)
        estimate = estimate + gain * (z[k] - estimate)
        p = (1 - gain) * p
        x[k] = estimate
    return x


@program(np.array([0.0, 1.0]), np.array([[1.0, 0.1], [0.0, 1.0]]), np.eye(2), rng.random(6))
def kalman_matrices(x: np.ndarray, f: np.ndarray, p: np.ndarray, z: np.ndarray) -> np.ndarray:
    h = np.array([[1.0, 0.0]])
    out = np.zeros((len(z), 2))
    for k in range(len(z)):
        x = f @ x
        p = f @ p @ f.T + 0.01 * np.eye(2)
        s = h @ p @ h.T + 0.1
        gain = (p @ h.T) / s[0, 0]
        x = x + gain[:, 0] * (z[k] - x[0])
        p = (np.eye(2) - gain @ h) @ p
        out[k] = x
    return out


@program(100.0, 105.0, 0.05, 0.2, 1.0, 16)
def binomial_option(s: float, k: float, r: float, sigma: float, t: float, n: int) -> float:
    dt = t / n
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(r * dt) - 1 / up) / (up - 1 / up)
    values = np.zeros(n + 1)
    for j in range(n + 1):
        values[j] = max(0.0, s * up ** (2 * j - n) - k)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            values[j] = math.exp(-r * dt) * (p * values[j + 1] + (1 - p) * values[j])
    return values[0]


@program(rng.random(10) * 50 + 75, 100.0, 0.05, 0.2, 1.0)
def black_scholes(s: npt.NDArray[np.float64], k: float, r: float, sigma: float, t: float) -> npt.NDArray[np.float64]:
    out = np.empty_like(s)
    for i in range(s.size):
        d1 = (np.log(s[i] / k) + (r + 0.5 * sigma**2) * t) / (sigma * np.sqrt(t))
        d2 = d1 - sigma * math.sqrt(t)
        n1 = 0.5 * (1 + math.erf(d1 / math.sqrt(2)))
        n2 = 0.5 * (1 + math.erf(d2 / math.sqrt(2)))
        out[i] = s[i] * n1 - k * math.exp(-r * t) * n2
    return out


@program(rng.random(30) + 50)
def moving_average(prices: np.ndarray) -> np.ndarray:
    window = 5
    out = np.full(len(prices), np.nan)
    total = 0.0
    for i in range(len(prices)):
        total += prices[i]
        if i >= window:
            total -= prices[i - window]
        if i >= window - 1:
            out[i] = total / window
    return out


@program(rng.random(30) + 50)
def max_drawdown(prices: np.ndarray) -> float:
    peak = prices[0]
    worst = 0.0
    for p in prices:
        peak = max(peak, p)
        worst = max(worst, (peak - p) / peak)
    return worst


@program(rng.random(30), 0.3)
def exponential_average(x: np.ndarray, alpha: float) -> np.ndarray:
    y = np.empty(x.shape, dtype=x.dtype)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = alpha * x[i] + (1 - alpha) * y[i - 1]
    return y


@program(rng.integers(0, 4, 50))
def random_walk(steps: np.ndarray) -> np.ndarray:
    places = np.zeros((len(steps) + 1, 2), dtype=np.int64)
    x = y = 0
    for i, s in enumerate(steps):
        if s == 0:
            x += 1
        elif s == 1:
            x -= 1
        elif s == 2:
            y += 1
        else:
            y -= 1
        places[i + 1, 0], places[i + 1, 1] = x, y
    return places


@program(rng.random((5, 6)), rng.random((6, 4)))
def matrix_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@program(rng.random((6, 6)) + 6 * np.eye(6), rng.random(6))
def gauss(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    n = len(b)
    for i in range(n):
        p = i + np.argmax(np.abs(a[i:, i]))
        if p != i:
            a[[i, p]] = a[[p, i]]
            b[i], b[p] = b[p], b[i]
        for j in range(i + 1, n):
            f = a[j, i] / a[i, i]
            a[j, i:] -= f * a[i, i:]
            b[j] -= f * b[i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


@program((lambda m: m @ m.T + np.eye(5))(rng.random((5, 5))))
def cholesky(a: np.ndarray) -> np.ndarray:
    n = a.shape[0]
    lower = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for k in range(j):
                s += lower[i, k] * lower[j, k]
            if i == j:
                lower[i, j] = np.sqrt(a[i, i] - s)
            else:
                lower[i, j] = (a[i, j] - s) / lower[j, j]
    return lower


@program((lambda m: m @ m.T)(rng.random((4, 4))), 20)
def power_iteration(a: np.ndarray, steps: int) -> tuple[float, np.ndarray]:
    v = np.ones(a.shape[0])
    for _ in range(steps):
        v = a @ v
        v /= np.linalg.norm(v)
    return v @ a @ v, v


@program(np.where(rng.random((6, 6)) < 0.4, rng.integers(1, 9, (6, 6)), 10**6))
def floyd_warshall(d: np.ndarray) -> np.ndarray:
    n = len(d)
    for i in range(n):
        d[i, i] = 0
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


@program(rng.integers(0, 2, (6, 6)), 0)
def breadth_first(adjacency: np.ndarray, start: int) -> np.ndarray:
    n = adjacency.shape[0]
    distance = np.full(n, -1)
    distance[start] = 0
    queue = [start]
    while queue:
        u = queue.pop(0)
        for v in range(n):
            if adjacency[u, v] and distance[v] < 0:
                distance[v] = distance[u] + 1
                queue.append(v)
    return distance


@program(16, 12, 20)
def mandelbrot(width: int, height: int, most: int) -> np.ndarray:
    out = np.zeros((height, width), dtype=np.int32)
    for i in range(height):
        for j in range(width):
            cr, ci = -2 + 3 * j / width, -1.2 + 2.4 * i / height
            x = y = 0.0
            count = 0
            while x * x + y * y <= 4 and count < most:
                x, y = x * x - y * y + cr, 2 * x * y + ci
                count += 1
            out[i, j] = count
    return out


@program(rng.random((5, 3)), rng.random((5, 3)) - 0.5, rng.random(5), 0.01, 3)
def n_bodies(x: np.ndarray, v: np.ndarray, m: np.ndarray, dt: float, steps: int) -> np.ndarray:
    n = len(m)
    for _ in range(steps):
        for i in range(n):
            a = np.zeros(3)
            for j in range(n):
                if i != j:
                    d = x[j] - x[i]
                    a += m[j] * d / (np.sum(d * d) + 1e-3) ** 1.5
            v[i] += dt * a
        x += dt * v
    return x


@program(np.array([1.0, -3.0, 2.0, 0.5]), np.linspace(-1, 1, 7))
def horner(coefficients: np.ndarray, x: np.ndarray) -> np.ndarray:
    result = np.zeros_like(x)
    for c in coefficients:
        result = result * x + c
    return result


@program(np.linspace(0, 1, 11), np.linspace(0, 1, 11) ** 2)
def trapezium(x: np.ndarray, y: np.ndarray) -> float:
    area = 0.0
    for i in range(1, len(x)):
        area += 0.5 * (x[i] - x[i - 1]) * (y[i] + y[i - 1])
    return area


@program(np.array([1.0, 0.0]), 0.05, 12)
def runge_kutta(y: np.ndarray, h: float, steps: int) -> np.ndarray:
    def f(y: np.ndarray) -> np.ndarray:
        return np.array([y[1], -y[0]])

    out = np.zeros((steps, 2))
    for i in range(steps):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out[i] = y
    return out


@program(rng.random((20, 3)), rng.random(20), 0.1, 30)
def linear_regression(x: np.ndarray, y: np.ndarray, rate: float, rounds: int) -> tuple[np.ndarray, float]:
    w = np.zeros(x.shape[1])
    b = 0.0
    n = len(y)
    for _ in range(rounds):
        error = x @ w + b - y
        w -= rate * (x.T @ error) / n
        b -= rate * error.sum() / n
    return w, b


@program(rng.random((20, 2)) - 0.5, rng.integers(0, 2, 20), 5)
def perceptron(x: np.ndarray, y: np.ndarray, rounds: int) -> np.ndarray:
    w = np.zeros(x.shape[1] + 1)
    for _ in range(rounds):
        for i in range(len(x)):
            guess = 1 if x[i] @ w[1:] + w[0] > 0 else 0
            step = y[i] - guess
            w[1:] += step * x[i]
            w[0] += step
    return w


@program(rng.random((6, 4)))
def standardised(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=0)) / x.std(axis=0)


@program(rng.random((3, 5)))
def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@program(np.frombuffer(b"the quick brown fox", dtype=np.uint8))
def letters(text: np.ndarray) -> np.ndarray:
    counts = np.zeros(26, dtype=np.int64)
    for c in text:
        if 97 <= c <= 122:
            counts[c - 97] += 1
    return counts


@program(np.frombuffer(b"hello world", dtype=np.uint8))
def fletcher(data: np.ndarray) -> int:
    a = b = 0
    for byte in data:
        a = (a + int(byte)) % 255
        b = (b + a) % 255
    return b * 256 + a


@program(np.frombuffer(b"hello world", dtype=np.uint8))
def byte_sum(data: np.ndarray):
    total = np.uint8(0)
    for byte in data:
        total = total + byte
    return total


@program(np.array([3, 1, 1, 2, 3, 3]))
def run_lengths(a: np.ndarray) -> tuple[list[int], list[int]]:
    values: list[int] = []
    lengths: list[int] = []
    k = 0
    while k < len(a):
        start = k
        while k < len(a) and a[k] == a[start]:
            k += 1
        values.append(int(a[start]))
        lengths.append(k - start)
    return values, lengths


@program(rng.random((5, 5)), 1e-6)
def is_symmetric(a: np.ndarray, tolerance: float) -> bool:
    for i in range(len(a)):
        for j in range(i):
            if abs(a[i, j] - a[j, i]) > tolerance:
                return False
    return True


@program(rng.integers(-5, 6, 20))
def best_run(a: np.ndarray) -> tuple[int, int, int]:
    best, here, start = a[0], a[0], 0
    first = last = 0
    for i in range(1, len(a)):
        if here < 0:
            here, start = a[i], i
        else:
            here += a[i]
        if here > best:
            best, first, last = here, start, i
    return best, first, last


@program(rng.random(16).astype(np.float32), np.float32(0.5))
def scaled_single(x: np.ndarray, factor: float) -> np.ndarray:
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] * factor + 0.1
    return out


@program(rng.random(8) + 1j * rng.random(8))
def slow_fourier(x: np.ndarray) -> np.ndarray:
    n = len(x)
    out = np.zeros(n, dtype=np.complex128)
    for k in range(n):
        for j in range(n):
            angle = -2 * np.pi * k * j / n
            out[k] += x[j] * complex(math.cos(angle), math.sin(angle))
    return out


@program(rng.random((4, 6)), np.array([2, 0, 3]))
def picked_rows(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return x[rows][:, ::2].sum(axis=1)


@program(rng.random(20), 4)
def autocorrelation(x: np.ndarray, lags: int) -> np.ndarray:
    x = x - x.mean()
    out = np.zeros(lags)
    for k in range(lags):
        out[k] = np.dot(x[: len(x) - k], x[k:]) / np.dot(x, x)
    return out


@program(rng.random(10), rng.random(10))
def correlation(x: np.ndarray, y: np.ndarray) -> float:
    dx, dy = x - np.mean(x), y - np.mean(y)
    return (dx * dy).sum() / np.sqrt((dx**2).sum() * (dy**2).sum())


@program(rng.random(9))
def summary(x: np.ndarray) -> dict[str, float]:
    s = np.sort(x)
    middle = s[len(s) // 2] if len(s) % 2 else (s[len(s) // 2 - 1] + s[len(s) // 2]) / 2
    return {"mean": x.mean(), "median": middle, "low": x.min(), "high": x.max(), "spread": x.std(ddof=1)}


@program(np.array([4, 2, 7, 1, 9, 3]))
def next_greater(a: np.ndarray) -> np.ndarray:
    out = np.full(len(a), -1)
    stack: list[int] = []
    for i in range(len(a)):
        while len(stack) > 0 and a[stack[-1]] < a[i]:
            out[stack.pop()] = a[i]
        stack.append(i)
    return out


@program(rng.random((3, 4, 5)))
def summed_area(x: np.ndarray) -> np.ndarray:
    return np.cumsum(np.cumsum(x, axis=0), axis=1)[-1, -1]


@program(12345, 10)
def random_numbers(seed: int, n: int) -> np.ndarray:
    out = np.zeros(n)
    state = seed
    for i in range(n):
        state = (1103515245 * state + 12345) % 2147483648
        out[i] = state / 2147483648
    return out


@program(rng.integers(0, 5, (5, 5)))
def pascal_paths(grid: np.ndarray) -> int:
    n, m = grid.shape
    cost = np.zeros((n, m), dtype=grid.dtype)
    for i in range(n):
        for j in range(m):
            if i == 0 and j == 0:
                cost[i, j] = grid[i, j]
            elif i == 0:
                cost[i, j] = cost[i, j - 1] + grid[i, j]
            elif j == 0:
                cost[i, j] = cost[i - 1, j] + grid[i, j]
            else:
                cost[i, j] = grid[i, j] + min(cost[i - 1, j], cost[i, j - 1])
    return cost[-1, -1]


@program(np.array([1.0, 1.0, 1.0]), 0.01, 20)
def lorenz(y: np.ndarray, h: float, n: int):
    def f(y: np.ndarray) -> np.ndarray:
        return np.array([10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]])

    for _ in range(n):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        y = y + h * k2
    return y


@program(rng.random(4).astype(np.float32), 3)
def literal_of_both_kinds(x: np.ndarray, n: int):
    total = np.zeros((2, 3))
    for i in range(n):
        total += np.array([[x[0], i, 0.5], [1, x[1] * i, True]])
    return total, np.array([x[0], x[1]]), np.array((x[0], 1)), np.array([n, 1.5], dtype=np.float32), np.array([[n, 2]])


@program(rng.random(5), rng.random(5))
def literal_of_arrays(x: np.ndarray, y: np.ndarray):
    return np.array([x, y]), np.array([x[:2], y[1:3]])


@program(np.arange(3, dtype=np.int8), np.arange(3, dtype=np.uint8))
def literal_of_small_ints(x: np.ndarray, y: np.ndarray):
    return np.array([x[1], y[1]]), np.array([x[1], 300]), np.array([x[1] > 0, y[2]]), np.array([1.9, x[2]], dtype=int)


@program(rng.random(40), 7)
def counted_at(x: np.ndarray, bins: int):
    counts = np.zeros(bins, dtype=np.int64)
    places = np.minimum((x * bins).astype(np.int64), bins - 1)
    np.add.at(counts, places, 1)
    sums = np.zeros(bins)
    np.add.at(sums, places, x)
    np.subtract.at(sums, places[:3], 0.5)
    table = np.zeros((2, bins), dtype=np.float32)
    np.add.at(table, (1, places), x.astype(np.float32))
    np.add.at(table, 0, 2)
    return counts, sums, table
