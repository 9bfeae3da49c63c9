"""Images and grids, as users of Numba write them: one text for it, for Python and for Flambeau."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.programs.numba_users.examples import example, random


@example(lambda n: (random(2).rand(n, n), 2, 1.5, 0.2), 60, small=7)
def bilateral(img, r, ss, sr):
    h, w = img.shape
    out = np.zeros_like(img)
    for i in range(r, h - r):
        for j in range(r, w - r):
            acc = 0.0
            tot = 0.0
            for di in range(-r, r + 1):
                for dj in range(-r, r + 1):
                    d = img[i + di, j + dj] - img[i, j]
                    g = math.exp(-(di * di + dj * dj) / (2 * ss * ss) - d * d / (2 * sr * sr))
                    acc += g * img[i + di, j + dj]
                    tot += g
            out[i, j] = acc / tot
    return out


@example(lambda n: (random(4).rand(n, n + 20), random(5).rand(5, 5)), 60, small=7)
@example(lambda n: (random(4).rand(n, n + 20), random(5).rand(3, 3)), 61, small=6)
def convolve2d(img, k):
    h, w = img.shape
    kh, kw = k.shape
    out = np.zeros((h - kh + 1, w - kw + 1))
    for i in range(h - kh + 1):
        for j in range(w - kw + 1):
            s = 0.0
            for a in range(kh):
                for b in range(kw):
                    s += img[i + a, j + b] * k[a, b]
            out[i, j] = s
    return out


@example(lambda n: (random(13).rand(n, n) < 0.55,), 60, small=8)
def label(img):
    h, w = img.shape
    out = np.zeros((h, w), dtype=np.int32)
    stack = np.empty((h * w, 2), dtype=np.int64)
    n = 0
    for i in range(h):
        for j in range(w):
            if img[i, j] and out[i, j] == 0:
                n += 1
                top = 0
                stack[top, 0] = i
                stack[top, 1] = j
                top += 1
                out[i, j] = n
                while top > 0:
                    top -= 1
                    y = stack[top, 0]
                    x = stack[top, 1]
                    for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                        yy = y + dy
                        xx = x + dx
                        if 0 <= yy < h and 0 <= xx < w and img[yy, xx] and out[yy, xx] == 0:
                            out[yy, xx] = n
                            stack[top, 0] = yy
                            stack[top, 1] = xx
                            top += 1
    return out, n


@example(lambda n: ((random(21).rand(n, n) < 0.3).astype(np.uint8), 5), 64, small=6)
def life(g, steps):
    h, w = g.shape
    a = g.copy()
    b = np.zeros_like(a)
    for _ in range(steps):
        for i in range(h):
            for j in range(w):
                n = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            n += a[(i + di) % h, (j + dj) % w]
                if n == 3 or (n == 2 and a[i, j] == 1):
                    b[i, j] = 1
                else:
                    b[i, j] = 0
        a, b = b, a
    return a


@example(lambda n: (n, 0.6), 40, small=6)
def percolation(n, p):
    np.random.seed(7)
    grid = np.random.rand(n, n) < p
    full = np.zeros((n, n), dtype=np.bool_)
    for j in range(n):
        full[0, j] = grid[0, j]
    changed = True
    while changed:
        changed = False
        for i in range(n):
            for j in range(n):
                if grid[i, j] and not full[i, j]:
                    if (i > 0 and full[i - 1, j]) or (j > 0 and full[i, j - 1]) or (j < n - 1 and full[i, j + 1]) or (i < n - 1 and full[i + 1, j]):
                        full[i, j] = True
                        changed = True
    return full[n - 1].any()


@example(lambda n: (n, n + 10), 30, small=3)
def ray_march(h, w):
    img = np.zeros((h, w), dtype=np.float32)
    for i in range(h):
        for j in range(w):
            dx = (j - w / 2) / w
            dy = (i - h / 2) / h
            dz = 1.0
            n = math.sqrt(dx * dx + dy * dy + dz * dz)
            dx /= n
            dy /= n
            dz /= n
            t = 0.0
            hit = False
            for _ in range(64):
                x = t * dx
                y = t * dy
                z = t * dz - 3.0
                d = math.sqrt(x * x + y * y + z * z) - 1.0
                if d < 1e-3:
                    hit = True
                    break
                if t > 10.0:
                    break
                t += d
            if hit:
                img[i, j] = 1.0 / (1.0 + t)
    return img


@example(lambda n: (n, n + 20, 50), 40, small=3)
def mandelbrot(h, w, it):
    out = np.zeros((h, w), dtype=np.int32)
    for i in range(h):
        for j in range(w):
            c = complex(-2.0 + 3.0 * j / w, -1.0 + 2.0 * i / h)
            z = 0j
            n = 0
            while n < it and z.real * z.real + z.imag * z.imag <= 4.0:
                z = z * z + c
                n += 1
            out[i, j] = n
    return out


@example(lambda n: (random(51).rand(n, n).astype(np.float32), 0.5), 30, small=6)
def float32_blur(a, s):
    h, w = a.shape
    out = np.zeros((h, w), dtype=np.float32)
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            out[i, j] = a[i, j] * (1 - s) + s * 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return out


@example(lambda n: (random(66).rand(n, n),), 64, small=6)
def sobel(a):
    h, w = a.shape
    out = np.zeros((h, w))
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            gx = a[i - 1, j + 1] + 2 * a[i, j + 1] + a[i + 1, j + 1] - a[i - 1, j - 1] - 2 * a[i, j - 1] - a[i + 1, j - 1]
            gy = a[i + 1, j - 1] + 2 * a[i + 1, j] + a[i + 1, j + 1] - a[i - 1, j - 1] - 2 * a[i - 1, j] - a[i - 1, j + 1]
            out[i, j] = math.sqrt(gx * gx + gy * gy)
    return out


@example(lambda n: (random(67).randint(0, 30, (n, n)),), 40, small=7)
def dist_transform(a):
    h, w = a.shape
    d = np.full((h, w), 10000)
    for i in range(h):
        for j in range(w):
            if a[i, j] == 0:
                d[i, j] = 0
            else:
                if i > 0:
                    d[i, j] = min(d[i, j], d[i - 1, j] + 1)
                if j > 0:
                    d[i, j] = min(d[i, j], d[i, j - 1] + 1)
    for i in range(h - 1, -1, -1):
        for j in range(w - 1, -1, -1):
            if i < h - 1:
                d[i, j] = min(d[i, j], d[i + 1, j] + 1)
            if j < w - 1:
                d[i, j] = min(d[i, j], d[i, j + 1] + 1)
    return d
