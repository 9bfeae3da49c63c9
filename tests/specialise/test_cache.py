"""The cache of specialised code: what it keeps, what it drops, what it counts, and what it says."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import flambeau
from flambeau.specialise import spec as specs
from flambeau.specialise.cache import SpecialisationCache


def numbers(most: int = 2) -> SpecialisationCache[str, int]:
    return SpecialisationCache("numbers", most, describe=str)


def test_the_entry_asked_for_longest_ago_goes_first() -> None:
    cache = numbers()
    evicted: list[str] = []
    for key in ("a", "b", "a", "c"):
        cache.get_or_make(key, lambda cause: 1, evicted.append)
    assert (cache.keys, evicted) == (["a", "c"], ["b"])
    assert cache.statistics()[3:] == (1, 3, 1)


def test_entries_that_were_used_meanwhile_are_kept() -> None:
    calls = {"a": 0, "b": 0, "c": 0}
    cache: SpecialisationCache[str, str] = SpecialisationCache("calls", 2, describe=str, uses=lambda key: calls[key])
    cache.get_or_make("a", lambda cause: "a")
    calls["a"] += 1
    cache.get_or_make("b", lambda cause: "b")
    calls["b"] += 1
    calls["a"] += 1  # natively, without a question
    cache.get_or_make("c", lambda cause: "c")
    assert cache.keys == ["a", "c"]


def test_what_cannot_be_made_leaves_the_cache_as_it_was() -> None:
    cache = numbers()

    def fails(cause: str) -> int:
        raise ValueError(cause)

    with pytest.raises(ValueError, match="first call"):
        cache.get_or_make("a", fails)
    assert len(cache) == 0
    assert cache.get_or_make("a", lambda cause: 1) == 1


def test_each_entry_is_made_once() -> None:
    cache = numbers()
    made: list[int] = []
    ready = threading.Barrier(4)

    def ask() -> int:
        ready.wait()
        return cache.get_or_make("a", lambda cause: made.append(1) or len(made))

    with ThreadPoolExecutor(4) as pool:
        results = [future.result() for future in [pool.submit(ask) for _ in range(4)]]
    assert results == [1] * 4
    assert cache.statistics().misses == 1


def test_causes_say_which_argument_changed_and_how() -> None:
    x = flambeau.ones(2, 3)
    cache: SpecialisationCache[specs.Spec, int] = SpecialisationCache(
        "plans", 4, describe=specs.describe, compare=lambda a, b: specs.compare(a, b, ("x", "n"))
    )
    for arguments in ((x, 1), (flambeau.ones(5, 7), 1), (x.double(), 1)):
        cache.get_or_make(specs.spec_of(arguments), lambda cause: 1)
    assert list(cache.causes) == ["first call", "new types: 'x' is float64[*, *], was float32[*, *]"]


def test_explain_counts() -> None:
    unit = flambeau.CompilationUnit("def f(x: Tensor, n: int):\n    return flambeau.tanh(x) * n\n")
    for size in (3, 4, 5):
        unit.f(flambeau.ones(size), 2)
    unit.f(flambeau.ones(2, 3), 2)
    report = unit.f.explain()
    plans, *others = report.caches
    assert (plans.name, plans.entries, plans.misses, plans.evictions) == ("plans", 2, 2, 0)
    assert any(cache.name.startswith("kernels of") for cache in others)
    assert "cache of plans: 2 of at most 16" in str(report)
