"""Small arrays made, sorted and multiplied within loops, the same text for Flambeau, Numba and Python."""

from __future__ import annotations

import math

import numpy as np


def lorenz(y: np.ndarray, h: float, n: int) -> np.ndarray:
    for _ in range(n):
        k1 = np.array([10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]])
        z = y + 0.5 * h * k1
        k2 = np.array([10.0 * (z[1] - z[0]), z[0] * (28.0 - z[2]) - z[1], z[0] * z[1] - 8.0 / 3.0 * z[2]])
        y = y + h * k2
    return y


def median_filter(image: np.ndarray) -> np.ndarray:
    out = np.zeros_like(image)
    window = np.empty(9)
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            k = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    window[k] = image[i + di, j + dj]
                    k += 1
            window.sort()
            out[i, j] = window[4]
    return out


def kalman(measured: np.ndarray, noise: float) -> np.ndarray:
    x = np.zeros(2)
    spread = np.eye(2)
    step = np.array([[1.0, 1.0], [0.0, 1.0]])
    seen = np.array([[1.0, 0.0]])
    out = np.zeros(len(measured))
    for t in range(len(measured)):
        x = step @ x
        spread = step @ spread @ step.T + 0.01 * np.eye(2)
        gain = spread[:, 0] / (spread[0, 0] + noise)
        x = x + gain * (measured[t] - x[0])
        spread = spread - np.outer(gain, seen @ spread)
        out[t] = x[0]
    return out


def gram_schmidt(a: np.ndarray) -> np.ndarray:
    q = a.copy()
    for j in range(a.shape[0]):
        for k in range(j):
            q[j] -= np.dot(q[k], q[j]) * q[k]
        q[j] /= np.linalg.norm(q[j])
    return q


def floored_counts(x: np.ndarray, bins: int) -> np.ndarray:
    counts = np.zeros(bins, dtype=np.int64)
    for i in range(len(x)):
        counts[min(math.floor(x[i] * bins), bins - 1)] += 1
    return counts


def interpolated(at: np.ndarray, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    out = np.zeros(len(at))
    for i in range(len(at)):
        k = min(max(np.searchsorted(xs, at[i]), 1), len(xs) - 1)
        share = (at[i] - xs[k - 1]) / (xs[k] - xs[k - 1])
        out[i] = ys[k - 1] + share * (ys[k] - ys[k - 1])
    return out


def sinkhorn(k: np.ndarray, a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    u = np.ones_like(a)
    v = np.ones_like(b)
    turned = np.ascontiguousarray(k.T)
    for _ in range(n):
        u = a / (k @ v)
        v = b / (turned @ u)
    return u.reshape(-1, 1) * k * v


def logistic_regression(x: np.ndarray, y: np.ndarray, w: np.ndarray, n: int) -> np.ndarray:
    turned = np.ascontiguousarray(x.T)
    for _ in range(n):
        p = 1.0 / (1.0 + np.exp(-(x @ w)))
        w = w - 0.1 * (turned @ (p - y)) / x.shape[0]
    return w
