"""What a plan's native code looks like, as text: loop nests, LLVM IR, machine instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from flambeau.codegen.graph.native import NativeFunction
from flambeau.codegen.kernel.printer import print_kernel
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import available, engine
from flambeau.codegen.runtime import CompiledKernel
from flambeau.codegen.variants import Variant
from flambeau.executor.compiled_graph import CompiledGraph
from flambeau.executor.fused import FusedKernel
from flambeau.executor.plan import ExecutionPlan
from flambeau.ir.graph import Block, Graph, Node
from flambeau.specialise.spec import Spec, describe
from flambeau.util import log
from flambeau.util.source import SourceRange

FOREVER = (1 << 63) - 1
"""The count of a loop that only its condition ends."""


def loops(name: str, plans: Iterable[ExecutionPlan]) -> str:
    """The loop nests of fused groups with the schedules chosen for them, and the loops of native functions."""
    parts = []
    for plan in plans:
        parts += [text for kernel in plan.kernels for text in _kernel_loops(kernel)]
        for title, native in functions(plan):
            parts.append(f"# {title}\n" + "".join(_loop_lines(native.graph.body, native.emitted.lanes, "")))
    return "\n".join(parts) or nothing(name, "#")


def llvm_ir(name: str, plans: Iterable[ExecutionPlan]) -> str:
    """The LLVM IR of kernels and native functions, before LLVM's own passes."""
    return _texts(name, plans, lambda v: v.native.text, lambda f: f.text, ";")


def asm(name: str, plans: Iterable[ExecutionPlan]) -> str:
    """The machine instructions of kernels and native functions. Raises RuntimeError without llvmlite."""
    if not available():
        raise RuntimeError(f"{name} has no machine instructions: llvmlite is not installed; pip install llvmlite")
    compile_ = engine().assembly

    def of_function(native: NativeFunction) -> str:
        return compile_(
            native.text, optimise=native.is_optimised, tidies=native.is_tidied, is_glue=native.is_glue
        )

    return _texts(name, plans, lambda v: compile_(v.native.text), of_function, "#")


def log_eviction(name: str, most: int, spec: Spec) -> None:
    """Say in the log that a plan of a function was let go of."""
    if log.level("executor") > 1:
        log.write("executor", f"dropped the plan of {name} for ({describe(spec)}): only {most} are kept")


def nothing(name: str, mark: str) -> str:
    """What stands where no native code has been made, as a comment."""
    return (
        f"{mark} {name} has no native code yet: call it first, twice or more where it has no loops; "
        f"{name}.explain() says why if there is none then\n"
    )


def functions(plan: ExecutionPlan) -> Iterator[tuple[str, NativeFunction]]:
    """The native functions of a plan, each with a title: of the whole graph, or of its regions."""
    if plan.compiled is not None:
        for native in plan.compiled.variants:
            yield f"{short(plan.compiled)}: the whole graph", native
    for number, region in enumerate(plan.regions or ()):
        for compiled in region.natives:
            for native in compiled.variants:
                yield f"region_{number} of {short(compiled)} ({first_range(region.graph)})", native


def short(compiled: CompiledGraph) -> str:
    """The last part of a function's name."""
    return compiled.name.rpartition(".")[2]


def first_range(graph: Graph) -> SourceRange | None:
    """Where the first node of a graph that stands anywhere does."""
    return next((n.range for n in graph.body if n.range is not None), None)


def kernel_launches(kernel: CompiledKernel) -> list[tuple[tuple[tuple[int, ...], ...], Launch]]:
    """The launches of a kernel with the shapes of their inputs, oldest first."""
    return [(tuple(shape for _, shape, _ in layouts), launch) for layouts, launch in kernel.launches]


def shown_shapes(shapes: Iterable[tuple[int, ...]]) -> str:
    """Shapes as users write them; numbers have none."""
    return ", ".join("number" if not s else "[" + ", ".join(map(str, s)) + "]" for s in shapes)


def _texts(
    name: str,
    plans: Iterable[ExecutionPlan],
    of_variant: Callable[[Variant], str],
    of_function: Callable[[NativeFunction], str],
    mark: str,
) -> str:
    parts = []
    for plan in plans:
        for kernel in plan.kernels:
            for variant in _variants(kernel):
                title = f"{mark} {kernel.name}: {' '.join(operators(kernel.graph))}; {variant.schedule.key().strip()}"
                parts.append(f"{title}\n{of_variant(variant)}")
        parts += [f"{mark} {title}\n{of_function(native)}" for title, native in functions(plan)]
    return "\n".join(parts) or nothing(name, mark)


def operators(graph: Graph) -> tuple[str, ...]:
    """The operators of a group."""
    return tuple(n.op.partition("::")[2] for n in graph.nodes() if n.op != "prim::Constant")


def _variants(kernel: FusedKernel) -> list[Variant]:
    return list(dict.fromkeys(v for k in kernel.kernels for v in k.variants))


def _kernel_loops(kernel: FusedKernel) -> Iterator[str]:
    seen: dict[Variant, list[str]] = {}
    for compiled in kernel.kernels:
        for shapes, launch in kernel_launches(compiled):
            if launch.variant is not None:
                threads = f", in {launch.pieces} pieces for threads" if launch.step else ""
                seen.setdefault(launch.variant, []).append(shown_shapes(shapes) + threads)
    for variant, inputs in seen.items():
        lines = [f"# {kernel.name}: {' '.join(operators(kernel.graph))}"]
        lines += [f"# inputs {text}" for text in inputs]
        lines.append(f"# schedule {variant.schedule.key().strip()}")
        yield "\n".join(lines) + "\n" + print_kernel(variant.kernel)


def _loop_lines(block: Block, lanes: tuple[Node, ...], indentation: str) -> Iterator[str]:
    """The loops of a native function, nested as they are, each with its place and how it runs."""
    for node in block:
        inside = indentation
        if node.op == "prim::Loop":
            how = ["counted" if is_counted(node) else "until its condition fails"]
            if not any(n.op == "prim::Loop" for b in node.nested_blocks for n in _within(b)):
                how.append("innermost")
            if node in lanes:
                how.append("several iterations at a time as lanes")
            yield f"{indentation}loop {node.range or ''}: {', '.join(how)}\n"
            inside += "  "
        elif node.op == "prim::FusionGroup":
            yield f"{indentation}{' '.join(operators(node.attribute('Subgraph')))} {node.range or ''}\n"
        for inner in node.nested_blocks:
            yield from _loop_lines(inner, lanes, inside)


def is_counted(node: Node) -> bool:
    """Whether a loop's number of iterations is known before it starts."""
    condition = node.nested_blocks[0].returns[0].defining_node
    is_true = condition is not None and condition.op == "prim::Constant"
    return is_true and _constant(node.operand(0).defining_node) != FOREVER


def _constant(node: Node | None) -> object:
    return node.attributes.get("value") if node is not None and node.op == "prim::Constant" else None


def _within(block: Block) -> Iterator[Node]:
    for node in block:
        yield node
        for inner in node.nested_blocks:
            yield from _within(inner)
