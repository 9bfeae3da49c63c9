"""`Compare`: measurements as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from flambeau.utils.benchmark.measurement import Measurement, select_unit

GOOD, BEST, PLAIN = "\x1b[92m", "\x1b[92m\x1b[1m", "\x1b[0m"
WORDS: Final = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}
NEAR: Final = 1.05
"""How much longer than the shortest time of a row another one is called good."""


class Compare:
    """Measurements as tables: one for each `label`, with a row for each `sub_label`, `env` and number of threads and a
    column for each `description`.

    >>> from flambeau.utils.benchmark import Measurement, TaskSpec
    >>> times = [Measurement(1, [n * 1e-6], TaskSpec("f", "pass", label="f", description=f"n = {n}")) for n in (2, 30)]
    >>> print(Compare(times))
    [------------ f -------------]
               |  n = 2  |  n = 30
    1 threads: -------------------
        f      |   2.0   |   30.0
    <BLANKLINE>
    Times are in microseconds (us).
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trims = self._colours = self._warns = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Take more measurements. Raises ValueError for anything else."""
        for one in results:
            if not isinstance(one, Measurement):
                raise ValueError(f"Compare takes measurements, which Timer gives, got {type(one).__name__}")
            self._results.append(one)

    def trim_significant_figures(self) -> None:
        """Show only digits that mean something."""
        self._trims = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show the shortest time of each row in green, on terminals. `rowwise` is how it is always done."""
        self._colours = True

    def highlight_warnings(self) -> None:
        """Show how far times are apart where that is much."""
        self._warns = True

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def __str__(self) -> str:
        groups: dict[str, list[Measurement]] = {}
        for one in Measurement.merge(self._results):
            groups.setdefault(one.task_spec.label or "", []).append(one)
        return "\n\n".join(self._table(label, group) for label, group in groups.items())

    def _table(self, label: str, group: list[Measurement]) -> str:
        unit, scale = select_unit(min(one.median for one in group))
        columns = list(dict.fromkeys(one.task_spec.description or "" for one in group))
        rows = _rows(group)
        cells = {key: [self._cell(row.get(column), scale) for column in columns] for key, row in rows.items()}
        first = max(len("1 threads"), *(len(name) + 4 for _, name in rows))
        widths = [max(map(len, parts)) for parts in zip(columns, *cells.values(), strict=True)]
        head = " " * first + "".join(f"  |  {c:^{w}}" for c, w in zip(columns, widths, strict=True))
        lines = [f"[{f' {label} ':-^{max(len(head) - 2, len(label) + 4)}}]", head]
        threads = 0
        for key, row in rows.items():
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(len(head), "-"))
            lines.append(self._row(key[1], first, list(row.values()), cells[key], widths))
        return "\n".join([*lines, "", f"Times are in {WORDS[unit]} ({unit})."])

    def _cell(self, one: Measurement | None, scale: float) -> str:
        if one is None:
            return ""
        digits = one.significant_figures if self._trims else 0
        value = one.median / scale
        text = f"{float(f'{value:.{digits}g}'):.1f}" if digits else f"{value:.1f}"
        spread = f" (! {100 * one.iqr / one.median:.0f}%)" if self._warns and one.has_warnings else ""
        return text + spread

    def _row(self, name: str, first: int, row: list[Measurement], cells: list[str], widths: list[int]) -> str:
        texts = [f"{cell:^{width}}" for cell, width in zip(cells, widths, strict=True)]
        if self._colours and len(row) > 1:
            shortest = min(one.median for one in row)
            filled = iter(row)
            for column, cell in enumerate(cells):
                time = next(filled).median if cell else None
                if time is not None and time <= shortest * NEAR:
                    texts[column] = f"{BEST if time == shortest else GOOD}{texts[column]}{PLAIN}"
        return ("    " + name).ljust(first) + "".join(f"  |  {text}" for text in texts).rstrip(" ")


def _rows(group: list[Measurement]) -> dict[tuple[int, str], dict[str, Measurement]]:
    """The measurements by number of threads and name, those of fewer threads first, and by column."""
    rows: dict[tuple[int, str], dict[str, Measurement]] = {}
    for one in group:
        task = one.task_spec
        name = (f"({task.env}) " if task.env else "") + (task.sub_label or task.stmt)
        rows.setdefault((task.num_threads, name), {})[task.description or ""] = one
    return dict(sorted(rows.items(), key=lambda item: item[0][0]))
