"""Texts into which values are put: `f"{name}: {count}"`, of ints and texts."""

from __future__ import annotations

from flambeau.codegen.graph import native_values
from flambeau.codegen.graph.containers.dicts import refuse_lanes
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.lowering_tables import lowers_on_texts
from flambeau.codegen.graph.native_values import CannotCompileError, Native, Scalar, TextValue, TupleValue, constant_of
from flambeau.codegen.graph.representation import Int
from flambeau.codegen.graph.texts.text_parts import joined
from flambeau.codegen.graph.texts.texts import as_text, new_text
from flambeau.ir.graph import Node


@lowers_on_texts("aten::format")
def format_(fn: EmittedFunction, node: Node) -> None:
    """`"{} and {}".format(...)`: further values are left aside."""
    template, values = literal_of(fn.values.get(node.operand(0))), [fn.values.get(v) for v in node.operands[1:]]
    pieces = template.split("{}") if isinstance(template, str) else []
    if not 0 < len(pieces) <= len(values) + 1:
        raise CannotCompileError("a template that is not known, or one for more values")
    values = values[: len(pieces) - 1]
    for value in values:
        if not (native_values.is_text(value.rep) or isinstance(value.rep, Int)):
            raise CannotCompileError(f"{native_values.describe(value.rep)} in a text, which Python writes")
    refuse_lanes(fn)
    written = [_written(fn, value) for value in values]
    parts: list[Native] = [constant_of(pieces[0])]
    for text, piece in zip(written, pieces[1:], strict=True):
        parts += [text, constant_of(piece)]
    empty = as_text(fn, constant_of(""))
    fn.values.set_new(node.result(), joined(fn, empty, TupleValue(tuple([p for p in parts if literal_of(p) != ""]))))
    for value, text in zip(values, written, strict=True):
        if isinstance(value, Scalar):
            fn.values.drop(text)


def _written(fn: EmittedFunction, value: Native) -> TextValue:
    return new_text(fn, "of_int", None, value.register) if isinstance(value, Scalar) else as_text(fn, value)
