"""The PTX of a plan: its fused groups as CUDA kernels, for arguments like those the plan was made for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.codegen.cuda.bound_program import Layout
from flambeau.codegen.cuda.groups import Group, groups_ptx
from flambeau.executor.plan import ExecutionPlan
from flambeau.executor.plan_body import FUSION
from flambeau.specialise.spec import refine
from flambeau.tensor.tensor import Tensor


def plan_ptx(plan: ExecutionPlan, arguments: Sequence[Any], arch: str) -> str:
    """PTX of all fused groups of `plan`. Inputs of a group that are computed on the way are taken to be row-major.

    Raises ValueError for an unknown architecture and RuntimeError without llvmlite.
    """
    bound = dict(zip(plan.graph.parameters, arguments, strict=True))
    groups = []
    for number, node in enumerate(plan.graph.find_all(FUSION)):
        graph = node.attribute("Subgraph")
        inner = list(zip(graph.parameters, node.operands, strict=True))
        groups.append(
            Group(
                name=f"group_{number}",
                graph=graph,
                types=[refine(v.static_type, bound[outer]) if outer in bound else v.static_type for v, outer in inner],
                layouts=[_layout(bound[outer]) if outer in bound else None for _, outer in inner],
            )
        )
    return groups_ptx(groups, arch)


def _layout(argument: Any) -> Layout:
    return Layout.of(argument._array) if isinstance(argument, Tensor) else Layout((), ())
