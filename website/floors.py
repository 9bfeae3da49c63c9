"""The picture of the floors, drawn from the real imports: what is on which floor, and what leans on what.

The floors are those that `tests/test_architecture.py` holds; an arrow is as thick as the number of imports.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from flambeau.util.markup import escape
from website.stage import ROOT, Pages, hand_written

WIDTH, ROW, BOX, HEIGHT = 880, 92, 118, 44
MARK = "## Floors\n"
TEXT = re.compile(r"""\"{3}.*?\"{3}|'{3}.*?'{3}""", re.DOTALL)
STATEMENT = re.compile(
    r"^ *(?:from flambeau\.(\w+)[\w.]* import |from flambeau import (?:\(([^)]*)\)|([^#\n]*))|import flambeau\.(\w+))",
    re.MULTILINE,
)


def pages(folder: Path) -> Pages:
    """`architecture.md` with the picture below the heading of the floors."""
    assets = folder / "assets"
    assets.mkdir(parents=True, exist_ok=True)
    (assets / "floors.svg").write_text(picture(), encoding="utf-8")
    text = hand_written()["architecture.md"]
    assert MARK in text, "the page of the architecture has a section about floors"
    shown = '\n<div class="picture" markdown>\n![What imports what, floor by floor](assets/floors.svg)\n</div>\n'
    return {"architecture.md": text.replace(MARK, MARK + shown, 1)}


def floors() -> tuple[frozenset[str], ...]:
    """The floors as the test of the architecture has them, from the ground up."""
    path = ROOT / "tests" / "test_architecture.py"
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "FLOORS":
            return tuple(frozenset(rooms) for rooms in ast.literal_eval(node.value))
    raise ValueError(f"{path} defines no FLOORS")


def imports() -> Counter[tuple[str, str]]:
    """How many modules of one room import something of another one."""
    found: Counter[tuple[str, str]] = Counter()
    package = ROOT / "flambeau"
    for path in package.rglob("*.py"):
        here = path.relative_to(package).parts[0].removesuffix(".py")
        found.update((here, there) for there in rooms_of(path.read_text(encoding="utf-8")) if there != here)
    return found


def rooms_of(source: str) -> set[str]:
    """The rooms that a module imports something of. Its statements are read, not its syntax tree, which takes long.

    >>> sorted(rooms_of("from flambeau import (\\n    ir, te as nests,\\n)\\nif x:\\n    import flambeau.nn.init\\n"))
    ['ir', 'nn', 'te']
    """
    found: set[str] = set()
    for room, several, one, more in STATEMENT.findall(TEXT.sub("", source)):
        names = (several or one).split(",") if several or one else (room or more,)
        found.update(name.split()[0] for name in names if name.strip())
    return found


def picture() -> str:
    """The floors as SVG, the ground at the bottom."""
    there = {p.name.removesuffix(".py") for p in (ROOT / "flambeau").iterdir()}
    levels = [sorted(rooms & there) for rooms in floors()]
    levels = [rooms for rooms in levels if rooms]
    spots = _spots(levels)
    height = len(levels) * ROW + 20
    counted = {pair: n for pair, n in imports().items() if pair[0] in spots and pair[1] in spots}
    body = [_arrow(spots[a], spots[b], n, f"{a} imports {b}: {n} modules") for (a, b), n in sorted(counted.items())]
    body += [_box(room, x, y) for room, (x, y) in spots.items()]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="14"><title>The floors of the house</title>'
        f"{''.join(body)}</svg>\n"
    )


def _spots(levels: Sequence[Sequence[str]]) -> dict[str, tuple[float, float]]:
    """The middle of each room's box."""
    spots = {}
    for at, rooms in enumerate(levels):
        y = (len(levels) - at - 0.5) * ROW + 10
        for place, room in enumerate(rooms):
            spots[room] = (WIDTH * (place + 0.5) / len(rooms), y)
    return spots


def _box(room: str, x: float, y: float) -> str:
    return (
        f'<rect x="{x - BOX / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{BOX}" height="{HEIGHT}" rx="6" fill="#fff3e0" '
        f'stroke="#a63a0b"/><text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle" fill="#3e1a08">{escape(room)}</text>'
    )


def _arrow(start: tuple[float, float], end: tuple[float, float], count: int, title: str) -> str:
    (x1, y1), (x2, y2) = start, end
    y1, y2 = y1 + HEIGHT / 2, y2 - HEIGHT / 2
    bend = abs(y2 - y1) * 0.4
    return (
        f'<path d="M{x1:.0f} {y1:.0f} C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}" '
        f'fill="none" stroke="#90a4ae" stroke-opacity="0.55" stroke-width="{min(0.6 + count**0.5 / 3, 5):.1f}">'
        f"<title>{escape(title)}</title></path>"
    )
