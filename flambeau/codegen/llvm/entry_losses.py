"""The native entry of the loss of rows of classes: what targets choose is gathered and added up as NumPy adds it up."""

from __future__ import annotations

from typing import Final

from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value, float_constant
from flambeau.codegen.llvm.tensor_entry import TensorEntry, any_entry

LOSSES: Final = ("nll_loss",)
MOST_ROWS: Final = 1 << 13
"""Rows of a call: NumPy adds up more of them piece by piece."""
_MEAN, _SUM = 1, 2
_LOOP: Final = "void (ptr, ptr, ptr, ptr)"
_ANYWHERE: Final = ", align 1"


def add_losses(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """Add the functions called ``LOSSES``, each for plain tensors and for any; what makes objects is there already."""
    for element in ("float", "double"):
        _add_choose(m, layouts, element)
    _add_total(m)
    for is_plain in (True, False):
        _ClassLoss(m, layouts, is_plain=is_plain).build("nll_loss" if is_plain else any_entry("nll_loss"))


def _add_choose(m: ModuleBuilder, layouts: ObjectLayouts, element: str) -> None:
    """``choose_float(rows, targets, count, ignored, chosen)``: as doubles, what targets that are not ignored choose of
    their rows; how many these are, -1 for a target that is not there."""
    f = m.function(f"i64 choose_{element}", "ptr rows", "ptr targets", "i64 count", "i64 ignored", "ptr chosen")
    rows, targets, count, ignored, chosen = f.parameters
    data, steps, sizes = (f.get(rows, layouts.array, name) for name in ("data", "strides", "dims"))
    row_step, step, classes = f.word_of(steps, 0), f.word_of(steps, 1), f.word_of(sizes, 1)
    numbers, number_step = f.get(targets, layouts.array, "data"), f.get(targets, layouts.array, "strides")
    number_step = f.word_of(number_step, 0)
    used = f.variable(word(0))
    with f.loop(count) as k:
        target = f.load(f.at(numbers, f.op("mul", k, number_step), "i8"), access=_ANYWHERE)
        with f.when(f.compare("ne", target, ignored)):
            f.return_unless(f.compare("ult", target, classes), -1)
            at = f.op("add", f.op("mul", k, row_step), f.op("mul", target, step))
            value = f.load(f.at(data, at, "i8"), element, access=_ANYWHERE)
            number = f.load(used)
            f.store(f.at(chosen, number), f.convert("fpext", value, "double") if element == "float" else value)
            f.store(used, f.op("add", number, 1))
    f.ret(f.load(used))


def _add_total(m: ModuleBuilder) -> None:
    """``total(numbers, count)``: the sum of doubles, by NumPy's loop."""
    f = m.function("double total", "ptr numbers", "i64 count")
    numbers, count = f.parameters
    result = f.variable(float_constant(0.0, "double", 1))
    addresses, steps, counts = f.slot("[3 x ptr]", 8), f.slot("[3 x i64]", 8), f.variable(count)
    for k, (address, step) in enumerate(((result, 0), (numbers, 8), (result, 0))):
        f.set_word(addresses, k, address)
        f.set_word(steps, k, step)
    f.call_address(m.symbol("float64_add"), _LOOP, addresses, counts, steps, NULL)
    f.ret(f.load(result, "double"))


class _ClassLoss(TensorEntry):
    """The building of the loss of rows of classes without weights, its mean or its sum."""

    def build(self, name: str) -> None:
        """Look at the arguments, choose, add up, wrap."""
        f, args, _ = self.start(name, 5)
        rows, targets = (self.real_array(f, f.word_of(args, k, "ptr")) for k in range(2))
        f.require(f.compare("eq", f.word_of(args, 2, "ptr"), self.m.symbol("none")), "slow")
        reduction, ignored = (self.number(f, f.word_of(args, k, "ptr")) for k in (3, 4))
        f.require(f.compare("ult", f.op("sub", reduction, 1), _SUM), "slow")
        count = self.rows(f, rows, targets)
        descr = f.get(rows, self.layouts.array, "descr")
        is_single = f.compare("eq", descr, self.m.symbol("float32_descr"))
        f.require(f.op("or", is_single, f.compare("eq", descr, self.m.symbol("float64_descr"))), "slow")
        chosen = f.array("double", count)
        used = f.choose(
            is_single,
            lambda: f.call("choose_float", rows, targets, count, ignored, chosen),
            lambda: f.call("choose_double", rows, targets, count, ignored, chosen),
        )
        f.require(f.compare("sgt", used, 0), "slow")
        loss = f.fsub(float_constant(0.0, "double", 1), f.call("total", chosen, used))
        mean = f.fdiv(loss, f.convert("sitofp", used, "double"))
        loss = f.select(f.compare("eq", reduction, _MEAN), mean, loss)
        self.deliver_number(f, descr, is_single, loss)

    def rows(self, f: FunctionBuilder, rows: Value, targets: Value) -> Value:
        """How many rows there are, with a target for each; goes to ``slow`` for all else."""
        is_wide = f.compare("eq", f.get(targets, self.layouts.array, "descr"), self.m.symbol("int64_descr"))
        ranks = [f.compare("eq", self.rank(f, one), rank) for one, rank in ((rows, 2), (targets, 1))]
        f.require(f.all_of(is_wide, *ranks), "slow")
        count = f.word_of(f.get(rows, self.layouts.array, "dims"), 0)
        is_known = f.compare("eq", count, f.word_of(f.get(targets, self.layouts.array, "dims"), 0))
        f.require(f.op("and", is_known, f.compare("ult", f.op("sub", count, 1), MOST_ROWS)), "slow")
        return count

    def deliver_number(self, f: FunctionBuilder, descr: Value, is_single: Value, number: Value) -> None:
        """Return a tensor without axes."""
        array = f.call("new_filled", descr, 0, NULL)
        f.require(f.compare("ne", array, NULL), "slow")
        data = f.get(array, self.layouts.array, "data")
        narrow, wide, done = f.label("narrow"), f.label("wide"), f.label("stored")
        f.branch_if(is_single, narrow, wide)
        f.start(narrow)
        f.store(data, f.convert("fptrunc", number, "float"))
        f.branch(done)
        f.start(wide, falls_through=False)
        f.store(data, number)
        f.start(done)
        self.deliver(f, array)
