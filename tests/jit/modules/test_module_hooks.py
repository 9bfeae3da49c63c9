"""Forward hooks in programs, against Python; signatures that are refused; hooks and the sharing of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from tests.jit.modules.module_support import BACKENDS, agree


class Inner(nn.Module):
    def __init__(self, name: str = "in") -> None:
        super().__init__()
        self.name = name

    def forward(self, input: str) -> str:
        return input + "_" + self.name


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sub = Inner()
        self.name = "out"

    def forward(self, input: str) -> str:
        return self.sub(input + "_o")


def pre(self: Any, input: tuple[str]) -> tuple[str]:
    self.name = "pre"
    return (input[0] + "_pre",)


def pre_bare(self: Any, input: tuple[str]) -> str:
    return input[0] + "_p1"


def pre_nothing(self: Any, input: tuple[str]) -> None:
    self.name += "x"


def post(self: Any, input: tuple[str], output: str) -> str:
    return output + "_post" + input[0]


def post_length(self: Any, input: tuple[str], output: str) -> int:
    return len(output)


def post_nothing(self: Any, input: tuple[str], output: int) -> None:
    self.name = "seen"


def with_hooks() -> nn.Module:
    module = Outer()
    for hook in (pre, pre_bare, pre_nothing, pre):
        module.register_forward_pre_hook(hook)
    for hook in (post, post, post_length, post_nothing):
        module.register_forward_hook(hook)
    module.sub.register_forward_pre_hook(pre)
    module.sub.register_forward_hook(post)
    return module


@pytest.mark.parametrize("backend", BACKENDS)
def test_hooks_of_modules_inside_and_of_the_outermost(backend: Any) -> None:
    eager, scripted = with_hooks(), flambeau.script(with_hooks(), backend=backend, verify=True)
    for _ in range(2):
        assert scripted("a") == eager("a")
        assert (scripted.name, scripted.sub.name) == (eager.name, eager.sub.name) == ("seen", "pre")
    assert scripted.forward("a") == eager.forward("a")
    assert str(scripted.graph).count("prim::CallMethod") == 3


class WithDefault(nn.Module):
    def forward(self, a: int, b: int = 5) -> int:
        return a * b


class CallsWithDefault(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = WithDefault()
        self.inner.register_forward_pre_hook(swap)

    def forward(self, a: int) -> tuple[int, int, int]:
        return self.inner(a, 5), self.inner(a, b=2), self.inner.forward(a)


def swap(self: Any, input: tuple[int, int]) -> tuple[int, int]:
    return input[1], input[0] + 1


def test_hooks_are_given_every_parameter_of_forward() -> None:
    scripted = flambeau.script(CallsWithDefault(), verify=True)
    assert scripted(3) == (20, 8, 15)
    assert scripted.inner(3) == 20


class NoArguments(nn.Module):
    def forward(self) -> int:
        return 3


def before_nothing(self: Any, input: tuple[()]) -> None:
    pass


def after_nothing(self: Any, input: tuple[()], output: int) -> int:
    return output + 1


class TakesTuple(nn.Module):
    def forward(self, a: tuple[int]) -> tuple[int]:
        return (a[0] + 1,)


def nested(self: Any, input: tuple[tuple[int]]) -> tuple[tuple[int]]:
    return ((input[0][0] + 10,),)


def with_pre(cls: Any, hook: Any) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        module = cls()
        module.register_forward_pre_hook(hook)
        return module

    return make


def with_post(cls: Any, hook: Any) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        module = cls()
        module.register_forward_hook(hook)
        return module

    return make


def test_no_arguments_and_one_tuple() -> None:
    agree(with_pre(NoArguments, before_nothing))
    agree(with_post(NoArguments, after_nothing))
    agree(with_pre(TakesTuple, nested), (1,))


# -- refusals ---------------------------------------------------------------------------------------------------------


def not_nested(self: Any, input: tuple[tuple[int]]) -> tuple[int]:
    return input[0]


def inner_types(self: Any, input: tuple[None]) -> tuple[None]:
    return input


def three(self: Any, input: tuple[str], output: str) -> tuple[str]:
    return input


def no_tuple(self: Any, input: int) -> tuple[str]:
    return ("a",)


def wrong_result(self: Any, input: tuple[str]) -> int:
    return 1


def no_annotation(self: Any, input: tuple[str]):  # type: ignore[no-untyped-def]
    return input


def two_inner(self: Any, input: tuple[str, str]) -> tuple[str]:
    return ("a",)


def wrong_output(self: Any, input: tuple[str], output: tuple[str]) -> str:
    return "a"


def name(self: Any, input: tuple[str], output: str) -> str:
    return "a"


def two_of_one_name(register: str) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        module = Inner()
        for _ in range(2):

            def again(self: Any, input: tuple[str]) -> tuple[str]:
                return input

            getattr(module, register)(again)
        return module

    return make


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (
            with_pre(TakesTuple, not_nested),
            [
                "When forward has a single tuple input argument, the return needs to be 'None' or a nested tuple "
                "containing forward's input tuple argument as in: 'Tuple[Tuple[int]]'",
            ],
        ),
        (
            with_pre(Inner, inner_types),
            [
                "This error occurred while scripting the forward pre-hook 'inner_types'",
                "has the wrong inner types for the input tuple argument. Received type: 'Tuple[NoneType]'",
            ],
        ),
        (with_pre(Inner, three), ["was expected to only have exactly 2 inputs but it had 3 inputs"]),
        (with_post(Inner, pre), ["was expected to only have exactly 3 inputs but it had 2 inputs"]),
        (
            with_pre(Inner, no_tuple),
            ["expected the input argument to be typed as a Tuple but found type: 'int' instead"],
        ),
        (with_pre(Inner, wrong_result), ["returned the wrong type of: 'int'"]),
        (
            with_pre(Inner, no_annotation),
            ["is missing a return annotation. Return annotations are required, please add one."],
        ),
        (
            with_pre(Inner, two_inner),
            [
                "has the wrong number of contained types for the input argument's Tuple. Received type: "
                "'Tuple[str, str]'",
            ],
        ),
        (
            with_post(Inner, wrong_output),
            ["has the wrong type for the output argument. Received type: 'Tuple[str]'. Expected type: 'str'"],
        ),
        (with_post(Inner, post_nothing), ["has the wrong type for the output argument. Received type: 'int'"]),
        (
            with_post(Inner, name),
            [
                "Can't define hook: name on class: __torch__.tests.jit.modules.test_module_hooks.",
                "Inner because a method or hook with that name already exists.",
            ],
        ),
        (
            two_of_one_name("register_forward_pre_hook"),
            [
                "Pre-hook 'again' on Inner has at least two different python definitions. Please use unique names for "
                "all hooks.",
            ],
        ),
        (
            two_of_one_name("register_forward_hook"),
            [
                "Hook 'again' on Inner has at least two different python definitions. Please use unique names for all "
                "hooks."
            ],
        ),
    ],
)
def test_refusals(make: Callable[[], nn.Module], fragments: list[str]) -> None:
    with pytest.raises(RuntimeError) as caught:
        flambeau.script(make())
    for fragment in fragments:
        assert fragment in str(caught.value)


def double(self: Any, input: tuple[Tensor], output: Tensor) -> Tensor:
    return output * 2


def test_hooks_tell_classes_apart() -> None:
    def type_of(module: nn.Module) -> Any:
        return flambeau.script(module).script_object.type

    a, b = nn.Sequential(nn.Linear(3, 3)), nn.Sequential(nn.Linear(3, 3))
    assert type_of(a) == type_of(b)
    handle = b[0].register_forward_hook(double)
    assert type_of(a) != type_of(b)
    a[0].register_forward_hook(double)
    assert type_of(a) == type_of(b)
    handle.remove()
    assert type_of(b) == type_of(nn.Sequential(nn.Linear(3, 3)))
