"""How things are timed: peers take turns, warm, medians, each answer checked before it counts."""

from __future__ import annotations

import signal
import statistics
import threading
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

OURS = "flambeau"
LONGEST = 20.0
"""Seconds after which one call is too long for the table."""
LONG = 2.0
"""Seconds after which one call counts as it is, without more rounds."""
SHORT, WARMED = 1e-4, 0.2
"""Calls of fewer seconds are made for so many before the clock counts: compilers take over what is called often."""


@dataclass(frozen=True)
class Call:
    """A compiled program with its inputs."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    wait: Callable[[Any], Any] | None = None
    """What waits for an answer that comes later."""
    many: int = 1
    """How many calls one call stands for."""

    def __call__(self) -> Any:
        answer = self.function(*self.arguments)
        return self.wait(answer) if self.wait else answer

    def timer(self, clock: Callable[[], float]) -> timeit.Timer:
        """A timer whose loop calls the function itself: nothing of ours is in between."""
        scope = {f"a{i}": a for i, a in enumerate(self.arguments)}
        call = f"function({', '.join(scope)})"
        names = {**scope, "function": self.function, "wait": self.wait}
        return timeit.Timer(f"wait({call})" if self.wait else call, timer=clock, globals=names)


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a row should reach."""

    times: float | None = 1.0
    """How many times the reference's speed; None where nobody set a goal."""
    against: str = "best"
    """`best` peer, or a name of one, which stands for its variants too."""
    nanoseconds: float | None = None
    """Where it is a time, per call."""

    def __str__(self) -> str:
        if self.nanoseconds is not None:
            return f"<= {self.nanoseconds:.0f} ns"
        if self.times is None:
            return "-"
        return f"{self.times:.2g}x" + ("" if self.against == "best" else f" {self.against}")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one call needs at least."""

    read: int = 0
    """Bytes of inputs, once each."""
    written: int = 0
    """Bytes of results, once each."""
    flops: int = 0
    """Additions, multiplications, comparisons; a division or root counts as 4, exp, log, tanh and erf as 20."""
    wide: bool = False
    """Whether they are on 64-bit numbers, of which half as many fit."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One row of the table."""

    name: str
    kind: str
    """The table it is in."""
    peers: dict[str, Callable[[], Call]]
    """Peer, or peer/variant, to a factory that imports and compiles; ImportError where the peer is missing."""
    expected: Callable[[], Any]
    """The answer, or a tuple of them, in float64 or integers."""
    tolerance: float = 1e-4
    """Largest difference, relative to 1 + |answer|."""
    strays: float = 0.0
    """Share of the elements that may differ: where one rounding decides."""
    cost: Cost = field(default_factory=Cost)
    goal: Goal = field(default_factory=Goal)
    left_out: dict[str, str] = field(default_factory=dict)
    """Peers that are not tried, and why."""


@dataclass(kw_only=True)
class Row:
    """What was measured of one workload."""

    name: str
    kind: str
    goal: Goal
    cost: Cost
    microseconds: dict[str, float] = field(default_factory=dict)
    """Medians, by peer."""
    missing: dict[str, str] = field(default_factory=dict)
    """Why a peer is not there."""

    def families(self) -> dict[str, tuple[str, float]]:
        """Each peer with its fastest variant and that one's time."""
        found: dict[str, tuple[str, float]] = {}
        for peer, value in self.microseconds.items():
            family, _, variant = peer.partition("/")
            if family not in found or value < found[family][1]:
                found[family] = variant, value
        return found

    @property
    def ours(self) -> float | None:
        """Our time, that of our fastest variant."""
        return self.families().get(OURS, ("", None))[1]

    @property
    def failure(self) -> str | None:
        """Why our own program did not give its answer, being too slow aside; None where it did."""
        why = self.missing.get(OURS)
        return None if why is None or why.startswith("took over") else why

    @property
    def best_peer(self) -> str | None:
        """The fastest that is not ours; ways of calling that are only there to compare do not count."""
        peers = {k: v for k, (_, v) in self.families().items() if k != OURS and not k.endswith(" alone")}
        return min(peers, key=lambda k: peers[k]) if peers else None

    def ratio(self, against: str = "best") -> float | None:
        """That peer's time over ours: above 1 we are faster."""
        peer = self.best_peer if against == "best" else against
        found = self.families().get(peer) if peer else None
        return found[1] / self.ours if found and self.ours else None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None where there is nothing to tell it by."""
        if self.goal.nanoseconds is not None:
            return None if self.ours is None else self.ours * 1e3 <= self.goal.nanoseconds
        ratio = self.ratio(self.goal.against)
        return None if ratio is None or self.goal.times is None else ratio >= self.goal.times


def as_arrays(value: Any) -> list[np.ndarray]:
    """Any peer's result as NumPy arrays; of dicts by their keys in order."""
    if isinstance(value, dict):
        return [a for key in sorted(value) for a in as_arrays(value[key])]
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in as_arrays(v)]
    for name in ("detach", "numpy"):
        if hasattr(value, name):
            value = getattr(value, name)()
    return [np.asarray(value)]


def disagreement(got: Any, want: Any, workload: Workload) -> str | None:
    """How an answer differs from the expected one; None where it does not."""
    answers, expected = as_arrays(got), as_arrays(want)
    if [a.shape for a in answers] != [e.shape for e in expected]:
        return f"wrong: shape {[a.shape for a in answers]} for {[e.shape for e in expected]}"
    for a, e in zip(answers, expected, strict=True):
        if a.size == 0:
            continue
        exact = a.astype(np.complex128 if np.iscomplexobj(e) else np.float64)
        same = (exact == e) | (np.isnan(exact) & np.isnan(e))
        with np.errstate(invalid="ignore"):  # of infinities that are the same
            error = np.where(same, 0.0, np.abs(exact - e) / (1.0 + np.abs(e)))
        bad = float(np.mean(~(error <= workload.tolerance)))
        if bad > workload.strays:
            return f"wrong by {np.max(error):.1e}"
    return None


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Stop what runs in Python inside after that long, with TimeoutError; where there are no signals, let it run."""
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"took over {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def prepare(workload: Workload, row: Row, clock: Callable[[], float]) -> dict[str, Call]:
    """The peers that are there, compiled, with right answers; why the others are not goes to `row.missing`."""
    calls: dict[str, Call] = {}
    want = workload.expected()
    row.missing.update(workload.left_out)
    for peer, factory in workload.peers.items():
        start = clock()
        try:
            with at_most(LONGEST if peer.partition("/")[0] == OURS else None):
                call = factory()
                wrong = disagreement(call(), want, workload)
        except ImportError as error:
            row.missing[peer] = f"not installed ({error.name})"
            continue
        except Exception as error:
            took = clock() - start
            text = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:100]}"
            row.missing[peer] = text if took < LONGEST else f"took over {LONGEST:.0f} s"
            continue
        if wrong:
            row.missing[peer] = wrong
            continue
        calls[peer] = call
    return calls


def measure(
    workload: Workload, rounds: int, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> Row:
    """Prepare every peer, check its answer, then time them in turn, `rounds` times; the median counts."""
    row = Row(name=workload.name, kind=workload.kind, goal=workload.goal, cost=workload.cost)
    calls = prepare(workload, row, clock)
    timers = {peer: call.timer(clock) for peer, call in calls.items()}
    samples: dict[str, list[float]] = {}
    repeats: dict[str, int] = {}
    iterations: dict[str, int] = {}
    for peer, timer in timers.items():
        once = timer.timeit(1)
        if once <= LONG:
            once = min(once, *(timer.timeit(1) for _ in range(2 if once > 0.1 else 5)))
        if once < SHORT:
            calls_to_warm = int(WARMED / max(once, 1e-9))
            once = min(once, timer.timeit(calls_to_warm) / calls_to_warm)
        samples[peer] = [once] if once > LONG else []
        iterations[peer] = 0 if once > LONG else max(3, min(rounds, int(2 * seconds / max(once, 1e-9))))
        repeats[peer] = max(1, min(1_000_000, int(seconds / rounds / max(once, 1e-9))))
    for iteration in range(rounds):
        for peer, timer in timers.items():
            if iteration < iterations[peer]:
                samples[peer].append(timer.timeit(repeats[peer]) / repeats[peer])
    row.microseconds = {peer: statistics.median(s) / calls[peer].many * 1e6 for peer, s in samples.items()}
    return row
