"""`vmap` of scripted functions with loops is code for whole batches of any sizes, and gives what Python gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autodiff.proxies import UntraceableError
from flambeau.func import grad, jacfwd, vmap
from flambeau.jit.transforms.batched_graph import batched_graph
from flambeau.jit.transforms.batches import Batches
from tests.autograd.operator_samples import SampleCall, calls, operators

m = flambeau


def numbers(*sizes: int, seed: int = 0) -> Tensor:
    return m.from_numpy(np.random.default_rng(seed).normal(size=sizes))


def turned(x: Tensor, p: Tensor) -> Tensor:
    for _ in range(5):
        x = x + 0.1 * m.stack([x[1], -p * m.sin(x[0])])
    return x


def grown(x: Tensor, p: Tensor) -> Tensor:
    s = m.zeros([2], dtype=m.float64)
    for i in range(x.size(0)):
        s = s * 0.5 + x[i] * p
    return s


def written(x: Tensor, p: Tensor) -> Tensor:
    y = m.zeros([x.size(0), 3], dtype=m.float64)
    for i in range(x.size(0)):
        y[i, 1] = x[i] * p
        y[i] += x
    return y


def listed(x: Tensor, p: Tensor) -> Tensor:
    seen: list[Tensor] = []
    for i in range(x.numel()):
        seen.append(x[: i + 1].sum() * p)
    return m.stack(seen)


def branched(x: Tensor, p: Tensor) -> Tensor:
    y = m.ones([3], dtype=m.float64)
    if x.size(0) > 2:
        y = x * p
    return y.reshape([1, x.size(0)]).expand([2, -1])


def paired(x: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    return x @ x.unsqueeze(1) * p, m.arange(3.0, dtype=m.float64)


def summed(x: Tensor, p: Tensor) -> Tensor:
    return (turned(x, p) * x).sum()


def each(function: Callable[..., Any], x: Tensor, p: Tensor) -> Any:
    """One example after the other."""
    results = [function(a, b) for a, b in zip(x, p, strict=True)]
    return [m.stack(list(r)) for r in zip(*results, strict=True)] if type(results[0]) is tuple else [m.stack(results)]


def close(got: Any, want: list[Tensor]) -> None:
    for one, other in zip(got if type(got) is tuple else [got], want, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-9, atol=1e-12)


PROGRAMS = {
    "loop": (turned, 2), "shared start": (grown, 3), "writes": (written, 3), "list": (listed, 3),
    "branch": (branched, 3), "tuple": (paired, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    function, length = PROGRAMS[name]
    x, p = numbers(4, length), numbers(4, seed=1)
    script = m.script(function)
    together = vmap(script)
    close(together(x, p), each(function, x, p))
    close(together(x[:1], p[:1]), each(function, x[:1], p[:1]))
    assert together._stages.batches.scripts, "it is no code for whole batches"


@pytest.mark.parametrize("transform", [grad, jacfwd], ids=["grad", "jacfwd"])
def test_derivatives(transform: Any) -> None:
    function = summed if transform is grad else turned
    x, p = numbers(4, 2), numbers(4, seed=1)
    together = vmap(transform(m.script(function)))
    close(together(x, p), each(transform(function), x, p))
    assert together._stages.batches.scripts, "it is no code for whole batches"


def test_what_all_share_and_where_batches_lie() -> None:
    x, p = numbers(2, 5), numbers(2)
    got = vmap(m.script(paired), in_dims=(1, None), out_dims=(0, 1))(x[:1].expand(2, 5), p[0])
    want = [paired(x[:1].expand(2, 5)[:, n], p[0]) for n in range(5)]
    close(got, [m.stack([w[0] for w in want]), m.stack([w[1] for w in want], 1)])


def test_any_sizes_are_one_code() -> None:
    together = vmap(m.script(written))
    for batch, length in [(2, 3), (5, 3), (7, 3)]:
        x, p = numbers(batch, length), numbers(batch, seed=1)
        close(together(x, p), each(written, x, p))
    assert together._stages.batches.statistics().misses == 1


def test_gradients_go_back_through_a_batch() -> None:
    x, p = numbers(4, 2).requires_grad_(), numbers(4, seed=1)
    vmap(m.script(turned))(x, p).sin().sum().backward()
    other = x.detach().requires_grad_()
    m.stack([turned(a, b) for a, b in zip(other, p, strict=True)]).sin().sum().backward()
    close(x.grad, [other.grad])


def test_wrong_batches_say_the_same() -> None:
    together = vmap(m.script(turned))
    message = r"Expected all tensors to have the same size in the mapped dimension, got sizes \[4, 3\]"
    with pytest.raises(ValueError, match=message):
        together(numbers(4, 2), numbers(3))
    assert together(numbers(0, 2), numbers(0)).shape == (0, 2)


def drawn(x: Tensor, p: Tensor) -> Tensor:
    y = x * p
    for _ in range(2):
        y = y + m.rand(3, dtype=m.float64)
    return y


def test_examples_draw_numbers_of_their_own() -> None:
    first, second = vmap(m.script(drawn), randomness="different")(numbers(1, 3).expand(2, 3), m.ones(2).double())
    assert not m.allclose(first, second)


def chosen(x: Tensor, p: Tensor) -> Tensor:
    return x * 2 if bool(x.sum() > 0) else x * p


def test_what_elements_choose_has_no_such_graph() -> None:
    script = m.script(chosen)
    formal = script.script_function.schema.arguments
    types = [a.type.refine(sizes=(None,) * n, dtype=m.float64) for a, n in zip(formal, (2, 1), strict=True)]
    with pytest.raises(UntraceableError, match=r"aten::Bool\.Tensor"):
        batched_graph(script.script_function, types, [0, 0], [0])
    x, p = numbers(4, 2), numbers(4, seed=1)
    close(vmap(script)(x, p), each(chosen, x, p))


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_right_sides_that_all_share_are_native(upper: bool, left: bool) -> None:
    @m.script
    def solved(a: Tensor, b: Tensor) -> Tensor:
        for _ in range(2):
            b = m.linalg.solve_triangular(a + m.eye(3, dtype=a.dtype) * 4, b, upper=upper, left=left)
        return b

    a, b = numbers(5, 3, 3), numbers(3, 3, seed=1)
    batch = vmap(solved, in_dims=(0, None))
    for _ in range(3):
        close(batch(a, b), [m.stack([solved(one, b) for one in a])])
    assert batch.explain(measure=False).is_native


@pytest.mark.parametrize("chunk", range(4))
def test_operators(chunk: int) -> None:
    """Graphs of batches of one operator give what the operator gives for each element."""
    known = 0
    for name in sorted(operators())[chunk * 5 :: 20]:
        for call in list(calls(name))[:1]:
            batches = [m.stack([value, value * 0.9]) for value in call.values]
            traced = _traced(call)
            compiled = Batches(traced.script_function, [0] * len(batches), 0).of(batches)
            if compiled is None:
                continue
            known += 1
            elements = [call.function(*[batch[n].clone() for batch in batches]) for n in range(2)]
            got = compiled(*batches)
            for one, *want in zip(got if type(got) is tuple else [got], *elements, strict=True):
                assert "empty" in name or m.allclose(one, m.stack(want), equal_nan=True), (name, call.label)
    assert known > 10


def _traced(call: SampleCall) -> Any:
    def function(*values: Tensor) -> Any:
        results = call.function(*values)
        return results[0] if len(results) == 1 else tuple(results)

    return m.trace(function, tuple(call.values), check_trace=False)
