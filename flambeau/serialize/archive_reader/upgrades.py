"""Operators whose meaning changed: code of older archives calls functions that do what they did then.

Before version 4 `div` of integers rounded towards zero, before 5 `full` made floats of integers unless it was given a
dtype, before 8 and 9 `linspace` and `logspace` made 100 numbers if not told how many. In archives of all versions
`stft` without `return_complex` gives what its operands are, and `istft` takes pairs of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from flambeau.executor.executor import attach
from flambeau.frontend.emit.schema_matching import call_function, match_schema
from flambeau.frontend.emit.schema_mismatches import Mismatch
from flambeau.frontend.emit.values.operator_value import OperatorValue
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Builtin, Given, Sugared
from flambeau.program.function import Function
from flambeau.serialize.archive_format import version_since
from flambeau.serialize.python_print_resolver import read_code
from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass

if TYPE_CHECKING:
    from flambeau.frontend.emit.values.sugared import Emitter
    from flambeau.util.source import SourceRange

_DIVIDE: Final = """
def {name}_tensor(self: Tensor, other: Tensor{more}) -> Tensor:
  if torch.is_floating_point(self) or torch.is_complex(self):
    result = torch.{name}(self, other{pass_on})
  elif torch.is_floating_point({decides}) or torch.is_complex(other):
    result = torch.{name}(self, other{pass_on})
  else:
    result = torch.{name}(self, other, rounding_mode="trunc"{pass_on})
  return result
"""
_DIVIDE_NUMBER: Final = """
def {name}_number(self: Tensor, other: number) -> Tensor:
  if torch.is_floating_point(self) or torch.is_complex(self) or isinstance(other, float):
    result = torch.{name}(self, other)
  else:
    result = torch.{name}(self, other, rounding_mode="trunc")
  return result
"""
_FULL: Final = """
def full(size: List[int], fill_value: number, *, dtype: Optional[int]=None, layout: Optional[int]=None,
    device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:
  if dtype is None:
    result = torch.full(size, float(fill_value), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
  else:
    result = torch.full(size, fill_value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
  return result
"""
_SPACE: Final = """
def {name}(start: number, end: number, steps: Optional[int]=None{base}, *, dtype: Optional[int]=None,
    layout: Optional[int]=None, device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:
  if steps is None:
    count = 100
  else:
    count = steps
  return torch.{name}(start, end, count{pass_on}, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)

def {name}_out(start: number, end: number, steps: Optional[int]=None{base}, *, out: Tensor) -> Tensor:
  if steps is None:
    count = 100
  else:
    count = steps
  return torch.{name}(start, end, count{pass_on}, out=out)
"""
_STFT: Final = """
def stft(self: Tensor, n_fft: int, hop_length: Optional[int]=None, win_length: Optional[int]=None,
    window: Optional[Tensor]=None, normalized: bool=False, onesided: Optional[bool]=None,
    return_complex: Optional[bool]=None) -> Tensor:
  if return_complex is None:
    is_complex = torch.is_complex(self)
    if window is not None:
      is_complex = torch.__or__(is_complex, torch.is_complex(window))
    found = torch.stft(self, n_fft, hop_length, win_length, window, normalized, onesided, True)
    if is_complex:
      result = found
    else:
      result = torch.view_as_real(found)
  else:
    result = torch.stft(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)
  return result
"""
_ISTFT: Final = """
def istft(self: Tensor, n_fft: int, hop_length: Optional[int]=None, win_length: Optional[int]=None,
    window: Optional[Tensor]=None, center: bool=True, normalized: bool=False, onesided: Optional[bool]=None,
    length: Optional[int]=None, return_complex: bool=False) -> Tensor:
  if torch.is_complex(self):
    given = self
  else:
    given = torch.view_as_complex(self)
  return torch.istft(given, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex)
"""
_SUBCMUL: Final = """
def _test_serialization_subcmul(self: Tensor, other: Tensor, alpha: number=2) -> Tensor:
  return torch.sub(self, torch.mul(other, alpha))
"""
_IN_ALL_VERSIONS: Final = frozenset({"stft", "istft", "_test_serialization_subcmul"})
"""Names that mean in archives, whatever their version, what the functions below do."""
_CHANGES: Final[dict[str, str]] = {
    "div": (
        _DIVIDE.format(name="div", more="", pass_on="", decides="other")
        + _DIVIDE_NUMBER.format(name="div")
        + _DIVIDE.format(name="div", more=", *, out: Tensor", pass_on=", out=out", decides="out").replace(
            "div_tensor", "div_out"
        )
    ),
    "div_": _DIVIDE.format(name="div_", more="", pass_on="", decides="other") + _DIVIDE_NUMBER.format(name="div_"),
    "full": _FULL,
    "linspace": _SPACE.format(name="linspace", base="", pass_on=""),
    "logspace": _SPACE.format(name="logspace", base=", base: float=10.", pass_on=", base"),
    "stft": _STFT,
    "istft": _ISTFT,
    "_test_serialization_subcmul": _SUBCMUL,
}
"""Functions that do what an operator of `aten` meant before, by its name; since when it does not is in the format."""


def upgrade_of(name: str, version: int) -> str | None:
    """The name of an operator of `aten` if it meant something else in that version; None if it did not.

    >>> upgrade_of("div", 3), upgrade_of("div", 4), upgrade_of("add", 1)
    ('div', None, None)
    """
    return name if name in _CHANGES and (name in _IN_ALL_VERSIONS or version < _since(name)) else None


def meant_the_same(name: str, values: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Whether an operator with another meaning in older archives meant the same for these values; False where that is
    not known.

    >>> meant_the_same("div", [7.0, 2], {}), meant_the_same("linspace", [0, 1, 5], {}), meant_the_same("stft", [], {})
    (True, True, False)
    """
    if name not in _SAME_FOR or "out" in keywords:
        return False
    return _SAME_FOR[name](values, keywords)


def _is_fraction(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.is_floating_point() or value.is_complex()
    return isinstance(value, float)


def _divides_fractions(values: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    return any(map(_is_fraction, values)) or not any(isinstance(value, Tensor) for value in values)


def _is_filled_with_fraction(values: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    return keywords.get("dtype") is not None or (len(values) > 1 and _is_fraction(values[1]))


def _is_counted(values: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    return (values[2] if len(values) > 2 else keywords.get("steps")) is not None


_SAME_FOR: Final[Mapping[str, Callable[[Sequence[Any], Mapping[str, Any]], bool]]] = {
    "div": _divides_fractions, "div_": _divides_fractions, "full": _is_filled_with_fraction,
    "linspace": _is_counted, "logspace": _is_counted,
}  # fmt: skip
"""For which values operators meant before what they mean now."""


def _since(name: str) -> int:
    return version_since(f"aten::{name}")


@cache
def _functions(name: str) -> tuple[Function, ...]:
    when = "in archives" if name in _IN_ALL_VERSIONS else f"before version {_since(name)}"
    functions = read_code(_CHANGES[name], filename=f"<{name} {when}>")
    for function in functions:
        attach(function)
    return tuple(functions)


@dataclass(slots=True)
class UpgradedOperator(Builtin):
    """An operator that meant something else when the archive was written."""

    name: str
    change: str

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of what it meant; of the operator where that is the same."""
        for function in _functions(self.change):
            try:
                match_schema(function.schema, args, keywords, implicit=False)
            except Mismatch:
                continue
            return SimpleValue(call_function(e, where, function, args, keywords))
        return OperatorValue(self.name).call(e, where, args, keywords)
