"""PTX of fused groups, before any of them has run: what their kernels are for inputs known in full or in part."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.cuda.bound_program import BoundProgram, Layout, bind_program
from flambeau.codegen.cuda.emit import emit_module, parameters
from flambeau.codegen.cuda.mapped import MappedKernel, Program, shared_bytes
from flambeau.codegen.cuda.ptx import architecture, programs_ptx
from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import ONE
from flambeau.codegen.lower import Lowered, lower_graph
from flambeau.ir.graph import Graph, Node
from flambeau.schema.types import Type
from flambeau.util.record import dataclass

ASSUMED = 1024
"""Size of a dimension that nothing tells."""


@dataclass(frozen=True, slots=True)
class Group:
    """A fused group and what is known of its inputs."""

    name: str
    graph: Graph
    types: Sequence[Type]
    layouts: Sequence[Layout | None]
    """None for an input that is computed before the group runs: taken to be row-major."""


def groups_ptx(groups: Sequence[Group], arch: str) -> str:
    """PTX of all groups, each kernel below a comment that says what it is, from which lines, and how to launch it.

    A group without a CUDA kernel is a comment with the reason. Raises ``ValueError`` for an unknown architecture.
    """
    architecture(arch)
    head: list[str] = []
    programs: list[Program] = []
    notes: dict[str, str] = {}
    for group in groups:
        try:
            lowered = lower_graph(group.graph, group.types, name=group.name)
            bound = bind_program(lowered.kernel, lowered.spans, _layouts(lowered, group.layouts))
            if bound.program is None:
                raise KernelError("its results have no elements")
            emit_module(bound.program.kernels)
        except KernelError as reason:
            head.append(f"// {_title(group)}\n//   no CUDA kernel: {reason}")
            continue
        programs.append(bound.program)
        notes.update(_notes(group, lowered, bound))
    if not groups:
        head.append("// no fused groups: nothing here runs as a CUDA kernel")
    text = programs_ptx(programs, arch, notes) if programs else ""
    return "".join(f"{line}\n" for line in head) + text


def _layouts(lowered: Lowered, known: Sequence[Layout | None]) -> list[Layout]:
    """The layouts given; for others row-major ones whose sizes are those of the dimensions they share."""
    kernel = lowered.kernel
    sizes = {span.axis: span.size for span in lowered.spans if span.size is not None}
    for buffer, layout in zip(kernel.inputs, known, strict=True):
        if layout is not None and len(layout.shape) == len(buffer.axes):
            sizes.update({a: s for a, s in zip(buffer.axes, layout.shape, strict=True) if s != 1})
    layouts = []
    for buffer, layout in zip(kernel.inputs, known, strict=True):
        if layout is None:
            shape = tuple(1 if a == ONE else sizes.get(a, ASSUMED) for a in buffer.axes)
            layout = Layout(shape, _row_major(shape, buffer.dtype))
        layouts.append(layout)
    return layouts


def _row_major(shape: tuple[int, ...], dtype: str) -> tuple[int, ...]:
    steps = [element_type(dtype).itemsize]
    for size in reversed(shape[1:]):
        steps.append(steps[-1] * max(size, 1))
    return tuple(reversed(steps))[: len(shape)]


def _title(group: Group) -> str:
    nodes = [n for n in group.graph.nodes() if n.op not in ("prim::Constant", "prim::ListConstruct")]
    operators = ", ".join(n.op.partition("::")[2] for n in nodes)
    lines = _lines(nodes)
    return f"{group.name}: {operators}" + (f"  ({lines})" if lines else "")


def _lines(nodes: list[Node]) -> str:
    """``model.py:5, 6`` for the source lines of some nodes."""
    by_file: dict[str, dict[int, None]] = {}
    for node in nodes:
        if node.range is not None:
            name, line, _ = node.range.file_line_col()
            by_file.setdefault(name, {})[line] = None
    return "; ".join(f"{name}:{', '.join(map(str, sorted(lines)))}" for name, lines in by_file.items())


def _notes(group: Group, lowered: Lowered, bound: BoundProgram) -> dict[str, str]:
    assert bound.program is not None
    inputs = zip(lowered.kernel.inputs, _layouts(lowered, group.layouts), group.layouts, strict=True)
    described = [f"{b.name} {b.dtype}{list(x.shape)}{'' if is_example else ' assumed'}" for b, x, is_example in inputs]
    described += [
        f"{b.name} {o.dtype}{list(o.shape)}" for b, o in zip(lowered.kernel.outputs, bound.outputs, strict=True)
    ]
    text = f"{_title(group)}\n  {', '.join(described)}"
    program = bound.program
    return {kernel.name: f"{text}\n  {_how_to_launch(kernel, bound, program)}" for kernel in program.kernels}


def _how_to_launch(kernel: MappedKernel, bound: BoundProgram, program: Program) -> str:
    blocks, shared = kernel.grid.blocks(bound.sizes), shared_bytes(kernel, program.all_sizes(bound.sizes))
    dynamic = f", {shared} bytes of shared memory" if shared else ""
    spelled = {"pointer": "{0}", "size": "size of {0}", "stride": "stride {1} of {0}"}
    arguments = ", ".join(spelled[p.kind].format(p.name, p.dimension) for p in parameters(kernel))
    return f"{blocks} blocks of {kernel.threads} threads{dynamic}; parameters: {arguments}"
