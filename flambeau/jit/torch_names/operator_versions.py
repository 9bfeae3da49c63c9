"""Which operators changed their meaning, at which version of archives, and how they were declared before.

>>> entry, = _get_operator_version_map()["aten::div.Tensor"]
>>> entry.bumped_at_version, entry.upgrader_name
(4, 'div_Tensor_0_3')

What older archives meant is done by `serialize.archive_reader.upgrades`.
"""

from __future__ import annotations

from typing import Final

from flambeau.schema import registry
from flambeau.serialize.archive_format import NEWEST_VERSION
from flambeau.util.record import dataclass

_MADE: Final = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
_OUT: Final = "*, Tensor(a!) out) -> Tensor(a!)"
_BEFORE: Final = (
    "aten::div.Scalar(Tensor self, Scalar other) -> Tensor",
    "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    "aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
    "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    f"aten::div.out(Tensor self, Tensor other, {_OUT}",
    "aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)",
    "aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
    "aten::div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)",
    "aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
    "aten::div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)",
    f"aten::full(int[] size, Scalar fill_value, {_MADE}",
    f"aten::full.out(int[] size, Scalar fill_value, {_OUT}",
    "aten::gelu(Tensor self) -> Tensor",
    "aten::gelu.out(Tensor self, *, Tensor(a!) out) -> Tensor",
    f"aten::linspace(Scalar start, Scalar end, int? steps=None, {_MADE}",
    f"aten::linspace.out(Scalar start, Scalar end, int? steps=None, {_OUT}",
    f"aten::logspace(Scalar start, Scalar end, int? steps=None, float base=10.0, {_MADE}",
    f"aten::logspace.out(Scalar start, Scalar end, int? steps=None, float base=10.0, {_OUT}",
)
"""The declarations of overloads before they changed."""


@dataclass(frozen=True, slots=True)
class UpgraderEntry:
    """One change of an operator."""

    bumped_at_version: int
    """The first version of archives in which the operator means what it means since."""
    upgrader_name: str
    """What does what it meant before: its name and the versions that meant it."""
    old_schema: str
    """How it was declared."""


def _get_operator_version_map() -> dict[str, list[UpgraderEntry]]:
    """The changes of each overload that changed, by its name."""
    changes: dict[str, list[UpgraderEntry]] = {}
    for schema in _BEFORE:
        overload = schema.partition("(")[0]
        operator = overload.partition(".")[0]
        since = max(d.traits.archive_version for d in registry.overloads(operator))
        name = f"{overload.removeprefix('aten::').replace('.', '_')}_0_{since - 1}"
        changes[overload] = [UpgraderEntry(since, name, schema)]
    return changes


def _get_max_operator_version() -> int:
    """The newest version of archives."""
    return NEWEST_VERSION
