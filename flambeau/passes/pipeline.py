"""Which passes run, in which order, and why in that order.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%n : int):
...   %1 : int = prim::Constant[value=1]()
...   %2 : int = aten::mul(%n, %1)
...   return (%2)''')
>>> records = optimise(graph, record=lambda r: print(r.name, r.changed) if r.changed else None)
peephole True
dce True
>>> print(graph, end="")
graph(%n : int):
  return (%n)

The order is data: each step says what it must come after or before, with the reason, and that is checked when this
module is imported. A step that fails leaves an `InternalError` that names it; nothing else is caught, and what a
signal handler raises meanwhile goes to whoever waits for it.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from flambeau.analysis import shapes
from flambeau.analysis.manager import check_analyses, forget_analyses, keeping_analyses
from flambeau.ir.graph import Graph
from flambeau.ir.snapshot import is_same, snapshot
from flambeau.ir.verify import verify
from flambeau.passes import (
    autocast,
    batch_mm,
    canonicalize,
    canonicalize_ops,
    check_inplace,
    constant_pooling,
    constant_propagation,
    convert_dtypes,
    create_autodiff_subgraphs,
    cse,
    dce,
    drop_modes,
    fold_control,
    fold_into_branches,
    fuse,
    fuse_addmm,
    fuse_alone,
    fuse_products,
    fuse_routines,
    inline,
    inline_autodiff_subgraphs,
    licm,
    loop_unrolling,
    lower_dicts,
    lower_grad_of,
    lower_no_grad,
    lower_objects,
    lower_tuples,
    modified_loops,
    peephole,
    propagate_requires_grad,
    refine_absence,
    remove_dropout,
    remove_expands,
    remove_inplace_ops,
    remove_list_mutation,
    remove_mutation,
    separate_ways,
    settle_attention,
    settle_items,
    settle_numbers,
    settle_ways,
    short_circuit,
    sink,
    specialize_autogradzero,
)
from flambeau.passes.steps import Pass, Step, check_order
from flambeau.passes.try_blocks import lower as lower_try
from flambeau.util.errors import InternalError
from flambeau.util.foreign import is_foreign
from flambeau.util.inversions import GRADIENT_EXPANSION, OPERATOR_EXPANSION
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class PassRecord:
    """What one pass did to one graph."""

    phase: str
    name: str
    changed: bool
    seconds: float
    before: str
    after: str

    @property
    def diff(self) -> str:
        """What it changed, as a unified diff of graph text; empty if nothing."""
        old, new = self.before.splitlines(), self.after.splitlines()
        return "\n".join(difflib.unified_diff(old, new, "before", "after", lineterm="", n=2))


Record = Callable[[PassRecord], None]


def _propagate_constants(graph: Graph) -> bool:
    """With what the types say: they hold for this plan."""
    return constant_propagation.do(graph, by_types=True)


def _expand_gradients(graph: Graph) -> bool:
    """By whoever knows derivatives: passes do not."""
    return GRADIENT_EXPANSION.implementation(graph)


def _expand_operators(graph: Graph) -> bool:
    """By whoever traces what operators are made of: passes do not."""
    return OPERATOR_EXPANSION.implementation(graph)


def _unroll_short(graph: Graph) -> bool:
    """Only loops with a small constant trip count: others would grow the code that is interpreted."""
    return loop_unrolling.do(graph, partly=False)


STEPS: tuple[Step, ...] = (
    Step(phase="prepare", name="inline", run=inline.do),
    Step(phase="prepare", name="autocast", run=autocast.do, after=(("inline", "blocks hold for callees too"),)),
    Step(
        phase="prepare", name="lower_objects", run=lower_objects.do,
        after=(("inline", "methods are given their objects"),),
        before=(("lower_tuples", "attributes may be tuples"),),
    ),
    Step(
        phase="prepare", name="lower_tuples", run=lower_tuples.do,
        after=(("inline", "functions return tuples that their callers take apart"),),
    ),
    Step(
        phase="prepare", name="constant_propagation", run=constant_propagation.do, preserves_aliases=True,
        after=(("inline", "arguments of calls are often constants"),),
        before=(("shapes", "what a shape depends on is often computed from constants"),),
    ),
    Step(
        phase="prepare", name="lower_no_grad", run=lower_no_grad.do,
        after=(("lower_tuples", "what comes in a tuple is a value by itself"),),
    ),
    Step(
        phase="prepare", name="lower_try", run=lower_try.do,
        after=(("inline", "bodies are given what callees were"), ("lower_tuples", "so are items of tuples")),
        before=(("shapes", "a function that Python calls may resize whatever it is given"),),
    ),
    Step(
        phase="prepare", name="lower_dicts", run=lower_dicts.do,
        after=(("constant_propagation", "keys are constants by then"),),
        before=(("shapes", "what comes out of a dict is what went in"),),
    ),
    Step(
        phase="prepare", name="refine_absence", run=refine_absence.do, preserves_aliases=True,
        after=(("inline", "callees find out that an argument is None"),),
        before=(("shapes", "what is None says nothing of the tensor that it might have been"),),
    ),
    Step(
        phase="prepare", name="shapes", run=shapes.propagate, preserves_aliases=True,
        after=(
            ("inline", "the types of arguments go into the functions called"),
            ("lower_tuples", "tuples hide the types of their elements"),
        ),
    ),
    Step(
        phase="prepare", name="expand_gradients", run=_expand_gradients,
        after=(("shapes", "formulas ask for dtypes and ranks"),),
        before=(("settle_items", "derivatives are settled as all else is"),),
    ),
    Step(
        phase="prepare", name="settle_items", run=settle_items.do,
        after=(("shapes", "ranks and dtypes of places tell which are numbers"),),
        before=(
            ("peephole", "views are simplified with others"),
            ("refresh_shapes", "what it makes has types of its own"),
        ),
    ),
    Step(
        phase="simplify", name="drop_modes", run=drop_modes.do,
        after=(("inline", "contexts are made in functions that are called"),),
        before=(("peephole", "what they hide is simplified with all else"),),
    ),
    Step(
        phase="simplify", name="settle_numbers", run=settle_numbers.do,
        after=(("shapes", "the dtype of an element says what its number is"),),
        before=(("constant_propagation_2", "operators on numbers of known types are folded by the right overload"),),
    ),
    Step(
        phase="simplify", name="constant_propagation_2", run=_propagate_constants,
        preserves_aliases=True,
        after=(("shapes", "types that stem from an example must be forgotten before they decide"),),
    ),
    Step(
        phase="simplify", name="peephole", run=peephole.do,
        after=(("shapes", "ranks, sizes and dtypes become constants"),),
    ),
    Step(
        phase="simplify",
        name="constant_propagation_3",
        run=_propagate_constants,
        preserves_aliases=True,
        after=(("peephole", "it makes constants of what types say, and conditions of them"),),
    ),
    Step(
        phase="simplify",
        name="unroll",
        run=_unroll_short,
        after=(("constant_propagation_3", "trip counts and bodies are as small as they get"),),
    ),
    Step(
        phase="simplify",
        name="constant_propagation_4",
        run=_propagate_constants,
        preserves_aliases=True,
        after=(("unroll", "the counter is a constant in each copy of the body"),),
    ),
    Step(phase="simplify", name="separate_ways", run=separate_ways.do, after=(("unroll", "ways that never are fall"),)),
    Step(
        phase="simplify",
        name="fold_into_branches",
        run=fold_into_branches.do,
        preserves_aliases=True,
        after=(("constant_propagation_4", "what is chosen among must be constant"),),
        before=(("dce", "the texts are dead then"),),
    ),
    Step(
        phase="simplify",
        name="sink",
        run=sink.do,
        preserves_aliases=True,
        after=(("constant_propagation_4", "what never raises needs no message"),),
    ),
    Step(
        phase="simplify",
        name="convert_dtypes",
        run=convert_dtypes.do,
        after=(
            ("shapes", "both dtypes must be known"),
            ("constant_propagation_4", "so must what else a conversion is asked for"),
        ),
        before=(
            ("remove_mutation", "a conversion that may give its operand keeps writes to it"),
            ("fuse", "conversions are pointwise"),
        ),
    ),
    Step(
        phase="simplify",
        name="remove_list_mutation",
        run=remove_list_mutation.do,
        after=(("constant_propagation_4", "indexes are constant in the copies of an unrolled loop"),),
        before=(("remove_mutation", "a tensor that is only in a list that never changes may be written otherwise"),),
    ),
    Step(
        phase="simplify",
        name="remove_mutation",
        run=remove_mutation.do,
        after=(
            ("shapes", "only known dtypes tell that a write would not have failed"),
            ("unroll", "writes in a loop to what was made outside it stay; those in its copies need not"),
        ),
        before=(("cse", "nothing written is merged"), ("fuse", "writes are not fused")),
    ),
    Step(
        phase="simplify",
        name="remove_dropout",
        run=remove_dropout.do_checked,
        after=(("constant_propagation_4", "whether a dropout is in training is known by then"),),
        before=(("fuse", "what stood before and behind a dropout may be one group"),),
    ),
    Step(
        phase="simplify",
        name="dce",
        run=dce.do,
        preserves_aliases=True,
        after=(("constant_propagation_4", "what folded constants were made of is dead"),),
    ),
    Step(
        phase="simplify",
        name="short_circuit",
        run=short_circuit.do,
        after=(
            ("constant_propagation_4", "a way that is never taken needs no logic"),
            ("dce", "what nobody needs does not count as work"),
        ),
        before=(("licm", "what does not change leaves a loop only from its straight line"),),
    ),
    Step(
        phase="simplify",
        name="constant_pooling",
        run=constant_pooling.do,
        preserves_aliases=True,
        after=(("dce", "dead constants need no place"),),
        before=(("cse", "equal operands are recognised when they are one value"),),
    ),
    Step(
        phase="simplify",
        name="cse",
        run=cse.do,
        after=(("peephole", "nodes are equal once they are simple"),),
    ),
    Step(
        phase="simplify",
        name="settle_ways",
        run=settle_ways.do,
        after=(
            ("remove_list_mutation", "lists that are asked for any and all are built by then"),
            ("cse", "a value is seen to be the same as another once both are one"),
        ),
        before=(("refresh_shapes", "what is known of a value is what the way taken gives"),),
    ),
    Step(
        phase="simplify",
        name="licm",
        run=licm.do,
        after=(("cse", "fewer nodes to move"), ("unroll", "loops that go away need no hoisting")),
    ),
    Step(
        phase="fuse",
        name="expand_operators",
        run=_expand_operators,
        after=(("settle_ways", "what a branch gives is known once it is decided"),),
        before=(("refresh_shapes", "what it makes has types of its own"),),
    ),
    Step(
        phase="fuse",
        name="settle_attention",
        run=settle_attention.do,
        after=(("expand_operators", "layers are made of attention"),),
        before=(("refresh_shapes", "what it makes has types of its own"),),
    ),
    Step(
        phase="fuse",
        name="refresh_shapes",
        run=shapes.propagate,
        preserves_aliases=True,
        after=(("unroll", "copies of loop bodies have types of their own"),),
    ),
    Step(
        phase="fuse",
        name="fuse_products",
        run=fuse_products.do,
        after=(
            ("refresh_shapes", "ranks tell what a product's tiles can take on"),
            ("cse", "a product computed twice would be in two groups"),
            ("licm", "what leaves a loop must not be in a group of its body"),
        ),
        before=(("fuse", "what follows a product belongs to its kernel rather than to one of its own"),),
    ),
    Step(
        phase="fuse",
        name="fuse_routines",
        run=fuse_routines.do,
        after=(
            ("refresh_shapes", "dtypes tell what routines can take"),
            ("cse", "what is computed twice would be in two groups"),
            ("licm", "what leaves a loop must not be in a group of its body"),
        ),
        before=(("fuse", "what follows a routine belongs to its group rather than to one of its own"),),
    ),
    Step(
        phase="fuse",
        name="fuse",
        run=fuse.do,
        after=(
            ("refresh_shapes", "what is known to have no kernel, such as complex numbers, stays outside"),
            ("cse", "what is computed twice would be in two groups"),
            ("licm", "what leaves a loop must not be in a group of its body"),
        ),
    ),
    Step(phase="fuse", name="fuse_alone", run=fuse_alone.do, after=(("fuse", "what can share a kernel does"),)),
    Step(phase="fuse", name="dce_2", run=dce.do, after=(("fuse", "constants that went into groups may be left over"),)),
)
"""All passes, in order. A name ending in `_2`, `_3` is the same pass again."""

_LAST_OF_PREPARED = "expand_gradients"
_COUNT = [step.name for step in STEPS].index(_LAST_OF_PREPARED) + 1
STEPS_ON_PREPARED = STEPS[_COUNT:]
"""What is left to do for a graph that `prepare` was given."""

check_order(STEPS)


def names() -> tuple[str, ...]:
    """The passes that can be left out, in order."""
    return tuple(dict.fromkeys(_base(step.name) for step in STEPS))


def _base(name: str) -> str:
    stem, _, number = name.rpartition("_")
    return stem if number.isdigit() else name


PREPARING: frozenset[str] = frozenset(_base(step.name) for step in STEPS[:_COUNT])
"""The passes that `prepare` runs."""
PASSES: Mapping[str, Pass] = {_base(step.name): step.run for step in STEPS} | {
    "canonicalize": canonicalize.do,
    "batch_mm": batch_mm.do,
    "canonicalize_ops": canonicalize_ops.do,
    "check_inplace": check_inplace.do,
    "create_autodiff_subgraphs": create_autodiff_subgraphs.do,
    "fold_control": fold_control.do,
    "fuse_addmm": fuse_addmm.do,
    "inline_autodiff_subgraphs": inline_autodiff_subgraphs.do,
    "loop_unrolling": loop_unrolling.do,
    "lower_grad_of": lower_grad_of.do,
    "modified_loops": modified_loops.do,
    "propagate_requires_grad": propagate_requires_grad.do,
    "remove_expands": remove_expands.do,
    "remove_inplace_ops": remove_inplace_ops.do,
    "specialize_autogradzero": specialize_autogradzero.do,
}
"""Every pass by name, those too that belong to no phase."""


def optimise(
    graph: Graph,
    *,
    without: Collection[str] = (),
    check: bool = False,
    record: Record | None = None,
    steps: Sequence[Step] = STEPS,
) -> bool:
    """Run the passes on a graph, in place; whether anything changed.

    Leaves out the passes named in `without`, verifies the graph after each with `check`, and tells `record` what each
    did. Raises ValueError for a name that is no pass, InternalError naming the pass that failed.
    """
    unknown = set(without) - {_base(s.name) for s in steps} - set(names())
    if unknown:
        raise ValueError(f"there is no pass called {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    changed = False
    check_after = _check_each() if check else None
    with keeping_analyses(graph):
        for step in steps:
            if _base(step.name) not in without:
                changed = _run(step, graph, check_after, record) or changed
    return changed


def prepare(graph: Graph) -> None:
    """Run the first passes, up to the one after which everything is known of each value. What they found of memory is
    kept for the others.
    """
    graph.analyses = {}
    for step in STEPS[:_COUNT]:
        _run(step, graph, None, None)


def _check_each() -> Callable[[Graph, str, bool], None]:
    """What verifies a graph after steps, and checks the analyses that are kept of it. What a step left as it was is
    right still; a step that says so of what it changed raises InternalError."""
    verified: list[object] = []

    def check(graph: Graph, stage: str, changed: bool) -> None:
        nonlocal verified
        now = snapshot(graph)
        if is_same(verified, now):
            return
        if verified and not changed:
            raise InternalError(stage, "it changed the graph and says that it did not")
        verify(graph, stage=stage)
        check_analyses(graph, stage)
        verified = now

    return check


def _run(
    step: Step, graph: Graph, check_after: Callable[[Graph, str, bool], None] | None, record: Record | None
) -> bool:
    before = str(graph) if record is not None else ""
    start = time.perf_counter()
    try:
        changed = step.run(graph)
    except RecursionError:
        raise  # a program that is nested too deeply, which is the caller's to say
    except Exception as error:
        if is_foreign(error, besides=(step.run.__module__,)):
            raise
        raise InternalError(f"pass '{step.name}'", f"{type(error).__name__}: {error}") from error
    seconds = time.perf_counter() - start
    if record is not None:
        record(PassRecord(step.phase, step.name, changed, seconds, before, str(graph) if changed else before))
    if changed and not step.preserves_aliases:
        forget_analyses(graph)
    if check_after is not None:
        check_after(graph, f"pass '{step.name}'", changed)
    return changed
