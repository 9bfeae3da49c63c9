"""Operators that write some places of a tensor: one kernel over arrays that writes into its first argument gives
`op_`, `op` (on a copy) and `op.out`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flambeau.ops.families.entry_kernel import EntryKernel, OwnEntry
from flambeau.ops.families.opaque import by_name, declare_out, unwrapped
from flambeau.ops.families.pointwise_layout import broadcast_known
from flambeau.ops.families.rules import same_dtype, same_shape
from flambeau.ops.families.variants import check_overlap, in_place_schema
from flambeau.schema.function import FunctionSchema, parse_schema
from flambeau.schema.opdef import Effect, ErrorSample, OpDef, Sample
from flambeau.schema.registry import register
from flambeau.schema.traits import PLAIN, Traits
from flambeau.tensor.array_library import copy_into, is_host_array, np
from flambeau.tensor.create import empty_strided
from flambeau.tensor.grad_mode import refuse_writing
from flambeau.tensor.layout import broadcast, preserved_strides, spreads_to
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.float_errors import begin, end


def overwrite(
    *schemas: str,
    kernel: Callable[..., None],
    outs: tuple[str, ...] = (),
    doc: str = "",
    samples: Callable[[], Iterable[Sample]] | None = None,
    errors: Callable[[], Iterable[ErrorSample]] | None = None,
    effect: Effect = Effect.NONE,
    has_functional: bool = True,
    has_in_place: bool = True,
    broadcasts: bool = False,
    is_function: bool = True,
    is_in_place_function: bool = False,
    accumulator: str = "",
    entry: str = "",
    traits: Traits = PLAIN,
    meets: Callable[..., tuple[Tensor, Sequence[Any]]] = lambda self, *rest: (self, rest),
) -> None:
    """Register the functional overloads in `schemas` with their in-place forms. `kernel` writes into its first array.

    `accumulator` is what generated loops know the functional form by, `entry` the native entry of the first one that
    small calls go to (`codegen.llvm.entry_copies`), `traits` are those of the in-place forms. With
    `broadcasts`, the functional form first expands its first argument to the size it has in common with the second.
    `meets` gives what is written to, and what is read meanwhile, which must not lie in the same memory in part.
    """
    for i, text in enumerate(schemas):
        schema = parse_schema(text)
        run = by_name(schema, kernel)
        first: dict[str, Any] = {"doc": doc, "samples": samples, "errors": errors} if i == 0 else {}
        common: dict[str, Any] = {"dtype": same_dtype_of_first, "shape": same_shape_of_first, "effect": effect}
        if has_functional:
            functional: Any = _functional(run, broadcasts)
            if entry and i == 0:
                functional = EntryKernel(schema.full_name, OwnEntry(entry), functional)
                functional.may_be_large = False
            fields = {**common, "shape": shape_of_first_two} if broadcasts else common
            fields = {**fields, "accumulator": accumulator}
            register(
                OpDef(schema=schema, family="overwrite", kernel=functional, is_function=is_function, **fields, **first)
            )
            if i < len(outs) and outs[i]:
                declare_out(schema, outs[i], functional, {"effect": effect, "is_function": is_function})
        if not has_in_place:
            continue
        changed = in_place_schema(schema)
        register(
            OpDef(
                schema=changed,
                family="overwrite",
                kernel=_in_place(run, schema, meets),
                is_function=is_in_place_function,
                traits=traits,
                **common,
                **(first if not has_functional else {}),
            )
        )


def same_dtype_of_first(*arguments: Any) -> Any:
    """The first argument's dtype."""
    return same_dtype(arguments[0])


def same_shape_of_first(*arguments: Any) -> Any:
    """The first argument's sizes."""
    return same_shape(arguments[0])


def shape_of_first_two(*arguments: Any) -> Any:
    """The sizes that the first two arguments have in common."""
    return broadcast_known([arguments[0].sizes, arguments[1].sizes])


def _functional(run: Callable[..., None], broadcasts: bool) -> Callable[..., Tensor]:
    def call(self: Tensor, *rest: Any) -> Tensor:
        array = self._array
        if broadcasts and not spreads_to(rest[0]._array.shape, array.shape):
            array = np.broadcast_to(array, broadcast(array.shape, rest[0]._array.shape))
        if array.flags.c_contiguous:
            fresh = np.empty(array.shape, array.dtype)
            copy_into(fresh, array)
        else:
            fresh = empty_strided(array.shape, preserved_strides(array.shape, _strides(array)), self.dtype)
            np.copyto(fresh, array)
        before = begin()
        try:
            run(fresh, *[r._array if type(r) is Tensor else unwrapped(r) for r in rest])
        finally:
            end(before)
        return wrap(fresh)

    return call


def _strides(array: Any) -> tuple[int, ...]:
    return tuple(s // array.itemsize for s in array.strides)


def _in_place(
    run: Callable[..., None], schema: FunctionSchema, meets: Callable[..., tuple[Tensor, Sequence[Any]]]
) -> Callable[..., Tensor]:
    def call(self: Tensor, *rest: Any) -> Tensor:
        check_writeable(self)
        check_overlap(*meets(self, *rest))
        before = begin()
        try:
            run(self._array, *[r._array if type(r) is Tensor else unwrapped(r) for r in rest])
        finally:
            end(before)
        self._storage.version += 1
        return self

    call.__name__ = schema.name.rpartition("::")[2] + "_"
    return call


def _is_writeable(array: Any) -> bool:
    return not is_host_array(array) or bool(array.flags.writeable)


def check_writeable(target: Tensor) -> None:
    """Raise RuntimeError for a tensor on read-only memory, or one made in `inference_mode()` outside of it."""
    if target._storage.version < 0:
        refuse_writing(target._storage.version)
    array = target._array
    if not (array.flags.writeable if type(array) is np.ndarray else _is_writeable(array)):
        raise RuntimeError(
            "the tensor's memory is read-only (it was made from a read-only NumPy array). Write to a copy, "
            "tensor.clone()."
        )
