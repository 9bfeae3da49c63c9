"""Archives changed at random: bytes of the file, instructions of pickles, words of code."""

from __future__ import annotations

import random
import re
import struct
import zipfile
from pathlib import Path

from tests.serialize.handmade import zipped

WORDS = (
    "torch.save",
    "self",
    "None",
    "(",
    ")",
    "[",
    "]",
    ":",
    "=",
    "\n",
    "  ",
    "\t",
    "class",
    "def",
    "return",
    "if",
    "for",
    "while",
    "with",
    "try",
    "import os",
    "lambda",
    "yield",
    "...",
    "@",
    "*",
    "->",
    "List[",
    "Optional[",
    "Final[",
    "1e400",
    "99999999999999999999",
    '"',
    "'",
    "#",
    "\\",
    "\0",
    "é",
    "inf",
    "CONSTANTS.c99",
    "__torch__",
    "annotate(",
    "fork(",
    "Tensor",
    "Union[",
    'torch.device("x")',
    "b''",
    "f'{x}'",
    "1j",
    ":=",
    "global x",
    "del x",
    "async ",
    "match x:",
    "raise",
    '__annotations__["a"] = ',
    "__parameters__ = 3",
    "(Module)",
    "(Enum)",
    "(NamedTuple)",
    "(Interface)",
    "k : Final[int] = 1\n",
    "training : bool\n",
)
INSTRUCTIONS = b"\x80(KMJ\x8aGX\x8dBCN\x88\x89)t\x85\x86\x87]lae}dsuqrhjc\x81bRQ."


def mutated(path: Path, rng: random.Random) -> bytes:
    """The archive with one or two of its records changed, or bytes anywhere, whose checksums are wrong then."""
    if rng.randrange(10) == 0:
        return changed_bytes(path.read_bytes(), rng)
    with zipfile.ZipFile(path) as whole:
        records = {name: whole.read(name) for name in whole.namelist()}
    names = [name for name in records if name.endswith((".pkl", ".py", ".debug_pkl"))]
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(names)
        data = records[name]
        records[name] = changed_code(data.decode(), rng).encode() if name.endswith(".py") else changed_bytes(data, rng)
    if rng.randrange(10) == 0:
        del records[rng.choice(list(records))]
    return zipped(records)


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """Some bytes replaced, cut out, doubled, or made an instruction of a pickle."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made))
        match rng.randrange(6):
            case 0:
                made[at] = rng.randrange(256)
            case 1:
                del made[at : at + rng.randint(1, 40)]
            case 2:
                made[at:at] = made[at : at + rng.randint(1, 40)]
            case 3:
                made[at : at + 4] = struct.pack("<I", rng.choice([0, 1, 2**31, 2**32 - 1, len(made)]))
            case 4:
                made[at] = rng.choice(INSTRUCTIONS)
            case 5:
                made[at:at] = bytes([rng.choice(INSTRUCTIONS)]) * rng.randint(1, 3)
        made = made or bytearray(b"\0")
    return bytes(made)


def changed_code(text: str, rng: random.Random) -> str:
    """Some words or lines replaced, cut out, doubled or moved."""
    for _ in range(rng.randint(1, 3)):
        pieces = re.findall(r"\w+|\s+|[^\w\s]", text) if rng.random() < 0.7 else text.splitlines(keepends=True)
        if not pieces:
            return text
        at, other = rng.randrange(len(pieces)), rng.randrange(len(pieces))
        match rng.randrange(5):
            case 0:
                pieces[at] = rng.choice(WORDS)
            case 1:
                pieces.insert(at, rng.choice(WORDS))
            case 2:
                del pieces[at : at + rng.randint(1, 5)]
            case 3:
                pieces[at:at] = pieces[at : at + rng.randint(1, 20)]
            case 4:
                pieces[at], pieces[other] = pieces[other], pieces[at]
        text = "".join(pieces)
    return text
