"""The machine that reads the pickles of archives: a stack, a memo, and 44 instructions, none of which runs anything.

What the names in a pickle stand for is asked of `Meanings`; a name it does not know ends the reading.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from reprlib import Repr
from typing import Any, Final, Protocol

from flambeau.serialize.archive_reader.limits import DEFAULT, LoadLimits, exceeded

KEY_SIZE: Final = 1_000
"""Values that the key of a dict may consist of: to look for a key is to go through all of it."""


class PickleError(Exception):
    """A pickle is broken or holds what an archive does not. Whoever reads the record says which."""


class Meanings(Protocol):
    """What the names of a pickle stand for."""

    @property
    def is_program(self) -> bool:
        """Whether the values are those of a program."""

    def named(self, module: str, name: str) -> Any:
        """What a global is. Raises PickleError for one that is not allowed."""

    def applied(self, function: Any, argument: Any) -> Any:
        """What a global applied to its arguments gives. Raises PickleError."""

    def new(self, kind: Any, arguments: Any) -> Any:
        """A new object of a class. Raises PickleError."""

    def build(self, instance: Any, state: Any) -> None:
        """Give an object its state. Raises PickleError."""

    def is_given(self, container: Any) -> bool:
        """Whether an object has this list or dict already."""

    def persistent(self, key: Any) -> Any:
        """What lies outside of the pickle: a storage. Raises PickleError."""


_short = Repr()
_short.maxlevel = _short.maxdict = 2
_short.maxstring = _short.maxother = 60


def shown(value: Any) -> str:
    """A value for a message, cut short: what is there once may be named a million times."""
    return _short.repr(value)


def is_expandable(value: Any, limit: int) -> bool:
    """Whether a value of lists, dicts and tuples has at most so many parts, each counted as often as it is named.

    >>> row = [0] * 10
    >>> is_expandable([row] * 10, 111), is_expandable([row] * 10, 110)
    (True, False)
    """
    waiting, count = [value], 1
    while waiting:
        part = waiting.pop()
        items = [*part, *part.values()] if isinstance(part, dict) else part if isinstance(part, list | tuple) else ()
        count += len(items)
        if count > limit:
            return False
        waiting += [item for item in items if isinstance(item, list | dict | tuple)]
    return True


def check_key(value: Any) -> None:
    """Raise PickleError for a value that is too large to be a key, each part counted as often as it is named."""
    if type(value) is not tuple:
        return
    waiting, count = [value], 0
    while waiting:
        items = waiting.pop()
        count += len(items)
        if count > KEY_SIZE:
            raise PickleError(f"the key of a dict or the member of a set consists of more than {KEY_SIZE} values")
        waiting += [item for item in items if type(item) is tuple]


EMPTY: Final = "it takes more from its stack than there is"


class PickleMachine:
    """Reads one pickle of protocol 2 or 3.

    >>> import pickle
    >>> PickleMachine(pickle.dumps((1, [2.5, "a"], {"k": None}), 2), None).run()
    (1, [2.5, 'a'], {'k': None})
    """

    def __init__(self, data: bytes, meanings: Meanings | None, limits: LoadLimits = DEFAULT) -> None:
        self._data = data
        self._limits = limits
        self._meanings = meanings
        self._at = 0
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    @property
    def position(self) -> int:
        """The byte that is read next."""
        return self._at

    def run(self) -> Any:
        """The value. Raises PickleError for anything that is not as it should be."""
        try:
            self._run_all()
            if len(self._stack) != 1 or self._marks:
                raise PickleError(f"expected one value at the end, got {len(self._stack)}")
            return self._stack[0]
        except (IndexError, struct.error):
            raise PickleError("it ends early, or takes more from its stack than there is") from None
        except UnicodeDecodeError:
            raise PickleError("a text is not UTF-8") from None
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise PickleError(str(error) or type(error).__name__) from None
        except RecursionError:
            raise PickleError("it is nested too deeply") from None

    def _run_all(self) -> None:
        """All instructions up to the end. Most are one of the first few kinds, for which no call is made."""
        data, stack, marks, memo, actions = self._data, self._stack, self._marks, self._memo, _ACTIONS
        at, deepest = self._at, self._limits.pickle_nesting
        try:
            for _ in range(self._limits.pickle_opcodes):
                code = data[at]
                at += 1
                if code == _SMALL:
                    stack.append(data[at])
                    at += 1
                elif code == _TRIPLE and len(stack) >= (marks[-1] if marks else 0) + 3:
                    stack[-3:] = (tuple(stack[-3:]),)
                elif code == _KEEP:
                    memo[data[at]] = stack[-1]
                    at += 1
                elif code == _GET and data[at] in memo:
                    stack.append(memo[data[at]])
                    at += 1
                elif code == _MARK and len(marks) < deepest:
                    marks.append(len(stack))
                elif code == _TUPLE and marks:
                    start = marks.pop()
                    stack[start:] = (tuple(stack[start:]),)
                elif code in _CONSTANTS:
                    stack.append(_CONSTANTS[code])
                elif code == _STOP:
                    return
                else:
                    self._at = at
                    actions[code](self)
                    at = self._at
            raise PickleError(exceeded(self._limits, "pickle_opcodes"))
        finally:
            self._at = max(self._at, at)

    # -- pieces -------------------------------------------------------------------------------------------------------

    def take(self, count: int) -> bytes:
        """The next bytes."""
        value = self._data[self._at : self._at + count]
        if count < 0 or len(value) != count:
            raise PickleError(f"expected {count} more bytes, got {len(value)}")
        self._at += count
        return value

    def number(self, form: struct.Struct) -> Any:
        """The next number."""
        at = self._at
        if at + form.size > len(self._data):
            self.take(form.size)
        self._at = at + form.size
        return form.unpack_from(self._data, at)[0]

    def byte(self) -> int:
        """The next byte, as a number."""
        at = self._at
        if at >= len(self._data):
            self.take(1)
        self._at = at + 1
        return self._data[at]

    def line(self) -> str:
        """The text up to the end of the line."""
        end = self._data.find(b"\n", self._at)
        if end < 0:
            raise PickleError("it ends in the middle of a name")
        return self.take(end + 1 - self._at)[:-1].decode()

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self._stack.append(value)

    def pop(self) -> Any:
        """The last value that does not lie below a mark."""
        floor = self._marks[-1] if self._marks else 0
        if len(self._stack) <= floor:
            raise PickleError(EMPTY)
        return self._stack.pop()

    def operands(self, count: int) -> list[Any]:
        """The stack, of which so many values do not lie below a mark."""
        stack = self._stack
        if len(stack) - (self._marks[-1] if self._marks else 0) < count:
            raise PickleError(EMPTY)
        return stack

    def top(self) -> Any:
        """The last value, which stays."""
        return self._stack[-1]

    def mark(self) -> None:
        """Remember this place of the stack."""
        if len(self._marks) >= self._limits.pickle_nesting:
            raise PickleError(exceeded(self._limits, "pickle_nesting"))
        self._marks.append(len(self._stack))

    def since_mark(self) -> list[Any]:
        """Everything above the last mark."""
        if not self._marks:
            raise PickleError("there is no mark to go back to")
        start = self._marks.pop()
        values = self._stack[start:]
        del self._stack[start:]
        return values

    def keep(self, index: int) -> None:
        """Remember the last value by a number."""
        self._memo[index] = self._stack[-1]

    def get(self, index: int) -> None:
        """What was remembered by a number."""
        if index not in self._memo:
            raise PickleError(f"nothing was remembered as number {index}")
        self._stack.append(self._memo[index])

    def check_open(self, container: Any) -> None:
        """Raise PickleError for a list or dict that an object has already: its items were looked at then."""
        if self._meanings is not None and self._meanings.is_given(container):
            raise PickleError("it changes a list or dict after an object was given it")

    @property
    def meanings(self) -> Meanings:
        """Who knows names."""
        if self._meanings is None:
            raise PickleError("it names a class, which this record may not")
        return self._meanings


def _names(machine: PickleMachine) -> None:
    module = machine.line()
    machine.push(machine.meanings.named(module, machine.line()))


def _apply(machine: PickleMachine) -> None:
    stack = machine.operands(2)
    argument = stack.pop()
    stack[-1] = machine.meanings.applied(stack[-1], argument)


def _make(machine: PickleMachine) -> None:
    stack = machine.operands(2)
    arguments = stack.pop()
    stack[-1] = machine.meanings.new(stack[-1], arguments)


def _build(machine: PickleMachine) -> None:
    stack = machine.operands(2)
    state = stack.pop()
    machine.meanings.build(stack[-1], state)


def _tuple(count: int) -> Callable[[PickleMachine], None]:
    def make(machine: PickleMachine) -> None:
        stack = machine._stack
        start = len(stack) - count
        if start < (machine._marks[-1] if machine._marks else 0):
            raise PickleError(EMPTY)
        stack[start:] = (tuple(stack[start:]),)

    return make


def _extend(machine: PickleMachine, items: list[Any]) -> None:
    target = machine.top()
    if type(target) is not list:
        raise PickleError(f"expected a list to append to, got {type(target).__name__}")
    machine.check_open(target)
    target.extend(items)


def _update(machine: PickleMachine, items: list[Any]) -> None:
    target = machine.top()
    if not isinstance(target, dict):
        raise PickleError(f"expected a dict to set items of, got {type(target).__name__}")
    if len(items) % 2:
        raise PickleError("a key of a dict has no value")
    machine.check_open(target)
    keys = items[::2]
    if not set(map(type, keys)) <= _TEXT:
        for key in keys:
            check_key(key)
    target.update(zip(keys, items[1::2], strict=True))


_TEXT: Final = frozenset({str})


def _pair(machine: PickleMachine) -> list[Any]:
    value = machine.pop()
    return [machine.pop(), value]


def _dict(machine: PickleMachine) -> None:
    items = machine.since_mark()
    machine.push({})
    _update(machine, items)


def _protocol(machine: PickleMachine) -> None:
    version = machine.take(1)[0]
    if version not in (2, 3):
        raise PickleError(f"expected a pickle of protocol 2, got protocol {version}")


def _long(machine: PickleMachine) -> None:
    size = machine.take(1)[0]
    if size > 8 and machine.meanings.is_program:
        raise PickleError(f"expected a number of 64 bits, got one of {8 * size}")
    machine.push(int.from_bytes(machine.take(size), "little", signed=True))


def _persistent(machine: PickleMachine) -> None:
    stack = machine.operands(1)
    stack[-1] = machine.meanings.persistent(stack[-1])


def _text(machine: PickleMachine) -> None:
    data, start = machine._data, machine._at + 4
    end = start + int.from_bytes(data[start - 4 : start], "little")
    if end > len(data):
        machine.take(machine.number(_UINT32))
    machine._at = end
    machine._stack.append(data[start:end].decode("utf-8", "surrogatepass"))


_INT32, _UINT16, _UINT32, _UINT64, _DOUBLE = map(struct.Struct, ("<i", "<H", "<I", "<Q", ">d"))
_SMALL, _TRIPLE, _KEEP, _GET, _STOP, _MARK, _TUPLE = b"K\x87qh.(t"
_CONSTANTS: Final[dict[int, Any]] = {ord("N"): None, 0x88: True, 0x89: False, ord(")"): ()}
_INSTRUCTIONS: Final[dict[bytes, Callable[[PickleMachine], None]]] = {
    b"\x80": _protocol,
    b"(": PickleMachine.mark,
    b"K": lambda m: m.push(m.byte()),
    b"M": lambda m: m.push(m.number(_UINT16)),
    b"J": lambda m: m.push(m.number(_INT32)),
    b"\x8a": _long,
    b"G": lambda m: m.push(m.number(_DOUBLE)),
    b"X": _text,
    b"\x8d": lambda m: m.push(m.take(m.number(_UINT64)).decode("utf-8", "surrogatepass")),
    b"B": lambda m: m.push(m.take(m.number(_UINT32))),
    b"C": lambda m: m.push(m.take(m.byte())),
    b"t": lambda m: m.push(tuple(m.since_mark())),
    b"\x85": _tuple(1),
    b"\x86": _tuple(2),
    b"\x87": _tuple(3),
    b"]": lambda m: m.push([]),
    b"l": lambda m: m.push(m.since_mark()),
    b"a": lambda m: _extend(m, [m.pop()]),
    b"e": lambda m: _extend(m, m.since_mark()),
    b"}": lambda m: m.push({}),
    b"d": _dict,
    b"s": lambda m: _update(m, _pair(m)),
    b"u": lambda m: _update(m, m.since_mark()),
    b"q": lambda m: m.keep(m.byte()),
    b"r": lambda m: m.keep(m.number(_UINT32)),
    b"h": lambda m: m.get(m.byte()),
    b"j": lambda m: m.get(m.number(_UINT32)),
    b"c": _names,
    b"\x81": _make,
    b"b": _build,
    b"R": _apply,
    b"Q": _persistent,
}


def _unknown(machine: PickleMachine) -> None:
    code = machine._data[machine.position - 1 : machine.position]
    raise PickleError(f"expected an instruction that archives use, got {code!r}")


_ACTIONS: Final = tuple(_INSTRUCTIONS.get(bytes((code,)), _unknown) for code in range(256))
