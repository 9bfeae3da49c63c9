"""Blocks of programs that say whether gradients are recorded, as nodes: what makes, enters and leaves them.

>>> import flambeau
>>> @flambeau.script
... def doubled(x: flambeau.Tensor) -> flambeau.Tensor:
...     with flambeau.no_grad():
...         y = x * 2.0
...     return y + 1.0
>>> [node.op for node in doubled.graph.nodes() if is_about_mode(node)]
['^no_grad', 'prim::Enter', 'prim::Exit']

In archives they are objects of classes that PyTorch wrote, or `serialize.archive_writer`; blocks with a name for
profilers, which do nothing here, are among them.
"""

from __future__ import annotations

from typing import Final

from flambeau.ir.graph import Node
from flambeau.schema.types import ClassType
from flambeau.tensor.grad_mode import enable_grad, inference_block, no_grad, set_grad_enabled
from flambeau.util.names import in_root, qualified_name

_PYTHON: Final = {no_grad: False, inference_block: False, set_grad_enabled: True, enable_grad: True}
_ARCHIVED: Final = {"no_grad": False, "inference_mode": False, "set_grad_enabled": True, "enable_grad": True}
_CLASSES: Final = {
    in_root("torch.autograd.profiler.record_function"): False,
    **{in_root(f"torch.autograd.grad_mode.{name}"): may_record for name, may_record in _ARCHIVED.items()},
    **{qualified_name(python): may_record for python, may_record in _PYTHON.items()},
}
"""The classes of blocks, and whether gradients may be recorded within one that were not outside of it."""
_CREATE, _SET, _ENTER, _EXIT = "prim::CreateObject", "prim::SetAttr", "prim::Enter", "prim::Exit"


def is_about_mode(node: Node) -> bool:
    """Whether a node makes a block, says something of it, enters or leaves it, and does nothing else."""
    if node.op in (_ENTER, _EXIT, _SET):
        maker = node.operand(0).defining_node if node.operands else None
        return maker is not None and makes_mode(maker)
    return makes_mode(node)


def makes_mode(node: Node) -> bool:
    """Whether a node makes a block that is entered and left, and nothing is done with besides."""
    if _may_record(node) is None:
        return False
    return all(_is_bound(use.user, use.offset) for use in node.result().uses())


def may_record(enter: Node) -> bool:
    """Whether gradients may be recorded from a node on that enters something, although they were not."""
    maker = enter.operand(0).defining_node
    return maker is None or _may_record(maker) is not False


def _may_record(maker: Node) -> bool | None:
    """Whether within the block that a node makes gradients may be recorded although they are not; None of others."""
    if maker.op == _CREATE:
        type_ = maker.result().static_type
        return _CLASSES.get(type_.name) if isinstance(type_, ClassType) and type_.name is not None else None
    python = maker.attributes.get("callable")
    return _PYTHON.get(python) if isinstance(python, type) else None


def _is_bound(user: Node, offset: int) -> bool:
    if user.op == _SET:
        return offset == 0
    return user.op in (_ENTER, _EXIT) and not any(v.is_used for v in user.results)
