"""Functions as source code in the language they were compiled from: what `.code` of a compiled function shows.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''
... graph(%x.1 : Tensor, %n.1 : int):
...   %2 : Tensor = my::op(%x.1, %n.1)
...   %y.1 : Tensor = my::op(%2, %n.1)
...   return (%y.1)
... ''')
>>> print(print_code(graph, name="f"), end="")
def f(x: Tensor,
    n: int) -> Tensor:
  return ops.my.op(ops.my.op(x, n), n)

The code means the graph: compiled again it gives an isomorphic one. Values of the graph become variables named after
them, single uses become nested expressions as far as that keeps the order of evaluation, the results of a conditional
are assigned in both of its arms, and those of a loop before it and at the end of its body.
"""

from __future__ import annotations

from typing import Any

from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph
from flambeau.passes import modified_loops
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.types import NONE, TupleType, Type
from flambeau.serialize.python_print_expressions import Context, SchemaLookup, registered_schema
from flambeau.serialize.python_print_literals import ConstantNamespace, ConstantTable, literal
from flambeau.serialize.python_print_statements import Statements, nodes_of
from flambeau.serialize.python_print_text import Body, Mark
from flambeau.util.depth import deep_recursion
from flambeau.util.markup import Listing
from flambeau.util.record import dataclass

_BETWEEN_PARAMETERS = ",\n    "


@dataclass(frozen=True, slots=True)
class PrintedCode:
    """Code, the values it mentions as `CONSTANTS.cN`, and where in the user's source each stretch of it came from.

    >>> from flambeau.ir import parse_ir
    >>> printed = print_with_marks(parse_ir("graph(%x):\\n  %y : Tensor = aten::neg(%x)\\n  return (%y)"), name="f")
    >>> printed.text.splitlines()[0], printed.constants
    ('def f(x: Tensor) -> Tensor:', ())
    """

    text: str
    constants: tuple[Any, ...]
    marks: tuple[Mark, ...]

    def namespace(self) -> ConstantNamespace:
        """The constants by the names that the code has for them."""
        return ConstantNamespace(self.constants)


def print_code(program: Function | Graph, *, name: str = "", is_method: bool = False) -> str:
    """The source of a function or a graph.

    `name` is what `def` calls it, for a function its own by default. A method's first parameter has no annotation.
    Loops that both count and test, which no statement of the language does, are printed as loops that test.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y : Tensor = aten::neg(%x)\\n  return (%y)")
    >>> print(print_code(graph, name='f'), end='')
    def f(x: Tensor) -> Tensor:
      return torch.neg(x)
    """
    return Listing(print_with_marks(program, name=name, is_method=is_method).text)


def print_code_with_constants(
    program: Function | Graph, *, name: str = "", is_method: bool = False
) -> tuple[str, ConstantNamespace]:
    """The source, and a namespace with the `c0`, `c1`, ... that it reads from `CONSTANTS`.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y : Tensor = aten::neg(%x)\\n  return (%y)")
    >>> text, constants = print_code_with_constants(graph, name="f")
    >>> constants.const_mapping
    {}
    """
    printed = print_with_marks(program, name=name, is_method=is_method)
    return Listing(printed.text), printed.namespace()


@deep_recursion()
def print_with_marks(
    program: Function | Graph,
    *,
    name: str = "",
    is_method: bool = False,
    depth: int = 0,
    schema: FunctionSchema | None = None,
    table: ConstantTable | None = None,
    operator_schema: SchemaLookup = registered_schema,
) -> PrintedCode:
    """The source with all that belongs to it.

    `depth` indents it, as in a class. `schema` gives parameter names, defaults and the result type in place of the
    function's own. Functions printed with one `table` number their constants together.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y : Tensor = aten::neg(%x)\\n  return (%y)")
    >>> print(print_with_marks(graph, name="f", depth=1).text, end="")
      def f(x: Tensor) -> Tensor:
        return torch.neg(x)
    """
    graph = program if isinstance(program, Graph) else program.graph
    if schema is None:
        schema = schema_of(name or graph.name or "graph", graph) if isinstance(program, Graph) else program.schema
    if any(map(modified_loops.is_modified, nodes_of(graph))):
        graph = clone_graph(graph)
        modified_loops.do(graph)
    own_name = name or (schema.name.rpartition(".")[2] if isinstance(program, Graph) else program.short_name)
    table = ConstantTable() if table is None else table
    body = Body()
    body.depth = depth
    statements = Statements(body, Context(table, operator_schema), graph)
    _signature(own_name, graph, schema, statements, is_method)
    body.depth += 1
    statements.function_body(graph)
    return PrintedCode(str(body), tuple(table.values), tuple(body.marks))


def _signature(name: str, graph: Graph, schema: FunctionSchema, statements: Statements, is_method: bool) -> None:
    parameters = []
    for index, (argument, value) in enumerate(zip(schema.arguments, graph.parameters, strict=True)):
        variable = statements.names.unique(argument.name)
        statements.bind(value, variable)
        annotation = "" if is_method and index == 0 else f": {argument.type.annotation}"
        parameters.append(variable + annotation + _default(argument, statements.context.constants))
    result = result_type(schema).annotation
    statements.body.line(None, f"def {name}({_BETWEEN_PARAMETERS.join(parameters)}) -> {result}:")


def _default(argument: Argument, table: ConstantTable) -> str:
    return f"={literal(argument.default, argument.type, table)}" if argument.has_default else ""


def result_type(schema: FunctionSchema) -> Type:
    """What a call gives: one type for all results together."""
    if len(schema.returns) == 1:
        return schema.returns[0].type
    return TupleType(tuple(r.type for r in schema.returns)) if schema.returns else NONE
