"""Calls as they were once written: by older names, and with numbers by position between the tensors.

>>> import flambeau, warnings
>>> with warnings.catch_warnings(record=True) as seen:
...     warnings.simplefilter("always")
...     flambeau.ones(2).add_(-0.5, flambeau.ones(2)).tolist()
[0.5, 0.5]
>>> str(seen[0].message)
'add_(Tensor, Number alpha, Tensor) is deprecated: write the number by name, alpha=...'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.schema.function import FunctionSchema
from flambeau.schema.opdef import OpDef
from flambeau.tensor.tensor import Tensor
from flambeau.util.user_code import warn_user

OLDER_NAME: Final = "{name} is deprecated: write {instead}"
OLDER_ORDER: Final = "{name}({kinds}) is deprecated: write the number by name, {names}"


def older_call(
    schema: FunctionSchema, names: Sequence[str], args: Sequence[Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Positional arguments and keywords of a call with numbers between its tensors; None for any other call."""
    if not isinstance(args[-1], Tensor) or not any(isinstance(a, int | float | complex) for a in args):
        return None
    tensors = tuple(a for a in args if isinstance(a, Tensor))
    numbers = [a for a in args if isinstance(a, int | float | complex)]
    if len(tensors) != len(schema.positional) or len(numbers) > len(names) or len(tensors) + len(numbers) != len(args):
        return None
    unnamed = iter(names)
    kinds = ", ".join("Tensor" if isinstance(a, Tensor) else f"Number {next(unnamed)}" for a in args)
    shown = ", ".join(f"{n}=..." for n in names[: len(numbers)])
    warn_user(OLDER_ORDER.format(name=schema.name.rpartition("::")[2], kinds=kinds, names=shown), UserWarning)
    return tensors, dict(zip(names, numbers, strict=False))


def warning_of_name(definitions: Sequence[OpDef], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself; where its name is an older one, a function that says so and calls it."""
    instead = next((d.traits.instead for d in definitions if d.traits.instead), "")
    if not instead:
        return function
    text = OLDER_NAME.format(name=definitions[0].schema.name.rpartition("::")[2], instead=instead)

    def older(*args: Any, **kwargs: Any) -> Any:
        warn_user(text, UserWarning)
        return function(*args, **kwargs)

    older.is_overridable = True  # type: ignore[attr-defined]
    return older
