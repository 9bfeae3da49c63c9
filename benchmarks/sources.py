"""The workloads as Flambeau programs, and as the loops that Numba likes best."""

from __future__ import annotations

import math

import numpy as np

import flambeau
from flambeau import Tensor


def add_one(x: Tensor) -> Tensor:
    return x + 1.0


def gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + flambeau.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def chain(x: Tensor, y: Tensor) -> Tensor:
    a = x * y + 0.5
    b = flambeau.exp(-a * a)
    c = flambeau.sigmoid(x)
    d = flambeau.log(flambeau.abs(y) + 1.0)
    f = flambeau.where(x > 0.0, b * c, d - a)
    g = flambeau.tanh(f) * 0.7 + c * 0.3
    h = flambeau.sqrt(flambeau.abs(g) + 1.0)
    k = flambeau.where(h > 1.2, h - d, h + b)
    return k * g - f / h


def softmax(x: Tensor) -> Tensor:
    return flambeau.softmax(x, -1)


def layer_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return flambeau.layer_norm(x, [1024], w, b)


def sum_all(x: Tensor) -> Tensor:
    return x.sum()


def sum_0(x: Tensor) -> Tensor:
    return x.sum(0)


def sum_1(x: Tensor) -> Tensor:
    return x.sum(1)


def var_all(x: Tensor) -> Tensor:
    return x.var([0, 1], correction=0)


def var_0(x: Tensor) -> Tensor:
    return x.var(0, correction=0)


def var_1(x: Tensor) -> Tensor:
    return x.var(1, correction=0)


def numba_softmax(x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            out[i, j] = math.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


def numba_layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    width = np.float32(x.shape[1])
    for i in range(x.shape[0]):
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


def _numba_sum_all(x: np.ndarray) -> np.ndarray:
    total = np.float32(0.0)
    flat = x.ravel()
    for i in range(flat.size):
        total += flat[i]
    return total


def _numba_sum_0(x: np.ndarray) -> np.ndarray:
    out = np.zeros(x.shape[1], x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += x[i, j]
    return out


def _numba_sum_1(x: np.ndarray) -> np.ndarray:
    out = np.empty(x.shape[0], x.dtype)
    for i in range(x.shape[0]):
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total
    return out


def _numba_var_all(x: np.ndarray) -> np.ndarray:
    flat = x.ravel()
    total = np.float32(0.0)
    for i in range(flat.size):
        total += flat[i]
    mean = total / np.float32(flat.size)
    square = np.float32(0.0)
    for i in range(flat.size):
        square += (flat[i] - mean) * (flat[i] - mean)
    return square / np.float32(flat.size)


def _numba_var_0(x: np.ndarray) -> np.ndarray:
    mean = np.zeros(x.shape[1], x.dtype)
    out = np.zeros(x.shape[1], x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            mean[j] += x[i, j]
    mean /= np.float32(x.shape[0])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += (x[i, j] - mean[j]) * (x[i, j] - mean[j])
    return out / np.float32(x.shape[0])


def _numba_var_1(x: np.ndarray) -> np.ndarray:
    out = np.empty(x.shape[0], x.dtype)
    for i in range(x.shape[0]):
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            total += x[i, j]
        mean = total / np.float32(x.shape[1])
        square = np.float32(0.0)
        for j in range(x.shape[1]):
            square += (x[i, j] - mean) * (x[i, j] - mean)
        out[i] = square / np.float32(x.shape[1])
    return out


NUMBA_REDUCTIONS = {
    ("sum", None): _numba_sum_all, ("sum", 0): _numba_sum_0, ("sum", 1): _numba_sum_1,
    ("var", None): _numba_var_all, ("var", 0): _numba_var_0, ("var", 1): _numba_var_1,
}  # fmt: skip
