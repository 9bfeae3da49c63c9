"""Weights computed from others: as length and direction, of norm one; in both forms that there are."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn.utils import parametrizations, parametrize, remove_spectral_norm, remove_weight_norm
from tests.nn.peers import assert_close, taken, ways

LAYERS = [
    ("Linear", (3, 4), (5, 3)), ("Conv2d", (2, 4, 3), (1, 2, 6, 6)), ("ConvTranspose2d", (2, 4, 3), (1, 2, 4, 4)),
]  # fmt: skip
FORMS: list[tuple[str, str, dict[str, Any]]] = [
    (where, what, options)
    for where in ("utils", "utils.parametrizations")
    for what, options in (
        ("weight_norm", {}), ("weight_norm", {"dim": None}), ("weight_norm", {"dim": 1}), ("spectral_norm", {}),
        ("spectral_norm", {"n_power_iterations": 3}),
    )
]  # fmt: skip


def of(library: Any, where: str, what: str) -> Any:
    found = library
    for name in (*where.split("."), what):
        found = getattr(found, name)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("where", "what", "options"), FORMS)
@pytest.mark.parametrize(("kind", "arguments", "sizes"), LAYERS)
def test_same_as_torch(
    kind: str, arguments: Any, sizes: Any, where: str, what: str, options: dict[str, Any]
) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    torch.manual_seed(3)  # a norm that is nearly zero, as some vectors to start from give, is a matter of rounding
    mine = of(nn, where, what)(getattr(nn, kind)(*arguments), **options)
    theirs = of(torch.nn, where, what)(getattr(torch.nn, kind)(*arguments), **options)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    assert [n for n, _ in mine.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    assert repr(mine) == repr(theirs)
    x = np.random.default_rng(1).standard_normal(sizes).astype(np.float32)
    start = {n: v.clone() for n, v in theirs.state_dict().items()}
    for is_training in (True, False):
        mine.train(is_training)
        theirs.train(is_training).load_state_dict(start)
        want = theirs(torch.from_numpy(x))
        mine.load_state_dict(taken(start))
        for run in ways(mine, flambeau.from_numpy(x)):
            mine.load_state_dict(taken(start))
            assert_close(run(flambeau.from_numpy(x)), want)
            assert_close(list(mine.state_dict().values()), list(theirs.state_dict().values()))
    if where == "utils":
        (remove_weight_norm if what == "weight_norm" else remove_spectral_norm)(mine)
    else:
        parametrize.remove_parametrizations(mine, "weight")
    assert type(mine) is getattr(nn, kind)
    assert sorted(mine.state_dict()) == ["bias", "weight"]
    assert_close(mine(flambeau.from_numpy(x)), want)


def test_older_states_are_taken() -> None:
    older, newer = nn.utils.weight_norm(nn.Linear(3, 4)), parametrizations.weight_norm(nn.Linear(3, 4))
    newer.load_state_dict(older.state_dict())
    assert_close(newer.weight, older.weight)
    newer.weight = flambeau.ones(4, 3)
    assert_close(newer.weight, flambeau.ones(4, 3))
    assert_close(newer.parametrizations.weight.original0, flambeau.full([4, 1], 3.0**0.5))


def test_copies_do_not_share_what_is_computed() -> None:
    first = nn.utils.weight_norm(nn.Linear(2, 2))
    second = copy.deepcopy(first)
    remove_weight_norm(first)
    nn.utils.weight_norm(second, "bias", None)
    assert (sorted(first.state_dict()), sorted(second.state_dict())) == (
        ["bias", "weight"], ["bias_g", "bias_v", "weight_g", "weight_v"],
    )  # fmt: skip
    third = copy.deepcopy(parametrizations.weight_norm(nn.Linear(2, 2)))
    fourth = copy.deepcopy(third)
    parametrize.remove_parametrizations(third, "weight")
    assert_close(third(flambeau.ones(1, 2)), fourth(flambeau.ones(1, 2)))
    assert parametrize.type_before_parametrizations(fourth) is nn.Linear
    assert parametrize.type_before_parametrizations(third) is nn.Linear


def test_vectors_are_divided_by_their_length() -> None:
    layer = parametrizations.spectral_norm(nn.BatchNorm1d(4))
    assert_close(layer.weight, flambeau.full([4], 0.5))
    x = flambeau.randn(5, 4)
    assert_close(flambeau.script(layer.eval())(x), layer(x))


def test_parametrizations_go_to_other_modules() -> None:
    one, other = parametrizations.weight_norm(nn.Linear(2, 2)), nn.Linear(2, 2)
    parametrize.transfer_parametrizations_and_params(one, other, "weight")
    assert_close(other.weight, one.weight)
    assert type(other).__name__ == "ParametrizedLinear"
    with pytest.raises(ValueError, match="does not have a parametrization on bias"):
        parametrize.transfer_parametrizations_and_params(one, other, "bias")


class ThreeParts(nn.Module):
    def forward(self, *parts: Any) -> Any:
        return parts[0]

    def right_inverse(self, whole: Any) -> Any:
        return whole, whole, whole


LSTM = "LSTM reads all its weights at once: 'weight_hh_l0' cannot be computed from others"


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda: nn.utils.weight_norm(nn.utils.weight_norm(nn.Linear(1, 1))), RuntimeError, "register two weight_norm"),
        (lambda: nn.utils.spectral_norm(nn.utils.spectral_norm(nn.Linear(1, 1))), RuntimeError, "two spectral_norm"),
        (lambda: nn.utils.weight_norm(nn.Linear(1, 1), "odd"), ValueError, "has no parameter or buffer with name"),
        (lambda: nn.utils.weight_norm(nn.Linear(1, 1), dim=5), IndexError, r"range of \[-2, 1\], but got 5"),
        (lambda: nn.utils.spectral_norm(nn.Linear(1, 1), n_power_iterations=0), ValueError, "to be positive"),
        (lambda: parametrizations.spectral_norm(nn.Linear(1, 1), n_power_iterations=0), ValueError, "to be positive"),
        (lambda: remove_weight_norm(nn.Linear(1, 1)), ValueError, "weight_norm of 'weight' not found in Linear"),
        (lambda: remove_spectral_norm(nn.Linear(1, 1)), ValueError, "spectral_norm of 'weight' not found in Linear"),
        (lambda: nn.utils.weight_norm(nn.LSTM(1, 1), "weight_hh_l0"), RuntimeError, LSTM),
        (lambda: parametrizations.weight_norm(nn.LSTM(1, 1), "weight_hh_l0"), RuntimeError, LSTM),
        (lambda: pickle.dumps(nn.utils.weight_norm(nn.Linear(1, 1))), RuntimeError, "only supported through"),
        (
            lambda: parametrize.remove_parametrizations(
                parametrizations.weight_norm(nn.Linear(1, 1)), "weight", leave_parametrized=False
            ),
            ValueError,
            "a tensor that is made of several: there is no original",
        ),
        (
            lambda: parametrize.register_parametrization(nn.Linear(1, 1), "weight", ThreeParts()),
            ValueError,
            "right_inverse gives one tensor or two, got 3",
        ),
    ],
)
def test_refusals(run: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run()


MAPS = [None, "matrix_exp", "cayley", "householder"]


def random_matrix(*sizes: int) -> np.ndarray:
    return np.random.default_rng(sum(sizes)).standard_normal(sizes).astype(np.float32)


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("sizes", [(3, 3), (5, 3), (3, 5)])
def test_orthogonal_weights(sizes: tuple[int, int], kind: str | None, trivial: bool) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    mine, theirs = nn.Linear(*sizes[::-1]), torch.nn.Linear(*sizes[::-1])
    for library, layer in ((nn, mine), (torch.nn, theirs)):
        library.utils.parametrizations.orthogonal(layer, orthogonal_map=kind, use_trivialization=trivial)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    assert repr(mine) == repr(theirs)
    x = random_matrix(2, sizes[1])
    other = random_matrix(*sizes)
    for original in (None, np.sign(other) if kind != "cayley" else other):
        state = theirs.state_dict()
        if original is not None:
            state["parametrizations.weight.original"] = torch.from_numpy(original)
            theirs.load_state_dict(state)
        mine.load_state_dict(taken(state))
        for one in ways(mine, flambeau.from_numpy(x)):
            assert_close(one(flambeau.from_numpy(x)), theirs(torch.from_numpy(x)), 2e-5)
        found = mine.weight.detach().numpy()
        product = found @ found.T if sizes[0] < sizes[1] else found.T @ found
        if original is None:
            np.testing.assert_allclose(product, np.eye(3), atol=2e-5)


def test_orthogonal_weights_are_assigned() -> None:
    for sizes in ((3, 3), (5, 3), (3, 5)):
        layer = parametrizations.orthogonal(nn.Linear(*sizes[::-1]))
        layer.weight = flambeau.eye(*sizes)
        assert layer.weight.tolist() == flambeau.eye(*sizes).tolist()
        reflected = parametrizations.orthogonal(
            nn.Linear(*sizes[::-1]), orthogonal_map="householder", use_trivialization=False
        )
        for wanted in (flambeau.eye(*sizes), layer.weight.flip(0) * -1.0):
            reflected.weight = wanted
            assert_close(reflected.weight, wanted)
    square = parametrizations.orthogonal(nn.Linear(2, 2))
    square.weight = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert_close(square.weight @ square.weight.t(), flambeau.eye(2))


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda m: parametrizations.orthogonal(m, "bias"), ValueError, "Expected a matrix or batch of matrices. Got a"),
        (lambda m: parametrizations.orthogonal(m, "gone"), ValueError, "no parameter or buffer with name 'gone'"),
        (lambda m: parametrizations.orthogonal(m, orthogonal_map="qr"), ValueError, "orthogonal_map has to be one of"),
        (
            lambda m: setattr(parametrizations.orthogonal(m, use_trivialization=False), "weight", flambeau.eye(2)),
            NotImplementedError, "It is not possible to assign to the matrix exponential or the Cayley",
        ),
        (
            lambda m: setattr(parametrizations.orthogonal(m), "weight", flambeau.eye(3)), ValueError,
            "Expected a matrix or batch of matrices of shape",
        ),
    ],
)  # fmt: skip
def test_orthogonal_refusals(run: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run(nn.Linear(2, 2))


def test_complex_reflections_are_refused() -> None:
    layer = nn.Module()
    layer.weight = nn.Parameter(flambeau.ones(2, 2, dtype=flambeau.complex64))
    with pytest.raises(ValueError, match="does not support complex tensors"):
        parametrizations.orthogonal(layer, orthogonal_map="householder")
