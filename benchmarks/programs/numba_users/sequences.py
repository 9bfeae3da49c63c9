"""Alignment, filters, prices, hidden states, as users of Numba write them: one text for it, Python and Flambeau."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.programs.numba_users.examples import example, hidden_states, random


@example(lambda n: (random(15).rand(n), random(16).rand(n)), 150, small=9)
def dtw(a, b):
    n = len(a)
    m = len(b)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            c = abs(a[i - 1] - b[j - 1])
            d[i, j] = c + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[n, m]


@example(lambda n: (random(17).randint(0, 4, n), random(18).randint(0, 4, n + 20)), 100, small=5)
def levenshtein(a, b):
    n = len(a)
    m = len(b)
    prev = np.arange(m + 1)
    cur = np.zeros(m + 1, dtype=np.int64)
    for i in range(n):
        cur[0] = i + 1
        for j in range(m):
            cost = 0 if a[i] == b[j] else 1
            cur[j + 1] = min(prev[j + 1] + 1, cur[j] + 1, prev[j] + cost)
        prev, cur = cur, prev
    return prev[m]


@example(lambda n: (random(17).randint(0, 4, n).astype(np.uint8), random(18).randint(0, 4, n + 20).astype(np.uint8)), 100, small=5)
def smith_waterman(a, b):
    h = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int32)
    best = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            m = h[i - 1, j - 1] + (2 if a[i - 1] == b[j - 1] else -1)
            s = max(0, m, h[i - 1, j] - 1, h[i, j - 1] - 1)
            h[i, j] = s
            if s > best:
                best = s
    return best


@example(lambda n: (random(26).rand(n), 0.1), 5000, small=20)
def ewma(x, alpha):
    out = np.empty(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = alpha * x[i] + (1 - alpha) * out[i - 1]
    return out


@example(lambda n: (np.sort(random(27).randint(0, 2 * n, n)), random(27).rand(n), 60), 3000, small=90)
def resample_bars(t, price, width):
    n = (t[-1] - t[0]) // width + 1
    o = np.full(n, np.nan)
    h = np.full(n, -np.inf)
    l = np.full(n, np.inf)
    c = np.full(n, np.nan)
    for i in range(len(t)):
        b = (t[i] - t[0]) // width
        p = price[i]
        if np.isnan(o[b]):
            o[b] = p
        h[b] = max(h[b], p)
        l[b] = min(l[b], p)
        c[b] = p
    return o, h, l, c


@example(lambda n: (np.cumprod(1 + 0.01 * random(28).randn(n)), 10, 30, 0.001), 2000, small=60)
def backtest(p, fast, slow, fee):
    n = len(p)
    cash = 1.0
    pos = 0.0
    peak = 1.0
    dd = 0.0
    trades = 0
    sf = 0.0
    ss = 0.0
    for i in range(n):
        sf += p[i]
        ss += p[i]
        if i >= fast:
            sf -= p[i - fast]
        if i >= slow:
            ss -= p[i - slow]
        if i >= slow - 1:
            f = sf / fast
            s = ss / slow
            if f > s and pos == 0:
                pos = cash * (1 - fee) / p[i]
                cash = 0.0
                trades += 1
            elif f < s and pos > 0:
                cash = pos * p[i] * (1 - fee)
                pos = 0.0
                trades += 1
        v = cash + pos * p[i]
        peak = max(peak, v)
        dd = max(dd, 1 - v / peak)
    return cash + pos * p[-1], dd, trades


@example(lambda n: (random(29).randn(n), 1.0, 0.01, 0.1), 200, small=9)
def kalman(z, dt, q, r):
    F = np.array([[1.0, dt], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    x = np.zeros((2, 1))
    P = np.eye(2)
    Q = q * np.eye(2)
    out = np.empty(len(z))
    for i in range(len(z)):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + r
        K = P @ H.T / S[0, 0]
        y = z[i] - (H @ x)[0, 0]
        x = x + K * y
        P = (np.eye(2) - K @ H) @ P
        out[i] = x[0, 0]
    return out


@example(hidden_states, 100, small=9)
def hmm_forward(obs, pi, A, B):
    T = len(obs)
    n = len(pi)
    al = np.zeros(n)
    ll = 0.0
    for i in range(n):
        al[i] = pi[i] * B[i, obs[0]]
    for t in range(1, T):
        nw = np.zeros(n)
        for j in range(n):
            s = 0.0
            for i in range(n):
                s += al[i] * A[i, j]
            nw[j] = s * B[j, obs[t]]
        c = nw.sum()
        ll += math.log(c)
        al = nw / c
    return ll


@example(hidden_states, 100, small=9)
def hmm_viterbi(obs, pi, A, B):
    T = len(obs)
    n = len(pi)
    d = np.zeros((T, n))
    bp = np.zeros((T, n), dtype=np.int32)
    for i in range(n):
        d[0, i] = np.log(pi[i]) + np.log(B[i, obs[0]])
    for t in range(1, T):
        for j in range(n):
            best = -np.inf
            arg = 0
            for i in range(n):
                v = d[t - 1, i] + np.log(A[i, j])
                if v > best:
                    best = v
                    arg = i
            d[t, j] = best + np.log(B[j, obs[t]])
            bp[t, j] = arg
    path = np.zeros(T, dtype=np.int32)
    path[T - 1] = np.argmax(d[T - 1])
    for t in range(T - 2, -1, -1):
        path[t] = bp[t + 1, path[t + 1]]
    return path


@example(lambda n: (random(61).randint(1, 30, n), random(62).randint(1, 100, n), 300), 40, small=5)
def knapsack(w, v, cap):
    dp = np.zeros(cap + 1, dtype=np.int64)
    for i in range(len(w)):
        for c in range(cap, w[i] - 1, -1):
            dp[c] = max(dp[c], dp[c - w[i]] + v[i])
    return dp[cap]


@example(lambda n: (random(63).rand(n),), 2000, small=20)
def welford(x):
    n = 0
    m = 0.0
    m2 = 0.0
    for v in x:
        n += 1
        d = v - m
        m += d / n
        m2 += d * (v - m)
    return m, m2 / (n - 1)


@example(lambda n: (random(68).rand(n), random(69).rand(7)), 100, small=12)
def fir(x, h):
    n = len(x)
    m = len(h)
    y = np.zeros(n)
    for i in range(n):
        for k in range(m):
            if i - k >= 0:
                y[i] += h[k] * x[i - k]
    return y
