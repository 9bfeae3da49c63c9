"""Inverses of matrices that are factored and inverted in place: as NumPy's, and as those of small ones."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.util import lapack


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_inverses(dtype: str) -> None:
    draw = np.random.default_rng(0).normal(size=(2, 100, 100)).astype(dtype)
    matrices = draw + 20 * np.eye(100, dtype=dtype)
    for given in (matrices, matrices[1], matrices.swapaxes(1, 2), np.repeat(matrices, 2, axis=2)[:, :, ::2]):
        found = flambeau.linalg.inv(flambeau.from_numpy(given))
        assert found.stride()[-2:] == (1, 100)
        np.testing.assert_allclose(found.numpy(), np.linalg.inv(given), rtol=0, atol=50 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(matrices, draw + 20 * np.eye(100, dtype=dtype))


def test_singular_ones_say_which_element_is_zero() -> None:
    matrices = np.stack([np.eye(100), np.eye(100)])
    matrices[1, 40, 40] = 0
    with pytest.raises(flambeau.linalg.LinAlgError, match=r"\(Batch element 1\): The diagonal element 41 is zero"):
        flambeau.linalg.inv(flambeau.from_numpy(matrices))
    inverse, info = flambeau.linalg.inv_ex(flambeau.from_numpy(matrices))
    assert info.tolist() == [0, 41]
    np.testing.assert_array_equal(inverse[0].numpy(), np.eye(100))


def test_others_are_numpys() -> None:
    for array in (np.eye(100, dtype=np.complex64), np.eye(3)):
        assert not lapack.can_invert(array)
        np.testing.assert_array_equal(flambeau.linalg.inv(flambeau.from_numpy(array)).numpy(), array)
    not_a_number = flambeau.full((100, 100), float("nan"))
    assert flambeau.linalg.inv(not_a_number).isnan().all()
