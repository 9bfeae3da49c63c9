"""What is in a saved model: `flambeau inspect model.pt`. Nothing of it is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from flambeau.jit.function import ScriptFunction
from flambeau.tools.targets import load_archive

COMMON_OPERATORS = 12
"""So many operators are named, those that come most often first; `--operators` names all."""


def inspected(path: Path, depth: int = 2, every_operator: bool = False) -> str:
    """The parts, weights, methods and operators of a TorchScript archive, as text.

    Args:
        path: the archive.
        depth: down to which depth parts are listed one by one.
        every_operator: name all operators, not only those that come most often.

    Raises CommandError for what is no archive, and what loading it raises.
    """
    module = load_archive(path)
    mode = "training" if module.training else "evaluation"
    sections = [
        f"{path}  {path.stat().st_size:,} bytes, {mode} mode",
        "\n".join(_parts(module, depth)),
        _weights("parameters", module.parameters()) + "\n" + _weights("buffers", module.buffers()),
        *(_method(name, method, every_operator) for name, method in _methods(module)),
    ]
    return "\n\n".join(sections)


def _parts(module: Any, depth: int, name: str = "", indent: str = "") -> Iterator[str]:
    """A line for each module: its name and class, and how many parameters it and its parts have."""
    count = sum(p.numel() for p in module.parameters())
    title = f"{indent}{name}: {module.original_name}" if name else module.original_name
    yield f"{title:<52}{count:>14,}" if count else title
    children = list(module.named_children())
    if children and depth == 0:
        inside = sum(1 for _ in module.modules()) - 1
        yield f"{indent}  ({inside} modules inside)"
        return
    for child, part in children:
        yield from _parts(part, depth - 1, child, indent + "  ")


def _weights(kind: str, tensors: Iterable[Any]) -> str:
    """How many tensors there are of a kind, of which dtypes, and how much memory they take."""
    counts: Counter[str] = Counter()
    elements = size = 0
    for tensor in tensors:
        counts[str(tensor.dtype).partition(".")[2]] += 1
        elements += tensor.numel()
        size += tensor.numel() * tensor.element_size()
    if not counts:
        return f"{kind:<12}none"
    dtypes = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    return f"{kind:<12}{elements:,} elements, {size:,} bytes: {dtypes}"


def _methods(module: Any) -> Iterator[tuple[str, ScriptFunction]]:
    for name in module.script_object.type.definition.methods:
        method = getattr(module, name)
        if isinstance(method, ScriptFunction):
            yield name, method


def _method(name: str, method: ScriptFunction, every_operator: bool) -> str:
    """A method's signature, and which operators it comes to with all that it calls."""
    arguments = ", ".join(str(argument) for argument in method.schema.arguments if argument.name != "self")
    returned = ", ".join(str(result.type) for result in method.schema.returns)
    counts = Counter(node.op for node in method.inlined_graph.all_nodes() if _is_operator(node.op))
    shown = counts.most_common(None if every_operator else COMMON_OPERATORS)
    lines = [f"{name}({arguments}) -> {returned}"]
    width = max((len(operator) for operator, _ in shown), default=0)
    lines += [f"  {operator:<{width}} {count:>6,}" for operator, count in shown]
    if len(counts) > len(shown):
        lines.append(f"  and {len(counts) - len(shown)} others: --operators names them")
    return "\n".join(lines)


def _is_operator(op: str) -> bool:
    """Whether it computes something or decides; constants, attributes and tuples are left out."""
    return not op.startswith("prim::") or op in ("prim::If", "prim::Loop")
