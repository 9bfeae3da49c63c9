"""Every pass by its name: those of the order, and those that run where somebody asks for them."""

from __future__ import annotations

from collections.abc import Mapping

from flambeau.passes import (
    batch_mm,
    canonicalize,
    canonicalize_ops,
    check_inplace,
    create_autodiff_subgraphs,
    fold_control,
    fuse_addmm,
    inline_autodiff_subgraphs,
    loop_unrolling,
    lower_grad_of,
    modified_loops,
    propagate_requires_grad,
    remove_expands,
    remove_inplace_ops,
    specialize_autogradzero,
)
from flambeau.passes.order import STEPS, base_name
from flambeau.passes.steps import Pass

PASSES: Mapping[str, Pass] = {base_name(step.name): step.run for step in STEPS} | {
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
