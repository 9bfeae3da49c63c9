"""What declarations say of memory and of arguments that may be left out, as TorchScript's users ask them."""

from __future__ import annotations

import flambeau
from flambeau import _C


def test_sets_before_and_after_a_call() -> None:
    schema = _C.parse_schema("my::op(Tensor(a|b) x, Tensor(c! -> c|d) y, Tensor(e -> *) z, int n) -> Tensor(a|b)")
    told = [
        None if a.alias_info is None else (a.alias_info.before_set, a.alias_info.after_set, a.is_write)
        for a in (*schema.arguments, *schema.returns)
    ]
    assert told == [
        ({"a", "b"}, {"a", "b"}, False),
        ({"c"}, {"c", "d"}, True),
        ({"e"}, {"*"}, False),
        None,
        ({"a", "b"}, {"a", "b"}, False),
    ]


def test_arguments_of_a_scripted_function_say_whether_they_may_be_left_out() -> None:
    def scale(x: flambeau.Tensor, times: int = 2, shift: float | None = None) -> flambeau.Tensor:
        return x * times

    scripted = flambeau.script(scale)
    told = [(a.name, a.has_default_value(), a.default_value) for a in scripted.schema.arguments]
    assert told == [("x", False, None), ("times", True, 2), ("shift", True, None)]
    assert scripted.schema.overload_name == ""
