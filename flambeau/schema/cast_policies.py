"""In which dtype operators compute within `autocast`: facts about operators, by the kind of device that tensors are on.

The operators say theirs in `flambeau.ops.cast_policies`; calls (`flambeau.tensor.autocast_calls`) and graphs
(`flambeau.passes.autocast`) read them here.

>>> policy_of("aten::exp", "abacus") is None
True
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from flambeau.schema.dtype import DType
from flambeau.schema.function import FunctionSchema


class CastPolicy(Enum):
    """What happens to the floating tensors among the operands; float64 and integers stay as they are."""

    LOWER = "the dtype of autocast"
    """Products and convolutions: fast in few bits, and their sums are kept in more."""
    FULL = "float32"
    """What loses too much otherwise: losses, decompositions, transforms."""
    FULL_UNLESS_DTYPE_GIVEN = "float32, unless the call says a dtype"
    """Sums of many: their `dtype` argument says what they add up in."""
    WIDEST = "float32 if an operand is, else the dtype of autocast"
    """What takes operands of one dtype alone."""
    PARTS = "that of each operator that it consists of"
    """Compositions: nothing happens to the operands, but autocast holds for what they call."""
    REFUSED = "none"
    """What would overflow: an error says what to call instead."""


REFUSAL: Final = (
    "{name} is unsafe within autocast on '{device}': its input is a probability, which float16 cannot tell from 0 "
    "or 1. Leave the sigmoid out and call binary_cross_entropy_with_logits, or disable autocast around the call: "
    "with flambeau.autocast('{device}', enabled=False)"
)
Policy = CastPolicy | DType
"""What an operator has; a dtype where an operator of users has said the one that it takes."""
_policies: Final[dict[str, dict[str, Policy]]] = {}


def declare_policy(policy: CastPolicy, device_types: tuple[str, ...], *names: str) -> None:
    """Say the policy of operators (`aten::mm`), or of overloads (`aten::lstm.data`), on kinds of devices. Raises
    ValueError for one that has one there.
    """
    for name in names:
        of_name = _policies.setdefault(name, {})
        for device_type in device_types:
            if device_type in of_name:
                raise ValueError(
                    f"{name} has two cast policies on {device_type}: {of_name[device_type].name} and {policy.name}"
                )
            of_name[device_type] = policy


def take(name: str, device_type: str, dtype: DType) -> None:
    """Have one overload (`mylib::blur`) take its floating operands in a dtype on a kind of device, from here on.

    >>> from flambeau.schema.dtype import bfloat16
    >>> take("doc_policies::blur", "cpu", bfloat16)
    >>> policy_of("doc_policies::blur", "cpu")
    flambeau.bfloat16
    """
    _policies.setdefault(name, {})[device_type] = dtype


def policy_of(name: str, device_type: str) -> Policy | None:
    """The policy of an operator on a kind of device; None for one that computes in what it is given."""
    return _policies.get(name, {}).get(device_type)


def policies_of(schema: FunctionSchema) -> dict[str, Policy]:
    """The policies of an overload, by the kind of device: its own, else that of its name; what writes into an operand
    has none.
    """
    if schema.is_mutable:
        return {}
    of_name, own = (_policies.get(name, {}) for name in (schema.name, schema.full_name))
    return {**of_name, **own} if own else of_name


def declared_policies(device_type: str) -> dict[str, Policy]:
    """The operators that have a policy on a kind of device, by name.

    >>> import flambeau
    >>> declared_policies("cpu")["aten::mm"].value
    'the dtype of autocast'
    """
    return {name: of_name[device_type] for name, of_name in sorted(_policies.items()) if device_type in of_name}
