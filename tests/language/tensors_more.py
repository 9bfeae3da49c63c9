"""Tensors in programs, beyond what TorchScript has of them."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Tensors as in Python"
ORDER = 61

ROWS = [
    accepted("arrays that NumPy's functions make", "import numpy as np\ndef f(n: int, v: float):\n    return np.zeros(n), np.ones((2, n), np.int32), np.full((n,), v), np.full(n, 3), np.arange(n), np.arange(0, 1, 0.5), np.eye(2, n), np.identity(2), np.linspace(0, v, num=3), np.array([[1, 2], [3, n]]), np.array([v, 1.0], dtype=np.float32), np.full(2, True), np.empty((0, n)), np.asarray([n]), np.zeros([2, n]).sum()", "[(str(np.asarray(t).dtype), np.asarray(t).tolist()) for t in f(3, 1.5)]", torch=False),
    refused("what NumPy's functions take and programs do not", "import numpy as np\ndef f(n: int):\n    return np.zeros(n, order='F')", "np.zeros has no 'order' in programs, where it takes shape, dtype"),
    refused("np.full without a value", "import numpy as np\ndef f(n: int):\n    return np.full(n)", "np.full() is missing 'fill_value'"),
    refused("np.zeros without a shape", "import numpy as np\ndef f(n: int):\n    return np.zeros()", "np.zeros() is missing 'shape'"),
    refused("np.linspace without an end", "import numpy as np\ndef f(n: int):\n    return np.linspace(n)", "np.linspace() is missing 'stop'"),
    refused("np.eye of too much", "import numpy as np\ndef f(n: int):\n    return np.eye(n, n, 0, np.float32, 1)", "np.eye() takes at most 4 arguments here"),
    refused("a shape twice", "import numpy as np\ndef f(n: int):\n    return np.ones(n, shape=n)", "np.ones() got multiple values for 'shape'"),
    accepted("sizes with a star", "def f(x: Tensor):\n    b, *rest = x.shape\n    return x.view(*x.shape), x.reshape(b, *rest), flambeau.zeros(*rest, dtype=flambeau.int64), x.expand(3, *x.shape).sum(), x.permute(*[1, 0])", "f(flambeau.arange(6).reshape(2, 3))", torch=False),
    accepted("index tensors behind dots", "def f(x: Tensor, i: Tensor):\n    return x[..., i], x[..., [0, 1]], x[0, ..., i], x[i, ..., 0], x[i, ..., i], x[..., i, 0], x[..., i, None]", "f(flambeau.arange(8).reshape(2, 2, 2), flambeau.tensor([1, 0]))", torch=False),
    accepted("assignment behind dots", "def f(x: Tensor, i: Tensor, m: Tensor):\n    x[..., i] = 5\n    x[..., 0] += 1\n    x[..., m] *= 2\n    return x", "f(flambeau.arange(8).reshape(2, 2, 2), flambeau.tensor([1]), flambeau.tensor([True, False]))", torch=False),
    accepted("every sign changes a tensor in place", "def f(x: Tensor, y: Tensor, m: Tensor):\n    a, b, c = x, y, m\n    x **= 2\n    x //= 2\n    y <<= 2\n    y >>= 1\n    y |= 8\n    y &= 12\n    y ^= 1\n    m |= True\n    x[0] **= 3\n    x[x > 2] //= 2\n    y[1:] |= 64\n    return x is a, y is b, m is c, a, b, c", "f(flambeau.tensor([1.0, 2.0, 5.0]), flambeau.tensor([1, 2, 3]), flambeau.tensor([True, False]))", torch=False),
    accepted("norms by word, by number, of everything", "def f(x: Tensor, p: float):\n    a = flambeau.norm(x), flambeau.norm(x, 1), flambeau.norm(x, dim=0), flambeau.norm(x, p='fro', dim=[0, 1]), flambeau.norm(x, 2.0, 1, True)\n    return a, flambeau.norm(x, p, 0), flambeau.norm(x, 'nuc'), flambeau.norm(x, 'fro', dtype=flambeau.float64), flambeau.norm(x, p=None)", "f(flambeau.tensor([[1.0, 2.0], [3.0, 4.0]]), 3.0)"),
    refused("a norm of another word", "def f(x: Tensor):\n    return flambeau.norm(x, 'max')", "norm() has the orders 'fro', 'nuc' and numbers, but got 'max'", "flambeau.norm", torch=False),
    accepted("operators of nn.functional under PyTorch's name", "def f(x: Tensor):\n    return flambeau._C._nn.gelu(x), flambeau._C._nn.avg_pool2d(x, [1, 2])", "f(flambeau.tensor([[[1.0, 2.0]]]))"),
    refused("a tensor that no int is", "def f(x: Tensor):\n    return int(x)", "value cannot be converted to type int64_t without overflow", calls=("f(flambeau.tensor(float('nan')))",)),
    accepted("two outputs in out=", "def f(x: Tensor):\n    v, i = flambeau.empty(0), flambeau.empty(0, dtype=flambeau.int64)\n    flambeau.sort(x, out=(v, i))\n    a = v.clone(), i.clone()\n    flambeau.max(x.reshape(1, -1), dim=1, out=(v, i))\n    return a, v, i", "f(flambeau.tensor([3.0, 1.0, 2.0]))", torch=False),
    accepted("unique", "def f(x: Tensor):\n    return flambeau.unique(x), flambeau.unique(x, return_inverse=True), flambeau.unique(x, return_counts=True, dim=0), flambeau.unique_consecutive(x), flambeau.unique_consecutive(x, return_counts=True)", "f(flambeau.tensor([3, 1, 3, 3]))", torch=False),
    refused("unique with a flag that only the run tells", "def f(x: Tensor, flag: bool):\n    return flambeau.unique(x, return_inverse=flag)", "unique() returns different types for different values of 'return_inverse'"),
    accepted("tensordot", "def f(x: Tensor):\n    return flambeau.tensordot(x, x), flambeau.tensordot(x, x, dims=1), flambeau.tensordot(x, x, dims=([0], [1]))", "f(flambeau.arange(4.0).reshape(2, 2))", torch=False),
    accepted("nn.init in programs", "def f(n: int):\n    w = flambeau.empty(n, 3)\n    flambeau.nn.init.constant_(w, 0.5)\n    a = w.clone()\n    flambeau.nn.init.ones_(w)\n    g = flambeau.Generator()\n    g.manual_seed(3)\n    b = w.clone(), flambeau.nn.init.xavier_uniform_(flambeau.empty(2, 2), generator=g)\n    flambeau.nn.init.zeros_(w)\n    flambeau.nn.init.normal_(flambeau.empty(2), 1.0, 0.5)\n    flambeau.nn.init.uniform_(flambeau.empty(2), generator=g)\n    flambeau.nn.init.xavier_normal_(flambeau.empty(2, 2))\n    return a, b, w", "f(2)", torch=False),
    refused("a loop over a tensor without dimensions", "def f(x: Tensor):\n    s = 0.0\n    for v in x:\n        s += float(v)\n    return s", "iteration of a 0-d tensor", calls=("f(flambeau.tensor(1.0))",)),
    accepted("the class of tensors called", "def f(x: Tensor, n: int):\n    a = flambeau.Tensor([1, 2]), flambeau.Tensor([[1.0], [2.0]]), flambeau.Tensor(n, 3).size(0), flambeau.Tensor().numel()\n    return a, isinstance(x, flambeau.Tensor), flambeau.Tensor([True]) + x", "f(flambeau.ones(1), 2)", torch=False),
    refused("the class of tensors called with a number", "def f():\n    return flambeau.Tensor(2, 1.5)", "was called with multiple positional arguments that were not all integers"),
    accepted("methods that are functions with flags", "def f(x: Tensor):\n    return x.unique(), x.unique(return_counts=True), x.unique(dim=0, return_inverse=True), x.unique_consecutive(), x.ndimension(), x.nelement()", "f(flambeau.tensor([3, 1, 3, 3]))", torch=False),
    accepted("new_tensor", "def f(x: Tensor):\n    return x.new_tensor([1, 2]), x.new_tensor([[1.5]], dtype=flambeau.float64), x.new_tensor(3)", "f(flambeau.tensor([3.0]))", "f(flambeau.tensor([3]))", torch=False),
    accepted("what tensors never are", "def f(x: Tensor):\n    return x.is_sparse, x.is_mkldnn, x.is_quantized, x.is_meta, x.is_nested, x.retains_grad, x.name, x.is_neg(), x.is_conj(), x.is_inference(), x.is_nonzero(), x.equal(x), x.is_same_size(x)", "f(flambeau.tensor([3.0]))"),
    accepted("rows of a tensor taken apart", "def f(x: Tensor):\n    s = 0.0\n    for a, b in x:\n        s += float(a) * 2 + float(b)\n    (p, q), (c, d), *rest = x\n    p += 10\n    y = [u + v for u, v in x]\n    for k, (u, v) in enumerate(x):\n        s += k * float(v)\n    return s, p, d, rest, y, x", "f(flambeau.arange(6.0).reshape(3, 2))", torch=False),
    refused("a tensor of more rows than names", "def f(x: Tensor):\n    a, b = x\n    return a", "Expected 2 elements in a list but found 3", calls=("f(flambeau.zeros(3))",), torch=False),
    accepted("sizes of a tensor without axes", "def f(x: Tensor):\n    return flambeau.zeros(()), flambeau.full((), 2.0), x.view(()), x.reshape(()), x.sum().expand(())", "f(flambeau.ones(1))", torch=False),
    accepted("the greatest and the least beside nan", "def f(a: float, b: float, k: int):\n    return max(a, b), min(a, b), max(b, a), min(b, a), float(max(a, b, k)), float(min(k, a, b)), float(max(k, b)), float(min(b, k))", "f(float('nan'), 1.0, 2)", "f(1.0, float('nan'), 2)", "f(-0.0, 0.0, 0)", torch=False),
    accepted("the greatest of a mask and a number", "def f(x: Tensor, k: int):\n    return int(max(x, k)), int(max(k, x)), int(min(x, k)), int(min(k, x))", "f(flambeau.tensor(True), 2)", "f(flambeau.tensor(3), 2)", torch=False),
]
