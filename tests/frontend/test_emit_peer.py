"""The graph after emission has the nodes, results and nesting that TorchScript's own has for the same source."""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.frontend.compile_text import compile_source
from flambeau.frontend.scopes.name_resolution import Names

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

IGNORED = frozenset({"prim::Constant", "prim::Uninitialized", "prim::unchecked_cast"})
"""Constants are pooled and folded by passes; casts to a type that a value has already are not emitted here."""

SOURCES: dict[str, str] = {
    "arithmetic": """
def f(x: int, y: float):
    return x + 1, x - y, x * x, x / 2, x // 2, x % 3, -x, x ** 2, abs(x), x & 1, x << 2
""",
    "tensor arithmetic": """
def f(x, y):
    return x + y * 2 - y / 3, x @ y, -x, x ** 2, x % 2, 2 - x, 3 / x, 2 + x, 2 * x, 2 ** x
""",
    "tensor comparisons": """
def f(x, y):
    return x < y, x >= 1, 2 < x, 2 == x, x != y
""",
    "calls": """
def f(x):
    return torch.relu(x), x.relu(), torch.add(x, x, alpha=2), torch.sum(x, dim=[1], keepdim=True), x.sum(1), x.view(2, 3)
""",
    "factories": """
def f(n: int):
    return torch.zeros([n, 2]), torch.ones(n, n), torch.arange(n), torch.full([2], 1.5), torch.zeros(2, dtype=torch.int64)
""",
    "attributes": """
def f(x):
    return x.shape, x.dtype, x.device, x.ndim, x.requires_grad
""",
    "early return": """
def f(x: int):
    if x > 1:
        return 1
    return x
""",
    "if merges": """
def f(x: int):
    if x > 1:
        y = x + 1
        z = 1
    else:
        y = x
        z = 2
    return z + y
""",
    "raise": """
def f(x: int):
    if x > 1:
        raise ValueError("no")
    return x
""",
    "assert": """
def f(x: int):
    assert x > 1, "small"
    return x
""",
    "optional": """
def f(x: Optional[int]):
    if x is None:
        y = 1
    else:
        y = x + 2
    return y
""",
    "optional argument": """
def f(x, y: Optional[Tensor] = None):
    if y is not None:
        x = x + y
    return x
""",
    "for range": """
def f(n: int, x):
    for i in range(n):
        x = x + i
    return x
""",
    "for range with start": """
def f(n: int):
    y = 0
    for i in range(2, n, 3):
        y += i
    return y
""",
    "nested for": """
def f(n: int):
    y = 0
    for i in range(n):
        for j in range(i):
            y += i * j
    return y
""",
    "while": """
def f(n: int):
    y = 0
    while y < n:
        y += 2
    return y
""",
    "two carried": """
def f(n: int):
    a = 0
    b = 1
    for i in range(n):
        c = a + b
        a = b
        b = c
    return b, a
""",
    "for list": """
def f(x: List[int]):
    y = 0
    for i in x:
        y = y + i
    return y
""",
    "for tensor": """
def f(x):
    y = 0
    for i in x:
        y = y + int(i)
    return y
""",
    "for string": """
def f(x: str):
    y = ""
    for c in x:
        y = c + y
    return y
""",
    "for dict": """
def f(x: Dict[str, int]):
    y = 0
    for k in x:
        y += x[k]
    return y
""",
    "items": """
def f(x: Dict[str, int]):
    y = 0
    for k, v in x.items():
        y += v + len(k)
    return y
""",
    "zip": """
def f(x: List[int], y: List[int]):
    z = 0
    for a, b in zip(x, y):
        z += a * b
    return z
""",
    "comprehension": """
def f(x: List[int]):
    return [i * 2 for i in x]
""",
    "tuple unpack": """
def f(x: Tuple[int, Tuple[int, str]]):
    a, (b, c) = x
    return c, b, a
""",
    "lists": """
def f(x: List[int]):
    x.append(3)
    x[0] = x[1] + 2
    x[1] += 4
    y = x[1:3]
    del x[0]
    return y, len(x), x[-1]
""",
    "dicts": """
def f(x: Dict[str, int]):
    x["a"] = x["b"] + 1
    x["c"] += 2
    return x.get("d"), "e" in x, len(x), x.keys()
""",
    "strings": """
def f(x: str, n: int):
    return x + "a", "{} {}".format(x, n), "%d" % n, x[0], x[1:], x.upper(), len(x), x == "b", "c" in x
""",
    "indexing": """
def f(x, i: int, m):
    return x[i], x[1:2], x[:, i], x[..., 0], x[None], x[m], x[i, m], x[0, 1:, None]
""",
    "index assignment": """
def f(x, i: int, m):
    x[i] = 1
    x[1:2, 0] = x
    x[m] = 2.0
    x[i] += 3
    x[m] += 4
    return x
""",
    "conversions": """
def f(x, y):
    return x.float(), x.long(), x.to(torch.float64), x.to(y), x.to("cpu"), x.type_as(y)
""",
    "reductions": """
def f(x):
    return x.mean(), x.mean(0), x.sum([0, 1]), x.max(), x.argmax(1), x.any(), torch.softmax(x, dim=-1), torch.cat([x, x], 0)
""",
    "early returns in loops": """
def f(x: List[int]):
    for i in x:
        print(i)
    for i in x:
        for j in x:
            print(i, j)
    return 0
""",
    "in place": """
def f(x, y):
    x += y
    x -= 1
    x *= y
    x /= 2
    return x
""",
    "and or": """
def f(x: int, y: int):
    return x > 1 and y > 2, x > 1 or y > 2, not x > 1
""",
    "ternary": """
def f(x: int, y: int):
    return x if x > y else y
""",
    "casts": """
def f(x, n: int, s: str):
    return int(x), float(x), bool(n), str(n), float(n), int(s), float(s)
""",
    "print": """
def f(x: int):
    print(x, "a")
""",
    "isinstance": """
def f(x: Union[int, str]):
    if isinstance(x, int):
        y = x
    else:
        y = 0
    return y
""",
    "tensor condition": """
def f(x):
    if x.sum() > 0:
        x = x + 1
    return x
""",
    "empty annotated": """
def f(x: int):
    y: List[int] = []
    z: Dict[str, int] = {}
    y.append(x)
    z["a"] = x
    return y, z
""",
    "several results": """
def f(x):
    a, b = torch.max(x, dim=1)
    c = torch.topk(x, 2)
    return a + b, c[0]
""",
    "star arguments": """
def f(x, y: Tuple[int, int]):
    return x.transpose(*y)
""",
}  # fmt: skip


def peer_outline(nodes: Any, depth: int = 0) -> list[str]:
    lines: list[str] = []
    for node in nodes:
        if node.kind() in IGNORED:
            continue
        types = ", ".join(o.type().annotation_str for o in node.outputs())
        lines.append(f"{'  ' * depth}{node.kind()}({len(list(node.inputs()))}) -> {types}")
        for block in node.blocks():
            lines += peer_outline(block.nodes(), depth + 1)
    return lines


def own_outline(nodes: Any, depth: int = 0) -> list[str]:
    lines: list[str] = []
    for node in nodes:
        if node.op in IGNORED:
            continue
        types = ", ".join(o.static_type.annotation for o in node.results)
        lines.append(f"{'  ' * depth}{node.op}({len(node.operands)}) -> {types}")
        for block in node.nested_blocks:
            lines += own_outline(block, depth + 1)
    return lines


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_graph_has_the_structure_of_the_peers(source: str) -> None:
    expected = peer_outline(torch.jit.CompilationUnit(source).f.graph.nodes())
    [function] = compile_source(source, Names({"torch": flambeau}))
    assert own_outline(function.graph.body) == expected
