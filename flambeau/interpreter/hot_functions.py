"""Codes that run often, as Python functions, as loops are (`hot_loops`): from arguments to results without the machine.

    block 0:                                     def run(r0, r1):
      CALL1 r2 = aten::lower(r0)                     r2 = f1(r0)
      CALL2 r2 = aten::strip(r2, r3)        ->       r2 = f2(r2, c3)
      ADD   r1 = r1 + r4                             r1 = r1 + 1
      TUPLE r2 = r2, r1                              if r1 > MAX or r1 < MIN: r1 = wrap(r1)
      RETURN r2                                      return ((r2, r1), )

That is for programs of texts, lists and dicts, and for what stands between native parts. Codes that call programs'
functions, fork tasks, warn or enter contexts are left to the machine, and so is every run of a thread whose calls
somebody intercepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final

from flambeau.interpreter.code import Code, HotFunction
from flambeau.interpreter.loop_structure import NotTranslatedError
from flambeau.interpreter.loop_writer import write_whole
from flambeau.interpreter.traceback import located
from flambeau.tensor import dispatch
from flambeau.util.locks import Lock

OFTEN: Final = 100
"""Runs after which a code is translated: what that takes is as long as they took."""

_translating = Lock()


def run_whole(code: Code, inputs: Sequence[Any]) -> tuple[Any, ...] | None:
    """The results of a code that has run often; None where the machine is to run it. Raises what the machine raises."""
    hot = code.hot
    run = hot.run
    if run is None:
        translate(code)
        run = hot.run
    if run is None or dispatch.is_intercepted():
        return None
    try:
        return run(*inputs)
    except Exception as error:
        raise located(error, [(code, _site_of(hot, error.__traceback__))]) from error


def translate(code: Code) -> None:
    """Have a code run as a Python function from its next run on, if it has such a form."""
    hot = code.hot
    if hot.run is None and hot.calls >= 0:
        with _translating:
            if hot.run is None and hot.calls >= 0:
                hot.calls = max(hot.calls, OFTEN)
                _translate(code)


def _translate(code: Code) -> None:
    hot = code.hot
    try:
        run, hot.sites = write_whole(code)
    except NotTranslatedError:
        hot.calls = -(1 << 62)
        return
    hot.run = run


def _site_of(hot: HotFunction, traceback: TracebackType | None) -> int:
    """The site of the instruction at which the function failed."""
    assert hot.run is not None
    written = hot.run.__code__
    while traceback is not None and traceback.tb_frame.f_code is not written:
        traceback = traceback.tb_next
    return 0 if traceback is None else hot.sites[traceback.tb_lineno - 1]
