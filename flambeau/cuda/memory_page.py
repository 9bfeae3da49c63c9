"""Figures of a device's memory as text, and as a page to look at."""

from __future__ import annotations

from typing import Any, Final

from flambeau.cuda.allocator.shortage import counted, in_units
from flambeau.util.markup import escape

Stats = dict[str, int]
Snapshot = list[dict[str, Any]]
_ROWS: Final = (
    ("held by tensors and temporaries", "allocated_bytes"), ("asked for", "requested_bytes"),
    ("held or waited for", "active_bytes"), ("taken from the device", "reserved_bytes"),
)  # fmt: skip
_COUNTS: Final = (("blocks", "allocation"), ("segments", "segment"))
_NO_LINE: Final = "(not recorded: record_memory_history() has small blocks recorded, too)"
_COLOURS: Final = {"active_allocated": "#ef6c00", "active_awaiting_free": "#ffb74d", "inactive": "#eceff1"}
_FONT: Final = "font:12px/1.5 ui-monospace,monospace"


def holders(snapshot: Snapshot) -> list[tuple[str, int, int]]:
    """Lines of the program with the bytes and the number of blocks they hold, most first."""
    by_line: dict[str, list[int]] = {}
    for block in (b for segment in snapshot for b in segment["blocks"] if b["state"] != "inactive"):
        entry = by_line.setdefault(line_of(block), [0, 0])
        entry[0] += block["size"]
        entry[1] += 1
    return sorted(((line, n, k) for line, (n, k) in by_line.items()), key=lambda row: -row[1])


def line_of(block: dict[str, Any]) -> str:
    """The line of the program that asked for a block."""
    if not block["frames"]:
        return _NO_LINE
    frame = block["frames"][0]
    return f"{frame['filename']}:{frame['line']} in {frame['name']}"


def summary_of(device: int, stats: Stats, snapshot: Snapshot) -> str:
    """A table of what is held now, was at most, was taken and given back, and who holds most."""
    text = [f"memory of cuda:{device}", f"{'':<32}{'now':>12}{'at most':>12}{'taken':>12}{'given back':>12}"]
    for label, name in _ROWS:
        figures = [in_units(stats[f"{name}.all.{what}"]) for what in ("current", "peak", "allocated", "freed")]
        text.append(f"{label:<32}" + "".join(f"{f:>12}" for f in figures))
    for label, name in _COUNTS:
        figures = [f"{stats[f'{name}.all.{what}']:,}" for what in ("current", "peak", "allocated", "freed")]
        text.append(f"{label:<32}" + "".join(f"{f:>12}" for f in figures))
    text.append(f"retries after freeing {stats['num_alloc_retries']}, out of memory {stats['num_ooms']} times")
    for line, nbytes, count in holders(snapshot)[:10]:
        text.append(f"{in_units(nbytes):>12} in {counted(count)}: {line}")
    return "\n".join(text)


def page_of(device: int, stats: Stats, snapshot: Snapshot) -> str:
    """A page without scripts: a bar for each segment, with its blocks, and a table of lines."""
    title = f"Memory of cuda:{device}"
    parts = [
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>",
        f"<body style='{_FONT};margin:2em'><h1 style='font-size:16px'>{title}</h1>",
        f"<pre>{escape(summary_of(device, stats, []))}</pre>",
        f"<table style='{_FONT};border-collapse:collapse'>",
        "<tr><th align='right'>bytes</th><th align='right'>blocks</th><th align='left'>line</th></tr>",
    ]
    parts += [
        f"<tr><td align='right'>{in_units(nbytes)}</td><td align='right'>{count:,}</td>"
        f"<td style='padding-left:1em'>{escape(line)}</td></tr>"
        for line, nbytes, count in holders(snapshot)
    ]
    parts.append("</table>")
    largest = max((segment["total_size"] for segment in snapshot), default=1)
    parts += [_bar(segment, largest) for segment in snapshot]
    parts.append("</body></html>")
    return "\n".join(parts) + "\n"


def _bar(segment: dict[str, Any], largest: int) -> str:
    """A segment, as wide as its share of the largest; hovering over a block says what it is."""
    total = segment["total_size"]
    blocks = "".join(
        f"<div title='{escape(_tip(block))}' style='width:{block['size'] / total * 100:.3f}%;height:18px;"
        f"background:{_COLOURS[block['state']]};box-shadow:inset 1px 0 #fff'></div>"
        for block in segment["blocks"]
    )
    pool = segment["segment_pool_id"][1]
    of = f"{segment['segment_type']}, stream {segment['stream']:#x}" + (f", pool {pool} of graphs" if pool else "")
    used = f"{in_units(segment['allocated_size'])} of {in_units(total)}"
    width = max(total / largest * 100, 8)
    return (
        f"<p style='margin:10px 0 2px'>{segment['address']:#x}: {used} ({of})</p>"
        f"<div style='display:flex;width:{width:.2f}%'>{blocks}</div>"
    )


def _tip(block: dict[str, Any]) -> str:
    states = {"active_allocated": "in use", "active_awaiting_free": "other streams use it", "inactive": "free"}
    return f"{in_units(block['size'])} at {block['address']:#x}, {states[block['state']]}: {line_of(block)}"
