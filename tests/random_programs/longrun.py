"""Many random programs, in processes of their own, so that one that dies is a finding and no end.

A worker checks a share of the seeds and says which one it is at. Programs that disagree are made smaller, each attempt in
a forked process. Progress is kept in a file, from which a later run goes on.
"""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.random_programs.families import FAMILIES, Family, Paths, check_seed
from tests.random_programs.model import Program

PATIENCE = 120.0
"""Seconds of processor time after which a program counts as one that does not end."""
WAIT = 2400.0
"""Seconds by the clock after which a program counts as one that waits for ever, however busy the machine is."""
SHARE = 500
"""Programs of one process; then another goes on, so that no process grows without end."""


@dataclass
class Progress:
    """What is done."""

    family: str
    shares: list[int] = field(default_factory=list)
    """First seeds of the shares that are done, each of `SHARE` seeds."""
    found: dict[str, str] = field(default_factory=dict)
    """The text of each disagreement, by seed."""
    seconds: float = 0.0

    @classmethod
    def load(cls, path: Path | None, family: str) -> Progress:
        """From a file, if it is there; else a fresh one. Raises ValueError for a file of another family."""
        if path is None or not path.exists():
            return cls(family)
        read = cls(**json.loads(path.read_text(encoding="utf-8")))
        if read.family != family:
            raise ValueError(f"{path} is the state of a run of the family {read.family!r}, not {family!r}")
        return read

    def save(self, path: Path | None) -> None:
        """Into the file, in one step."""
        if path is not None:
            beside = path.with_suffix(".new")
            beside.write_text(json.dumps(vars(self), indent=1), encoding="utf-8")
            beside.replace(path)


@dataclass
class _Worker:
    """A process at work on the seeds from `current` on, up to and without `last`."""

    pid: int
    pipe: int
    share: int
    current: int
    last: int
    since: float
    """When it began with the current seed."""
    rest: bytes = b""
    """The part of a line that has come."""


def _spawn(family: Family, share: int, first: int, last: int) -> _Worker:
    """A forked process that checks seeds and writes a line after each."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _quietly(lambda: _work(family, first, last, write))
    os.close(write)
    return _Worker(pid, read, share, first, last, time.monotonic())


def _quietly(run: Callable[[], None]) -> None:
    """Run in a forked process and leave it, whatever happens, without the parent's handlers."""
    status = 1
    try:
        run()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _work(family: Family, first: int, last: int, write: int) -> None:
    os.environ["FLAMBEAU_CACHE"] = "off"  # no program comes again
    warnings.simplefilter("ignore")
    for seed in range(first, last):
        _allow(PATIENCE)
        try:
            found = check_seed(family, seed)
        except Exception:
            found = f"the check itself failed:\n{traceback.format_exc()}"
        os.write(write, json.dumps([seed, found]).encode() + b"\n")


def _allow(seconds: float) -> None:
    """Let this process use so much more processor time; then SIGXCPU ends it. The clock would blame a busy machine."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), hard))


def apart(run: Callable[[], str | None], patience: float = PATIENCE, wait: float = WAIT) -> str | None:
    """What a function gives in a forked process of `patience` s of processor time and `wait` s by the clock; how it died."""

    def work() -> None:
        _allow(patience)
        os.write(write, json.dumps(run()).encode())

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _quietly(work)
    os.close(write)
    pieces: list[bytes] = []
    with os.fdopen(read, "rb", buffering=0) as pipe:
        end = time.monotonic() + wait
        while select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            piece = pipe.read(65536)
            if not piece:
                break
            pieces.append(piece)
        else:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return f"waits for more than {wait:.0f} s"
    _, status = os.waitpid(pid, 0)
    if status != 0:
        return _cause(status, patience)
    return json.loads(b"".join(pieces)) if pieces else None


def _cause(status: int, patience: float) -> str:
    if not os.WIFSIGNALED(status):
        return f"the process died: status {os.WEXITSTATUS(status)}"
    if os.WTERMSIG(status) == signal.SIGXCPU:
        return f"does not end in {patience:.0f} s of processor time"
    return f"the process died: {signal.Signals(os.WTERMSIG(status)).name}"


def full_report(family: Family, seed: int, found: str) -> str:
    """A disagreement with its program made small; every attempt runs in a process of its own."""

    def disagree(program: Program, seed: int, paths: Paths) -> str | None:
        return apart(lambda: family.disagreement(program, seed, paths), 100.0)

    paths = family.paths(seed)
    return family.report(seed, family.generate(seed), found, paths=paths, disagree=disagree)


class Run:
    """A long run: workers, what they have found, and what is left."""

    def __init__(
        self, family: Family, progress: Progress, shares: list[tuple[int, int]], tell: Callable[[str], None], limit: int
    ) -> None:
        self.family, self.progress, self.tell, self.limit = family, progress, tell, limit
        self.waiting = shares[::-1]
        self.workers: list[_Worker] = []
        self.total = sum(last - first for first, last in shares)
        self.done = 0

    def go(self, jobs: int, state: Path | None) -> None:
        """Until nothing is left; at most `jobs` processes at once."""
        start, before = time.monotonic(), self.progress.seconds
        told = start
        try:
            while self.waiting or self.workers:
                while self.waiting and len(self.workers) < jobs:
                    first, last = self.waiting.pop()
                    self.workers.append(_spawn(self.family, first, first, last))
                self.look()
                now = time.monotonic()
                self.progress.seconds = before + now - start
                if now - told > 10 or not self.workers:
                    told = now
                    rate = self.done / (now - start)
                    left = f", {(self.total - self.done) / rate / 60:.0f} min left" if rate else ""
                    differ = len(self.progress.found)
                    self.tell(f"{self.done} of {self.total} programs, {differ} differ, {rate:.1f}/s{left}")
                    self.progress.save(state)
        finally:
            for worker in self.workers:
                os.kill(worker.pid, signal.SIGKILL)
                os.waitpid(worker.pid, 0)

    def look(self) -> None:
        """Take what workers wrote; replace those that died or do not go on."""
        ready, _, _ = select.select([w.pipe for w in self.workers], [], [], 1.0)
        for worker in list(self.workers):
            if worker.pipe in ready:
                piece = os.read(worker.pipe, 65536)
                if piece:
                    self.lines(worker, piece)
                else:
                    self.ended(worker)
            elif time.monotonic() - worker.since > WAIT:
                os.kill(worker.pid, signal.SIGKILL)
                self.ended(worker)

    def lines(self, worker: _Worker, piece: bytes) -> None:
        """A worker has told what came out of some seeds."""
        *whole, worker.rest = (worker.rest + piece).split(b"\n")
        for line in whole:
            seed, found = json.loads(line)
            self.result(seed, found)
            worker.current, worker.since = seed + 1, time.monotonic()

    def ended(self, worker: _Worker) -> None:
        """A worker is gone: done with its share, or dead at a seed, after which another one goes on."""
        os.close(worker.pipe)
        _, status = os.waitpid(worker.pid, 0)
        self.workers.remove(worker)
        if worker.current < worker.last:
            self.result(worker.current, _cause(status, PATIENCE))
            if worker.current + 1 < worker.last:
                self.workers.append(_spawn(self.family, worker.share, worker.current + 1, worker.last))
                return
        self.progress.shares.append(worker.share)

    def result(self, seed: int, found: str | None) -> None:
        """One program is done."""
        self.done += 1
        if found is not None:
            few = len(self.progress.found) < self.limit
            shown = full_report(self.family, seed, found) if few else f"seed {seed}: {found}"
            self.progress.found[str(seed)] = shown
            self.tell(shown)
            for worker in self.workers:
                worker.since = time.monotonic()


def run(
    name: str, *, seed: int, count: int, jobs: int, state: Path | None, tell: Callable[[str], None], limit: int = 20
) -> Progress:
    """Check the programs of `count` seeds from `seed` on; at most `limit` disagreements are made small.

    `state` is a file with what is done, for a later run to go on with; shares that it names are not done again. Raises
    KeyError for an unknown family.
    """
    progress = Progress.load(state, name)
    end, known = seed + count, set(progress.shares)
    shares = [(first, min(first + SHARE, end)) for first in range(seed, end, SHARE) if first not in known]
    Run(FAMILIES[name], progress, shares, tell, limit).go(jobs, state)
    progress.save(state)
    return progress
