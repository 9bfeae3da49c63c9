"""Every exception Flambeau raises on purpose, and the one layout of their texts.

What refuses a program before it runs is a `CompileError`: message, place in the user's file, underlined source, and the
functions through which the compiler came there. What goes wrong while a program runs is a `ScriptError` (written by the
program's author) or an `ExecutionError` (an operator failed).
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from flambeau.util.source import SourceRange

Frame = tuple[str, SourceRange | None]
"""A function's name and the place in it that was being executed."""


OF_PYTHON = (
    "'{name}' is a function of Python's library ({file}), and cannot be compiled: {reason}. Call it outside of the "
    "program and pass the result in, or write out what it does"
)
CALLS_TOO_DEEP = (
    "maximum recursion depth exceeded: calls within calls go so deep that there is no room for more. If every way "
    "ends, write it as a loop over a list of what is still to be done"
)
_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")
_PACKAGES = ("site-packages", "dist-packages")


def is_of_python(range: SourceRange) -> bool:
    """Whether a place is in a file of Python's own library."""
    name = range.source.filename
    return name.startswith(_LIBRARY) and not any(part in name for part in _PACKAGES)


class CompileError(RuntimeError):
    """The compiler refuses a program.

    >>> from flambeau.util.source import Source
    >>> where = Source("def f(x):\\n    return x.foo\\n", "m.py").range(21, 26)
    >>> print(CompileError("no attribute foo", where), end="")
    no attribute foo:
      File "m.py", line 2
    def f(x):
        return x.foo
               ~~~~~ <--- HERE
    """

    def __init__(
        self, message: str, range: SourceRange | None = None, call_chain: Iterable[tuple[str, SourceRange]] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        """What is wrong, without the place."""
        self.range = range
        """The offending expression; None when the program has no text."""
        self.call_chain: list[tuple[str, SourceRange]] = list(call_chain)
        """How the compiler came here, innermost first: a sentence and the place of the call."""

    def with_caller(self, callee: str, caller: str, range: SourceRange) -> CompileError:
        """Note that `callee` is compiled because `caller` calls it at `range`; the same note is kept once.

        Of what goes wrong in Python's library, which the user neither wrote nor can change, the call is to blame.
        """
        if self.range is not None and is_of_python(self.range) and not is_of_python(range):
            file = os.path.basename(self.range.source.filename)
            return type(self)(OF_PYTHON.format(name=callee, file=file, reason=self.message), range)
        sentence = f"'{callee}' is being compiled since it was called from '{caller}'"
        if not any(said == sentence and _is_within(range, known) for said, known in self.call_chain):
            self.call_chain.append((sentence, range))
        return self

    def underline_call(self, callee: SourceRange, call: SourceRange) -> None:
        """Show a call with its arguments where the chain has what is called alone."""
        self.call_chain = [(said, call if range == callee else range) for said, range in self.call_chain]

    def __str__(self) -> str:
        text = located(self.message, self.range)
        for sentence, range in self.call_chain:
            text = (text if text.endswith("\n") else text + "\n") + f"{sentence}\n{range.highlight()}"
        return text


def _is_within(inner: SourceRange, outer: SourceRange) -> bool:
    return inner.source is outer.source and outer.start <= inner.start and inner.end <= outer.end


def without_frames(error: CompileError) -> CompileError:
    """The error, to be raised to the user from where this is called: its text says where, not the compiler's frames.

    `python -X dev` shows those too.
    """
    return error if sys.flags.dev_mode else error.with_traceback(None)


class FrontendError(CompileError):
    """The text of a program cannot be turned into trees.

    >>> import flambeau
    >>> try:
    ...     flambeau.CompilationUnit("def f(x:\\n  return x")
    ... except FrontendError as error:
    ...     print(type(error).__name__)
    FrontendError
    """


class NotSupportedError(FrontendError):
    """A form of Python that the language does not have.

    >>> import flambeau
    >>> try:
    ...     flambeau.CompilationUnit("def f(x):\\n  return await x")
    ... except NotSupportedError as error:
    ...     print(error.message.partition("; ")[2])
    use jit.wait on a future
    """


class UnsupportedNodeError(NotSupportedError):
    """A kind of statement or expression that the language does not have at all.

    >>> UnsupportedNodeError.of("try blocks").message
    "try blocks aren't supported"
    """

    @classmethod
    def of(cls, construct: str, range: SourceRange | None = None, instead: str = "") -> UnsupportedNodeError:
        """The refusal of `construct` (a plural noun, or the name of the syntax node); `instead` says what to write."""
        return cls(f"{construct} aren't supported" + (f"; {instead}" if instead else ""), range)


class SchemaError(RuntimeError):
    """An operator or function schema is wrong or does not fit a call."""


class ParseError(RuntimeError):
    """Text of a graph, schema or type cannot be read.

    >>> ParseError("expected ]").range is None
    True
    """

    def __init__(self, message: str, range: SourceRange | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.range = range

    def __str__(self) -> str:
        return located(self.message, self.range)


class VerifyError(RuntimeError):
    """A graph breaks the rules of the IR. The text holds every violation, each beside its node."""


class FrozenGraphError(RuntimeError):
    """The graph of a plan was to be changed, which nothing would run. The text says what to change instead."""


class ScriptError(Exception):
    """A `raise` or failed `assert` of the scripted program itself. Deliberately no RuntimeError.

    >>> str(ScriptError("builtins.ValueError: too small"))
    'builtins.ValueError: too small'
    """

    def __init__(self, message: str, frames: Iterable[Frame] = ()) -> None:
        super().__init__(message)
        self.message = message
        """Qualified class name and what the program said."""
        self.frames = tuple(frames)
        """Functions being executed, outermost first."""

    def __str__(self) -> str:
        return traceback_text(self.message, self.frames)


class ExecutionError(RuntimeError):
    """An operator failed inside a scripted program.

    >>> import flambeau
    >>> add = flambeau.CompilationUnit("def add(x, y):\\n  return x + y").add
    >>> try:
    ...     add(flambeau.zeros(2), flambeau.zeros(3))
    ... except ExecutionError as error:
    ...     print(error.message.partition(" at ")[0])
    The size of tensor a (2) must match the size of tensor b (3)
    """

    def __init__(self, message: str, frames: Iterable[Frame] = ()) -> None:
        super().__init__(message)
        self.message = message
        """What the operator said."""
        self.frames = tuple(frames)
        """Functions being executed, outermost first."""

    def __str__(self) -> str:
        return traceback_text(f"RuntimeError: {self.message}" if self.frames else self.message, self.frames)


_ENDS = (StopIteration, StopAsyncIteration)
_both: dict[tuple[type[Any], type[BaseException]], type[Any]] = {}


def also(kind: type[Any], python: type[BaseException]) -> type[Any]:
    """The class of errors of `kind` that are `python` as well: `except IndexError` takes what it takes in Python.

    >>> issubclass(also(ScriptError, KeyError), ScriptError), issubclass(also(ScriptError, KeyError), KeyError)
    (True, True)

    It is called like `python`. Gives `kind` itself where it is one already, and where no class can be both. What ends
    an iteration stays an error.
    """
    if issubclass(kind, python) or not issubclass(python, Exception) or issubclass(python, _ENDS):
        return kind
    subclasses = (c for c in python.__subclasses__() if c.__name__ == python.__name__)
    alive = (c for c in subclasses if c.__bases__ == (kind, python))
    before = _both.get((kind, python)) or next(alive, None)
    if before is not None:
        return before

    def reduce(self: Any) -> tuple[Any, ...]:
        return _restored, (kind, python, self.message, self.frames)

    try:
        both = type(python.__name__, (kind, python), {"__module__": "flambeau.jit", "__reduce__": reduce})
        both("")  # a class of the user's may be made of more than a message
    except TypeError:
        return kind
    if python.__module__ == "builtins":  # those of users go when nobody holds them
        _both[kind, python] = both
    return both


def _restored(kind: type[Any], python: type[BaseException], message: str, frames: Iterable[Frame]) -> Any:
    return also(kind, python)(message, frames)


class InternalError(RuntimeError):
    """Flambeau itself is wrong; the stage that failed is named, so that it can be found or switched off.

    >>> str(InternalError("pass 'dce'", "use count is negative"))
    "internal error in pass 'dce': use count is negative"
    """

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(stage, message)
        self.stage = stage
        self.message = message

    def __str__(self) -> str:
        return f"internal error in {self.stage}: {self.message}"


class ArchiveError(RuntimeError):
    """A file is no archive, is broken, or holds what cannot be loaded. The text names the file and the record.

    >>> import io, flambeau
    >>> try:
    ...     flambeau.jit.load(io.BytesIO(b"hello"))
    ... except ArchiveError as error:
    ...     print(error)
    <stream>: expected a TorchScript archive, which is a ZIP file; this is something else
    """


class TracerWarning(UserWarning):
    """A trace will not generalise: something was recorded as a constant or left out.

    >>> import flambeau, warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = flambeau.trace(lambda x: x * float(x.sum()), flambeau.ones(2))
    >>> caught[0].category.__name__
    'TracerWarning'
    """


class PerformanceWarning(UserWarning):
    """A loop, or a function that calls itself, turned out hot and is interpreted. The text says why, and what to write
    instead.

    >>> import warnings
    >>> warnings.filterwarnings("error", category=PerformanceWarning)  # a slow loop is an error
    >>> del warnings.filters[0]
    """


class TracingCheckError(Exception):
    """Running a traced function again gave another program or other results.

    >>> import flambeau, random
    >>> try:
    ...     flambeau.trace(lambda x: x + random.random(), flambeau.ones(2))
    ... except TracingCheckError:
    ...     print("it gives another result each time")
    it gives another result each time
    """


class GuardError(ScriptError):
    """A trace was called with inputs for which a value that it fixed would differ. The text names the line that fixed
    it.

    >>> import flambeau, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     first = flambeau.trace(lambda x: x[:-1] if len(x.tolist()) > 2 else x, flambeau.ones(3))
    >>> try:
    ...     first(flambeau.ones(2))
    ... except GuardError:
    ...     print("trace it for two elements")
    trace it for two elements
    """

    name = "flambeau.GuardError"
    """What graphs raise it by; to other readers of the graph it is a `raise` like any other."""


class NeedsObjectError(ScriptError):
    """A method that runs without its object came to where it changes what cannot be given back: it is run with it."""

    name = "flambeau.NeedsObjectError"
    """What graphs raise it by."""


def located(message: str, range: SourceRange | None) -> str:
    """`message`, and where it applies if that is known."""
    return message if range is None else f"{message}:\n{range.highlight()}"


MOST_REPEATED = 16
"""How many functions may call each other in a circle that tracebacks recognise."""


def _repetition(frames: Sequence[Frame], start: int) -> tuple[int, int]:
    """How many frames from `start` on come again at once, and how often; (0, 0) where none do more than twice."""
    for period in range(1, MOST_REPEATED + 1):
        end = start + period
        while end < len(frames) and frames[end] == frames[end - period]:
            end += 1
        times = (end - start) // period
        if times > 3:
            return period, times
    return 0, 0


_ACCESSOR: Final = re.compile(r"__(\w+)_[gs]etter")
"""What the functions of a property are called in graphs and archives."""


def _shown_frame(name: str, where: SourceRange | None) -> str:
    """One frame; the functions of a property are called as the property is."""
    accessor = _ACCESSOR.fullmatch(name)
    shown = accessor[1] if accessor else name
    return f"  Without source, in {shown}\n" if where is None else where.highlight(function=shown)


def _shown_frames(frames: Sequence[Frame]) -> Iterator[str]:
    """The lines of frames; of a circle of calls the first two rounds, and how often it came again, as Python has it.

    A function without source, such as one marked with `@unused`, is shown by its call where that has a place.
    """
    frames = [frame for frame in frames if frame[1] is not None] or frames
    index = 0
    while index < len(frames):
        period, times = _repetition(frames, index)
        count = 2 * period or 1
        for name, where in frames[index : index + count]:
            yield _shown_frame(name, where)
        index += count
        if period:
            repeated = "frame" if period == 1 else f"{period} frames"
            yield f"  [Previous {repeated} repeated {times - 2:,} more times]\n"
            index += (times - 2) * period


def traceback_text(last_line: str, frames: Iterable[Frame]) -> str:
    """The text of a failure at run time: frames outermost first, then `last_line`; only that line without frames.

    It is TorchScript's own, and right where native code ran too: that leaves before an operation that fails, which the
    interpreter repeats.
    """
    shown = list(_shown_frames(tuple(frames)))
    if not shown:
        return last_line
    head = (
        "The following operation failed in the TorchScript interpreter.\n"
        "Traceback of TorchScript (most recent call last):\n"
    )
    return head + "".join(shown) + last_line
