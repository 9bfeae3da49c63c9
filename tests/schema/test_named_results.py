"""Classes of results that have names."""

from __future__ import annotations

import copy
import pickle

import pytest

import flambeau


def test_results_are_of_classes_that_can_be_asked_for() -> None:
    result = flambeau.tensor([2.0, 1.0]).sort()
    assert type(result) is flambeau.return_types.sort
    assert isinstance(flambeau.linalg.eigh(flambeau.eye(2)), flambeau.return_types.linalg_eigh)
    assert repr(result) == "flambeau.return_types.sort(\nvalues=tensor([1., 2.]),\nindices=tensor([1, 0]))"
    assert "sort" in dir(flambeau.return_types)


def test_results_are_copied_and_pickled() -> None:
    result = flambeau.ones(2, 2).max(0)
    for other in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert type(other) is type(result)
        assert other.values.tolist() == [1, 1]


def test_there_is_no_class_without_names() -> None:
    with pytest.raises(AttributeError, match=r"no operator's results have it"):
        flambeau.return_types.add  # noqa: B018
