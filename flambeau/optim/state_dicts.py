"""State dicts of optimisers, in PyTorch's form: parameters are numbers, in the order of the groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from flambeau.tensor.bridge import from_dlpack
from flambeau.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Protocol

    class Stateful(Protocol):
        """What an optimiser is to this module."""

        state: defaultdict[Any, Any]
        param_groups: list[dict[str, Any]]


COUNTS: Final = "step"
"""The state that keeps its own dtype: how many steps there were."""


def collect(optimizer: Stateful) -> dict[str, Any]:
    """The state dict of an optimiser; tensors in it are the optimiser's own."""
    numbers: dict[int, int] = {}
    groups = []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            numbers.setdefault(id(parameter), len(numbers))
        packed = {key: value for key, value in group.items() if key != "params"}
        packed["params"] = [numbers[id(parameter)] for parameter in group["params"]]
        groups.append(packed)
    state = {numbers[id(k)] if isinstance(k, Tensor) else k: value for k, value in optimizer.state.items()}
    return {"state": state, "param_groups": groups}


def restored(optimizer: Stateful, state_dict: Mapping[str, Any]) -> dict[str, Any]:
    """State and groups of a state dict, for the parameters of an optimiser. Raises ValueError if they do not match."""
    groups, saved = optimizer.param_groups, deepcopy(state_dict["param_groups"])
    if len(groups) != len(saved):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )
    parameters = {
        number: parameter
        for group, one in zip(groups, saved, strict=True)
        for number, parameter in zip(one["params"], group["params"], strict=True)
    }
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in state_dict["state"].items():
        if key in parameters:
            state[parameters[key]] = _fitted(value, parameters[key])
        else:
            state[key] = value
    for group, one in zip(groups, saved, strict=True):
        one["params"] = group["params"]
        if "param_names" in group and "param_names" not in one:
            one["param_names"] = group["param_names"]
    return {"state": state, "param_groups": saved}


def _fitted(value: Any, parameter: Tensor, key: Any = None) -> Any:
    """Saved state with tensors of the parameter's dtype, if that is a floating one; counts stay what they are."""
    if isinstance(value, Mapping):
        return {k: _fitted(v, parameter, k) for k, v in value.items()}
    if not isinstance(value, Tensor) and hasattr(value, "__dlpack__"):
        value = from_dlpack(value)
    if isinstance(value, Tensor):
        if key != COUNTS and parameter.dtype.is_floating_point:
            return value.to(dtype=parameter.dtype, copy=True).detach()
        return value.detach().clone()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return type(value)(_fitted(v, parameter) for v in value)  # type: ignore[call-arg]
    return value
