"""The error where a device has too little memory: who holds what, and what to do."""

from __future__ import annotations

from collections.abc import Iterable

from flambeau.cuda.allocator.chunks import Chunk
from flambeau.cuda.program_lines import Line

HOLDERS = 5
"""How many lines of the program are named."""


class OutOfMemoryError(RuntimeError, MemoryError):
    """A device has too little free memory. The message says who holds it.

    >>> issubclass(OutOfMemoryError, MemoryError)
    True
    """


def in_units(nbytes: int) -> str:
    """A number of bytes to read.

    >>> in_units(512), in_units(20 << 20), in_units(3 << 29)
    ('512 bytes', '20.0 MiB', '1.50 GiB')
    """
    if nbytes < 1 << 10:
        return f"{nbytes} bytes"
    for shift, unit, digits in ((30, "GiB", 2), (20, "MiB", 1), (10, "KiB", 1)):
        if nbytes >= 1 << shift:
            return f"{nbytes / (1 << shift):.{digits}f} {unit}"
    raise AssertionError(nbytes)


def counted(blocks: int) -> str:
    """`1 block`, `1,000 blocks`."""
    return "1 block" if blocks == 1 else f"{blocks:,} blocks"


def text_of(line: Line | None) -> str:
    """`train.py:12 in step`; what is said where no line was recorded."""
    if line is None:
        return "small allocations, whose lines are recorded after record_memory_history()"
    code, number = line
    return f"{code.co_filename}:{number} in {code.co_name}"


def bytes_by_line(chunks: Iterable[Chunk]) -> list[tuple[Line | None, int, int]]:
    """Lines of the program, the bytes they asked for that are still held, and in how many blocks; most first."""
    by_line: dict[Line | None, list[int]] = {}
    for chunk in chunks:
        entry = by_line.setdefault(chunk.line, [0, 0])
        entry[0] += chunk.size
        entry[1] += 1
    return sorted(((line, n, k) for line, (n, k) in by_line.items()), key=lambda row: -row[1])


def shortage(
    *, asked: int, device: int, free: int, total: int, allocated: int, cached: int, limit: int | None,
    chunks: Iterable[Chunk], within_capture: bool,
) -> OutOfMemoryError:  # fmt: skip
    """The error, with what was asked for and what there is."""
    lines = [
        f"CUDA out of memory: {in_units(asked)} asked for on cuda:{device}, which has {in_units(free)} free of "
        f"{in_units(total)}. Tensors and temporaries hold {in_units(allocated)}; {in_units(cached)} are cached, in "
        "pieces that do not fit."
    ]
    if limit is not None:
        lines.append(f"set_per_process_memory_fraction() allows this process {in_units(limit)}.")
    others = total - free - allocated - cached
    if others > total // 20:
        lines.append(f"Other processes and libraries have {in_units(others)}.")
    holders = bytes_by_line(chunks)
    if holders:
        lines.append("Most is held by what was made here:")
        lines += [f"  {in_units(n)} in {counted(k)}: {text_of(line)}" for line, n, k in holders[:HOLDERS]]
    lines.append(
        "Within a capture nothing cached is given back: capture with less, or free memory before it."
        if within_capture
        else "Drop tensors that are not needed (also lists of losses: keep loss.item()), use smaller batches, no_grad()"
        " where nobody asks for gradients, or checkpoints; flambeau.cuda.memory.page(path) shows all blocks."
    )
    return OutOfMemoryError("\n".join(lines))
