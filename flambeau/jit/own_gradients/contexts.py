"""The methods of a custom function as functions without a context: what they keep in it are variables.

```
def forward(ctx, x, by):                       def forward(x, by):
    ctx.save_for_backward(x)                       _saved = (x,)
    ctx.by = by                           →        _by = by
    return x * x * by                              return x * x * by, (_saved, _by)

def backward(ctx, grad):                       def backward(grad, _saved, _by):
    (x,) = ctx.saved_tensors                       (x,) = _saved
    return grad * 2 * x * ctx.by, None    →        return grad * 2 * x * _by, None
```
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.frontend.source.python_source import innermost_function, parse_function
from flambeau.frontend.trees.conversion_rules import Context
from flambeau.frontend.trees.conversion_stack import run
from flambeau.frontend.trees.definition_conversion import define
from flambeau.frontend.trees.tree_views import Def

SAVED: Final = "saved_tensors"
FOR_FORWARD: Final = "saved_for_forward"
_SAVES: Final = {"save_for_backward": SAVED, "save_for_forward": FOR_FORWARD}
"""What each statement about a context assigns."""


class ContextError(Exception):
    """A context is used in a way that no variable stands for."""


def parameters_of(fn: Callable[..., Any]) -> list[str]:
    """The names of a method's parameters, all of which are given by position. Raises ContextError for others."""
    arguments = parse_function(fn)[1].args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise ContextError("parameters by name, or any number of them")
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]


def keeping(fn: Callable[..., Any]) -> tuple[Def, list[str]]:
    """The tree of a method that keeps something, of its parameters but the context: it returns a pair, of which the
    second is what is kept, in the order of the names that are given too. Raises ContextError."""
    text, node, context = _copied(fn)
    variables = _Variables(context, _names_in(node))
    node.body = _visited(variables, node.body)
    names = sorted(variables.assigned)
    returns = _Returns([variables.variable(name) for name in names])
    node.body = [returns.visit(statement) for statement in node.body]
    if not isinstance(node.body[-1], ast.Return):
        node.body.append(returns.visit(ast.copy_location(ast.Return(None), node.body[-1])))
    return _tree(text, node), names


def taking(
    fn: Callable[..., Any], names: Sequence[str], asks: Sequence[bool], *, goes_forward: bool = False
) -> tuple[Def, list[str]]:
    """The tree of a method that reads what was kept under these names, and those that it reads: its last parameters.
    `asks` is what it finds as `needs_input_grad`; one that `goes_forward` finds as saved what was saved for that.
    Raises ContextError for names that nothing was kept under."""
    text, node, context = _copied(fn)
    variables = _Variables(context, _names_in(node), asks)
    if goes_forward and FOR_FORWARD in names:
        variables.saved = FOR_FORWARD
    node.body = _visited(variables, node.body)
    if variables.assigned or not variables.read.issubset(names):
        raise ContextError("it reads what was not kept")
    read = sorted(variables.read)
    new = [ast.copy_location(ast.arg(variables.variable(name)), node.args.args[0]) for name in read]
    node.args.args = [*node.args.args, *new]
    return _tree(text, node), read


def _copied(fn: Callable[..., Any]) -> tuple[Any, ast.FunctionDef, str]:
    """The definition of a method without its first parameter, and the name of that."""
    parameters_of(fn)
    text, node = parse_function(innermost_function(fn))
    node = copy.deepcopy(node)
    node.decorator_list = []
    arguments = node.args.posonlyargs or node.args.args
    if not arguments or len(node.args.defaults) >= len(arguments):
        raise ContextError("no context")
    return text, node, arguments.pop(0).arg


def _visited(visitor: ast.NodeVisitor, body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements, each as one or several others."""
    listed = [visitor.visit(statement) for statement in body]
    return [one for several in listed for one in (several if isinstance(several, list) else [several])]


def _tree(text: Any, node: ast.FunctionDef) -> Def:
    node.returns = None
    ast.fix_missing_locations(node)
    context = Context(text, "", None)
    tree = run(context, define(context, node))
    assert isinstance(tree, Def)
    return tree


def _names_in(node: ast.AST) -> frozenset[str]:
    """All names in a definition."""
    named = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    return frozenset([*named, *[n.arg for n in ast.walk(node) if isinstance(n, ast.arg)]])


class _Variables(ast.NodeTransformer):
    """Puts variables in the place of what lies in a context."""

    def __init__(self, context: str, taken: frozenset[str], asks: Sequence[bool] = ()) -> None:
        self._context, self._asks = context, asks
        self._mark = "_"
        while any(name.startswith(self._mark) for name in taken):
            self._mark += "_"
        self.assigned: set[str] = set()
        self.read: set[str] = set()
        self.saved = SAVED
        """What `saved_tensors` means."""

    def variable(self, name: str) -> str:
        """The variable for what a context has under a name."""
        return f"{self._mark}{name}"

    def _is_context(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self._context

    def visit_Expr(self, node: ast.Expr) -> Any:
        """`ctx.save_for_backward(x, y)` is an assignment."""
        call = node.value
        function = call.func if isinstance(call, ast.Call) else None
        if not (isinstance(call, ast.Call) and isinstance(function, ast.Attribute)):
            return self.generic_visit(node)
        return self._saving(node, call, function.attr) if self._is_context(function.value) else self.generic_visit(node)

    def _saving(self, node: ast.Expr, call: ast.Call, method: str) -> ast.stmt:
        """The statement for a call of a context's method."""
        name = _SAVES.get(method)
        if method == "set_materialize_grads" and _is_true(call.args):
            return ast.copy_location(ast.Pass(), node)
        if name is None or call.keywords or name in self.assigned:
            raise ContextError(f"{self._context}.{method}")
        self.assigned.add(name)
        target = ast.copy_location(ast.Name(self.variable(name), ast.Store()), node)
        saved: Any = ast.copy_location(ast.Tuple([self.visit(one) for one in call.args], ast.Load()), node)
        if len(call.args) == 1 and isinstance(call.args[0], ast.Starred):
            saved = self.visit(call.args[0].value)
        elif any(isinstance(one, ast.Starred) for one in call.args):
            raise ContextError("several values from one")
        return ast.copy_location(ast.Assign([target], saved), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """`ctx.by` is a variable."""
        if not self._is_context(node.value):
            return self.generic_visit(node)
        if node.attr == "needs_input_grad" and self._asks and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Tuple([ast.Constant(one) for one in self._asks], ast.Load()), node)
        if node.attr.startswith("_") or node.attr in _REFUSED or isinstance(node.ctx, ast.Del):
            raise ContextError(f"{self._context}.{node.attr}")
        name = self.saved if node.attr == SAVED else node.attr
        (self.read if isinstance(node.ctx, ast.Load) else self.assigned).add(name)
        return ast.copy_location(ast.Name(self.variable(name), node.ctx), node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """`ctx.needs_input_grad[0]` is known."""
        own, index = node.value, node.slice
        is_asked = isinstance(own, ast.Attribute) and self._is_context(own.value) and own.attr == "needs_input_grad"
        number = index.value if isinstance(index, ast.Constant) else None
        if is_asked and isinstance(number, int) and 0 <= number < len(self._asks):
            return ast.copy_location(ast.Constant(self._asks[number]), node)
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> Any:
        """Of a branch on what is known, the statements that run."""
        test = self.visit(node.test)
        if not isinstance(test, ast.Constant):
            return self.generic_visit(node)
        return _visited(self, node.body if test.value else node.orelse) or ast.copy_location(ast.Pass(), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """Of a choice by what is known, the one that is taken."""
        test = self.visit(node.test)
        if not isinstance(test, ast.Constant):
            return self.generic_visit(node)
        return self.visit(node.body if test.value else node.orelse)

    def visit_Name(self, node: ast.Name) -> Any:
        """A context by itself is nothing that a variable stands for."""
        if self._is_context(node):
            raise ContextError(self._context)
        return node


_REFUSED: Final = frozenset({
    "save_for_backward", "save_for_forward", "mark_dirty", "mark_non_differentiable", "set_materialize_grads",
    "needs_input_grad", "materialize_grads", "dirty_tensors", "non_differentiable", "to_save", "name", "next_functions",
    "metadata", "register_hook", "register_prehook", "apply", "release", "keep", "edges", "sequence", "extras", "shown",
})  # fmt: skip
"""What contexts have besides what functions keep in them."""


def _is_true(arguments: Sequence[ast.expr]) -> bool:
    return len(arguments) == 1 and isinstance(arguments[0], ast.Constant) and arguments[0].value is True


class _Returns(ast.NodeTransformer):
    """Has a function return, beside its result, what it keeps."""

    def __init__(self, variables: Sequence[str]) -> None:
        self._variables = variables

    def visit_Return(self, node: ast.Return) -> Any:
        """A pair."""
        kept = ast.Tuple([ast.Name(name, ast.Load()) for name in self._variables], ast.Load())
        value = node.value or ast.Constant(None)
        return ast.copy_location(ast.Return(ast.Tuple([value, kept], ast.Load())), node)

    def _within(self, node: Any) -> Any:
        return node

    visit_FunctionDef = visit_Lambda = visit_AsyncFunctionDef = _within  # noqa: N815
