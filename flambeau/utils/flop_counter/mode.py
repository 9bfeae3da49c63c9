"""The mode that counts, and the table that it prints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final, Self

from flambeau.tensor.modes import DispatchMode
from flambeau.utils.flop_counter.formulas import Formula, flop_registry, of_sizes
from flambeau.utils.module_tracker import ROOT, ModuleTracker

UNITS: Final = ("", "K", "M", "B", "T")
HEADINGS: Final = ("Module", "FLOP", "% Total")


class FlopCounterMode:
    """Within a block, counts the floating point operations of products of matrices and of convolutions, on the way
    there and on the way back, by the modules that call them.

    Args:
        mods: not needed: modules are seen as they run.
        depth: how many modules one in another the table shows.
        display: whether the table is printed when the block ends.
        custom_mapping: further formulas by operator, as `register_flop_formula` takes them; those whose attribute
            `_get_raw` is true get tensors.

    >>> import flambeau
    >>> from flambeau import nn
    >>> x = flambeau.ones(2, 3, requires_grad=True)
    >>> with FlopCounterMode() as counted:
    ...     nn.Sequential(nn.Linear(3, 4))(x).sum().backward()
    Module             FLOP    % Total
    ---------------  ------  ---------
    Sequential          144    100.00%
     - aten.linear       48     33.33%
     - aten.matmul       48     33.33%
     - aten.mm           48     33.33%
     Sequential.0       144    100.00%
      - aten.linear      48     33.33%
      - aten.matmul      48     33.33%
      - aten.mm          48     33.33%
    """

    def __init__(
        self, mods: Any = None, depth: int | None = 2, display: bool = True,
        custom_mapping: Mapping[Any, Formula] | None = None,
    ) -> None:  # fmt: skip
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        """Operations by module and operator."""
        self._further = {
            op: formula if getattr(formula, "_get_raw", False) else of_sizes(formula)
            for op, formula in (custom_mapping or {}).items()
        }
        self._tracker, self._mode = ModuleTracker(), _Counting(self)

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self._tracker.__enter__()
        self._mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._mode.__exit__(*error)
        self._tracker.__exit__(*error)
        if self.display:
            print(self.get_table(self.depth))

    def count(self, operator: Any, out: Any, args: Any, kwargs: Any) -> None:
        """Count one call for each module that runs."""
        formula = self._further.get(operator) or flop_registry.get(operator)
        if formula is not None:
            flops = formula(*args, **kwargs, out_val=out)
            for parent in self._tracker.parents:
                self.flop_counts[parent][operator] += flops

    def get_total_flops(self) -> int:
        """All operations of the block."""
        return sum(self.flop_counts[ROOT].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Operations by the name of a module and by operator; those of all modules together under `Global`."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The operations of modules, up to `depth` one in another, and of the operators in each, as a table."""
        depth = self.depth if depth is None else depth
        deepest = 999999 if depth is None else depth
        below = {name: name.count(".") + 1 for name in self.flop_counts if name != ROOT}
        total = self.get_total_flops()
        rows = [row for name in sorted(below) if below[name] <= deepest for row in self._rows(name, below[name], total)]
        whole = dict(self.flop_counts[ROOT])
        if whole and not any(self.flop_counts[name] == whole for name in below if below[name] <= deepest):
            rows = self._rows(ROOT, 1, total) + [(f" {row[0]}", *row[1:]) for row in rows]
        return _table(rows or [(ROOT, "0", "0%")])

    def _rows(self, name: str, depth: int, total: int) -> list[tuple[str, ...]]:
        """The row of a module, and those of its operators."""
        indent, counts = " " * (depth - 1), self.flop_counts[name]
        pairs = [(f"{indent}{name}", sum(counts.values()))]
        pairs += [(f"{indent} - {operator}", count) for operator, count in counts.items()]
        return [(label, _with_unit(count, total), _share(count, total)) for label, count in pairs]


class _Counting(DispatchMode):
    """Sees the operators of a block."""

    def __init__(self, counter: FlopCounterMode) -> None:
        self._counter = counter

    def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self._counter.count(func.overloadpacket, out, args, kwargs or {})
        return out


def _with_unit(count: int, total: int) -> str:
    """A number in the unit that the total has."""
    power = min(len(UNITS) - 1, (len(str(total)) - 1) // 3)
    return f"{count / 1000**power:.3f}{UNITS[power]}" if power else str(count)


def _share(count: int, total: int) -> str:
    return f"{count / total:.2%}" if total else "0%"


def _table(rows: list[tuple[str, ...]]) -> str:
    """Columns under their headings, numbers to the right."""
    widths = [max(len(HEADINGS[k]) + 2, *(len(row[k]) for row in rows)) for k in range(len(HEADINGS))]
    lines = [HEADINGS, tuple("-" * width for width in widths), *rows]
    return "\n".join(
        "  ".join((first.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(rest, widths[1:], strict=True))))
        for first, *rest in lines
    )
