"""Functions with arguments on which facts are tried: the examples, the benchmarks' sources, and numerical loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import flambeau
from examples import fannkuch, image, kmeans, life, lstm, mandelbrot, nbody, newton, spectral_norm
from flambeau import Tensor


def levenshtein(a: Tensor, b: Tensor) -> int:
    n, m = a.size(0), b.size(0)
    prev = flambeau.arange(m + 1)
    cur = flambeau.zeros(m + 1, dtype=flambeau.int64)
    for i in range(n):
        cur[0] = i + 1
        for j in range(m):
            cost = 0 if a[i] == b[j] else 1
            cur[j + 1] = min(int(prev[j + 1]) + 1, int(cur[j]) + 1, int(prev[j]) + cost)
        prev, cur = cur, prev
    return int(prev[m])


def floyd_warshall(d: Tensor) -> Tensor:
    d = d.clone()
    n = d.size(0)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if bool(through < d[i, j]):
                    d[i, j] = through
    return d


def seidel(a: Tensor, rounds: int) -> Tensor:
    n = a.size(0)
    a = a.clone()
    for _ in range(rounds):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                total = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j]
                a[i, j] = (total + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]) / 9.0
    return a


def jacobi(a: Tensor, rounds: int) -> Tensor:
    b = a.clone()
    for _ in range(rounds):
        b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a, b = b, a
    return a


def cholesky(a: Tensor) -> Tensor:
    n = a.shape[0]
    lower = flambeau.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            total = float(a[i, j])
            for k in range(j):
                total -= float(lower[i, k]) * float(lower[j, k])
            if i == j:
                lower[i, j] = total**0.5
            else:
                lower[i, j] = total / float(lower[j, j])
    return lower


def sieve(n: int) -> Tensor:
    prime = flambeau.ones(n, dtype=flambeau.bool)
    prime[:2] = False
    i = 2
    while i * i < n:
        if prime[i]:
            prime[i * i :: i] = False
        i += 1
    return prime.nonzero().flatten()


def collatz(n: int) -> int:
    best, longest = 0, 0
    for start in range(1, n):
        value, steps = start, 0
        while value != 1 and steps < 10000:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps += 1
        if steps > longest:
            best, longest = start, steps
    return best


def crc16(data: Tensor) -> int:
    crc = 0xFFFF
    for i in range(data.numel()):
        crc ^= int(data[i])
        for _ in range(8):
            crc = (crc >> 1) ^ 0xA001 if crc & 1 else crc >> 1
    return crc


def fft(re: Tensor, im: Tensor) -> tuple[Tensor, Tensor]:
    n = re.numel()
    re, im = re.clone(), im.clone()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            held = re[i].clone()
            re[i] = re[j]
            re[j] = held
    span = 2
    while span <= n:
        angle = -2.0 * 3.141592653589793 / span
        k = flambeau.arange(span // 2, dtype=re.dtype)
        wr, wi = flambeau.cos(k * angle), flambeau.sin(k * angle)
        for start in range(0, n, span):
            half = span // 2
            ur, ui = re[start : start + half].clone(), im[start : start + half].clone()
            vr, vi = re[start + half : start + span], im[start + half : start + span]
            tr, ti = vr * wr - vi * wi, vr * wi + vi * wr
            re[start : start + half], im[start : start + half] = ur + tr, ui + ti
            re[start + half : start + span], im[start + half : start + span] = ur - tr, ui - ti
        span *= 2
    return re, im


def power_iteration(a: Tensor, tolerance: float) -> tuple[Tensor, int]:
    v = flambeau.ones(a.size(1), dtype=a.dtype)
    old = flambeau.zeros([], dtype=a.dtype)
    steps = 0
    while steps < 100:
        w = a @ v
        norm = w.norm()
        v = w / norm
        if abs(float(norm - old)) < tolerance:
            break
        old = norm
        steps += 1
    return v, steps


def perceptron(x: Tensor, w: Tensor, b: Tensor, y: Tensor) -> Tensor:
    hidden = flambeau.relu(flambeau.linear(x, w, b))
    heads = hidden.view(hidden.size(0), 2, -1).transpose(1, 2)
    scores = flambeau.bmm(heads, heads.transpose(1, 2)).softmax(-1)
    mixed = (scores @ heads).reshape([x.shape[0], -1])
    top, which = mixed.max(1, keepdim=True)
    ordered, order = flambeau.sort(mixed, 1)
    best = flambeau.topk(ordered, 2, 1)[0]
    return flambeau.cat([top, best, ordered[:, :1]], 1) + which.to(y.dtype) + y[order[:, 0]].unsqueeze(1)


def collected(x: Tensor, n: int) -> Tensor:
    parts = []
    for i in range(n):
        parts.append(x[i] * float(i))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return flambeau.stack(parts).sum(0) - total


def either(x: Tensor, deep: bool) -> Tensor:
    y = x.to(flambeau.float64) if deep else x.double()
    z = y.mean([0], True) if bool(y.sum() > 0) else y.amax(0, keepdim=True)
    return (z + flambeau.tensor([1.0, 2.0, 3.0], dtype=z.dtype)) * flambeau.full_like(z, 2.0)


def gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + flambeau.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def chosen(x: Tensor, y: Tensor) -> Tensor:
    a = x * y + 0.5
    b = flambeau.exp(-a * a)
    c = flambeau.log(flambeau.abs(y) + 1.0)
    return flambeau.where(x > 0.0, b * flambeau.sigmoid(x), c - a).clamp(-1.0, 1.0)


def rows(x: Tensor, w: Tensor, b: Tensor) -> list[Tensor]:
    normal = flambeau.layer_norm(x, [6], w, b)
    folded = [normal.sum(), normal.sum(0), normal.mean(1), normal.var(1, correction=0), normal.std(0, keepdim=True)]
    folded.append(flambeau.log_softmax(normal, -1))
    folded.append(flambeau.softmax(normal, 0).argmax(1, keepdim=True))
    return folded


def _normal(*shape: int, dtype: Any = np.float32) -> Tensor:
    return flambeau.from_numpy(np.random.default_rng(3).standard_normal(shape).astype(dtype))


def _whole(*shape: int, high: int = 5) -> Tensor:
    return flambeau.from_numpy(np.random.default_rng(4).integers(0, high, shape))


def corpus() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Functions and arguments."""
    x = _normal(8, 6)
    positive = flambeau.from_numpy(np.eye(4) * 4.0 + 1.0)
    yield levenshtein, (_whole(4), _whole(5))
    yield floyd_warshall, (_normal(4, 4, dtype=np.float64),)
    yield seidel, (_normal(5, 5, dtype=np.float64), 2)
    yield jacobi, (_normal(5, 5, dtype=np.float64), 3)
    yield cholesky, (positive,)
    yield sieve, (30,)
    yield collatz, (12,)
    yield crc16, (_whole(5, high=200),)
    yield fft, (_normal(8, dtype=np.float64), _normal(8, dtype=np.float64))
    yield power_iteration, (positive, 1e-9)
    yield perceptron, (_normal(6, 3), _normal(4, 3), _normal(4), _normal(6))
    yield collected, (x, 3)
    yield either, (_normal(4, 3), True)
    yield from _examples()
    yield gelu, (x,)
    yield chosen, (x, x)
    yield rows, (x, _normal(6), _normal(6))


def _examples() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    x, v, m = nbody.bodies()
    yield nbody.simulate, (x, v, m, 3)
    yield spectral_norm.spectral_norm, (6,)
    yield fannkuch.fannkuch, (4,)
    yield mandelbrot.escape_time, (0.1, 0.2, 10)
    yield mandelbrot.area, (5, 4, 6)
    yield life.place, (8, 8, life.GLIDER, 1, 1)
    yield life.run, (_whole(8, 8, high=2), 3)
    yield kmeans.kmeans, (_normal(12, 2, dtype=np.float64), _normal(3, 2, dtype=np.float64), 9)
    yield kmeans.inertia, (_normal(12, 2), _normal(3, 2), _whole(12, high=3))
    yield image.otsu, (flambeau.rand(6, 5, dtype=flambeau.float64), 8)
    yield image.sobel, (_normal(6, 5, dtype=np.float64),)
    yield lstm.lstm, lstm.arguments(3, 2, 3, 4)
    yield newton.root, ([1.0, 0.0, -2.0, -5.0], 2.0, 1e-14)
    yield newton.square_root, (_normal(4, dtype=np.float64).abs() + 0.5, 1e-12)
