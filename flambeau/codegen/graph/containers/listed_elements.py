"""Arrays as lists of their numbers, which are lists of lists for several axes: `x.tolist()`.

%l : int[] = prim::tolist(%x, %1, %0)    →    a new list; for each k: its item k is element k of %x
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.lowering_tables import lowers_on_tensors
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, ListValue, Scalar
from flambeau.codegen.graph.numbers.scalars import Operand, Registers
from flambeau.codegen.graph.representation import Bool, Float, Int, Listed, Representation
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import Category, DType
from flambeau.schema.types import BoolType, FloatType, IntType, ListType, Type

_NUMBERS: Final[dict[type[Type], tuple[Category, Bool | Int | Float, DType]]] = {
    BoolType: (Category.BOOL, Bool(), dtypes.bool_),
    IntType: (Category.INTEGER, Int(), dtypes.int64),
    FloatType: (Category.FLOAT, Float(), dtypes.float64),
}
"""By the type of the items: the category of the dtypes that they come from, and what they are here."""


@lowers_on_tensors("prim::tolist")
def listed(fn: EmittedFunction, node: Node) -> None:
    """A list that is of the rank and of the numbers that its type says; Python refuses others."""
    x = arrays.array(fn, node.operand(0))
    depth, element = 0, node.result().static_type
    while isinstance(element, ListType):
        depth, element = depth + 1, element.element
    category, rep, dtype = _NUMBERS.get(type(element), (None, None, None))
    if rep is None or dtype is None or fn.e.lanes > 1 or x.rep.dtype is dtypes.uint64:
        raise CannotCompileError("a list of such numbers in each iteration of a loop, or of such a dtype")
    if depth != x.rep.rank or x.rep.dtype.category is not category:
        raise CannotCompileError("a list whose type says another rank or other numbers than the tensor has")
    fn.values.set_new(node.result(), _list_of(fn, node, x, rep, dtype))


def _list_of(fn: EmittedFunction, node: Node, x: ArrayValue, rep: Bool | Int | Float, dtype: DType) -> ListValue:
    """The numbers along the one axis, or for each place of the first axis the list of the others."""
    item: Representation = rep
    for _ in range(x.rep.rank - 1):
        item = Listed(item)
    size = x.sizes[0]
    result = lists.new_list(fn, Listed(item), size)

    def put(k: Register) -> None:
        one = arrays.selected(fn, x, 0, k)
        if one.rep.rank:
            lists.put(fn, result, k, _list_of(fn, node, one, rep, dtype))
            return
        loaded = Operand(memory.load_element(fn.e, one.data, x.rep.dtype), x.rep.dtype)
        lists.put(fn, result, k, Scalar(rep, Registers(fn, node, is_exact=False).cast(loaded, dtype).register))

    each(fn, size, put)
    lists.set_length(fn, result, size)
    return result
