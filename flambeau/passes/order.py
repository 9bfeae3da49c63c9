"""The passes that run on every graph, in order, and why in that order.

The order is data: each step says what it must come after or before, with the reason, and that is checked when this
module is imported.
"""

from __future__ import annotations

from functools import cache

from flambeau.analysis import shapes
from flambeau.ir.graph import Graph
from flambeau.ops.families.expansion_tables import expansions
from flambeau.passes import (
    autocast,
    complex_parts,
    constant_pooling,
    constant_propagation,
    convert_dtypes,
    cse,
    dce,
    drop_modes,
    drop_own_gradients,
    fold_into_branches,
    fuse,
    fuse_alone,
    fuse_products,
    fuse_routines,
    inline,
    licm,
    loop_unrolling,
    lower_containers,
    lower_dicts,
    lower_no_grad,
    lower_objects,
    lower_tuples,
    peephole,
    refine_absence,
    remove_dropout,
    remove_list_mutation,
    remove_mutation,
    rows_first,
    separate_ways,
    settle_attention,
    settle_containers,
    settle_items,
    settle_numbers,
    settle_ways,
    short_circuit,
    sink,
    split_objects,
    split_stacked,
    widen_halves,
)
from flambeau.passes.steps import Step, check_order
from flambeau.passes.try_blocks import lower as lower_try
from flambeau.program.batches import VMAP
from flambeau.program.gradients import GRADIENT
from flambeau.program.own_gradients import OWN_GRADIENT
from flambeau.program.tangents import TANGENTS
from flambeau.util.inversions import (
    CUSTOM_FUNCTION_EXPANSION,
    GRADIENT_EXPANSION,
    OPERATOR_EXPANSION,
    VMAP_EXPANSION,
)


def _propagate_constants(graph: Graph) -> bool:
    """Compute what constants and the types of this plan determine."""
    return constant_propagation.do(graph, by_types=True)


def _expand_vmaps(graph: Graph) -> bool:
    """By whoever knows the operators of whole batches: passes do not."""
    return VMAP_EXPANSION.implementation(graph)


def _expand_custom_functions(graph: Graph) -> bool:
    """Put what custom functions compute in the place of their calls: passes know nothing of classes."""
    return CUSTOM_FUNCTION_EXPANSION.implementation(graph)


def _expand_gradients(graph: Graph) -> bool:
    """Put derivatives of functions in the place of calls of their gradients and tangents."""
    return GRADIENT_EXPANSION.implementation(graph)


def _expand_operators(graph: Graph) -> bool:
    """Write operators without native code as those that they consist of."""
    return OPERATOR_EXPANSION.implementation(graph)


def _unroll_short(graph: Graph) -> bool:
    """Unroll loops with a small constant trip count: others would grow the code that is interpreted."""
    return loop_unrolling.do(graph, partly=False)


class PythonCalls:
    """The names of nodes that Python runs."""

    def __contains__(self, op: object) -> bool:
        return isinstance(op, str) and op.startswith("^")


STEPS: tuple[Step, ...] = (
    Step(phase="prepare", name="inline", run=inline.do),
    Step(
        phase="prepare", name="expand_custom_functions", run=_expand_custom_functions, looks_for=PythonCalls(),
        after=(("inline", "functions that are called call some"),),
        before=(("autocast", "what they compute is cast as all else"), ("shapes", "what they compute has types")),
    ),
    Step(phase="prepare", name="autocast", run=autocast.do, after=(("inline", "blocks hold for callees too"),)),
    Step(
        phase="prepare", name="split_objects", run=split_objects.do, looks_for=(lower_objects.CREATE,),
        after=(("inline", "constructors assign attributes where objects are made"),),
        before=(("lower_objects", "objects that are in no list any more become values"),),
    ),
    Step(
        phase="prepare", name="lower_objects", run=lower_objects.do, looks_for=(lower_objects.CREATE,),
        after=(("inline", "methods are given their objects"),),
        before=(("lower_tuples", "attributes may be tuples"),),
    ),
    Step(
        phase="prepare", name="lower_tuples", run=lower_tuples.do, looks_for=lower_tuples.KINDS,
        after=(("inline", "functions return tuples that their callers take apart"),),
    ),
    Step(
        phase="prepare", name="constant_propagation", run=constant_propagation.do, preserves_aliases=True,
        after=(("inline", "arguments of calls are often constants"),),
        before=(("shapes", "what a shape depends on is often computed from constants"),),
    ),
    Step(
        phase="prepare", name="lower_no_grad", run=lower_no_grad.do, looks_for=lower_no_grad.KINDS,
        after=(("lower_tuples", "what comes in a tuple is a value by itself"),),
    ),
    Step(
        phase="prepare", name="lower_try", run=lower_try.do, looks_for=(lower_try.TRY,),
        after=(("inline", "bodies are given what callees were"), ("lower_tuples", "so are items of tuples")),
        before=(("shapes", "a function that Python calls may resize whatever it is given"),),
    ),
    Step(
        phase="prepare", name="lower_dicts", run=lower_dicts.do, looks_for=lower_dicts.KINDS,
        after=(("constant_propagation", "keys are constants by then"),),
        before=(("shapes", "what comes out of a dict is what went in"),),
    ),
    Step(
        phase="prepare", name="settle_containers", run=settle_containers.do, looks_for=lower_containers.KINDS,
        after=(
            ("constant_propagation", "places are constants by then"),
            ("lower_dicts", "empty dicts that are filled in order are written out"),
        ),
        before=(("shapes", "types of items are better known by themselves"),),
    ),
    Step(
        phase="prepare", name="refine_absence", run=refine_absence.do, preserves_aliases=True,
        looks_for=("prim::If",),
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
        phase="prepare", name="expand_vmaps", run=_expand_vmaps, looks_for=(VMAP,),
        after=(("shapes", "rules for whole batches ask for ranks"),),
        before=(("expand_gradients", "a loop over examples may have gradients in it"),),
    ),
    Step(
        phase="prepare", name="expand_gradients", run=_expand_gradients, looks_for=(GRADIENT, TANGENTS),
        after=(("shapes", "formulas ask for dtypes and ranks"),),
        before=(("settle_items", "derivatives are settled as all else is"),),
    ),
    Step(
        phase="prepare", name="settle_items", run=settle_items.do, looks_for=settle_items.KINDS,
        after=(("shapes", "ranks and dtypes of places tell which are numbers"),),
        before=(
            ("peephole", "views are simplified with others"),
            ("refresh_shapes", "what it makes has types of its own"),
        ),
    ),
    Step(
        phase="simplify", name="drop_own_gradients", run=drop_own_gradients.do, looks_for=(OWN_GRADIENT,),
        after=(("expand_gradients", "gradients went back through them"),),
        before=(("peephole", "what is computed is what they are given"),),
    ),
    Step(
        phase="simplify", name="drop_modes", run=drop_modes.do, looks_for=drop_modes.KINDS,
        after=(("inline", "contexts are made in functions that are called"),),
        before=(("peephole", "what they hide is simplified with all else"),),
    ),
    Step(
        phase="simplify", name="settle_numbers", run=settle_numbers.do, looks_for=settle_numbers.KINDS,
        after=(("shapes", "the dtype of an element says what its number is"),),
        before=(("constant_propagation_2", "operators on numbers of known types are folded by the right overload"),),
    ),
    Step(
        phase="simplify", name="constant_propagation_2", run=_propagate_constants, preserves_aliases=True,
        after=(("shapes", "types that stem from an example must be forgotten before they decide"),),
    ),
    Step(
        phase="simplify", name="peephole", run=peephole.do,
        after=(("shapes", "ranks, sizes and dtypes become constants"),),
    ),
    Step(
        phase="simplify", name="constant_propagation_3", run=_propagate_constants, preserves_aliases=True,
        after=(("peephole", "it makes constants of what types say, and conditions of them"),),
    ),
    Step(
        phase="simplify", name="unroll", run=_unroll_short, looks_for=("prim::Loop",),
        after=(("constant_propagation_3", "trip counts and bodies are as small as they get"),),
    ),
    Step(
        phase="simplify", name="constant_propagation_4", run=_propagate_constants, preserves_aliases=True,
        after=(("unroll", "the counter is a constant in each copy of the body"),),
    ),
    Step(phase="simplify", name="separate_ways", run=separate_ways.do, after=(("unroll", "ways that never are fall"),)),
    Step(
        phase="simplify",
        name="fold_into_branches",
        run=fold_into_branches.do,
        looks_for=("prim::If",),
        preserves_aliases=True,
        after=(("constant_propagation_4", "what is chosen among must be constant"),),
        before=(("dce", "the texts are dead then"),),
    ),
    Step(
        phase="simplify", name="sink", run=sink.do, looks_for=("prim::RaiseException",), preserves_aliases=True,
        after=(("constant_propagation_4", "what never raises needs no message"),),
    ),
    Step(
        phase="simplify", name="convert_dtypes", run=convert_dtypes.do,
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
        looks_for=remove_list_mutation.KINDS,
        after=(("constant_propagation_4", "indexes are constant in the copies of an unrolled loop"),),
        before=(("remove_mutation", "a tensor that is only in a list that never changes may be written otherwise"),),
    ),
    Step(
        phase="simplify", name="remove_mutation", run=remove_mutation.do,
        after=(
            ("shapes", "only known dtypes tell that a write would not have failed"),
            ("unroll", "writes in a loop to what was made outside it stay; those in its copies need not"),
        ),
        before=(("cse", "nothing written is merged"), ("fuse", "writes are not fused")),
    ),
    Step(
        phase="simplify", name="remove_dropout", run=remove_dropout.do_checked,
        after=(("constant_propagation_4", "whether a dropout is in training is known by then"),),
        before=(("fuse", "what stood before and behind a dropout may be one group"),),
    ),
    Step(
        phase="simplify", name="dce", run=dce.do, preserves_aliases=True,
        after=(("constant_propagation_4", "what folded constants were made of is dead"),),
    ),
    Step(
        phase="simplify", name="short_circuit", run=short_circuit.do, looks_for=("prim::If",),
        after=(
            ("constant_propagation_4", "a way that is never taken needs no logic"),
            ("dce", "what nobody needs does not count as work"),
        ),
        before=(("licm", "what does not change leaves a loop only from its straight line"),),
    ),
    Step(
        phase="simplify", name="constant_pooling", run=constant_pooling.do, preserves_aliases=True,
        after=(("dce", "dead constants need no place"),),
        before=(("cse", "equal operands are recognised when they are one value"),),
    ),
    Step(
        phase="simplify", name="cse", run=cse.do,
        after=(("peephole", "nodes are equal once they are simple"),),
    ),
    Step(
        phase="simplify", name="settle_ways", run=settle_ways.do, looks_for=settle_ways.KINDS,
        after=(
            ("remove_list_mutation", "lists that are asked for any and all are built by then"),
            ("cse", "a value is seen to be the same as another once both are one"),
        ),
        before=(("refresh_shapes", "what is known of a value is what the way taken gives"),),
    ),
    Step(
        phase="simplify", name="licm", run=licm.do, looks_for=("prim::Loop",),
        after=(("cse", "fewer nodes to move"), ("unroll", "loops that go away need no hoisting")),
    ),
    Step(
        phase="fuse", name="expand_operators", run=_expand_operators, looks_for=expansions,
        after=(("settle_ways", "what a branch gives is known once it is decided"),),
        before=(("refresh_shapes", "what it makes has types of its own"),),
    ),
    Step(
        phase="fuse", name="settle_attention", run=settle_attention.do, looks_for=(settle_attention.ATTENTION,),
        after=(("expand_operators", "layers are made of attention"),),
        before=(("refresh_shapes", "what it makes has types of its own"),),
    ),
    Step(
        phase="fuse", name="split_stacked", run=split_stacked.do, looks_for=split_stacked.KINDS,
        after=(
            ("licm", "what does not change in a loop is computed before it"),
            ("expand_operators", "what they consist of may be computed for each part"),
        ),
        before=(
            ("refresh_shapes", "parts have types of their own"),
            ("fuse", "what is computed for parts is one kernel where they are of the same sizes"),
        ),
    ),
    Step(
        phase="fuse", name="refresh_shapes", run=shapes.propagate, preserves_aliases=True,
        after=(("unroll", "copies of loop bodies have types of their own"),),
    ),
    Step(
        phase="fuse", name="complex_parts", run=complex_parts.do, looks_for=complex_parts.pointwise_forms,
        after=(("refresh_shapes", "dtypes tell which tensors are complex"),),
        before=(("fuse_products", "what follows a product may be a part of it"), ("fuse", "parts are pointwise")),
    ),
    Step(
        phase="fuse", name="widen_halves", run=widen_halves.do,
        after=(("refresh_shapes", "dtypes tell what routines can take"),),
        before=(("fuse", "conversions are pointwise"),),
    ),
    Step(
        phase="fuse", name="fuse_products", run=fuse_products.do,
        after=(
            ("refresh_shapes", "ranks tell what a product's tiles can take on"),
            ("cse", "a product computed twice would be in two groups"),
            ("licm", "what leaves a loop must not be in a group of its body"),
        ),
        before=(("fuse", "what follows a product belongs to its kernel rather than to one of its own"),),
    ),
    Step(
        phase="fuse", name="fuse_routines", run=fuse_routines.do,
        after=(
            ("refresh_shapes", "dtypes tell what routines can take"),
            ("cse", "what is computed twice would be in two groups"),
            ("licm", "what leaves a loop must not be in a group of its body"),
        ),
        before=(("fuse", "what follows a routine belongs to its group rather than to one of its own"),),
    ),
    Step(
        phase="fuse", name="rows_first", run=rows_first.do, looks_for=rows_first.by_rows,
        after=(("fuse_routines", "what a routine gives lies in memory anyhow"),),
        before=(("fuse", "sums of rows belong to the kernel of what goes through the rows"),),
    ),
    Step(
        phase="fuse", name="fuse", run=fuse.do,
        after=(
            ("refresh_shapes", "what is known to have no kernel, such as sorting, stays outside"),
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
STEPS_OF_PREPARING = STEPS[:_COUNT]
"""What `pipeline.prepare` runs."""
STEPS_ON_PREPARED = STEPS[_COUNT:]
"""What is left to do for a graph that `prepare` was given."""

check_order(STEPS)


def names() -> tuple[str, ...]:
    """The passes that can be left out, in order."""
    return tuple(dict.fromkeys(base_name(step.name) for step in STEPS))


@cache
def base_name(name: str) -> str:
    """The name of a pass, without the number of the time it runs."""
    stem, _, number = name.rpartition("_")
    return stem if number.isdigit() else name


PREPARING: frozenset[str] = frozenset(base_name(step.name) for step in STEPS_OF_PREPARING)
"""The passes that `prepare` runs."""
