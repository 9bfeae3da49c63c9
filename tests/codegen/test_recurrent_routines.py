"""Recurrent layers as routines of groups in native functions, beside PyTorch's in double precision and eager calls."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
KINDS = sorted(GATES)


class Case:
    """A network of some sizes: its program, and its arrays."""

    def __init__(
        self, kind: str, layers: int = 1, *, both: bool = False, bias: bool = True, batch_first: bool = False,
        sizes: tuple[int, int, int, int] = (5, 3, 4, 6), dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        rng = np.random.default_rng(3)
        time, batch, features, self.units = sizes
        self.kind, directions = kind, 2 if both else 1

        def numbers(*shape: int) -> Any:
            return (rng.standard_normal(shape) * 0.4).astype(dtype)

        self.weights = []
        for layer in range(layers):
            width = self.units * directions if layer else features
            for _ in range(directions):
                rows = GATES[kind] * self.units
                self.weights += [numbers(rows, width), numbers(rows, self.units)]
                self.weights += [numbers(rows), numbers(rows)] if bias else []
        self.x = numbers(*((batch, time) if batch_first else (time, batch)), features)
        self.states = [numbers(layers * directions, batch, self.units) for _ in range(2 if kind == "lstm" else 1)]
        self.options = [bias, layers, 0.0, False, both]
        self.last = [batch_first]

    def program(self, *before: str) -> Any:
        """A function of the input, what lies before the states, both states and the weights."""
        names = [f"w{k}" for k in range(len(self.weights))]
        declared = ", ".join(f"{name}: Tensor" for name in ("x", *before, "h", "c", *names))
        results = ", ".join(["Tensor"] * (3 if self.kind == "lstm" else 2))
        hx = "[h, c]" if self.kind == "lstm" else "h"
        options = ", ".join(map(repr, self.options + ([] if before else self.last)))
        call = f"flambeau.{self.kind}({', '.join(('x', *before))}, {hx}, [{', '.join(names)}], {options})"
        return flambeau.jit.CompilationUnit(f"def f({declared}) -> Tuple[{results}]:\n    return {call}\n").f

    def exact(self, x: Any, *before: Any) -> Any:
        """PyTorch's answer in double precision."""
        first, *others = (torch.tensor(np.ascontiguousarray(a)).double() for a in (x, *self.states, *self.weights))
        states, weights = others[: len(self.states)], others[len(self.states) :]
        hx = states if self.kind == "lstm" else states[0]
        options = self.options + ([] if before else self.last)
        return getattr(torch, self.kind)(first, *before, hx, weights, *options)

    def arguments(self) -> list[Any]:
        """Tensors: both states, or one twice, then the weights."""
        return list(map(flambeau.from_numpy, (self.states[0], self.states[-1], *self.weights)))


def called(function: Any, *arguments: Any) -> Any:
    for _ in range(4):
        result = function(*arguments)
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_layers_are_those_of_torch_and_of_eager_calls_bit_for_bit(kind: str) -> None:
    choices = list(product((1, 2), (False, True), (False, True), (False, True)))
    cases = [Case(kind, n, both=both, bias=bias, batch_first=first) for n, both, bias, first in choices]
    cases.append(Case(kind, sizes=(200, 2, 64, 32), dtype=np.float64))  # products of all steps together
    cases.append(Case(kind, 2, both=True, sizes=(7, 17, 33, 19)))
    for case in cases:
        x, rest = flambeau.from_numpy(case.x), case.arguments()
        found = called(case.program(), x, *rest)
        hx = rest[:2] if kind == "lstm" else rest[0]
        eager = getattr(flambeau, kind)(x, hx, rest[2:], *case.options, *case.last)
        for one, exact, own in zip(found, case.exact(case.x), eager, strict=True):
            largest = max(1.0, exact.abs().max().item())  # which states of ReLU grow to
            np.testing.assert_allclose(one.numpy(), exact.numpy(), rtol=1e-4, atol=1e-5 * largest)
            np.testing.assert_array_equal(one.numpy(), own.numpy())
            assert one.stride() == own.stride()


@pytest.mark.parametrize("kind", KINDS)
def test_steps_by_themselves_are_those_of_torch(kind: str) -> None:
    hx, result = ("[h, c]", "Tuple[Tensor, Tensor]") if kind == "lstm" else ("h", "Tensor")
    for biases in (", b, d", ""):
        source = "def f(x: Tensor, h: Tensor, c: Tensor, w: Tensor, v: Tensor, b: Tensor, d: Tensor) -> "
        source += f"{result}:\n    return flambeau.{kind}_cell(x, {hx}, w, v{biases})\n"
        rng, rows = np.random.default_rng(5), GATES[kind] * 6
        shapes = ((3, 4), (3, 6), (3, 6), (rows, 4), (rows, 6), (rows,), (rows,))
        arrays = [rng.standard_normal(s).astype(np.float32) for s in shapes]
        function = flambeau.jit.CompilationUnit(source).f
        found = called(function, *map(flambeau.from_numpy, arrays))
        x, h, c, *weights = (torch.tensor(a).double() for a in arrays)
        step = getattr(torch, f"{kind}_cell")
        exact = step(x, (h, c) if kind == "lstm" else h, *weights[: 4 if biases else 2])
        for one, other in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, exact)), strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)


def test_inputs_weights_and_states_that_lie_anyhow() -> None:
    case = Case("lstm", 2)
    turned = [np.asfortranarray(a) if a.ndim == 2 else np.repeat(a, 2)[::2] for a in case.weights]
    states = [np.swapaxes(np.ascontiguousarray(np.swapaxes(s, 0, 2)), 0, 2) for s in case.states]
    x = np.repeat(case.x, 3, axis=2)[:, :, ::3]
    found = called(case.program(), *(flambeau.from_numpy(a) for a in (x, *states, *turned)))
    for one, exact in zip(found, case.exact(case.x), strict=True):
        np.testing.assert_allclose(one.numpy(), exact.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_packed_batches_are_those_of_torch_and_of_eager_calls_bit_for_bit(kind: str) -> None:
    for layers, both, bias in product((1, 2), (False, True), (False, True)):
        for sizes in ([3, 3, 2, 1, 1], [3], [3, 3], [3, 1, 0, 0]):
            case = Case(kind, layers, both=both, bias=bias)
            xs, states = case.x.reshape(-1, 4)[: sum(sizes)], case.arguments()
            x, steps = flambeau.from_numpy(xs), flambeau.tensor(sizes, dtype=flambeau.int64)
            found = called(case.program("steps"), x, steps, *states)
            hx = states[:2] if kind == "lstm" else states[0]
            eager = getattr(flambeau, kind)(x, steps, hx, states[2:], *case.options)
            exact = case.exact(xs, torch.tensor(sizes)) if sizes[-1] else eager  # which torch refuses
            for one, other, own in zip(found, exact, eager, strict=True):
                np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)
                np.testing.assert_array_equal(one.numpy(), own.numpy())
                assert one.stride() == own.stride()


def test_packed_batches_of_other_steps_are_served_and_wrong_ones_refused_in_the_operators_words() -> None:
    case = Case("lstm", 2, both=True)
    function, rest, x = case.program("steps"), case.arguments(), flambeau.from_numpy(case.x.reshape(-1, 4)[:6])

    def steps(*numbers: int) -> Any:
        return flambeau.tensor(list(numbers), dtype=flambeau.int64)

    called(function, x, steps(3, 2, 1), *rest)
    for sizes in ((3, 2, 1), (3, 1, 1, 1), (3, 3)):  # of one number of rows, so that launches are met again
        exact = case.exact(case.x.reshape(-1, 4)[:6], torch.tensor(sizes))
        for numbers in (steps(*sizes), flambeau.stack([steps(*sizes)] * 2, 1)[:, 0]):
            for one, other in zip(function(x, numbers, *rest), exact, strict=True):
                np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)
    for wrong in ((3, 1, 2), (2, 2, 2), (3, 2, 2), (3, 4, -1), (3,)):
        with pytest.raises(RuntimeError) as eager:
            flambeau.lstm(x, steps(*wrong), rest[:2], rest[2:], *case.options)
        with pytest.raises(RuntimeError) as native:
            function(x, steps(*wrong), *rest)
        assert str(native.value).strip().endswith(str(eager.value).strip())
    np.testing.assert_allclose(function(x, steps(3, 2, 1), *rest)[0].numpy(), case.exact(
        case.x.reshape(-1, 4)[:6], torch.tensor((3, 2, 1))
    )[0].numpy(), rtol=1e-4, atol=1e-5)  # fmt: skip


def test_nan_and_infinity_stay_in_their_sequence() -> None:
    case = Case("gru")
    case.x[1, 0, 2], case.x[2, 1, 0] = np.nan, np.inf
    found = called(case.program(), flambeau.from_numpy(case.x), *case.arguments())
    for one, exact in zip(found, case.exact(case.x), strict=True):
        np.testing.assert_allclose(one.numpy(), exact.numpy(), rtol=1e-4, atol=1e-5)


def test_one_state_for_both_and_weights_that_change_in_place() -> None:
    @flambeau.script
    def network(
        x: flambeau.Tensor, w: flambeau.Tensor, v: flambeau.Tensor
    ) -> flambeau.Tensor:
        zeros = flambeau.zeros([1, x.size(1), 6])
        return flambeau.lstm(x, [zeros, zeros], [w, v], False, 1, 0.0, False, False, False)[0]

    case = Case("lstm", bias=False)
    x, w, v = (flambeau.from_numpy(a) for a in (case.x, *case.weights))
    called(network, x, w, v)
    w.mul_(0.5)
    zeros = torch.zeros(1, 3, 6)
    weights = [torch.tensor(a.numpy()) for a in (w, v)]
    exact = torch.lstm(torch.tensor(case.x), [zeros, zeros], weights, False, 1, 0.0, False, False, False)[0]
    np.testing.assert_allclose(network(x, w, v).numpy(), exact.numpy(), rtol=1e-4, atol=1e-5)


def test_what_the_operator_refuses_is_refused_in_its_words() -> None:
    case = Case("lstm")
    function, rest = case.program(), case.arguments()
    x = flambeau.from_numpy(case.x)
    called(function, x, *rest)
    with pytest.raises(RuntimeError, match=r"input.size\(-1\) must be equal to input_size. Expected 4, got 3"):
        function(x[:, :, :3], *rest)
    with pytest.raises(RuntimeError, match=r"Expected sequence length to be larger than 0"):
        function(x[:0], *rest)
    with pytest.raises(RuntimeError, match=r"Expected hidden\[0\] size \(1, 2, 6\)"):
        function(x[:, :2], *rest)
    np.testing.assert_allclose(function(x, *rest)[0].numpy(), case.exact(case.x)[0].numpy(), rtol=1e-4, atol=1e-5)


def test_a_list_that_changes_is_no_operand_of_a_routine() -> None:
    @flambeau.script
    def network(x: flambeau.Tensor, h: flambeau.Tensor, w: flambeau.Tensor, v: flambeau.Tensor) -> flambeau.Tensor:
        weights = [w, w]
        weights[1] = v
        return flambeau.gru(x, h, weights, False, 1, 0.0, False, False, False)[0]

    case = Case("gru", bias=False)
    arguments = [flambeau.from_numpy(a) for a in (case.x, case.states[0], *case.weights)]
    for _ in range(4):
        found = network(*arguments)
    np.testing.assert_allclose(found.numpy(), case.exact(case.x)[0].numpy(), rtol=1e-4, atol=1e-5)


def test_arguments_that_ask_for_gradients_are_recorded() -> None:
    case = Case("lstm")
    weights = [flambeau.tensor(a, requires_grad=True) for a in case.weights]
    function, states = case.program(), case.arguments()[:2]
    for _ in range(4):
        for weight in weights:
            weight.grad = None
        function(flambeau.from_numpy(case.x), *states, *weights)[0].sum().backward()
    exact = [torch.tensor(a, requires_grad=True) for a in case.weights]
    hx = [torch.tensor(s) for s in case.states]
    torch.lstm(torch.tensor(case.x), hx, exact, *case.options, *case.last)[0].sum().backward()
    for weight, other in zip(weights, exact, strict=True):
        np.testing.assert_allclose(weight.grad.numpy(), other.grad.numpy(), rtol=1e-3, atol=1e-4)


def test_dropout_between_layers_is_drawn_for_each_call() -> None:
    case = Case("rnn_tanh", 2)
    case.options[2:4] = [0.5, True]
    function, x = case.program(), flambeau.from_numpy(case.x)
    drawn = [function(x, *case.arguments())[0].numpy() for _ in range(5)]
    assert any(not np.array_equal(drawn[0], other) for other in drawn[1:])
