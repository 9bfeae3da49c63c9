"""Forms that TorchScript's programs use: types as comments, dimensions as lists, numbers for bools."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Older forms"
ORDER = 49

ROWS = [
    accepted("a type comment of parameters alone", "def f(x, s):\n    # type: (int, List[int])\n    return len(s) * x", "f(3, [1, 2])"),
    accepted("type comments of ignored functions", "@jit.ignore\ndef g(x):\n    # type: (int) -> str\n    return str(eval('x'))\n@jit.unused\ndef h(x):\n    # type: (str) -> str\n    return x\ndef f(x: int):\n    if x > 5:\n        return h('a')\n    return g(x)", "f(3)"),
    accepted("a type comment behind an annotated result", "def f(x) -> int:\n    # type: (int) -> int\n    return x", "f(3)"),
    accepted("dict of an empty list", "def f(x: int):\n    a: Dict[str, int] = dict([])\n    a['k'] = x\n    b: Dict[str, int] = dict([], k=x)\n    c = jit.annotate(Dict[int, float], dict([]))\n    c[x] = 0.5\n    return a, b, c", "f(2)"),
    accepted("device by name", "def f(i: int):\n    return str(flambeau.device(type='cpu')), str(flambeau.device(type='cuda', index=i))", "f(1)", torch=False),
    accepted("einsum of lists of dimensions", "def f(x: Tensor, y: Tensor):\n    return flambeau.einsum(x, [0, 1], y, [1, 2], [0, 2]), flambeau.einsum(x, [0, 1], y, [1, 2]), flambeau.einsum(x, [1, 0])", "f(flambeau.arange(6.).view(2, 3), flambeau.arange(6.).view(3, 2))", torch=False),
    refused("einsum of lists that are known later", "def f(x: Tensor, d: List[int]):\n    return flambeau.einsum(x, d)", "takes the dimensions of a tensor as a list of numbers that is written in the call", "d", torch=False),
    accepted("tensordot over dimensions in a tensor", "def f(x: Tensor, y: Tensor, d: Tensor):\n    return flambeau.tensordot(x, y, d), flambeau.tensordot(x, y, dims=flambeau.tensor(1))", "f(flambeau.ones(2, 3), flambeau.ones(3, 2), flambeau.tensor([[1], [0]]))"),
    accepted("an index of no places", "def f(x: Tensor, i: List[int]):\n    j: List[int] = []\n    return x[i, :], x[j], x[:, i], x[[], :], x[[]]", "f(flambeau.ones(2, 3), [])", torch=False),
    accepted("padded sequences", "from flambeau.nn.utils import rnn\ndef f(xs: List[Tensor]):\n    a = rnn.pad_sequence(xs, True)\n    p = rnn.pack_sequence(xs)\n    return a, rnn.pad_sequence(xs, padding_value=2.0), p.data, p.batch_sizes, rnn.unpad_sequence(a, flambeau.tensor([3, 2]), True)", "f([flambeau.arange(3.), flambeau.ones(2)])", torch=False),
    accepted("whether a trace is on", "def f(x: Tensor):\n    return (x, x + 1) if flambeau._C._get_tracing_state() else (x + 1, x)", "f(flambeau.ones(1))"),
    accepted("numbers of a range, and bools as numbers, for lists", "def f(x: List[int], b: List[bool], y: List[float]):\n    return [v + 1 for v in x], [int(v) for v in b], sum(y) / 2", "f(range(3), [True, 1, 0], range(3))"),
    refused("other numbers for bools", "def f(b: List[bool]):\n    return b", "element 1: 2 (int) is no bool", calls=("f([True, 2])",), torch=False),
]
