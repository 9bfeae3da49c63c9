"""Functions of `itertools` that go over what they are given item by item, in the language itself.

They are generators, inlined in the loop that asks for their items, so that nothing is asked for behind a `break`.
"""

from __future__ import annotations

from typing import Any, Final

ENDLESS: Final = (1 << 63) - 1
"""Where a slice without an end would end."""


def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    """The first item, or what to begin with, and then what a function gives for the last result and the next item; sums
    without one. The items are taken as they are when the first result is asked for.
    """
    items = list(iterable)
    first = 0
    if initial is None:
        if len(items) == 0:
            return
        total = items[0]
        first = 1
    else:
        total = initial
    yield total
    for k in range(first, len(items)):
        total = total + items[k] if func is None else func(total, items[k])
        yield total


def pairwise(iterable: Any) -> Any:
    """Each item with the next. The items are taken as they are when the first pair is asked for."""
    items = list(iterable)
    for k in range(len(items) - 1):
        yield items[k], items[k + 1]


def groupby(iterable: Any, key: Any = None) -> Any:
    """Keys, each with the list of the items next to each other that have it. The items are taken as they are when the
    first key is asked for.
    """
    items = list(iterable)
    keys = [item if key is None else key(item) for item in items]
    first = 0
    for k in range(1, len(items) + 1):
        if k == len(items) or keys[k] != keys[first]:
            yield keys[first], items[first:k]
            first = k


def islice(iterable: Any, start: Any, stop: Any = "", step: Any = None) -> Any:
    """The items that a slice has; with one number those before it. Raises ValueError for numbers below 0."""
    if isinstance(stop, str):
        yield from between(iterable, 0, or_else(start, ENDLESS), 1)
    else:
        yield from between(iterable, or_else(start, 0), or_else(stop, ENDLESS), or_else(step, 1))


def between(iterable: Any, start: int, stop: int, step: int) -> Any:
    """Each item by a step from one on, up to another one, which is not asked for."""
    check_slice(start, stop, step)
    if stop > 0:
        for k, item in enumerate(iterable):
            if k >= start and (k - start) % step == 0:
                yield item
            if k + 1 >= stop:
                break


def or_else(value: Any, default: int) -> int:
    """A number, or what stands for None."""
    return default if value is None else value


def check_slice(start: int, stop: int, step: int) -> None:
    """Raise ValueError for what no slice of an iterator has."""
    if stop == -1:
        raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if start < 0 or stop < 0:
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if step < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")


def takewhile(predicate: Any, iterable: Any) -> Any:
    """The items before the first for which a function gives nothing true."""
    for item in iterable:
        if not predicate(item):
            break
        yield item


def dropwhile(predicate: Any, iterable: Any) -> Any:
    """The items from the first on for which a function gives nothing true."""
    is_dropping = True
    for item in iterable:
        if is_dropping:
            is_dropping = bool(predicate(item))
        if not is_dropping:
            yield item


def filterfalse(predicate: Any, iterable: Any) -> Any:
    """The items for which a function gives nothing true."""
    for item in iterable:
        if not predicate(item):
            yield item


def compress(data: Any, selectors: Any) -> Any:
    """The items beside which something true stands."""
    for item, is_selected in zip(data, selectors):  # noqa: B905
        if is_selected:
            yield item


def from_iterable(iterable: Any) -> Any:
    """The items of each of several iterables, one after the other."""
    for items in iterable:
        yield from items


def chain_1(a: Any) -> Any:
    """The items of one iterable."""
    yield from a


def chain_2(a: Any, b: Any) -> Any:
    """The items of two iterables, one after the other."""
    yield from a
    yield from b


def chain_3(a: Any, b: Any, c: Any) -> Any:
    """The items of three iterables, one after the other."""
    yield from a
    yield from b
    yield from c


def columns(rows: Any) -> Any:
    """A list for each index that all of several lists have, of their items there: `zip(*rows)`."""
    count = min([len(row) for row in rows]) if len(rows) > 0 else 0
    return [[row[i] for row in rows] for i in range(count)]
