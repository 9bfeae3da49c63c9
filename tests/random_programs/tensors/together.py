"""One function on several threads at once, while the process forks children that call it too.

Every thread compiles, plans and runs at the same time as the others, with sets of arguments in an order of its own; the
children come in the middle of that, with whatever locks, plans and tasks there are at that moment.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence

THREADS = 3
CHILDREN = 2
PATIENCE = 60.0
"""Seconds after which a thread or a child counts as stuck; a machine with much else to do takes 20 for a child."""

Check = Callable[[int], str | None]
"""What is wrong with the call of this number, if anything is."""


def _order(start: int, calls: int) -> list[int]:
    """Every call twice in a row, from one of them on."""
    return [(start + k // 2) % calls for k in range(2 * calls)]


def _first(check: Check, order: Sequence[int]) -> str:
    """The first thing that is wrong; empty if nothing is."""
    for call in order:
        found = check(call)
        if found is not None:
            return f"arguments {call}: {found}"
    return ""


def _child(check: Check, start: int, calls: int) -> tuple[int, int]:
    """A forked process that makes the calls and writes what it finds, and the end of its pipe."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    text = "it died of an exception"
    try:
        os.close(read)
        faulthandler.dump_traceback_later(PATIENCE, file=write, exit=True)  # says where it is stuck
        text = _first(check, _order(start, calls)) or "fine"
        faulthandler.cancel_dump_traceback_later()
    finally:
        os.write(write, text.encode()[:60000])
        os._exit(0)


def _answer(pid: int, read: int) -> str:
    """What a child found: "fine", or what is wrong; one that says nothing for long is ended."""
    ready, _, _ = select.select([read], [], [], 2 * PATIENCE)
    if not ready:
        os.kill(pid, signal.SIGKILL)
    text = b"".join(iter(lambda: os.read(read, 65536), b"")).decode() if ready else ""
    if not ready or text.startswith("Timeout "):
        text = f"it is stuck for {PATIENCE:.0f} s\n{text}"
    os.close(read)
    _, status = os.waitpid(pid, 0)
    return text or f"it died with status {status}"


def together(check: Check, calls: int, *, threads: int = THREADS, children: int = CHILDREN) -> str | None:
    """The first thing that goes wrong when `check` is called for every call on threads at once and in forked children.

    >>> together(lambda call: None, 2, threads=1, children=1) is None
    True
    >>> together(lambda call: "odd" if call else None, 2, threads=1, children=0)
    'at once on threads: arguments 1: odd'
    """
    found: list[str] = []
    gate = threading.Event()

    def work(start: int) -> None:
        gate.wait()
        try:
            found.append(_first(check, _order(start, calls)))
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")

    running = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(threads)]
    for thread in running:
        thread.start()
    gate.set()
    forked = []
    for k in range(children):
        time.sleep(0.002 * k)
        forked.append(_child(check, k, calls))
    answers = [_answer(pid, read) for pid, read in forked]
    end = time.monotonic() + PATIENCE
    for thread in running:
        thread.join(max(0.0, end - time.monotonic()))
    if any(thread.is_alive() for thread in running):
        return f"at once on threads: one is stuck for {PATIENCE:.0f} s"
    wrong = [f"at once on threads: {text}" for text in found if text]
    wrong += [f"in a forked child: {text}" for text in answers if text != "fine"]
    return wrong[0] if wrong else None
