"""What users' operators say of themselves for `autocast`, and the tags of all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import flambeau
from flambeau import Tag, Tensor
from flambeau.library import Library, custom_op, register_autocast

INNER: list[flambeau.dtype] = []


@custom_op("test_autocast::product", mutates_args=())
def product(x: Tensor, y: Tensor, times: int = 1) -> Tensor:
    """A product, and what autocast is for operators within it."""
    INNER.append(flambeau.mm(flambeau.ones(1, 1), flambeau.ones(1, 1)).dtype)
    return flambeau.mm(x, y) * times


product.register_autocast("cpu", flambeau.bfloat16)


def call(x: Tensor, y: Tensor) -> Tensor:
    with flambeau.autocast("cpu", flambeau.float16):
        return product(x, y, 2)


@pytest.mark.parametrize("scripted", [False, True])
def test_operands_are_cast_and_the_function_runs_outside(scripted: bool) -> None:
    INNER.clear()
    run = flambeau.script(call) if scripted else call
    x = flambeau.full((2, 2), 1.0 + 2**-9)
    result = run(x, x)
    assert result.dtype is flambeau.bfloat16
    assert result.float().tolist() == [[4.0, 4.0], [4.0, 4.0]]  # one and a bit is 1 in bfloat16
    assert [dtype.name for dtype in INNER] == ["float32"]
    assert product(x, x).dtype is flambeau.float32
    assert run(x.double(), x.double()).dtype is flambeau.float64


def test_gradients_go_through_casts() -> None:
    x = flambeau.ones(2, 2, requires_grad=True)

    @custom_op("test_autocast::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    twice.register_autograd(lambda ctx, grad: grad * 2)
    register_autocast("test_autocast::twice", "cpu", flambeau.float16)
    with flambeau.autocast("cpu"):
        result = twice(x)
    result.sum().backward()
    assert (result.dtype, x.grad.dtype, x.grad.tolist()) == (flambeau.float16, flambeau.float32, [[2.0, 2.0]] * 2)


def test_wrong_settings() -> None:
    with pytest.raises(RuntimeError, match="device type at start of device string: abacus"):
        product.register_autocast("abacus", flambeau.bfloat16)
    with pytest.raises(TypeError, match="must be a floating dtype"):
        product.register_autocast("cpu", flambeau.int32)
    with pytest.raises(RuntimeError, match="does not exist"):
        register_autocast("test_autocast::nothing", "cpu", flambeau.bfloat16)


TAGS = {
    "add.Tensor": {"pointwise"}, "add_.Tensor": {"inplace", "pointwise"}, "add.out": {"out", "pointwise"},
    "sum.dim_IntList": {"reduction"}, "rand.default": {"nondeterministic_seeded"},
    "bernoulli_.float": {"inplace", "nondeterministic_seeded"}, "t_.default": {"inplace", "inplace_view"},
    "view_copy.default": {"view_copy"}, "mm.default": set(),
}  # fmt: skip


@pytest.mark.parametrize("name", TAGS)
def test_tags_follow_from_declarations(name: str) -> None:
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(flambeau.ops.aten, packet), overload)
    assert {tag.name for tag in operator.tags} == TAGS[name] | {"pt2_compliant_tag"}
    assert (operator._overloadname, operator._opname) == (overload, packet)


@pytest.fixture
def library() -> Iterator[Library]:
    yield (library := Library("test_tags", "DEF"))
    library._destroy()


def test_tags_that_users_say(library: Library) -> None:
    library.define("blur(Tensor x) -> Tensor", tags=(Tag.pt2_compliant_tag, Tag.pointwise))
    library.define("plain(Tensor x) -> Tensor")
    assert flambeau.ops.test_tags.blur.default.tags == [Tag.pointwise, Tag.pt2_compliant_tag]
    assert flambeau.ops.test_tags.plain.default.tags == []
