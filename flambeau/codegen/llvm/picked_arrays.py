"""New arrays of what lies at places that other arrays name, as functions of a module.

Each gives null, with no exception, for what it does not make: places that are not there, arrays that lie otherwise than
it reads them, results that are empty or large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_CONTIGUOUS
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, TRUE, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.strided_copies import MOST_AXES, each_size, place_at

MOST_BYTES: Final = 1 << 22
"""Bytes of a result: larger ones are made where other threads may go on meanwhile."""


def add_picks(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """Add ``bytes_of``, ``new_filled``, ``pick``, ``pick_elements`` and ``pick_along``."""
    _add_bytes_of(m)
    _add_new_filled(m)
    _add_look_at_places(m, layouts)
    _add_picked(m, layouts)
    _add_pick(m, layouts)
    _add_pick_elements(m, layouts)
    _add_gather_line(m)
    _add_pick_along(m, layouts)


def _add_bytes_of(m: ModuleBuilder) -> None:
    """``bytes_of(descr)``: of an element; 0 for dtypes that tensors do not have."""
    f = m.function("i64 bytes_of", "ptr descr")
    pairs = m.symbol("element_sizes")
    loop = f.loop(1 << 10)
    with loop as k:
        pair = f.at(pairs, f.op("shl", k, 1))
        known = f.load(pair, "ptr")
        size = f.word_of(pair, 1)
        f.return_if(f.op("or", f.is_null(known), f.compare("eq", known, f.parameters[0])), size)
    f.ret(0)


def _add_new_filled(m: ModuleBuilder) -> None:
    """``new_filled(descr, rank, dims)``: a new array that somebody fills, row-major; null for one that is empty or
    large, or of other dtypes than tensors."""
    f = m.function("ptr new_filled", "ptr descr", "i64 rank", "ptr dims")
    descr, rank, dims = f.parameters
    item = f.call("bytes_of", descr)
    product = f.loop(rank, item)
    with product as k:
        size = f.word_of(dims, k)
        f.return_unless(f.compare("ult", size, MOST_BYTES + 1), NULL)
        bytes_ = f.op("mul", product.values[0], size)
        f.return_unless(f.compare("ult", bytes_, MOST_BYTES + 1), NULL)
        product.carry(bytes_)
    f.return_if(f.compare("eq", product.values[0], 0), NULL)
    array = f.call("make_array", descr, rank, dims, NULL, NULL, 0)
    with f.when(f.is_null(array)):
        f.call("PyErr_Clear")
    f.ret(array)


def _add_look_at_places(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``step_of(places)``: how many bytes places are apart, which lie in one; -1 for places that do not, and for what
    are no places."""
    f = m.function("i64 step_of", "ptr places")
    (places,) = f.parameters
    descr = f.get(places, layouts.array, "descr")
    is_wide = f.compare("eq", descr, m.symbol("int64_descr"))
    f.return_unless(f.op("or", is_wide, f.compare("eq", descr, m.symbol("int32_descr"))), -1)
    flags = f.get(places, layouts.array, "flags")
    f.return_if(f.compare("ne", f.op("and", flags, C_CONTIGUOUS), 0), f.pick(is_wide, 8, 4))
    f.return_unless(f.compare("eq", f.get(places, layouts.array, "rank"), 1), -1)
    f.ret(f.word_of(f.get(places, layouts.array, "strides"), 0))


def product_of_sizes(f: FunctionBuilder, dims: Value, first: Value | int, count: Value) -> Value:
    """The product of so many sizes from one on."""
    product = f.loop(count, word(1))
    with product as k:
        product.carry(f.op("mul", product.values[0], f.word_of(dims, f.op("add", k, first))))
    return product.values[0]


def _is_dense(f: FunctionBuilder, layouts: ObjectLayouts, array: Value) -> Value:
    flags = f.get(array, layouts.array, "flags")
    return f.compare("ne", f.op("and", flags, C_CONTIGUOUS), 0)


def _rank(f: FunctionBuilder, layouts: ObjectLayouts, array: Value) -> Value:
    return f.convert("sext", f.get(array, layouts.array, "rank"), "i64")


def _add_picked(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``picked(source, places, rank, dims, outer, size, inner, wraps)``: a new array of these sizes: of so many stacks
    of rows of `inner` elements those at places."""
    f = m.function(
        "ptr picked", "ptr source", "ptr places", "i64 rank", "ptr dims", "i64 outer", "i64 size", "i64 inner",
        "i1 wraps",
    )  # fmt: skip
    source, places, rank, dims, outer, size, inner, wraps = f.parameters
    descr = f.get(source, layouts.array, "descr")
    step = f.call("step_of", places)
    f.return_if(f.compare("eq", step, -1), NULL)
    array = f.call("new_filled", descr, rank, dims)
    f.return_if(f.is_null(array), NULL)
    run = f.op("mul", inner, f.call("bytes_of", descr))
    is_wide = f.compare("eq", f.get(places, layouts.array, "descr"), m.symbol("int64_descr"))
    numbers = f.get(places, layouts.array, "data")
    count = product_of_sizes(f, f.get(places, layouts.array, "dims"), 0, _rank(f, layouts, places))
    to, come = (f.get(one, layouts.array, "data") for one in (array, source))
    with f.loop(outer) as k:
        target = f.at(to, f.op("mul", k, f.op("mul", count, run)), "i8")
        start = f.at(come, f.op("mul", k, f.op("mul", size, run)), "i8")
        are_there = f.call("copy_places", target, start, size, run, numbers, count, step, is_wide, wraps)
        with f.when(f.negated(are_there)):
            f.call("Py_DecRef", array)
            f.ret(NULL)
    f.ret(array)


def _add_pick(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``pick(source, axis, places, wraps)``: along an axis those at places, whose axes stand for it; with ``wraps``
    places below zero count from the end."""
    f = m.function("ptr pick", "ptr source", "i64 axis", "ptr places", "i1 wraps")
    source, axis, places, wraps = f.parameters
    f.return_unless(_is_dense(f, layouts, source), NULL)
    rank, added = _rank(f, layouts, source), _rank(f, layouts, places)
    result_rank = f.op("add", f.op("sub", rank, 1), added)
    f.return_unless(f.compare("ule", result_rank, MOST_AXES), NULL)
    sizes, place_sizes = (f.get(one, layouts.array, "dims") for one in (source, places))
    dims = f.slot(f"[{MOST_AXES} x i64]", 8)
    behind = f.op("sub", f.op("sub", rank, axis), 1)
    for here, there, first, count in (
        (0, sizes, word(0), axis), (axis, place_sizes, word(0), added),
        (f.op("add", axis, added), sizes, f.op("add", axis, 1), behind),
    ):  # fmt: skip
        with f.loop(count) as k:
            at = k if isinstance(here, int) else f.op("add", k, here)
            f.set_word(dims, at, f.word_of(there, f.op("add", k, first)))
    outer, inner = product_of_sizes(f, sizes, 0, axis), product_of_sizes(f, sizes, f.op("add", axis, 1), behind)
    f.ret(f.call("picked", source, places, result_rank, dims, outer, f.word_of(sizes, axis), inner, wraps))


def _add_pick_elements(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``pick_elements(source, places)``: of all elements in order those at places, from either end."""
    f = m.function("ptr pick_elements", "ptr source", "ptr places")
    source, places = f.parameters
    f.return_unless(_is_dense(f, layouts, source), NULL)
    rank = _rank(f, layouts, places)
    f.return_unless(f.compare("ule", rank, MOST_AXES), NULL)
    size = product_of_sizes(f, f.get(source, layouts.array, "dims"), 0, _rank(f, layouts, source))
    dims = f.get(places, layouts.array, "dims")
    f.ret(f.call("picked", source, places, rank, dims, 1, size, 1, TRUE))


def _add_gather_line(m: ModuleBuilder) -> None:
    """``gather_line(target, source, places, n, size, item, step, along, place_step, is_wide)``: so many elements, each
    `step` bytes from where the one before may be, and its place times `along`; whether all places are there."""
    f = m.function(
        "i1 gather_line", "ptr target", "ptr source", "ptr places", "i64 n", "i64 size", "i64 item", "i64 step",
        "i64 along", "i64 place_step", "i1 is_wide",
    )  # fmt: skip
    target, source, places, n, size, item, step, along, place_step, is_wide = f.parameters

    def line(move: Callable[[Value, Value], None]) -> None:
        with f.loop(n) as k:
            where = place_at(f, places, k, place_step, is_wide)
            f.return_unless(f.compare("ult", where, size), FALSE)
            come = f.op("add", f.op("mul", k, step), f.op("mul", where, along))
            move(f.at(target, f.op("mul", k, item), "i8"), f.at(source, come, "i8"))

    each_size(f, item, line)
    f.ret(TRUE)


def _add_pick_along(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``pick_along(source, axis, places)``: for each place the element there along an axis, in step with the place
    along the others."""
    f = m.function("ptr pick_along", "ptr source", "i64 axis", "ptr places")
    source, axis, places = f.parameters
    descr, place_descr = (f.get(one, layouts.array, "descr") for one in (source, places))
    is_wide = f.compare("eq", place_descr, m.symbol("int64_descr"))
    f.return_unless(f.op("or", is_wide, f.compare("eq", place_descr, m.symbol("int32_descr"))), NULL)
    rank = _rank(f, layouts, source)
    f.return_unless(f.compare("eq", _rank(f, layouts, places), rank), NULL)
    f.return_unless(f.compare("ule", rank, MOST_AXES), NULL)
    sizes, steps = (f.get(source, layouts.array, name) for name in ("dims", "strides"))
    dims, place_steps = (f.get(places, layouts.array, name) for name in ("dims", "strides"))
    mine = f.slot(f"[{MOST_AXES} x i64]", 8)
    with f.loop(rank) as d:
        is_axis = f.compare("eq", d, axis)
        fits = f.compare("ule", f.word_of(dims, d), f.word_of(sizes, d))
        f.return_unless(f.op("or", is_axis, fits), NULL)
        f.set_word(mine, d, f.pick(is_axis, 0, f.word_of(steps, d)))
    array = f.call("new_filled", descr, rank, dims)
    f.return_if(f.is_null(array), NULL)
    last = f.op("sub", rank, 1)
    n, item = f.word_of(dims, last), f.call("bytes_of", descr)
    numbers, come, to = (f.get(one, layouts.array, "data") for one in (places, source, array))
    counts = f.slot(f"[{MOST_AXES} x i64]", 8)
    f.clear(counts, MOST_AXES)
    size, along = f.word_of(sizes, axis), f.word_of(steps, axis)
    here, there = f.variable(word(0)), f.variable(word(0))
    with f.loop(product_of_sizes(f, dims, 0, last)) as row:
        target = f.at(to, f.op("mul", row, f.op("mul", n, item)), "i8")
        are_there = f.call(
            "gather_line", target, f.at(come, f.load(here), "i8"), f.at(numbers, f.load(there), "i8"), n, size, item,
            f.word_of(mine, last), along, f.word_of(place_steps, last), is_wide,
        )  # fmt: skip
        with f.when(f.negated(are_there)):
            f.call("Py_DecRef", array)
            f.ret(NULL)
        go_on(f, counts, last, dims, ((here, mine), (there, place_steps)))
    f.ret(array)


def go_on(
    f: FunctionBuilder, counts: Value, axes: Value, dims: Value, ways: tuple[tuple[Value, Value], ...]
) -> None:
    """Go on to the next place along the first axes, the last of them innermost: distances along several ways."""
    step = f.loop(axes)
    with step as k:
        axis = f.op("sub", f.op("sub", axes, 1), k)
        size, count = f.word_of(dims, axis), f.op("add", f.word_of(counts, axis), 1)
        is_over = f.compare("eq", count, size)
        f.set_word(counts, axis, f.pick(is_over, 0, count))
        for distance, steps in ways:
            one = f.word_of(steps, axis)
            back = f.op("mul", one, f.op("sub", word(1), size))
            f.store(distance, f.op("add", f.load(distance), f.pick(is_over, back, one)))
        f.require(is_over, step.after)
