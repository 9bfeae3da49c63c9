"""Parameters as optimisers are given them: tensors, pairs of names and tensors, or groups with settings."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Final

from flambeau.tensor.tensor import Tensor

SETS_HAVE_NO_ORDER: Final = (
    "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
    "between runs. Please use a list instead."
)
NAMES_MISSING: Final = "all optimizer params should be with/without names. Some param names are missing"
GROUP_WITHOUT_NAMES: Final = (
    "all optimizer param groups should be with/without names. cannot add param group {kind} names to the optimizer"
)
TWICE: Final = (
    "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
    "github.com/pytorch/pytorch/issues/40967 for more information"
)


class _Required:
    """Stands for a setting that each group must have."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: Final = _Required()


def as_groups(params: Iterable[Any]) -> list[dict[str, Any]]:
    """What an optimiser was given as groups. Raises TypeError for a tensor, ValueError for nothing."""
    if isinstance(params, Tensor):
        raise TypeError(
            "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
            f"{type(params).__name__}"
        )
    listed = list(params)
    if not listed:
        raise ValueError("optimizer got an empty parameter list")
    return listed if isinstance(listed[0], dict) else [{"params": listed}]


def checked_group(group: Any, defaults: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
    """A group as an optimiser keeps it: parameters in a list, all settings there. Raises TypeError and ValueError."""
    if not isinstance(group, dict):
        raise TypeError(f"param_group must be a dict, but got {type(group)}")
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(SETS_HAVE_NO_ORDER)
    listed = [params] if isinstance(params, Tensor) else list(params)
    names = _names(listed)
    if names is not None:
        listed = [tensor for _, tensor in listed]
        group["param_names"] = names
    group["params"] = listed
    for tensor in listed:
        _check(tensor, may_be_result=bool(defaults.get("differentiable")))
    for name, default in defaults.items():
        if default is required and name not in group:
            raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
        group.setdefault(name, default)
    if len({id(p) for p in listed}) < len(listed):
        warnings.warn(TWICE, stacklevel=4)
    _check_others(group, others)
    return group


def _names(listed: list[Any]) -> list[str] | None:
    """The names of parameters that are given with names."""
    is_named = [isinstance(one, tuple) and len(one) == 2 for one in listed]
    if not any(is_named):
        return None
    if not all(is_named):
        raise ValueError(NAMES_MISSING)
    return [name for name, _ in listed]


def _check(tensor: Any, *, may_be_result: bool) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(tensor).__name__}")
    if not may_be_result and not (tensor.is_leaf or tensor.retains_grad):
        raise ValueError("can't optimize a non-leaf Tensor")


def _check_others(group: dict[str, Any], others: list[dict[str, Any]]) -> None:
    if others and ("param_names" in group) != ("param_names" in others[0]):
        raise ValueError(GROUP_WITHOUT_NAMES.format(kind="with" if "param_names" in group else "without"))
    there = {id(p) for other in others for p in other["params"]}
    if any(id(p) in there for p in group["params"]):
        raise ValueError("some parameters appear in more than one parameter group")
