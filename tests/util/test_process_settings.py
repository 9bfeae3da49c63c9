"""Settings of the whole process that compiling changes for a while: Python's recursion limit, its garbage collector."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from flambeau.util import depth, locks, no_collection
from flambeau.util.depth import FRAMES, deep_recursion

FILES = {module.__file__ for module in (depth, locks, no_collection)}


class _Interruption(BaseException):
    pass


@pytest.fixture(autouse=True)
def limit() -> Iterator[int]:
    before = sys.getrecursionlimit()
    yield before
    found, is_on = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(before)
    gc.enable()
    assert (found, is_on) == (before, True)


@deep_recursion()
@no_collection.no_collection()
def work() -> None:
    assert sys.getrecursionlimit() >= FRAMES
    assert not gc.isenabled()


def interrupted_at(moment: int) -> str | None:
    """Raise at the `moment`-th place where a signal's handler may run while a block is entered or left.

    That is where a function begins and behind each call of a function written in C. Gives the name of the function if
    it was about to begin, "inside" behind a call, None if `work` came to its end before.
    """
    places = 0
    at = None

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal places, at
        if frame.f_code.co_filename not in FILES or event not in ("call", "c_return"):
            return
        places += 1
        if places == moment:
            at = frame.f_code.co_name if event == "call" else "inside"
            sys.setprofile(None)
            raise _Interruption

    sys.setprofile(profile)
    try:
        work()
    except _Interruption:
        return at
    finally:
        sys.setprofile(None)
    return None


def test_c11_an_interruption_at_any_moment_leaves_both_as_they_were(limit: int) -> None:
    moment, late = 0, 0
    while (at := interrupted_at(moment := moment + 1)) is not None:
        if at == "__exit__":  # before its first line: the next block sees to it
            late += 1
            work()
        assert sys.getrecursionlimit() == limit, (moment, at)
        assert gc.isenabled(), (moment, at)
    assert moment > 30
    assert late == 2, "of two blocks"


def test_errors_and_nested_blocks(limit: int) -> None:
    @deep_recursion()
    def fails() -> None:
        work()
        assert sys.getrecursionlimit() >= FRAMES
        raise ValueError("of mine")

    with pytest.raises(ValueError, match="of mine"):
        fails()
    assert sys.getrecursionlimit() == limit


def test_c11_at_the_last_frames_that_the_limit_allows(limit: int) -> None:
    entered = 0

    def deeper() -> None:
        nonlocal entered
        with deep_recursion():
            entered += 1
        deeper()

    with pytest.raises(RecursionError):
        deeper()
    assert sys.getrecursionlimit() == limit
    assert entered > 100


def test_what_the_user_sets_meanwhile_stays(limit: int) -> None:
    with deep_recursion():
        sys.setrecursionlimit(limit + 17)
        with deep_recursion():
            pass
    assert sys.getrecursionlimit() == limit + 17
    sys.setrecursionlimit(limit)


def test_c11_a_thread_that_is_too_deep_for_the_old_limit_leaves_it_to_the_next_block(limit: int) -> None:
    raised, enough = threading.Event(), threading.Event()

    def stay() -> None:
        with deep_recursion():
            raised.set()
            enough.wait()

    def deeper(count: int) -> None:
        if count:
            return deeper(count - 1)
        with deep_recursion():
            enough.set()
            other.join()
        assert sys.getrecursionlimit() > limit

    other = threading.Thread(target=stay)
    other.start()
    raised.wait()
    deeper(limit + 100)
    with deep_recursion():
        pass
    assert sys.getrecursionlimit() == limit
