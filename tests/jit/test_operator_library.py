"""Operators of libraries: declared, run by key, in programs, traces and archives; gone with their library."""

from __future__ import annotations

import gc
import io

import pytest

import flambeau as fb
from flambeau.library import (
    DispatchKeySet,
    Library,
    custom_op,
    define,
    exclude_keys,
    fallthrough_kernel,
    impl,
    include_keys,
    register_autograd,
    register_kernel,
)
from flambeau.tensor.kernels import table


@pytest.fixture
def lib():
    library = Library("test_lib", "DEF")
    yield library
    library._destroy()


def test_kernels_by_key(lib) -> None:
    assert lib.define("scale(Tensor x, float by=2.0, *, float plus=0.0) -> Tensor") == "scale"
    lib.impl("scale", lambda x, by=2.0, *, plus=0.0: x * by + plus, "CPU")
    scale = fb.ops.test_lib.scale
    assert scale(fb.ones(2)).tolist() == [2.0, 2.0]
    assert scale(fb.ones(2), by=3.0, plus=1.0).tolist() == [4.0, 4.0]
    assert scale.default.name() == "test_lib::scale"


def test_overloads(lib) -> None:
    lib.define("twice.Tensor(Tensor x) -> Tensor")
    lib.define("twice.int(int x) -> int")
    lib.impl("twice.Tensor", lambda x: x + x, "CPU")
    lib.impl("twice.int", lambda x: 2 * x, "CompositeExplicitAutograd")
    assert fb.ops.test_lib.twice(fb.ones(1)).tolist() == [2.0]
    assert fb.ops.test_lib.twice.int(4) == 8
    assert fb.ops.test_lib.twice.overloads() == ["Tensor", "int"]


def test_several_results_and_lists(lib) -> None:
    lib.define("parts(Tensor[] xs, int n) -> (Tensor, int)")
    lib.impl("parts", lambda xs, n: (fb.cat(xs), n + 1), "CPU")
    joined, n = fb.ops.test_lib.parts([fb.ones(1), fb.zeros(1)], 1)
    assert (joined.tolist(), n) == ([1.0, 0.0], 2)


def test_refused_definitions(lib) -> None:
    lib.define("one(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match=r"Tried to register an operator \(test_lib::one.*multiple times"):
        lib.define("one(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="unknown type 'Tensr'"):
        lib.define("two(Tensr x) -> Tensor")
    with pytest.raises(RuntimeError, match="expected"):
        lib.define("two(Tensor x -> Tensor")
    with pytest.raises(RuntimeError, match=r"Explicitly provided namespace \(other\) in schema string does not match"):
        lib.define("other::two(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="Only a single library can be used to register the namespace test_lib"):
        Library("test_lib", "DEF")
    with pytest.raises(RuntimeError, match="Only a single library can be used to register the namespace aten"):
        Library("aten", "DEF")
    with pytest.raises(ValueError, match="prim is a reserved namespace"):
        Library("prim", "FRAGMENT")
    with pytest.raises(ValueError, match="Unsupported kind: XX"):
        Library("test_lib", "XX")
    with pytest.raises(RuntimeError, match="a library of kind IMPL defines no operators"):
        Library("test_lib", "IMPL").define("f() -> ()")
    with pytest.raises(RuntimeError, match="Invalid alias_analysis type X"):
        lib.define("three() -> ()", "X")
    with pytest.raises(ValueError, match='Expected `qualname` to be of the form "namespace::name", but got noqual'):
        define("noqual", "() -> ()")


def test_another_kernel_takes_the_place_while_there_is_its_library(lib) -> None:
    lib.define("other(Tensor x) -> Tensor")
    lib.impl("other", lambda x: x + 1, "CPU")
    later = Library("test_lib", "IMPL")
    with pytest.warns(UserWarning, match=r"Overriding a previously registered(.|\n)*dispatch key: CPU") as caught:
        later.impl("other", lambda x: x + 2, "CPU")
    assert caught[0].filename == __file__
    assert fb.ops.test_lib.other(fb.ones(1)).item() == 3.0
    later._destroy()
    assert fb.ops.test_lib.other(fb.ones(1)).item() == 2.0


def test_names_that_define_gives(lib) -> None:
    assert lib.define("v.Tensor(Tensor x) -> Tensor") == "v"
    assert lib.define("test_lib::w(Tensor x) -> Tensor") == "test_lib::w"


def test_keys_that_fall_through(lib) -> None:
    lib.define("through(Tensor x) -> Tensor")
    lib.impl("through", fallthrough_kernel, "Autograd")
    lib.impl("through", lambda x: x * 2, "CPU")
    x = fb.ones(2, requires_grad=True)
    fb.ops.test_lib.through(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(NotImplementedError, match=r"fallthrough_kernel\(\) should never be called"):
        fallthrough_kernel()


def test_operators_that_are_not_there(lib) -> None:
    lib.define("there(Tensor x) -> Tensor")
    with pytest.raises(AttributeError, match=r"'_OpNamespace' 'test_lib' object has no attribute 'ther'.*similar"):
        _ = fb.ops.test_lib.ther


def test_refused_kernels(lib) -> None:
    lib.define("one(Tensor x) -> Tensor")
    lib.impl("one", lambda x: x + 1, "CPU")
    with pytest.raises(RuntimeError, match="already a kernel registered from python overriding one's behavior for CPU"):
        lib.impl("one", lambda x: x, "CPU", allow_override=False)
    with pytest.raises(RuntimeError, match="could not parse dispatch key: Nope"):
        lib.impl("one", lambda x: x, "Nope")
    with pytest.raises(TypeError, match="Input function is required to be a callable but found type <class 'int'>"):
        lib.impl("one", 3, "CPU")
    with pytest.raises(RuntimeError, match="operator test_lib::none does not exist"):
        lib.impl("none", lambda x: x, "CPU")


def test_an_operator_without_a_kernel_says_for_whom_it_has_some(lib) -> None:
    lib.define("one(Tensor x) -> Tensor")
    lib.impl("one", lambda x: x, "CUDA")
    with pytest.raises(NotImplementedError, match="Could not run 'test_lib::one' with arguments from the 'CPU'"):
        fb.ops.test_lib.one(fb.ones(1))


def test_all_is_gone_with_the_library() -> None:
    library = Library("test_gone", "DEF")
    library.define("one(Tensor x) -> Tensor")
    library.impl("one", lambda x: x + 1, "CPU")
    assert fb.ops.test_gone.one(fb.ones(1)).tolist() == [2.0]
    del library
    gc.collect()
    with pytest.raises(AttributeError, match="there is no operator test_gone::one"):
        _ = fb.ops.test_gone.one
    again = Library("test_gone", "DEF")
    again.define("one(Tensor x) -> Tensor")
    again.impl("one", lambda x: x + 2, "CPU")
    assert fb.ops.test_gone.one(fb.ones(1)).tolist() == [3.0]
    again._destroy()


@fb.script
def doubled(x: fb.Tensor) -> fb.Tensor:
    return x + x


def test_a_kernel_replaces_that_of_an_operator_everywhere() -> None:
    x = fb.full((2,), 3.0)
    assert doubled(x).tolist() == [6.0, 6.0]
    assert (x + x).tolist() == [6.0, 6.0]
    library = Library("aten", "IMPL")
    library.impl("add.Tensor", lambda a, b, *, alpha=1: a + b + 100, "CPU")  # its own call goes past it
    assert (x + x).tolist() == [106.0, 106.0]
    assert fb.add(x, x).tolist() == [106.0, 106.0]
    assert doubled(x).tolist() == [106.0, 106.0]
    y = x.clone().requires_grad_()
    (y + x).sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]
    library._destroy()
    assert (x + x).tolist() == [6.0, 6.0]
    assert doubled(x).tolist() == [6.0, 6.0]
    assert "aten::add.Tensor" not in table.kernels


def test_autograd_kernels_come_before_the_tape(lib) -> None:
    lib.define("clipped(Tensor x) -> Tensor")
    lib.impl("clipped", lambda x: x.clamp(0, 1), "CPU")
    x = fb.tensor([0.5, 2.0], requires_grad=True)
    y = fb.ops.test_lib.clipped(x)
    with pytest.raises(NotImplementedError, match="derivative for test_lib::clipped is not implemented"):
        y.sum().backward()

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * ((x >= 0) & (x <= 1))

    register_autograd("test_lib::clipped", backward, setup_context=setup, lib=lib)
    y = fb.ops.test_lib.clipped(x)
    assert y.grad_fn.name() == "GeneratedBackwardFor_test_lib_clipped_Backward"
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()

    x.grad = None
    program = fb.CompilationUnit("def f(x: Tensor): return fb.ops.test_lib.clipped(x) * 3").f
    program(x).sum().backward()
    assert x.grad.tolist() == [3.0, 0.0]
    with fb.no_grad():
        assert not fb.ops.test_lib.clipped(x).requires_grad


def test_gradients_of_lists_and_other_arguments(lib) -> None:
    lib.define("weighted(Tensor[] xs, float w, Tensor y) -> Tensor")
    lib.impl("weighted", lambda xs, w, y: fb.stack(list(xs)).sum(0) * w * y, "CPU")

    def setup(ctx, inputs, output):
        xs, ctx.w, y = inputs
        ctx.save_for_backward(y, *xs)

    def backward(ctx, gradient):
        y, *xs = ctx.saved_tensors
        return [gradient * ctx.w * y for _ in xs], None, gradient * ctx.w * sum(xs)

    register_autograd("test_lib::weighted", backward, setup_context=setup, lib=lib)
    a, b, y = (fb.tensor([k], requires_grad=True) for k in (1.0, 2.0, 5.0))
    fb.ops.test_lib.weighted([a, b], 3.0, y).backward()
    assert (a.grad.item(), b.grad.item(), y.grad.item()) == (15.0, 15.0, 9.0)
    c = fb.tensor([4.0])
    assert not fb.ops.test_lib.weighted([c], 1.0, c).requires_grad


def test_wrong_gradients_are_refused(lib) -> None:
    lib.define("pair(Tensor x, Tensor y) -> Tensor")
    lib.impl("pair", lambda x, y: x * y, "CPU")
    register_autograd("test_lib::pair", lambda ctx, gradient: gradient, lib=lib)
    x = fb.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="backward formula returned 1 gradients for 2 inputs"):
        fb.ops.test_lib.pair(x, x).backward()
    lib.define("fill(Tensor(a!) x) -> ()")
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        register_autograd("test_lib::fill", lambda ctx: None, lib=lib)


def test_spellings_have_the_gradients_of_their_parts(lib) -> None:
    lib.define("cube(Tensor x) -> Tensor")
    lib.impl("cube", lambda x: x * x * x)
    x = fb.tensor([2.0], requires_grad=True)
    fb.ops.test_lib.cube(x).backward()
    assert x.grad.tolist() == [12.0]

    class Seen(fb.DispatchMode):
        names = ()

        def __flambeau_dispatch__(self, func, types, args=(), kwargs=None):
            self.names = (*self.names, str(func))
            return func(*args, **(kwargs or {}))

    with Seen() as seen:
        fb.ops.test_lib.cube(x)
    assert seen.names == ("aten.mul.Tensor", "aten.mul.Tensor")


def test_in_programs_traces_and_archives(lib) -> None:
    lib.define("halved(Tensor x) -> Tensor")
    lib.impl("halved", lambda x: fb.from_numpy(x.numpy() / 2), "CPU")

    class Model(fb.nn.Module):
        def forward(self, x):
            return fb.ops.test_lib.halved(x) + 1

    model = fb.jit.script(Model())
    assert "test_lib::halved" in str(model.graph)
    assert model(fb.ones(2)).tolist() == [1.5, 1.5]
    traced = fb.jit.trace(lambda x: fb.ops.test_lib.halved(x) + 1, (fb.ones(2),))
    assert "test_lib::halved" in str(traced.graph)
    archive = io.BytesIO()
    fb.jit.save(model, archive)
    archive.seek(0)
    assert fb.jit.load(archive)(fb.ones(2)).tolist() == [1.5, 1.5]
    lib._destroy()
    archive.seek(0)
    with pytest.raises(RuntimeError, match="halved"):
        fb.jit.load(archive)(fb.ones(2))


def test_effects_are_what_the_schema_says(lib) -> None:
    lib.define("fill_up(Tensor(a!) x, float value) -> ()")
    lib.impl("fill_up", lambda x, value: (x.fill_(value), None)[1], "CPU")
    program = fb.CompilationUnit("def f(x: Tensor):\n    fb.ops.test_lib.fill_up(x, 3.0)\n    return x + 1\n").f
    x = fb.zeros(2)
    assert program(x).tolist() == [4.0, 4.0]
    assert program(x).tolist() == [4.0, 4.0]
    assert x.tolist() == [3.0, 3.0]


def test_a_scripted_function_as_a_kernel(lib) -> None:
    lib.define("smooth(Tensor x) -> Tensor")
    kernel = fb.CompilationUnit("def f(x: Tensor): return x.sigmoid() * 2 - 1").f
    lib.impl("smooth", kernel, "CPU")
    program = fb.CompilationUnit("def f(x: Tensor): return fb.ops.test_lib.smooth(x) + 1").f
    for _ in range(3):
        assert program(fb.zeros(2)).tolist() == [1.0, 1.0]


def test_keys_may_be_passed_over(lib) -> None:
    lib.define("one(Tensor x) -> Tensor")
    calls = []

    def autograd(keys, x):
        calls.append(keys.has("Autograd"))
        return fb.ops.test_lib.one.default.redispatch(keys.remove("Autograd"), x)

    lib.impl("one", autograd, "Autograd", with_keyset=True)
    lib.impl("one", lambda x: x + 1, "CPU")
    assert fb.ops.test_lib.one(fb.ones(1)).tolist() == [2.0]
    assert calls == [True]
    x = fb.ones(1, requires_grad=True)
    with exclude_keys("Autograd"):
        assert not (x * 2).requires_grad
        with include_keys("Autograd"):
            assert (x * 2).requires_grad
    assert str(DispatchKeySet(("CPU",)).add("Meta")) == "DispatchKeySet(CPU, Meta)"


def test_fallbacks() -> None:
    library, rest = Library("test_fallback", "DEF"), Library("_", "IMPL")
    library.define("one(Tensor x) -> Tensor")
    rest.fallback(lambda op, *args, **kwargs: (str(op), args[0])[1] * 5, "CPU")
    assert fb.ops.test_fallback.one(fb.ones(1)).tolist() == [5.0]
    with pytest.raises(RuntimeError, match="Fallbacks can only be registered"):
        library.fallback(print, "CPU")
    rest._destroy()
    with pytest.raises(NotImplementedError, match="Could not run"):
        fb.ops.test_fallback.one(fb.ones(1))
    library._destroy()


def test_custom_op_says_more_of_itself() -> None:
    @custom_op("test_lib_custom::tripled")
    def tripled(x: fb.Tensor) -> fb.Tensor:
        return fb.from_numpy(x.numpy() * 3)

    tripled.register_autograd(lambda ctx, gradient: gradient * 3)
    x = fb.ones(2, requires_grad=True)
    tripled(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_functions_for_one_operator() -> None:
    define("test_lib_plain::one", "(Tensor x) -> Tensor")
    impl("test_lib_plain::one", "cpu", lambda x: x + 1)
    assert fb.ops.test_lib_plain.one(fb.ones(1)).tolist() == [2.0]
    define("test_lib_plain::two", "(Tensor x) -> Tensor")

    @register_kernel("test_lib_plain::two", "cpu")
    def two(x):
        return x + 2

    assert fb.ops.test_lib_plain.two(fb.ones(1)).tolist() == [3.0]
    with pytest.raises(RuntimeError, match="operator test_lib_plain::three does not exist"):
        impl("test_lib_plain::three", "cpu", two)
