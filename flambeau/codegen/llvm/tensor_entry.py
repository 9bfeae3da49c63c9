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
        given = f.op("and", nargsf, ARGUMENT_COUNT)
        known = f.compare("eq", given, counts[0])
        for count in counts[1:]:
            known = f.op("or", known, f.compare("eq", given, count))
        f.require(known, "slow")
        return f, args, given

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

    def deliver(self, f: FunctionBuilder, array: Value) -> None:
        """Return a tensor of an array, and for what is not served call the slow callable."""
        f.ret(f.call("tensor_of", array, f.call("storage_of", array)))
        f.start("slow", falls_through=False)
        call_slowly(f, self.layouts)
