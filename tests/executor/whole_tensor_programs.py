"""Programs over whole tensors as users write them, each a function of some of `PARAMETERS`, by what they are about.

They call `np` for the package, as programs of NumPy and PyTorch do, and mean the same with PyTorch in its place.
"""

from __future__ import annotations

PARAMETERS = {
    **dict.fromkeys(("x", "y", "z", "s", "w", "ids", "mask", "m"), "Tensor"), "flag": "bool", "k": "int", "lr": "float",
}  # fmt: skip
"""x: (a, b), y: (b,), z: (a, b), s: (), w: (7, 3), ids: (a, b) of 0 to 6, mask: (a,) of bools, m: () of bools."""

SEVERAL_RESULTS = """
u = s + 1; return u, u * x
u = y * 2; v = x + u; return u, v
u = y * 2; v = x + u; return v.sum(), u, v
mean = x.mean(); return x - mean, mean
mean = x.mean(1, keepdim=True); c = x - mean; return c, mean, c * c
mean = x.mean(0); var = x.var(0, unbiased=False); return (x - mean) / (var + 1e-5).sqrt(), mean, var
lr2 = s * 0.5; return lr2, y - lr2 * y, x - lr2 * x
a = s * 2; b = y + a; c = x * b; return a, b, c, c.sum(1), c.sum()
a = x.sum(1); b = x.sum(0); return a, b, a.sum() - b.sum()
a = x * 2; b = a.sum(1, keepdim=True); return b, a, y * 3, s * 4
t = x.clamp(-1, 1); return t, t.abs(), t.sum(), t.sum(0), t.sum(1)
n = x.numel(); return s + n, x * n
n = x.shape[0]; return y + n, y * 2
e = (x - x.mean()).exp(); return e, e.sum(1, keepdim=True), e / (1 + e.sum())
a = y.cumsum(0); return a, x + a, a * 2
p = x > 0; return p, p.sum(1), x * p, (~p).sum()
q = np.where(x > s, x, s); return q, q - s, s + 1
d = (x - z).abs(); return d.sum(1), d.sum(), d, s - 1
g = x * y; return g.t(), g, y + y
o = x.unsqueeze(0) * 2; return o, o.sum(2), s * s
h = x.float() * 2; i = h.long(); return i, h, i.sum(), y.long()
c = np.ones_like(x) * s; return c, s + s, c + x
r = x.relu(); return r, r.sum(0, keepdim=True), y.relu()
a = s + 1; b = a + 1; return a, b, x + b, x - a
a = x + 1; b = s * a; return b.mean(), s / 2, a
"""

IN_PLACE = """
y += 1; return y * 2, x + y
s += 1; return s * x
s += 1; return s, s * x
s.mul_(2); t = x + s; s.add_(1); return t, s * 1
x += y; x *= 2; return x.sum(), x.sum(0)
x -= s; return x
x[:, 1:] += 1; return x * 2
x[1:] = x[:-1].clone(); return x.sum()
x[...] = s; return x + y
x[:] = y; return x, y * 2
x.clamp_(min=0); y.clamp_(max=1); return x + y, y.sum()
x.t()[:] += 1; return x
x[::2] *= -1; return x.sum(1)
v = x[1:]; v += 1; return x, v.sum()
v = x[:, :1]; v.zero_(); return x, x.sum(1)
y[:k] = 5; y[k:] -= 1; return y, x * y
x.copy_(y); s.fill_(3); return x + s
a = x.clone(); a += s; s += a.sum(); return a, s * 1
a = y.clone(); a += s; b = x * a; a -= 1; return a, b
x.masked_fill_(x > 1, 0); return x.sum(1), s + 1
x.add_(z, alpha=2); z.sub_(x); return x, z, s * 2
z.add_(y); return z.mean(1), y + 1
x.fill_(2); x[0:1] = 3; return x.sum(0)
t = x.sum(1, keepdim=True); x -= t; return x, t
y.neg_(); s.sub_(y.sum()); return s + y
"""

MASKS = """
return x[x.sum() > 0.5]
return x[m]
return x[m, :, None]
return x[:, m]
return x[..., m, :]
return x[flag]
return x[flag, 1:]
return x[True], x[False]
return x[None, m], x[m, None]
return x[mask]
return x[mask, 1:]
return x[mask].sum(0)
return x[x > 0]
return x[x > 0].sum(), x[x <= 0].numel()
return x[m][:, mask] if m else x[:, m]
return x[m, mask]
return y[y > y.mean()]
return x[:, y > 0]
return x[:, y > 0][mask]
return x[mask][:, y > 0].sum()
return x[~mask], x[mask & ~mask], x[mask | ~mask]
return x[m | ~m], x[m & ~m]
return x[(x > 100).any()], x[(x < 100).all()]
return s[s > 0], s[None][m]
return s[m], s[flag], s[...]
x[x.sum() > 0.5] = 0; return x
x[m] = 1; return x + y
x[m] += 1; return x
x[m] = s; return x
x[m] = y; return x
x[m] = x[m] * 2; return x
x[flag] = 3; x[not flag] -= 1; return x
x[mask] = 0; return x.sum()
x[mask, 1:] = 7; return x
x[:, m] = 4; return x
x[:, y > 0] *= 2; return x
x[x > 0] = -1; return x
x[x > s] = s; return x
x[mask] = y; return x
x[m, mask] = 5; return x
y[m] -= 1; s[m] = 2; return y + s
s[s < 100] = 7; return s * 1
x[k > 0] = 9; return x
x[..., m] += s; return x
x[mask] += x[mask]; return x, mask.sum()
"""

EMPTY = """
return x.max(dim=1)[1]
return x.max(1)[0], x.min(0)[0]
return x.amax(1)
return x.amin((0, 1))
return x.argmin(0)
return x.argmax()
return x.max()
return x.sum(), x.prod(), x.sum(1), x.prod(0)
return x.any(), x.all(), (x > 0).all(1)
return x.mean(), x.mean(0)
return x.std(1), x.var(0, unbiased=False)
return x.cumsum(1), x.cumsum(0)
return x.cummax(1)[0], x.cummin(0)[1]
return x.sort(1)[0], x.argsort(0)
return x.topk(1, 1)[0]
return x.median(1)[0]
return x.kthvalue(1, 0)[0]
return x.logsumexp(1), x.logsumexp(0)
return x.softmax(1), x.log_softmax(0)
return x.aminmax(dim=1)[0]
return x.mode(1)[0]
return (x * 2 + y).amax(0) - 1
return (x - x.amax(1, keepdim=True)).exp().sum(1)
return x.norm(), x.norm(2, 1)
return x @ z.t(), x.t() @ z
return x @ y, (x @ y).sum()
return np.cat([x, z], 1).sum(), np.stack([x, z]).amax(0)
return x.flatten().sum(), x.reshape(-1).cumsum(0)
return ids % 3, ids // 2, ids.sum() % 5
return ids % x.size(0) if x.size(0) > 0 else ids
return x.unique(), ids.bincount() if ids.dim() == 1 else ids
return x.diff(), x.flip([0])
"""

LOOKED_UP = """
p = ids.cumsum(1) % 7; return p * 2, np.embedding(w, p)
p = ids.sum(1) % 7; return p, w.index_select(0, p)
p = ids.sum(1) % 7; return w[p], p + 1
p = (ids + k) % 7; return np.embedding(w, p).sum(2), p, p.sum()
p = ids.clamp(max=2); return np.gather(w[:1].expand(ids.size(0), 3), 1, p), p * 1
p = (x * 2).long() % 7; return w[p], p
p = x.argsort(1); return np.gather(x, 1, p), p
p = x.argsort(0); return p, x.gather(0, p) * 2
e = np.embedding(w, ids); return e.mean(1), e.sum(), ids + 1
e = np.embedding(w, ids); return e * s, s + 1
t = w * 2; return t[ids], t.sum(0), ids.sum(1)
p = ids.cumsum(0) % 7; return w[p].cumsum(1), p.float().sum(1)
c = np.zeros(7); c.index_add_(0, ids.flatten(), np.ones(ids.numel())); return c, c.cumsum(0)
c = np.zeros(7).scatter_add(0, ids.flatten(), x.flatten()); return c, c * 2
p = np.where(ids > 2, ids, ids * 0); return w[p, 0], p
p = (ids > 3).long(); return w[p], p.sum(1), p * 3
"""

GROWING = """
t = s * 0; for i in range(x.size(0)): t = t + x[i, :i].sum(); return t, t * 2
t = s * 0; for i in range(x.size(0)): t = t + x[:i].sum(); return t
t = s * 0; for i in range(y.size(0)): t = t + y[:i] @ y[:i]; return t
t = x.clone(); for i in range(x.size(0)): t[i] = t[:i].sum(0) + 1; return t
t = x.clone(); for i in range(x.size(0)): t[i, :i] = i; return t, t.sum()
t = x.clone(); for i in range(1, x.size(0)): t[i] -= t[i - 1]; return t
t = y.clone(); for i in range(y.size(0)): t[i:] += y[i]; return t
t = s * 0; for i in range(x.size(0)): t = t + x[i, i:].abs().sum() + x[i:, :i].sum(); return t
n = 0; for i in range(y.size(0)): n += y[i:].numel() + int((y[:i] > 0).sum()); return s + n
t = s * 0; for i in range(x.size(0)): t = t + (x[i][:i] * y[:i]).sum(); return t
t = y.clone(); for i in range(k): t = t[1:]; return t, t.sum()
t = x.clone(); for i in range(x.size(0)): t[mask] += 1; return t
t = s * 0; for row in x: t = t + row[1:].sum() - row[:1].sum(); return t
t = s * 0; for i in range(x.size(0)): t = t + x[: i + 1].amax(); return t
"""

ALL = {
    "several results": SEVERAL_RESULTS, "in place": IN_PLACE, "masks": MASKS, "empty": EMPTY, "looked up": LOOKED_UP,
    "growing slices": GROWING,
}  # fmt: skip


def sources(kind: str) -> dict[str, str]:
    """The functions of a kind, by their text: each statement on a line, a loop's one statement in its own."""
    return {line: _function(line) for line in ALL[kind].strip().splitlines()}


def _function(line: str) -> str:
    body = "".join(f"    {part.strip()}\n" for part in line.split(";"))
    return f"def f({', '.join(f'{n}: {t}' for n, t in PARAMETERS.items())}):\n{body}"
