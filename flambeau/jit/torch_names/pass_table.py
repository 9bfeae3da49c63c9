"""The passes by the names that TorchScript's users know them by, without `_jit_pass_`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from flambeau.analysis import shapes
from flambeau.ir import graph as graphs
from flambeau.ir.verify import verify
from flambeau.jit.symbolic_shapes import compute
from flambeau.passes import (
    activations_in_place,
    autocast,
    batch_mm,
    canonicalize,
    canonicalize_ops,
    check_inplace,
    concat_frozen_linear,
    constant_pooling,
    constant_propagation,
    create_autodiff_subgraphs,
    create_functional_graphs,
    cse,
    dce,
    decompose_ops,
    frozen_numerics,
    fuse,
    fuse_add_relu,
    fuse_addmm,
    fuse_linear,
    inline,
    inline_autodiff_subgraphs,
    inline_tasks,
    list_idioms,
    loop_unrolling,
    lower_grad_of,
    lower_tuples,
    peephole,
    propagate_requires_grad,
    refine_from_conditions,
    remove_dropout,
    remove_expands,
    remove_inplace_ops,
    remove_list_mutation,
    remove_mutation,
    retype,
    run_decompositions,
    specialize_autogradzero,
    transpose_frozen_linear,
)


def _cleaned(graph: graphs.Graph, changed: bool) -> bool:
    """Drop what nobody needs any more of what a pass has changed."""
    return dce.do(graph) | changed if changed else False


def _peephole(graph: graphs.Graph, disable_shape_peepholes: bool = False, addmm_fusion_enabled: bool = False) -> bool:
    changed = peephole.do(graph) | list_idioms.do(graph)
    return _cleaned(graph, changed | (addmm_fusion_enabled and fuse_addmm.do(graph)))


def _remove_mutation(graph: graphs.Graph) -> bool:
    return _cleaned(graph, remove_list_mutation.do(graph) | remove_mutation.do(graph, checks_dtype=False))


def _batch_mm(graph: graphs.Graph) -> bool:
    return _cleaned(graph, batch_mm.do(graph))


def _concat(graph: graphs.Graph) -> bool:
    return _cleaned(graph, concat_frozen_linear.do(graph))


def _constants(graph: graphs.Graph) -> bool:
    return _cleaned(graph, constant_propagation.do(graph))


def _values_only(graph: graphs.Graph) -> bool:
    return _cleaned(graph, constant_propagation.do(graph, values_only=True))


def _all_tuples(graph: graphs.Graph) -> bool:
    return lower_tuples.do(graph, signature=True)


def _complete(graph: graphs.Graph, examples: Sequence[Any], with_grad: bool = False) -> bool:
    return retype.complete_shapes(graph, examples, with_grad)


def _canonicalize(graph: graphs.Graph, keep_unique_names: bool = True) -> bool:
    return canonicalize.do(graph, keep_names=keep_unique_names)


def _optimize_frozen(graph: graphs.Graph, optimize_numerics: bool = True) -> bool:
    return _cleaned(graph, remove_dropout.do(graph) | (optimize_numerics and frozen_numerics.do(graph)))


CHANGES: Final = frozenset((
    "concat_frozen_linear", "constant_loop_unrolling", "constant_propagation", "constant_propagation_immutable_types",
    "cse", "fold_frozen_conv_add_or_sub", "fold_frozen_conv_bn", "fold_frozen_conv_mul_or_div", "fold_frozen_linear_bn",
    "functional_to_inplace_activation", "fuse_addmm", "inplace_to_functional_activation", "integer_value_refinement",
    "loop_unrolling", "peephole", "peephole_list_idioms", "propagate_device", "propagate_dtype",
    "refine_integer_values", "remove_mutation", "transpose_frozen_linear",
))  # fmt: skip
"""Those that say whether they changed the graph, by their names with `_jit_pass_`."""

CHANGES_MEANING: Final = frozenset((
    "autocast", "complete_shape_analysis", "erase_number_types", "lower_all_tuples", "optimize_frozen_graph",
    "remove_dropout", "remove_inplace_ops", "specialize_autogradzero",
))  # fmt: skip
"""Those after which a graph may give something else, or take something else: what was compiled of it is made anew."""

PASSES: Final[dict[str, Callable[..., Any]]] = {
    "autocast": autocast.do,
    "batch_mm": _batch_mm,
    "canonicalize": _canonicalize,
    "canonicalize_graph_fuser_ops": canonicalize_ops.do,
    "check_inplace": check_inplace.do,
    "complete_shape_analysis": _complete,
    "concat_frozen_linear": _concat,
    "constant_loop_unrolling": partial(loop_unrolling.do, partly=False),
    "constant_pooling": constant_pooling.do,
    "constant_propagation": _constants,
    "constant_propagation_immutable_types": _values_only,
    "create_autodiff_subgraphs": create_autodiff_subgraphs.do,
    "create_functional_graphs": create_functional_graphs.do,
    "cse": cse.do,
    "dce": dce.do,
    "dce_graph": dce.do,
    "decompose_ops": decompose_ops.do,
    "erase_number_types": retype.erase_numbers,
    "erase_shape_information": retype.erase_shapes,
    "fold_frozen_conv_add_or_sub": partial(frozen_numerics.do, only=frozen_numerics.sum_with_constant, linears=False),
    "fold_frozen_conv_bn": partial(frozen_numerics.do, only=frozen_numerics.norm, linears=False),
    "fold_frozen_conv_mul_or_div": partial(
        frozen_numerics.do, only=frozen_numerics.product_with_constant, linears=False
    ),
    "fold_frozen_linear_bn": partial(frozen_numerics.do, only=frozen_numerics.norm, linears=True),
    "functional_to_inplace_activation": activations_in_place.to_in_place,
    "fuse": fuse.do,
    "fuse_add_relu": fuse_add_relu.do,
    "fuse_addmm": fuse_addmm.do,
    "fuse_linear": fuse_linear.do,
    "inline": inline.do,
    "inline_autodiff_subgraphs": inline_autodiff_subgraphs.do,
    "inline_fork_wait": inline_tasks.do,
    "inline_functional_graphs": partial(inline_autodiff_subgraphs.do, kind=create_functional_graphs.GROUP),
    "inplace_to_functional_activation": activations_in_place.to_functional,
    "integer_value_refinement": refine_from_conditions.integers,
    "lint": verify,
    "loop_unrolling": loop_unrolling.do,
    "lower_all_tuples": _all_tuples,
    "lower_grad_of": lower_grad_of.do,
    "optimize_frozen_graph": _optimize_frozen,
    "peephole": _peephole,
    "peephole_list_idioms": list_idioms.do,
    "propagate_device": retype.propagate_devices,
    "propagate_dtype": retype.propagate_dtypes,
    "propagate_requires_grad": propagate_requires_grad.do,
    "propagate_shapes": shapes.propagate,
    "propagate_shapes_on_graph": compute.propagate,
    "refine_integer_values": refine_from_conditions.integers,
    "refine_tuple_types": retype.refine_tuples,
    "remove_dropout": remove_dropout.do,
    "remove_expands": remove_expands.do,
    "remove_inplace_ops": remove_inplace_ops.do,
    "remove_list_mutation": remove_list_mutation.do,
    "remove_mutation": _remove_mutation,
    "run_decompositions": run_decompositions.do,
    "specialize_autogradzero": specialize_autogradzero.do,
    "transpose_frozen_linear": transpose_frozen_linear.do,
}
