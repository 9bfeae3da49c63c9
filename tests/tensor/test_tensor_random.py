"""Generators: reproducible, restorable, shared between threads; and the distributions drawn from them."""

from __future__ import annotations

import io
import pickle
import re
import threading
from typing import Any

import numpy as np
import pytest

import flambeau as fb


def test_equal_seeds_draw_equal_numbers() -> None:
    fb.manual_seed(7)
    first = fb.rand(5)
    fb.manual_seed(7)
    assert fb.equal(first, fb.rand(5))
    assert fb.initial_seed() == 7
    assert fb.Generator().manual_seed(-1).initial_seed() == (1 << 64) - 1
    with pytest.raises(RuntimeError, match="Overflow when unpacking long long"):
        fb.Generator().manual_seed(1 << 64)


def test_state_goes_back() -> None:
    g = fb.Generator().manual_seed(3)
    fb.rand(2, generator=g)
    state = g.get_state()
    a = fb.randn(4, generator=g)
    g.set_state(state)
    assert fb.equal(a, fb.randn(4, generator=g))
    twin = pickle.loads(pickle.dumps(g))
    assert fb.equal(fb.randperm(9, generator=g), fb.randperm(9, generator=twin))
    assert fb.equal(fb.rand(2, generator=g.clone_state()), fb.rand(2, generator=g))
    assert g.seed() == g.initial_seed()
    before = fb.get_rng_state()
    b = fb.rand(1)
    fb.set_rng_state(before)
    assert fb.equal(b, fb.rand(1))


def test_a_state_is_bytes_that_go_into_checkpoints() -> None:
    g = fb.Generator().manual_seed(3)
    fb.randn(5, generator=g)
    fb.randint(0, 9, (3,), dtype=fb.int32, generator=g)
    state = g.get_state()
    assert state.dtype is fb.uint8
    saved = io.BytesIO()
    fb.save({"rng": state}, saved)
    expected = fb.randn(7, generator=g)
    saved.seek(0)
    assert fb.equal(fb.randn(7, generator=fb.Generator().set_state(fb.load(saved)["rng"])), expected)
    assert g.position() != g.clone_state().manual_seed(3).position()


@pytest.mark.parametrize(
    ("state", "error", "text"),
    [
        (3, TypeError, "RNG state must be a torch.ByteTensor, as get_state() gives it, not int"),
        (fb.ones(112), TypeError, "not a tensor of flambeau.float32"),
        (
            fb.ones(3, dtype=fb.uint8),
            RuntimeError,
            "RNG state is wrong size: expected 5056 bytes from get_state(), got 3",
        ),
    ],
)
def test_what_is_no_state_is_refused(state: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        fb.set_rng_state(state)


def test_threads_share_a_generator() -> None:
    g = fb.Generator().manual_seed(0)
    drawn: list[float] = []
    lock = threading.Lock()

    def work() -> None:
        for _ in range(50):
            value = fb.rand(1, generator=g).item()
            with lock:
                drawn.append(value)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    expected = fb.rand(200, generator=fb.Generator().manual_seed(0))
    assert len(set(drawn)) == 200
    assert len(expected) == 200


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_uniform_never_reaches_one(dtype) -> None:
    fb.manual_seed(0)
    x = fb.rand(20000, dtype=getattr(fb, dtype))
    numbers = np.asarray(x.to(fb.complex128 if dtype == "complex64" else fb.float64).numpy())
    parts = [numbers.real, numbers.imag] if dtype == "complex64" else [numbers]
    for part in parts:
        assert part.min() >= 0
        assert part.max() < 1
        assert abs(part.mean() - 0.5) < 0.02


def test_moments() -> None:
    fb.manual_seed(1)
    n = 20000

    def moments(t):
        values = t.double().numpy()
        return values.mean(), values.std()

    assert moments(fb.randn(n)) == pytest.approx((0, 1), abs=0.03)
    assert moments(fb.empty(n).normal_(2, 3)) == pytest.approx((2, 3), abs=0.1)
    assert moments(fb.empty(n).uniform_(-1, 1)) == pytest.approx((0, 3**-0.5), abs=0.03)
    assert moments(fb.empty(n).exponential_(2.0)) == pytest.approx((0.5, 0.5), abs=0.03)
    assert moments(fb.empty(n).geometric_(0.5))[0] == pytest.approx(2, abs=0.06)
    assert moments(fb.full((n,), 0.3).bernoulli())[0] == pytest.approx(0.3, abs=0.02)
    assert moments(fb.normal(fb.full((n,), 4.0), 0.5)) == pytest.approx((4, 0.5), abs=0.03)
    assert moments(fb.poisson(fb.full((n,), 3.0)))[0] == pytest.approx(3, abs=0.06)
    picks = fb.multinomial(fb.tensor([1.0, 0.0, 3.0]), n, True)
    assert moments((picks == 2).double())[0] == pytest.approx(0.75, abs=0.02)
    assert 1 not in picks
    assert sorted(fb.multinomial(fb.ones(4), 4).tolist()) == [0, 1, 2, 3]
    assert sorted(fb.randperm(6).tolist()) == list(range(6))
    assert set(fb.randint(2, 5, (200,)).tolist()) == {2, 3, 4}
    assert set(fb.empty(100, dtype=fb.uint8).random_(2).tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: fb.rand(2, dtype=fb.int64),
            NotImplementedError,
            "\"check_uniform_bounds\" not implemented for 'Long'",
        ),
        (lambda: fb.randn(2, dtype=fb.int64), NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Long'"),
        (lambda: fb.empty(2).exponential_(0.0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
        (lambda: fb.empty(2).cauchy_(0.0, 0.0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
        (lambda: fb.empty(2).log_normal_(1.0, 0.0), RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
        (lambda: fb.empty(2).geometric_(1.0), RuntimeError, "geometric_ expects p to be in (0, 1), but got p=1"),
        (lambda: fb.empty(2).bernoulli_(2.0), RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=2"),
        (lambda: fb.multinomial(fb.ones(2), 3), RuntimeError, "cannot sample n_sample > prob_dist.size(-1) samples"),
        (lambda: fb.multinomial(fb.zeros(2), 1), RuntimeError, "invalid multinomial distribution"),
        (lambda: fb.multinomial(fb.ones(1, 1, 1), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
        (
            lambda: fb.randint(3, 3, (1,)),
            RuntimeError,
            "random_ expects 'from' to be less than 'to', but got from=3 >= to=3",
        ),
    ],
)
def test_refusals(call, error, message) -> None:
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def test_a_seed_that_nobody_chose_can_be_asked_for() -> None:
    chosen = fb.seed()
    first = fb.rand(3)
    assert fb.initial_seed() == chosen != fb.seed()
    fb.manual_seed(chosen)
    assert bool((fb.rand(3) == first).all())


def test_names_of_types() -> None:
    assert [fb.typename(x) for x in (3, [], int)] == ["int", "list", "int"]
    assert fb.typename(fb.zeros(1)).endswith("FloatTensor")


def test_states_under_the_names_of_devices() -> None:
    cuda = fb.cuda
    states = cuda.get_rng_state_all()
    assert len(states) == cuda.device_count()
    state = cuda.get_rng_state()
    first = fb.rand(3)
    cuda.set_rng_state(state)
    assert fb.equal(fb.rand(3), first)
    cuda.set_rng_state_all([state])
    assert fb.equal(fb.rand(3), first)
    after = fb.get_rng_state()
    cuda.set_rng_state_all([])
    assert fb.equal(fb.get_rng_state(), after)
    assert cuda.is_bf16_supported() == cuda.is_available()
