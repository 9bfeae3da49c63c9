"""Calls as they were once written: numbers by position between tensors, older names, forms that mean several things."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn

X = flambeau.arange(6.0).reshape(2, 3)
A, B, C = flambeau.ones(2, 2), flambeau.arange(6.0).reshape(2, 3), flambeau.arange(6.0).reshape(3, 2)
BATCH = flambeau.arange(4.0).reshape(1, 2, 2)

ORDERS: dict[str, tuple[Callable[[], Tensor], Callable[[], Tensor]]] = {
    "add": (lambda: flambeau.add(X, 2, X), lambda: X + 2 * X),
    "x.add": (lambda: X.add(2.5, X), lambda: X + 2.5 * X),
    "x.add_": (lambda: X.clone().add_(-1, X), lambda: X - X),
    "sub": (lambda: flambeau.sub(X, 2, X), lambda: X - 2 * X),
    "addcmul": (lambda: flambeau.addcmul(X, 2, X, X), lambda: X + 2 * X * X),
    "x.addcmul_": (lambda: X.clone().addcmul_(0.5, X, X), lambda: X + 0.5 * X * X),
    "addcdiv": (lambda: flambeau.addcdiv(X, 2, X, X + 1), lambda: X + 2 * X / (X + 1)),
    "addmm, both": (lambda: flambeau.addmm(2, A, 3, B, C), lambda: 2 * A + 3 * (B @ C)),
    "addmm, one": (lambda: flambeau.addmm(2, A, B, C), lambda: 2 * A + B @ C),
    "x.addmm": (lambda: A.addmm(2, 3, B, C), lambda: 2 * A + 3 * (B @ C)),
    "addmv": (lambda: flambeau.addmv(2, A[0], 3, A, A[1]), lambda: 2 * A[0] + 3 * (A @ A[1])),
    "addr": (lambda: flambeau.addr(2, A, 3, A[0], A[1]), lambda: 2 * A + 3 * flambeau.outer(A[0], A[1])),
    "addbmm": (lambda: flambeau.addbmm(2, A, 3, BATCH, BATCH), lambda: 2 * A + 3 * (BATCH[0] @ BATCH[0])),
    "baddbmm": (lambda: flambeau.baddbmm(2, BATCH, 3, BATCH, BATCH), lambda: 2 * BATCH + 3 * (BATCH @ BATCH)),
}


@pytest.mark.parametrize("name", ORDERS)
def test_numbers_between_tensors(name: str) -> None:
    older, now = ORDERS[name]
    with pytest.warns(UserWarning, match=r"is deprecated: write the number by name, (alpha|beta|value)=") as seen:
        result = older()
    assert flambeau.equal(result, now())
    assert seen[0].filename == __file__


def test_numbers_between_tensors_have_gradients() -> None:
    x = flambeau.ones(3, requires_grad=True)
    with pytest.warns(UserWarning, match="is deprecated"):
        (x * 1).add(3, x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4.0] * 3


def test_other_calls_are_what_they_were() -> None:
    assert flambeau.add(X, X, alpha=2).equal(3 * X)
    for wrong in (lambda: flambeau.addmm(1, A, 2, B, 3, C), lambda: flambeau.addcmul(X, 1, 2, X)):
        with pytest.raises(TypeError):
            wrong()


FORMS: dict[str, tuple[str, Callable[[], Any]]] = {
    "qr": (r"qr is deprecated: write linalg.qr", lambda: flambeau.qr(A)),
    "x.qr": (r"qr is deprecated", lambda: A.qr()),
    "cholesky": (r"cholesky is deprecated", lambda: flambeau.cholesky(flambeau.eye(2))),
    "triangular_solve": (r"linalg.solve_triangular", lambda: flambeau.triangular_solve(A, A)),
    "lu_solve": (r"linalg.lu_solve", lambda: flambeau.lu_solve(A, *flambeau.linalg.lu_factor(flambeau.eye(2)))),
    "lu": (r"linalg.lu_factor", lambda: flambeau.lu(flambeau.eye(2))),
    "chain_matmul": (r"linalg.multi_dot", lambda: flambeau.chain_matmul(A, A)),
    "range": (r"range is deprecated: write arange", lambda: flambeau.range(0, 3)),
    "meshgrid": (r"write indexing='ij'", lambda: flambeau.meshgrid(X[0], X[0])),
    "tensor": (r"write x.detach\(\).clone\(\)", lambda: flambeau.tensor(X)),
    "T of three": (r"with 3 dimensions is deprecated", lambda: BATCH.T),
    "T of none": (r"with 0 dimensions is deprecated", lambda: flambeau.tensor(1.0).T),
    "bytes": (r"write x\[mask.bool\(\)\]", lambda: X[flambeau.ones(2, dtype=flambeau.uint8)]),
    "std": (r"degrees of freedom is <= 0", lambda: flambeau.ones(1).std()),
    "var": (r"of 2 elements 3 are taken off", lambda: flambeau.ones(2).var(correction=3)),
    "dropout2d": (r"dropout2d: a 2-D input is deprecated", lambda: nn.functional.dropout2d(X)),
    "dropout3d": (r"dropout3d: a 2-D input is deprecated", lambda: nn.functional.dropout3d(X)),
    "trunc_normal_": (r"mean is more than 2 std from \[a, b\]", lambda: nn.init.trunc_normal_(flambeau.ones(1), 9)),
    "var_mean": (r"degrees of freedom is <= 0", lambda: flambeau.var_mean(flambeau.ones(1))),
}


@pytest.mark.parametrize("name", FORMS)
def test_older_forms_say_what_to_write(name: str) -> None:
    text, call = FORMS[name]
    with pytest.warns(UserWarning, match=text) as seen:
        call()
    assert [w.filename for w in seen] == [__file__]


def test_the_older_weight_norm() -> None:
    with pytest.warns(FutureWarning, match="write nn.utils.parametrizations.weight_norm"):
        nn.utils.weight_norm(nn.Linear(1, 1))


@pytest.mark.filterwarnings("error")
def test_what_is_written_now_warns_of_nothing() -> None:
    flambeau.linalg.qr(A)
    flambeau.meshgrid(X[0], X[0], indexing="ij")
    assert A.T.equal(A.mT)
    flambeau.ones(2).std()
    flambeau.ones(1).std(correction=0)
    assert X[flambeau.tensor([True, False])].tolist() == X[:1].tolist()
    flambeau.tensor(np.ones(2))
    flambeau.tensor([X[0, 0], X[0, 1]])
    flambeau.as_tensor(X)
    nn.functional.dropout2d(flambeau.ones(1, 1, 1, 1))
    nn.utils.parametrizations.weight_norm(nn.Linear(1, 1))
