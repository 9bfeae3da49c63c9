"""A call whose binding is known, as one Python function without loops: arguments go where the schema has them.

>>> function = direct_call(lambda x, dims, flag: (x, dims, flag), ["a0", "[a1, a2]"], [(2, True)], (), None, 3)
>>> function("x", 1, 2)
('x', [1, 2], True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from flambeau.schema.bind import CallBinding


def function_of(binding: CallBinding, positional: int, keywords: int, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """What runs a kernel on so many arguments by position, and behind them the values of keywords in their order."""
    total = positional + keywords
    values = [f"a{k}" for k in range(total)]
    if binding.varargs_at >= 0:
        gathered = f"[{', '.join(values[binding.varargs_at : positional])}]"
        values[binding.varargs_at : positional] = [gathered]
    texts: list[str]
    constants: list[tuple[int, Any]]
    if binding.sources is None:
        texts = values
        constants = list(enumerate(binding.tail, len(values)))
    else:
        texts = [""] * len(binding.defaults)
        for parameter, source in binding.sources:
            texts[parameter] = values[source]
        constants = [(k, binding.defaults[k]) for k, text in enumerate(texts) if not text]
    return direct_call(kernel, texts, constants, binding.converters, binding.finish, total)


def direct_call(
    kernel: Callable[..., Any],
    texts: Sequence[str],
    constants: Sequence[tuple[int, Any]],
    converters: Sequence[tuple[int, Callable[[Any], Any]]],
    finish: Callable[[Any], Any] | None,
    count: int,
) -> Callable[..., Any]:
    """A function of `count` arguments, `a0` and up, that calls `kernel`.

    Args:
        kernel: what is called.
        texts: what each of its arguments is.
        constants: those that are always the same, by their numbers: they may lie behind the others.
        converters: what is called on an argument before.
        finish: what is called on the result; None for nothing.
        count: how many arguments there are.
    """
    filled = [*texts, *[""] * (len(constants) - texts.count(""))]
    names: dict[str, Any] = {"__name__": __name__, "kernel": kernel, "finish": finish}
    for number, value in constants:
        filled[number] = f"d{number}"
        names[filled[number]] = value
    for number, convert in converters:
        names[f"c{number}"] = convert
        filled[number] = f"c{number}({filled[number]})"
    call = f"kernel({', '.join(filled)})"
    parameters = ", ".join([f"a{k}" for k in range(count)])
    exec(_code(f"def call({parameters}): return {call if finish is None else f'finish({call})'}"), names)
    function: Callable[..., Any] = names["call"]
    return function


@lru_cache(maxsize=1024)
def _code(text: str) -> CodeType:
    return compile(text, "<call of an operator>", "exec")
