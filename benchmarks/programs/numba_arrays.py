"""Numba's form of array programs where loops beat whole expressions. `prange` is Numba's when it compiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = Any

prange = range


def erf_chain(x: Array, y: Array) -> Array:
    out = np.empty_like(x)
    half, one, scale = np.float32(0.5), np.float32(1.0), np.float32(0.7071067811865476)
    for i in prange(x.size):
        out[i] = half * x[i] * (one + math.erf(x[i] * scale)) + y[i] * math.erf(y[i])
    return out


def softmax(x: Array) -> Array:
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            out[i, j] = math.exp(x[i, j] - top)
            total += out[i, j]
        scale = np.float32(1.0) / total
        for j in range(x.shape[1]):
            out[i, j] *= scale
    return out


def log_softmax(x: Array) -> Array:
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            total += np.float32(math.exp(x[i, j] - top))
        shift = top + np.float32(math.log(total))
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] - shift
    return out


def layer_norm(x: Array, w: Array, b: Array) -> Array:
    out = np.empty_like(x)
    width = np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            total += x[i, j]
        mean = total / width
        square = np.float32(0.0)
        for j in range(x.shape[1]):
            square += (x[i, j] - mean) * (x[i, j] - mean)
        scale = np.float32(1.0) / np.float32(math.sqrt(square / width + np.float32(1e-5)))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) * scale * w[j] + b[j]
    return out


def batch_norm(x: Array, w: Array, b: Array) -> Array:
    height = np.float32(x.shape[0])
    mean = np.zeros(x.shape[1], x.dtype)
    square = np.zeros(x.shape[1], x.dtype)
    for i in prange(x.shape[0]):
        mean += x[i]
    mean /= height
    for i in prange(x.shape[0]):
        square += (x[i] - mean) * (x[i] - mean)
    scale = w / np.sqrt(square / height + np.float32(1e-5))
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean[j]) * scale[j] + b[j]
    return out


def sum_all(x: Array) -> Any:
    total = np.float32(0.0)
    for i in prange(x.shape[0]):
        part = np.float32(0.0)
        for j in range(x.shape[1]):
            part += x[i, j]
        total += part
    return total


def sum_0(x: Array) -> Array:
    out = np.zeros(x.shape[1], x.dtype)
    for i in prange(x.shape[0]):
        out += x[i]
    return out


def sum_1(x: Array) -> Array:
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total
    return out


def var_all(x: Array) -> Any:
    total = np.float32(0.0)
    for i in prange(x.shape[0]):
        part = np.float32(0.0)
        for j in range(x.shape[1]):
            part += x[i, j]
        total += part
    mean = total / np.float32(x.size)
    square = np.float32(0.0)
    for i in prange(x.shape[0]):
        piece = np.float32(0.0)
        for j in range(x.shape[1]):
            piece += (x[i, j] - mean) * (x[i, j] - mean)
        square += piece
    return square / np.float32(x.size)


def var_0(x: Array) -> Array:
    mean = np.zeros(x.shape[1], x.dtype)
    out = np.zeros(x.shape[1], x.dtype)
    for i in prange(x.shape[0]):
        mean += x[i]
    mean /= np.float32(x.shape[0])
    for i in prange(x.shape[0]):
        out += (x[i] - mean) * (x[i] - mean)
    return out / np.float32(x.shape[0])


def var_1(x: Array) -> Array:
    out = np.empty(x.shape[0], x.dtype)
    width = np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            total += x[i, j]
        mean = total / width
        square = np.float32(0.0)
        for j in range(x.shape[1]):
            square += (x[i, j] - mean) * (x[i, j] - mean)
        out[i] = square / width
    return out


def argmax_all(x: Array) -> Any:
    best = np.empty(x.shape[0], np.int64)
    for i in prange(x.shape[0]):
        best[i] = np.argmax(x[i])
    row = 0
    for i in range(x.shape[0]):
        if x[i, best[i]] > x[row, best[row]]:
            row = i
    return row * x.shape[1] + best[row]


def argmax_0(x: Array) -> Array:
    best = np.zeros(x.shape[1], np.int64)
    top = x[0].copy()
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > top[j]:
                top[j] = x[i, j]
                best[j] = i
    return best


def argmax_1(x: Array) -> Array:
    best = np.empty(x.shape[0], np.int64)
    for i in prange(x.shape[0]):
        place = 0
        for j in range(1, x.shape[1]):
            if x[i, j] > x[i, place]:
                place = j
        best[i] = place
    return best


def pairwise(x: Array) -> Array:
    n = x.shape[0]
    out = np.empty((n, n), x.dtype)
    for i in prange(n):
        for j in range(n):
            total = np.float32(0.0)
            for k in range(x.shape[1]):
                d = x[i, k] - x[j, k]
                total += d * d
            out[i, j] = math.sqrt(total)
    return out


def outer(x: Array, y: Array) -> Array:
    out = np.empty((x.size, y.size), x.dtype)
    for i in prange(x.size):
        for j in range(y.size):
            out[i, j] = math.exp(-abs(x[i] - y[j]))
    return out


def three_dimensions(x: Array, y: Array, z: Array) -> Array:
    out = np.empty((x.shape[0], y.shape[0], x.shape[1]), x.dtype)
    for i in prange(x.shape[0]):
        for j in range(y.shape[0]):
            for k in range(x.shape[1]):
                out[i, j, k] = math.tanh(x[i, k] * y[j, k] + z[i, j])
    return out


def rows_at(table: Array, index: Array) -> Array:
    out = np.empty((index.size, table.shape[1]), table.dtype)
    for i in prange(index.size):
        out[i] = table[index[i]]
    return out


def added_at(x: Array, index: Array, source: Array) -> Array:
    out = x.copy()
    for i in range(index.size):
        out[index[i]] += source[i]
    return out


def weighted_at(x: Array, index: Array, source: Array) -> Array:
    out = x.copy()
    for i in range(index.size):
        out[index[i]] += math.exp(source[i]) * np.float32(0.5)
    return out
