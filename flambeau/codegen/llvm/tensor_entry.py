"""What entries have in common that serve one kind of kernel, tensors of any sizes: how they begin and end."""

from __future__ import annotations

from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry import ARGUMENT_COUNT, call_slowly
from flambeau.codegen.llvm.tensor_objects import any_array, plain_array


def any_entry(name: str) -> str:
    """What the entry of a kernel is called that takes tensors that ask for gradients too."""
    return f"any_{name}"


class TensorEntry:
    """What the building of all functions has in common."""

    def __init__(self, m: ModuleBuilder, layouts: ObjectLayouts, *, is_plain: bool) -> None:
        self.m, self.layouts, self.is_plain = m, layouts, is_plain

    def start(self, name: str, *counts: int) -> tuple[FunctionBuilder, Value, Value]:
        """The function of so many arguments, or so many; where these lie, and how many there are."""
        f = self.m.function(f"ptr {name}", "ptr self", "ptr args", "i64 nargsf", "ptr names", exported=True)
        _, args, nargsf, names = f.parameters
        f.require(f.is_null(names), "slow")
        passed = f.op("and", nargsf, ARGUMENT_COUNT)
        known = f.compare("eq", passed, counts[0])
        for count in counts[1:]:
            known = f.op("or", known, f.compare("eq", passed, count))
        f.require(known, "slow")
        return f, args, passed

    def array(self, f: FunctionBuilder, value: Value) -> Value:
        """The array of an argument that is a tensor; goes to ``slow`` for all else."""
        kind = f.get(value, self.layouts.object, "type")
        is_tensor = f.compare("eq", kind, self.m.symbol("tensor_type"))
        if not self.is_plain:
            is_tensor = f.op("or", is_tensor, f.compare("eq", kind, self.m.symbol("parameter_type")))
        f.require(is_tensor, "slow")
        array, fits = (plain_array if self.is_plain else any_array)(f, self.layouts, value)
        f.require(fits, "slow")
        return array

    def is_a(self, f: FunctionBuilder, value: Value, kind: str) -> Value:
        """Whether an object is just of a class."""
        return f.compare("eq", f.get(value, self.layouts.object, "type"), self.m.symbol(kind))

    def real_array(self, f: FunctionBuilder, value: Value) -> Value:
        """The array of an argument in the host's memory."""
        array = self.array(f, value)
        f.require(self.is_a(f, array, "ndarray"), "slow")
        return array

    def rank(self, f: FunctionBuilder, array: Value) -> Value:
        """How many axes an array has."""
        return f.convert("sext", f.get(array, self.layouts.array, "rank"), "i64")

    def number(self, f: FunctionBuilder, value: Value) -> Value:
        """An int of Python's; goes to ``slow`` for all else."""
        f.require(self.is_a(f, value, "int_type"), "slow")
        overflow = f.slot("i32", 4)
        number = f.call("PyLong_AsLongLongAndOverflow", value, overflow)  # -1 is a number: what overflows is seen
        f.require(f.compare("eq", f.load(overflow, "i32"), 0), "slow")
        return number

    def deliver(self, f: FunctionBuilder, array: Value) -> None:
        """Return a tensor of an array, and for what is not served call the slow callable."""
        f.ret(f.call("tensor_of", array, f.call("storage_of", array)))
        f.start("slow", falls_through=False)
        call_slowly(f, self.layouts)
