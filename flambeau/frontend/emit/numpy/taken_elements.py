"""Elements at indices: `x.take`, with NumPy's modes for indices that are not there, and `x.compress`.

x.take(i, axis=1)    →    aten::index_select(%x, 1, %i), of indices counted from the front
"""

from __future__ import annotations

from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy.array_promotion import dtype_and_rank, is_array
from flambeau.frontend.emit.numpy.method_calls import Call, constant_text
from flambeau.ir.graph import Value
from flambeau.schema.array_type import array_of
from flambeau.schema.dtype import int64
from flambeau.schema.types import INT, ListType
from flambeau.util.errors import CompileError


def take(c: Call, *, counts_back: bool = True) -> Value:
    """Elements at indexes; `counts_back`: where some may be negative, which count from the end."""
    axis = c.number("axis")
    array = c.op("reshape", c.array, [-1]) if axis is None else c.array
    indices = c.arguments["indices"]
    if isinstance(indices.static_type, ListType):
        indices = c.op("tensor", indices)
        indices.set_type(array_of(int64, 1))
    if is_array(indices) and dtype_and_rank(indices, c.where)[0].is_integral:
        indices = arrays.converted(c.e, indices, int64)
    axis = 0 if axis is None else axis
    if indices.static_type == INT and c.given("mode") is None:  # an element, or a line
        return c.op("select", array, axis, indices)
    if indices.static_type == INT:
        one = c.op("unsqueeze", _whole(c, indices), 0)
        lines = c.op("index_select", array, axis, _in_range(c, one, c.op("size", array, axis)))
        return c.op("select", lines, axis, 0)
    if counts_back:
        indices = _in_range(c, indices, c.op("size", array, axis))
    if not is_array(indices) or arrays.known_rank(indices) in (None, 1):
        return c.op("index_select", array, axis, indices)
    (dtype, rank), more = dtype_and_rank(array, c.where), dtype_and_rank(indices, c.where)[1]
    lines = c.op("index_select", array, axis, c.op("reshape", indices, [-1]))
    before, behind = ([c.op("size", array, k) for k in ks] for ks in (range(axis % rank), range(axis % rank + 1, rank)))
    result = c.op("reshape", lines, [*before, *(c.op("size", indices, k) for k in range(more)), *behind])
    result.set_type(array_of(dtype, rank - 1 + more))
    return result


def _whole(c: Call, number: Value) -> Value:
    """An int as an array without dimensions."""
    scalar = c.op("tensor", number)
    scalar.set_type(array_of(int64, 0))
    return scalar


def _in_range(c: Call, indices: Value, size: Value) -> Value:
    """Indices as the mode of `take` means them: "raise" counts negative ones from the end, "wrap" counts on from the
    start, "clip" stays at the ends."""
    mode = c.given("mode")
    text = "raise" if mode is None else constant_text(mode)
    if text not in ("raise", "wrap", "clip") or (text != "raise" and not is_array(indices)):
        raise CompileError("take has the modes raise, wrap and clip, of arrays of indices, written out here", c.where)
    if text == "wrap":
        return c.op("remainder", indices, size)
    if text == "clip":
        return c.op("clamp", indices, 0, c.op("sub", size, 1))
    counted = c.op("where", c.op("lt", indices, 0), c.op("add", indices, size), indices)
    counted.set_type(indices.static_type)
    return counted


def compress(c: Call) -> Value:
    """The elements, or the lines along an axis, where a condition holds."""
    indices = c.op("reshape", c.op("nonzero", c.arguments["condition"]), [-1])
    indices.set_type(array_of(int64, 1))
    c.arguments = {"indices": indices, **{k: v for k, v in c.arguments.items() if k == "axis"}}
    return take(c, counts_back=False)
