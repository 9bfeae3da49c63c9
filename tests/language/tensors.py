"""Tensors in programs: properties, methods, factories, what operators are between tensors and numbers."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Tensors"
ORDER = 60

ROWS = [
    accepted("properties", "def f(x: Tensor):\n    return list(x.shape), x.ndim, x.dtype == flambeau.float32, x.device.type, x.is_cuda, x.requires_grad, x.is_leaf, x.itemsize, x.nbytes, x.T, x.data", "f(flambeau.ones(2, 3))"),
    accepted("conversions", "def f(x: Tensor):\n    return x.double(), x.long(), x.bool(), x.half().float(), x.to(flambeau.int32), x.type(flambeau.int64), x.cpu(), x.to(x), x.to('cpu')", "f(flambeau.tensor([0.5, 2.0]))", torch=False),
    accepted("numbers of tensors", "def f(x: Tensor):\n    return int(x), float(x), bool(x), x.item()", "f(flambeau.tensor(2.5))"),
    accepted("factories", "def f(n: int):\n    return flambeau.zeros(n, 2), flambeau.ones([n]), flambeau.full([2], 1.5), flambeau.arange(n), flambeau.eye(2), flambeau.tensor([[1, 2], [3, n]]), flambeau.zeros(2, dtype=flambeau.int64), flambeau.as_tensor([1.5])", "f(3)"),
    accepted("classes of one dtype", "def f(x: List[float]):\n    return flambeau.FloatTensor(x), flambeau.LongTensor([1, 2]), flambeau.DoubleTensor(2, 3).shape[1]", "f([1.5, 2.0])", torch=False),
    refused("sizes that are no ints", "def f(x: List[float]):\n    return flambeau.FloatTensor(x, 1)", "multiple positional arguments that were not all integers"),
    accepted("tensors and numbers", "def f(x: Tensor):\n    return 2 - x, 3 / x, 7 // x, 2 ** x, x % 2, -x, x > 1, 1 < x, abs(x), x @ x", "f(flambeau.tensor([[1.0, 2.0], [4.0, 0.5]]))", torch=False),
    accepted("a bool as index", "def f(x: Tensor, b: bool):\n    return x[b], x[x.sum() > 3], x[:, x.sum() < 3, 1:]", "f(flambeau.ones(2, 2), False)", torch=False),
    accepted("bits and masks", "def f(x: Tensor):\n    m = (x > 1) & ~(x > 3) | (x == 0)\n    return m, x[m], x.where(m, -x), flambeau.where(m, x, 0.0)", "f(flambeau.tensor([0.0, 1.0, 2.0, 4.0]))", torch=False),
    accepted("structured results", "def f(x: Tensor):\n    v, i = flambeau.max(x, dim=1)\n    r = flambeau.sort(x, dim=1)\n    return v, i, r.values, r.indices", "f(flambeau.tensor([[3.0, 1.0], [2.0, 5.0]]))"),
    accepted("results into a tensor that is there", "def f(x: Tensor):\n    out = flambeau.empty(2)\n    flambeau.add(x, x, out=out)\n    x.mul_(3).add_(1)\n    return out, x", "f(flambeau.ones(2))"),
    accepted("writing through any subscript", "def f(x: Tensor, i: Tensor):\n    x[0, 1] += 5\n    x[:, 0] = flambeau.tensor([8.0, 9.0])\n    x[x > 8] *= 2\n    x[i] = 1\n    x[1, ..., -1] = 7\n    return x", "f(flambeau.zeros(2, 3), flambeau.tensor([0]))"),
    accepted("lists of tensors", "def f(x: Tensor):\n    return [t.sum() for t in x.split(1)], len(x.chunk(2)), x.unbind(0)[1], flambeau.stack([x, x]).sum(), flambeau.cat([x, x], dim=1)", "f(flambeau.ones(2, 2))", torch=False),
    accepted("functions of nn.functional and special", "import flambeau.nn.functional as F\ndef f(x: Tensor):\n    return F.relu(x), F.softmax(x, dim=0), flambeau.special.expit(x)", "f(flambeau.tensor([-1.0, 2.0]))", torch=False),
    accepted("names of arguments", "def f(x: Tensor):\n    return flambeau.cat(dim=0, tensors=[x, x]), flambeau.ceil(input=x), flambeau.sum(x, dim=[0], keepdim=True)", "f(flambeau.tensor([0.5]))", torch=False),
    refused("a number where a tensor stands", "def f(x: Tensor):\n    return flambeau.relu(3)", "Expected a value of type 'Tensor' for argument 'self' but instead found type 'int'"),
    refused("a size that does not fit", "def f(x: Tensor):\n    return x.view(7)", "shape '[7]' is invalid for input of size 4", calls=("f(flambeau.ones(2, 2))",)),
    refused("truth of several elements", "def f(x: Tensor):\n    if x:\n        return 1\n    return 0", "Boolean value of Tensor with more than one value is ambiguous", calls=("f(flambeau.ones(2))",)),
    accepted("item() where an int is wanted", "def g(n: int) -> int:\n    return n + 1\ndef f(x: Tensor, l: List[str]) -> Tuple[int, str, Optional[int], List[int]]:\n    r: List[int] = []\n    r.append(x.max().item())\n    k: int = x.sum().item()\n    return g(x.max().item()) + k, l[x[0].item()], x.min().item(), r", "f(flambeau.tensor([1, 0]), ['a', 'b'])", torch=False),
    refused("item() of fractions where an int is wanted", "def f(x: Tensor) -> int:\n    return x.item()", "expected an int here, and the number is a float or complex", calls=("f(flambeau.tensor(2.5))",), kind=TypeError, torch=False),
    accepted("item() where one of several types is wanted", "def g(n: Union[int, float, List[int]]) -> str:\n    if isinstance(n, int):\n        return 'int'\n    return 'float' if isinstance(n, float) else 'list'\ndef f(x: Tensor) -> Tuple[str, Union[float, int, str]]:\n    k: Union[int, float] = x.item()\n    return g(x.item()) + g(k), x.item()", "f(flambeau.tensor(2)), f(flambeau.tensor(2.5))", torch=False),
    accepted("a scale that is item() of a tensor", "def f(x: Tensor, by: Tensor):\n    return flambeau.nn.functional.interpolate(x, scale_factor=by.item(), mode='nearest').shape[3]", "f(flambeau.ones(1, 1, 2, 2), flambeau.tensor(2.0))", torch=False),
    accepted("methods whose tensor is the second operand", "def f(x: Tensor):\n    return x.polygamma(1), x.polygamma(n=1), x.where(x > 1, x * 2)", "f(flambeau.tensor([1.0, 2.0]))", torch=False),
    accepted("assertions as calls", "def f(x: Tensor, n: int):\n    flambeau._assert(n > 1, f'n is {n}')\n    flambeau._assert(x.sum() > 0, message='no sum')\n    return x", "f(flambeau.ones(1), 2)", torch=False),
    refused("an assertion as a call that does not hold", "def f(n: int):\n    flambeau._assert(n > 1, f'n is {n}')\n    return n", "AssertionError: n is 1", calls=("f(1)",), kind=AssertionError, torch=False),
    accepted("item() where a float is wanted", "def g(v: float) -> float:\n    return v * 2\ndef f(x: Tensor) -> Tuple[float, float, Optional[float]]:\n    t = 0.0\n    for i in range(2):\n        t += x.item()\n    u = 1.0\n    if t > 1:\n        u = x.item()\n    return x.item(), t + u, x.item()", "f(flambeau.tensor(1.5))"),
]
