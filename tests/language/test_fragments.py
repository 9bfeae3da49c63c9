"""Fragments of messages that callers look for, each from a program of the kind that it is about."""

# ruff: noqa

from __future__ import annotations

import enum
import pickle
import types
from collections.abc import Callable
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union

import pytest

import flambeau
from flambeau import Tensor, jit, nn
from flambeau.frontend.compile_text import compile_source
from flambeau.frontend.scopes.name_resolution import Names

CASES: list[tuple[str, type[BaseException], Callable[[], Any]]] = []


def says(fragment: str, kind: type[BaseException] = RuntimeError) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Note what running a function must say."""

    def note(run: Callable[[], Any]) -> Callable[[], Any]:
        CASES.append((fragment, kind, run))
        return run

    return note


def compiles(fragment: str, kind: type[BaseException] = RuntimeError, *args: Any) -> Callable[[Any], Any]:
    """Note what scripting a function, and then calling it, must say."""

    def note(fn: Any) -> Any:
        CASES.append((fragment, kind, lambda: flambeau.script(fn)(*args)))
        return fn

    return note


# -- operators and calls ----------------------------------------------------------------------------------------------


@says("aten::relu() expected at most 1 argument(s) but received 2 argument(s)")
def _() -> Any:
    return flambeau.ops.aten.relu(flambeau.ones(1), flambeau.ones(1))


@compiles("AssertionError: hi", jit.Error, 1)
def _assert(n: int):
    assert n == 2, "hi"
    return n


@compiles("keyword-arg expansion is not supported", jit.frontend.NotSupportedError)
def _expand(d: Dict[str, int]):
    return max(**d)


@compiles("missing value for argument 'n_tokens'", RuntimeError, flambeau.ones(1))
def _kwonly(x, *, n_tokens: int):
    return x


def _takes(x, *, n_tokens: int):
    return x * n_tokens


@compiles("Argument n_tokens not provided")
def _misses(x):
    return _takes(x)


@says("_takes() takes 1 positional argument(s) but 2 was/were given.")
def _() -> Any:
    return flambeau.script(_takes)(flambeau.ones(1), 3)


@compiles("Expected at most 2 arguments but found 3")
def _too_many_two(x):
    return _two(x, 1, 2)


def _two(x, n: int):
    return x * n


@compiles("Argument self not provided")
def _no_self(x):
    return flambeau.relu()


@compiles("Inferred the value for argument 'dim' to be of type 'Tensor' because it was not annotated with an explicit type")
def _inferred(x, dim):
    return flambeau.sum(x, dim=dim)


@compiles("Expected a value of type 'Tensor (inferred)' for argument 'x' but instead found type 'int'.")
def _to_inferred(n: int):
    return _one(n)


@jit.ignore
def _one(x):
    return x


@compiles("Expected a value of type 'Tensor (inferred)' for argument 'value' but instead found type 'int'.")
def _to_value(n: int):
    return _given(n)


@jit.ignore
def _given(value):
    return value


@says("schemas with vararg (...) can't have default value args")
def _() -> Any:
    return flambeau._C.parse_schema("foo(int x=3, ...) -> int")


@says("Unknown keyword argument 'slope' for operator 'aten::leaky_relu'")
def _() -> Any:
    return flambeau.ops.aten.leaky_relu.default(flambeau.ones(1), slope=1)


@compiles("argument 'tensors' but instead found type 'List[int]")
def _cat(xs: List[int]):
    return flambeau.cat(xs)


@compiles("Expected a value of type 'List[int]' for argument 'size' but instead found type 'List[Union[List[int], int]]")
def _size(xs: List[int]):
    return flambeau.zeros([1, xs])


@compiles("Expected a value of type 'Tensor' for argument 'x' but instead found type 'Tuple[Tensor,")
def _tuple_for_tensor(x: Tensor):
    return _declared((x, x))


def _declared(x: Tensor) -> Tensor:
    return x


@says("ScriptFunction cannot be pickled", pickle.PickleError)
def _() -> Any:
    return pickle.dumps(flambeau.script(_two))


class Operator:
    """A Python value that stands for an operator that nobody has."""

    operator_name = "aten::xyzzyxyzzy"


@says("This op may not exist or may not be currently supported in TorchScript")
def _() -> Any:
    return compile_source("def f(x):\n    return strange(x)\n", Names({"strange": Operator()}))


@says("expected a valid token")
def _() -> Any:
    return jit.CompilationUnit("def f(x):\n    return 'abc\n")


@jit._overload
def _no_body(x: int) -> int: ...


@compiles('_no_body" is missing.')
def _calls_no_body(x: int):
    return _no_body(x)


# -- types ------------------------------------------------------------------------------------------------------------


@compiles("Variable 'y' is annotated with type List[List[Optional[int]]] but is being assigned to a value of type List[List[int]]")
def _nested_lists(x: List[List[int]]):
    y: List[List[Optional[int]]] = x
    return y


@compiles("Variable 'z' is annotated with type Dict[str, Dict[str, Optional[int]]] but is being assigned to a value of type Dict[str, Dict[str, int]]")
def _nested_dicts(x: Dict[str, Dict[str, int]]):
    z: Dict[str, Dict[str, Optional[int]]] = x
    return z


@compiles("is actually of type Optional")
def _optional(d: Dict[str, int]) -> int:
    return d.get("a")


@compiles("c0 is set to type int in the true branch and type float in the false branch")
def _branches(n: int):
    if n > 1:
        c0 = 1
    else:
        c0 = 1.0
    return c0


@compiles("Variable 'c0' previously had type float")
def _previously(n: int):
    c0 = 1.0
    if n > 1:
        c0 = 1
    return c0


@compiles("c0 is not defined in the false branch")
def _not_false(n: int):
    if n > 1:
        c0 = 1
    return c0


@compiles("c0 is not defined in the true branch")
def _not_true(n: int):
    if n > 1:
        pass
    else:
        c0 = 1
    return c0


@compiles("y is set to type str in the true branch and type int in the false branch")
def _str_int(n: int):
    if n > 1:
        y = "a"
    else:
        y = 1
    return y


@compiles("previously had type str but is now being assigned to a value of type int")
def _str_then_int(n: int):
    y = "a"
    if n > 1:
        y = 1
    return y


@compiles("Could not cast value of type Tuple[Tensor, Tensor]")
def _tuple_truth(x, y):
    if (x, y):
        return 1
    return 2


@compiles("Expected a member of Union[List[int], Dict[str, int]] but instead found type Dict[str, str]", RuntimeError, {"a": "b"})
@compiles("Expected a member of Union[List[int], Dict[str, int]] but instead found type List[str]", RuntimeError, ["a"])
@compiles("Expected a member of Union[List[int], Dict[str, int]] but instead found type str", RuntimeError, "a")
def _union(x: Union[List[int], Dict[str, int]]):
    return 1


@compiles("Expected a member of Union[int, str] but instead found type List[str]", RuntimeError, ["a"])
def _union_plain(x: Union[int, str]):
    return 1


class Color(enum.Enum):
    RED = 1


@compiles("Color, str] but instead found type int", RuntimeError, 1)
def _union_enum(x: Union[Color, str]):
    return 1


@compiles("Could not match type float")
def _append(x: List[Union[int, str]]):
    x.append(1.5)
    return x


@compiles("List type annotation `List[Tensor]` did not match the types of the given list elements")
def _list_of_tensors():
    x: Union[List[Tensor], int] = [1, 2]
    return x


@compiles("Type annotation was inferred to be `Dict[str, Tensor]`, but the type of values given by the dict literal is")
def _dict_of_tensors():
    x: Union[Dict[str, Tensor], int] = {"a": 1}
    return x


@compiles("Dict type annotation `Dict[str, int]` did not match the type of an actual value type `Union[int, str]`")
def _mixed_values():
    x: Dict[str, int] = {"a": 1, "b": "c"}
    return x


class Outputs(NamedTuple):
    logits: Tensor
    aux_logits2: Optional[Tensor]
    aux_logits1: Optional[Tensor]


@compiles("aka NamedTuple(logits, aux_logits2, aux_logits1)", RuntimeError, Outputs(flambeau.ones(1), None, None))
def _named_tuple(x: Tensor):
    return x


@compiles("was annotated as having type Future[float] but is actually of type Future[int]")
def _future(n: int) -> jit.Future[float]:
    return jit.fork(_add_one, n)


def _add_one(n: int) -> int:
    return n + 1


@compiles("Future without a contained type")
def _bare_future(x: jit.Future) -> int:
    return 1


# -- statements -------------------------------------------------------------------------------------------------------


@compiles("need 4 values")
@compiles("found only 3")
def _need(x: Tuple[int, int, int]):
    a, b, c, d = x
    return a


@compiles("'float' object is not iterable")
def _over_float(x: float):
    for i in x:
        pass


@says("Only one starred expression is allowed on the lhs")
def _() -> Any:
    return jit.CompilationUnit("def f(x: Tuple[int, int, int]):\n    *a, *b = x\n    return a\n")


@compiles("Cannot re-assign 'x' to a value of type module")
def _module_name(x, n: int):
    for _ in range(n):
        x = flambeau
    return x


@compiles("%e requires a number for formatting, but got String")
def _e_of_text():
    return "%e" % "a"


@compiles("are not sortable")
def _no_order(x: List[Dict[str, int]]):
    return sorted(x)


@compiles("index 1 out of range for tensor of size", RuntimeError, flambeau.ones(1))
def _out_of_range(x):
    return x[1]


@compiles("index 4 is out of bounds for dimension 0 with size 3", RuntimeError, flambeau.ones(3), flambeau.tensor([4]))
def _out_of_bounds(x, i):
    return x[i]


# -- classes and modules ----------------------------------------------------------------------------------------------


class Inner:
    def __init__(self, i: int):
        self.i = i


@says("missing attribute i")
def _() -> Any:
    def use(x: Inner):
        return x.i

    bare = object.__new__(Inner)
    return flambeau.script(use)(bare)


@says("Could not cast attribute 'val' to type Tensor")
def _() -> Any:
    class Val:
        def __init__(self, val: Tensor):
            self.val = val

    def use(x: Val):
        return x.val

    return flambeau.script(use)(Val("a"))  # type: ignore[arg-type]


@says("Expected a value of type 'bool' for argument 'reverse'")
def _() -> Any:
    def use(x: List[int]):
        x.sort(reverse="a")

    return flambeau.script(use)


@says("is not compatible with interface __torch__")
def _() -> Any:
    @jit.interface
    class Steps:
        def step(self, x: int) -> int:
            pass

    class Wrong:
        def __init__(self):
            self.n = 1

        def step(self, x: str) -> int:
            return 1

    def use(s: Steps) -> int:
        return s.step(1)

    def main() -> int:
        return use(Wrong())

    return flambeau.script(main)


@says("the value is not a TorchScript compatible type")
def _() -> Any:
    @jit.interface
    class Steps:
        def step(self, x: int) -> int:
            pass

    def use(s: Steps) -> int:
        return s.step(1)

    return flambeau.script(use)(3)  # type: ignore[arg-type]


@says("cannot be compiled since it inherits from nn.Module")
def _() -> Any:
    return flambeau.script(nn.Linear)


class Holds(nn.Module):
    def __init__(self, value: Any):
        super().__init__()
        self.value = value

    def forward(self, x):
        return self.value


@says("failed to convert Python type")
@says("Module 'Holds' has no attribute 'value'")
def _() -> Any:
    return flambeau.script(Holds(object()))


class Constant(nn.Module):
    attr: Final[Any]

    def __init__(self) -> None:
        super().__init__()
        self.attr = nn.Linear(1, 1).weight

    def forward(self, x):
        return self.attr


@says("forward() is missing value for argument 'x'.")
def _() -> Any:
    return flambeau.script(Holds(1))()


class Two(nn.Module):
    my_optional: Optional[int]

    def forward(self, x, y):
        return self.my_optional


@says("forward() is missing value for argument 'y'.")
def _() -> Any:
    module = Two()
    module.my_optional = 3
    return flambeau.script(module)(flambeau.ones(1))


@says("Module 'Two' has no attribute 'my_optional'")
def _() -> Any:
    return flambeau.script(Two())


class Finals(nn.Module):
    __constants__ = ["size"]

    def __init__(self) -> None:
        super().__init__()
        self.size = types.SimpleNamespace()

    def forward(self, x):
        return x


@says("is not a valid constant", TypeError)
def _() -> Any:
    return flambeau.script(Finals())


class Bad(nn.Module):
    def forward(self, x):
        return self.missing(x)


@says("has no attribute 'missing'")
def _() -> Any:
    return flambeau.script(Bad())


class Slots(nn.Module):
    value: jit.Attribute

    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(1, 1)]

    def forward(self, x):
        return self.layers[0](x)


@says("Module 'Slots' has no attribute 'layers'")
def _() -> Any:
    return flambeau.script(Slots())


# -- forks and traces -------------------------------------------------------------------------------------------------


@says(
    "did not have observable data dependence with trace inputs; this probably indicates your program cannot be "
    "understood by the tracer."
)
def _() -> Any:
    left = []

    def work(x):
        left.append(x + 1)
        return x

    def main(x):
        jit.wait(jit.fork(work, x))
        return left[-1] * 2

    return jit.trace(main, (flambeau.ones(1),), check_trace=False)


@says("does not have a field with name '_forward'", AttributeError)
def _() -> Any:
    return jit.freeze(flambeau.script(nn.Linear(1, 1)).eval())._forward


@says("does not have a field with name 'state_dict'", AttributeError)
def _() -> Any:
    return jit.freeze(flambeau.script(nn.Linear(1, 1)).eval())._c.getattr("state_dict")


@says("can be output from traced functions")
def _() -> Any:
    return jit.trace(lambda x: object(), (flambeau.ones(1),))


@says("To fuse, linear.out_features == bn.num_features or bn.num_features == 1", AssertionError)
def _() -> Any:
    return nn.utils.fusion.fuse_linear_bn_eval(nn.Linear(1, 2).eval(), nn.BatchNorm1d(3).eval())


@says("'Linear' object in attribute 'Finals.size' is not a valid constant", TypeError)
def _() -> Any:
    module = Finals()
    module.size = [nn.Linear(1, 1)]
    return flambeau.script(module)


class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proxy_mod = Layer()

    def forward(self, x: Tensor) -> Tensor:
        return self.proxy_mod(x)


@says("for field 'proxy_mod', but found '")
def _() -> Any:
    flambeau.script(Outer()).proxy_mod = flambeau.script(nn.Linear(1, 1))


@says("expects a tensor with <= 2 dimensions")
def _() -> Any:
    def work(x):
        return flambeau.t(x)

    def main(x):
        return jit.wait(jit.fork(work, x))

    return flambeau.script(main)(flambeau.ones(1, 2, 3))


@says("Type 'Tuple[int]' cannot be traced")
def _() -> Any:
    return jit.trace(lambda x: x, (1,))


@pytest.mark.filterwarnings("ignore:List consists of heterogeneous types")
@pytest.mark.parametrize(("fragment", "kind", "run"), CASES, ids=[f for f, _, _ in CASES])
def test_the_message_has_it(fragment: str, kind: type[BaseException], run: Callable[[], Any]) -> None:
    with pytest.raises(kind) as caught:
        run()
    lines = str(caught.value).splitlines()  # the source that a message shows begins with its decorators
    assert fragment in "\n".join(line for line in lines if not line.startswith(("@compiles(", "@says(")))
