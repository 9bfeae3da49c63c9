"""The helpers of programs in plain Python, and what they refuse."""

# ruff: noqa: UP006, UP007, UP035, UP045  (spellings that programs use)

from __future__ import annotations

import threading
import warnings
from typing import Any, Dict, List, Optional, Tuple, Union

import pytest

import flambeau
from flambeau import jit
from flambeau.interpreter.future import collect_all, wait_all


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        ([1, 2], List[int], True),
        ([1, "a"], List[int], False),
        ({"a": [1.0]}, Dict[str, List[float]], True),
        ({"a": [1]}, Dict[str, List[float]], False),
        ((1, "a"), Tuple[int, str], True),
        ((1,), Tuple[int, str], False),
        (None, Optional[int], True),
        ("a", Optional[int], False),
        (3, Union[int, str], True),
        (2.5, (int, (str, List[float])), False),
        ([1.5], (int, (str, List[float])), True),
        (flambeau.ones(2), List[float], False),
        (flambeau.ones(2), flambeau.Tensor, True),
        (3, Any, True),
        ([[1], [2]], list[list[int]], True),
    ],
)
def test_isinstance_looks_into_containers(value: Any, target: Any, expected: bool) -> None:
    assert jit.isinstance(value, target) is expected


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (List, "Attempted to use List without a contained type. Please add a contained type, e.g. List\\[int\\]"),
        (Tuple, "Attempted to use Tuple without a contained type"),
        (Optional, "Attempted to use Optional without a contained type"),
        (Dict, "Attempted to use Dict without contained types. Please add contained type, e.g. Dict\\[int, int\\]"),
        (list, "Attempted to use List without a contained type"),
        (3, "a type or a tuple of types"),
        ("int", "a type or a tuple of types"),
    ],
)
def test_isinstance_refuses_what_is_no_full_type(target: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        jit.isinstance([1], target)


def test_an_empty_container_warns_once() -> None:
    with pytest.warns(UserWarning, match="inner type of a container is lost") as caught:
        assert jit.isinstance([[], []], List[List[int]])
    assert len(caught) == 1


def test_ignore_takes_options_and_refuses_others() -> None:
    with pytest.warns(FutureWarning, match="TorchScript will now drop the function"):
        marked = jit.ignore(drop_on_export=True)(lambda x: x)
    assert marked(3) == 3
    with pytest.raises(TypeError, match="unexpected keyword argument 'dropp'"):
        jit.ignore(dropp=True)  # type: ignore[call-overload]
    with pytest.raises(RuntimeError, match=r"to @flambeau\.jit\.ignore must be a bool or a function but got 3"):
        jit.ignore(3)  # type: ignore[call-overload]


def test_unwrapping_none_is_an_assertion() -> None:
    with pytest.raises(AssertionError, match="Unwrapping null optional"):
        jit._unwrap_optional(None)


# -- futures ----------------------------------------------------------------------------------------------------------


def test_a_future_is_completed_once() -> None:
    future: Any = jit.Future()
    assert not future.done()
    with pytest.raises(RuntimeError, match="has no value yet"):
        future.value()
    future.set_result(3)
    assert (future.done(), future.wait(), future.value()) == (True, 3, 3)
    with pytest.raises(RuntimeError, match="Future can only be marked completed once"):
        future.set_result(4)
    with pytest.raises(RuntimeError, match="Future can only be marked completed once"):
        future.set_exception(ValueError())


def test_errors_come_out_of_wait_as_they_are() -> None:
    future: Any = jit.Future()
    future.set_exception(ValueError("wrong"))
    with pytest.raises(ValueError, match="wrong"):
        future.wait()
    with pytest.raises(TypeError, match="not an Exception"):
        jit.Future().set_exception(3)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="3 is of type <class 'int'>, not an Exception"):
        jit.Future().set_exception(3)  # type: ignore[arg-type]


def test_callbacks_are_functions_and_futures_are_futures() -> None:
    future: Any = jit.Future()
    for name in ("then", "add_done_callback"):
        with pytest.raises(TypeError, match=rf"{name}\(\): expected a function that takes the future, got int"):
            getattr(future, name)(3)
    for wrong in (3, [3]):
        with pytest.raises(TypeError, match="expected futures, got int"):
            flambeau.futures.collect_all(wrong)
    assert repr(jit.Future[int]) == "flambeau.jit.Future[int]"


def test_callbacks_run_in_order_and_chain() -> None:
    future: Any = jit.Future()
    order: List[int] = []
    future.add_done_callback(lambda f: order.append(1))
    later = future.then(lambda f: f.value() + 1).then(lambda f: f.value() * 10)
    future.add_done_callback(lambda f: order.append(2))
    future.set_result(4)
    assert (order, later.wait()) == ([1, 2], 50)
    future.add_done_callback(lambda f: order.append(3))
    assert order == [1, 2, 3]
    failed = future.then(lambda f: 1 / 0)
    with pytest.raises(RuntimeError, match="Got the following error when running the callback: ZeroDivisionError"):
        failed.wait()
    with pytest.raises(RuntimeError, match="Got the following error"):
        future.then(lambda: 1).wait()
    with pytest.warns(UserWarning, match="a callback of a future failed"):
        future.add_done_callback(lambda: 1)


def test_another_thread_may_complete_it() -> None:
    future: Any = jit.Future()
    threading.Timer(0.01, lambda: future.set_result("done")).start()
    assert future.wait() == "done"


def test_all_of_several() -> None:
    futures: List[Any] = [jit.Future(), jit.Future()]
    collected = collect_all(futures)
    futures[0].set_exception(ValueError("first"))
    assert not collected.done()
    futures[1].set_result(2)
    assert collected.wait() == futures
    with pytest.raises(ValueError, match="first"):
        wait_all(futures)
    assert collect_all([]).wait() == []
    with pytest.raises(RuntimeError, match="Future can't be None"):
        wait_all([None])  # type: ignore[list-item]


def test_futures_are_not_pickled() -> None:
    import pickle

    with pytest.raises(RuntimeError, match="Futures cannot be pickled"):
        pickle.dumps(jit.Future())


def test_awaitables() -> None:
    calls: List[int] = []

    def compute(n: int) -> int:
        calls.append(n)
        return n * 2

    later = jit._awaitable(compute, 4)
    assert (later.is_nowait(), later.args(), later.fn()) == (False, (4,), compute)
    assert not calls
    assert (later + 1, -later, jit._awaitable_wait(later), calls) == (9, -8, 8, [4])
    there = jit._awaitable_nowait(flambeau.ones(2))
    assert (there.is_nowait(), there.shape) == (True, (2,))
    with pytest.raises(RuntimeError, match="there is nothing to call"):
        there.fn()


def test_tasks_hand_on_what_they_raise() -> None:
    def fails(x: int) -> int:
        assert x > 3, "small"
        return x

    def both(x: int) -> int:
        first = jit.fork(fails, x + 10)
        second = jit.fork(fails, x)
        return jit.wait(first) + jit.wait(second)

    script = flambeau.script(both)
    assert script(4) == 18
    with pytest.raises(jit.Error, match="AssertionError: small"):
        script(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert both(5) == 20


def test_signatures_by_annotation() -> None:
    def f(x: int, y: List[str]) -> float: ...  # type: ignore[empty-body]

    found = jit.annotations.get_signature(f)
    assert found is not None
    assert ([str(t) for t in found[0]], str(found[1])) == (["int", "List[str]"], "float")


def test_signatures_by_type_comment_and_of_methods() -> None:
    def f(x, y):  # type: ignore[no-untyped-def]
        # type: (jit.annotations.BroadcastingList3[int], str) -> List[int]
        return [1]

    class Counter:
        def add(self, n: int): ...  # type: ignore[no-untyped-def]

    assert [str(t) for t in jit.annotations.get_signature(f)[0]] == ["List[int]", "str"]  # type: ignore[index]
    assert [str(t) for t in jit.annotations.get_signature(Counter.add, None, None, True)[0]] == ["int"]  # type: ignore[index]
    assert jit.annotations.get_signature(unannotated) is None


def unannotated(x):  # type: ignore[no-untyped-def]
    return x


def test_calls_are_no_annotations() -> None:
    def f(x, y):  # type: ignore[no-untyped-def]
        # type: (int, foo(3)) -> List[int]
        return [1]

    with pytest.raises(RuntimeError, match=r"Type annotation should not contain calls, but .*foo"):
        jit.annotations.get_signature(f)


def test_waiting_for_nothing() -> None:
    with pytest.raises(RuntimeError, match="Future can't be None"):
        flambeau.jit.wait(None)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="Await can't be None"):
        flambeau.jit._awaitable_wait(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a Future, which jit\.fork gives, got 3 \(int\)"):
        flambeau.jit.wait(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a Await, which jit\._awaitable gives, got 'a' \(str\)"):
        flambeau.jit._awaitable_wait("a")  # type: ignore[arg-type]


def test_arguments_of_awaitables() -> None:
    assert flambeau.jit._awaitable_nowait(33).args() == (33,)
    assert flambeau.jit._awaitable(pow, 2, 3).args() == (2, 3)


def test_warnings_of_loops_that_are_unrolled() -> None:
    @flambeau.script
    def f() -> int:
        for _ in range(3):
            warnings.warn("in the loop", stacklevel=2)
        warnings.warn("behind it", stacklevel=2)
        return 1

    @flambeau.script
    def g() -> int:
        return f() + f()

    for fn, count in ((f, 2), (g, 4)):
        for _ in range(3):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                fn()
            assert len(seen) == count
