"""Node kinds that are no operators: what the graph is made of, and what each may do.

Operators are described by their declarations (`Node.definition`). The kinds here have no schema, because their operands
and results follow from types, attributes or blocks.
"""

from __future__ import annotations

from typing import Final

PYTHON_ARGUMENTS: Final = "python_arguments"
"""The attribute of a `^python_function` node: the arguments that are no graph values, as text."""
REQUIRED: Final = "required"
"""The attribute of a node that runs for its error, whether or not anybody uses its results."""
HIDDEN: Final = frozenset({PYTHON_ARGUMENTS, REQUIRED, "callable", "function", "kernel", "site"})
"""Attributes that live beside the text: what a `^python_function`, a function constant or a fused group calls."""

CONTROL: Final = frozenset({"prim::If", "prim::Loop"})
"""Nodes whose blocks run in place."""

BUILD: Final = frozenset(
    {"prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct", "prim::ConstantChunk", "prim::tolist"}
)
"""Make a container of their operands."""

TAKE: Final = frozenset({"prim::ListUnpack", "prim::TupleUnpack", "prim::TupleIndex", "prim::TupleSlice"})
"""Give what is in a container."""

PASS: Final = frozenset(
    {
        "prim::unchecked_cast", "prim::unchecked_unwrap_optional", "prim::Guard", "prim::profile", "prim::data",
        "prim::AutogradAdd", "prim::TypeCheck", "prim::RequiresGradCheck", "prim::OwnGradient",
    }
)  # fmt: skip
"""Results are the operands, seen differently."""

QUERY: Final = frozenset(
    {
        "prim::Constant", "prim::Uninitialized", "prim::isinstance", "prim::NumToTensor",
        "prim::ImplicitTensorToNum", "prim::EnumName", "prim::EnumValue", "prim::dtype", "prim::device",
        "prim::layout", "prim::shape", "prim::GetAttr", "prim::ModuleContainerIndex", "prim::CreateObject",
        "prim::rangelist", "prim::min", "prim::max", "prim::abs", "prim::GradOf",
        "prim::AutogradZero", "prim::AutogradAnyNonZero", "prim::MMTreeReduce", "prim::MMBatchSide",
    }
)  # fmt: skip
"""Give something new or immutable, and touch nothing."""

OPAQUE: Final = frozenset(
    {
        "prim::CallFunction", "prim::CallMethod", "prim::fork", "prim::awaitable", "prim::awaitable_wait",
        "prim::Closure", "prim::awaitable_nowait", "prim::Enter", "prim::Exit", "aten::wait",
    }
)  # fmt: skip
"""May do anything to what they are given, and to the world."""

WAIT: Final = frozenset({"aten::wait", "prim::awaitable_wait"})
"""Give what a task gives, when it has it."""

GROUPS: Final = frozenset({"prim::FusionGroup", "prim::TensorExprGroup", "prim::FunctionalGraph"})
"""Subgraphs of operators without effects, whose results are new."""

WITH_SUBGRAPH: Final = GROUPS | {"prim::DifferentiableGraph", "prim::fork", "prim::awaitable", "prim::Closure"}
"""Nodes with an attribute `Subgraph`."""

ORDERED: Final = frozenset(
    {
        "prim::Print", "prim::RaiseException", "prim::SetAttr", "prim::TimePoint", "prim::Store", "prim::Load",
        "prim::BreakStmt", "prim::ContinueStmt", "prim::ReturnStmt", "aten::warn", "prim::Gradient", "prim::Vmap",
        "prim::Tangents",
    }
)  # fmt: skip
"""Run when and as often as the program says: seen from outside, or steering the program."""

NEVER_RAISE: Final = CONTROL | {
    "prim::Constant", "prim::Uninitialized", "prim::ListConstruct", "prim::TupleConstruct", "prim::TupleUnpack",
    "prim::isinstance", "prim::CreateObject",
}  # fmt: skip
"""Cannot fail, whatever the operands are; of those with blocks, apart from what runs inside."""

STRUCTURAL: Final = CONTROL | BUILD | TAKE | PASS | QUERY | OPAQUE | WITH_SUBGRAPH | ORDERED


def is_known(kind: str) -> bool:
    """Whether a kind without declaration may stand in a graph: a structural one, or a Python function."""
    return kind in STRUCTURAL or kind.startswith("^")
