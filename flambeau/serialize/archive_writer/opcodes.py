"""Pickles in the opcodes that TorchScript's reader knows, and no others.

>>> import pickle
>>> stream = PickleStream()
>>> stream.begin_tuple()
>>> for value in ("a", "a", 3, -1, 1 << 40, 0.5, True, None):
...     stream.plain(value)
>>> stream.end_tuple()
>>> pickle.loads(stream.finish())
('a', 'a', 3, -1, 1099511627776, 0.5, True, None)
"""

from __future__ import annotations

from collections.abc import Hashable
from struct import pack

from flambeau.serialize.archive_format import PICKLE_PROTOCOL

Plain = str | int | float | None
"""What has an opcode of its own; bools are ints."""


class PickleStream:
    """Writes one pickle. Texts and globals that come again are told by their place in the memo."""

    def __init__(self) -> None:
        self._data = bytearray(b"\x80" + bytes([PICKLE_PROTOCOL]))
        self._memo: dict[Hashable, int] = {}

    def finish(self) -> bytes:
        """The whole pickle."""
        return bytes(self._data + b".")

    # -- the memo ------------------------------------------------------------------------------------------------------

    def get(self, key: Hashable) -> bool:
        """Write what was remembered under this key; whether there is such."""
        number = self._memo.get(key)
        if number is None:
            return False
        self._data += b"h" + bytes([number]) if number < 256 else b"j" + pack("<I", number)
        return True

    def put(self, key: Hashable) -> None:
        """Remember what was written last."""
        number = self._memo[key] = len(self._memo)
        self._data += b"q" + bytes([number]) if number < 256 else b"r" + pack("<I", number)

    # -- values --------------------------------------------------------------------------------------------------------

    def plain(self, value: Plain) -> None:
        """A text, number, bool or None. Raises OverflowError for an int of more than 64 bits."""
        match value:
            case None:
                self._data += b"N"
            case bool():
                self._data += b"\x88" if value else b"\x89"
            case int():
                self._integer(value)
            case float():
                self._data += b"G" + pack(">d", value)
            case str():
                self._text(value)

    def _integer(self, value: int) -> None:
        if 0 <= value < 1 << 8:
            self._data += b"K" + bytes([value])
        elif 0 <= value < 1 << 16:
            self._data += b"M" + pack("<H", value)
        elif -(1 << 31) <= value < 1 << 31:
            self._data += b"J" + pack("<i", value)
        elif -(1 << 63) <= value < 1 << 63:
            self._data += b"\x8a\x08" + pack("<q", value)
        else:
            raise OverflowError(f"{value} does not fit in 64 bits")

    def _text(self, text: str) -> None:
        key = ("text", text)
        if self.get(key):
            return
        data = text.encode("utf-8", "surrogatepass")
        self._data += b"X" + pack("<I", len(data)) + data
        self.put(key)

    def name(self, module: str, name: str) -> None:
        """A global."""
        key = ("global", module, name)
        if not self.get(key):
            self._data += f"c{module}\n{name}\n".encode()
            self.put(key)

    # -- containers ----------------------------------------------------------------------------------------------------

    def begin_tuple(self) -> None:
        """What follows, up to `end_tuple`, are its elements."""
        self._data += b"("

    def end_tuple(self) -> None:
        """The end of the tuple."""
        self._data += b"t"

    def close_tuple(self, count: int) -> None:
        """A tuple of the one, two or three values that were written last."""
        self._data += (b"\x85", b"\x86", b"\x87")[count - 1]

    def empty_tuple(self) -> None:
        """A tuple of nothing."""
        self._data += b")"

    def begin_list(self) -> None:
        """What follows, up to `end_list`, are its elements."""
        self._data += b"]("

    def end_list(self) -> None:
        """The end of the list."""
        self._data += b"e"

    def empty_dict(self) -> None:
        """A dict without items."""
        self._data += b"}"

    def begin_items(self) -> None:
        """What follows, up to `end_dict`, are keys and values in turn of the dict that was written last."""
        self._data += b"("

    def end_dict(self) -> None:
        """The end of the dict's items."""
        self._data += b"u"

    # -- objects -------------------------------------------------------------------------------------------------------

    def reduce(self) -> None:
        """Apply the global to the arguments behind it."""
        self._data += b"R"

    def new_object(self) -> None:
        """An object of the class behind an empty tuple."""
        self._data += b")\x81"

    def build(self) -> None:
        """Give the object the state behind it."""
        self._data += b"b"

    def persistent(self) -> None:
        """What the tuple names that was written last."""
        self._data += b"Q"
