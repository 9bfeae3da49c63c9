"""Statements of printed code as functions of a frame: made once for code of equal text, run for each call of it.

A statement that printers do not write gives the run up when it is reached.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from flambeau.program.object import ScriptObject
from flambeau.program.written import GivenUpError
from flambeau.serialize.archive_reader.code_file import CodeFile
from flambeau.serialize.archive_reader.written_expressions import Expressions, gives_up
from flambeau.serialize.archive_reader.written_frame import GLOBALS, GOES_ON, Frame, Part


class Statements:
    """Makes what runs the statements of one piece of code."""

    def __init__(self, file: CodeFile, block: Callable[[int], Part] | None = None) -> None:
        """`block` makes what runs the block of a number, where numbers stand for blocks."""
        self._expressions = Expressions(file)
        self._number_block = block

    def body(self, statements: Sequence[ast.stmt], last_names: Sequence[Iterable[str]]) -> Part:
        """What gives what the statements of a function return; behind each, variables of such names go away."""
        steps = [(self._statement(one), tuple(names)) for one, names in zip(statements, last_names, strict=True)]
        count = len(steps)

        def run(frame: Frame) -> Any:
            frame.run.begin_steps(count)
            variables = frame.variables
            for step, names in steps:
                result = step(frame)
                if result is not GOES_ON:
                    return result
                for name in names:
                    if name in variables:
                        del variables[name]
            return None

        return run

    def _block(self, statements: Sequence[ast.stmt]) -> Part:
        if not statements:
            return _go_on
        if self._number_block is None:
            return Late(lambda: self.block(statements))
        match statements:
            case [ast.Expr(value=ast.Constant(value=int(number)))]:
                return Late(partial(self._number_block, number))
        return gives_up("it writes blocks in another way")

    def block(self, statements: Sequence[ast.stmt]) -> Part:
        """What gives what statements return, or `GOES_ON`."""
        steps = [self._statement(one) for one in statements if not isinstance(one, ast.Pass)]
        count = len(steps)

        def run(frame: Frame) -> Any:
            frame.run.begin_steps(count)
            for step in steps:
                result = step(frame)
                if result is not GOES_ON:
                    return result
            return GOES_ON

        return run

    def _statement(self, statement: ast.stmt) -> Part:
        rule = _STATEMENTS.get(type(statement))
        return gives_up(f"it writes {type(statement).__name__}") if rule is None else rule(self, statement)

    def _assign(self, statement: ast.Assign) -> Part:
        target = statement.targets[0]
        if len(statement.targets) > 1:
            return gives_up("it assigns to several")
        if isinstance(target, ast.Name) and target.id not in GLOBALS:
            return _set_variable(target.id, self._expressions.value(statement.value))
        if isinstance(target, ast.Attribute):
            return self._set_attribute(target, statement.value)
        names = [one.id for one in target.elts if isinstance(one, ast.Name)] if isinstance(target, ast.Tuple) else []
        if not isinstance(target, ast.Tuple) or len(names) != len(target.elts) or not GLOBALS.isdisjoint(names):
            return gives_up("it assigns to a part of something")
        results = self._expressions.results(statement.value)

        def run(frame: Frame) -> Any:
            values = results(frame)
            if not isinstance(values, list | tuple) or len(values) != len(names):
                raise GivenUpError("it takes something else apart")
            frame.variables.update(zip(names, values, strict=True))
            return GOES_ON

        return run

    def _set_attribute(self, target: ast.Attribute, value: ast.expr) -> Part:
        owner_of, value_of, name = self._expressions.value(target.value), self._expressions.value(value), target.attr

        def run(frame: Frame) -> Any:
            owner = owner_of(frame)
            if not isinstance(owner, ScriptObject):
                raise GivenUpError("it assigns to an attribute of something else than an object")
            frame.run.memory.set_attribute(owner, name, value_of(frame))
            return GOES_ON

        return run

    def _declare(self, statement: ast.AnnAssign) -> Part:
        target = statement.target
        if not isinstance(target, ast.Name) or statement.value is None or target.id in GLOBALS:
            return gives_up("it declares something without a value")
        return _set_variable(target.id, self._expressions.of_type(statement.annotation, statement.value))

    def _return(self, statement: ast.Return) -> Part:
        return _nothing if statement.value is None else self._expressions.value(statement.value)

    def _branch(self, statement: ast.If) -> Part:
        test = self._expressions.value(statement.test)
        ways = {True: self._block(statement.body), False: self._block(statement.orelse)}

        def run(frame: Frame) -> Any:
            return ways[_condition(test(frame))](frame)

        return run

    def _while(self, statement: ast.While) -> Part:
        test, body = self._expressions.value(statement.test), self._block(statement.body)

        def run(frame: Frame) -> Any:
            while _condition(test(frame)):
                frame.run.begin_round()
                result = body(frame)
                if result is not GOES_ON:
                    return result
            return GOES_ON

        return run if not statement.orelse else gives_up("a loop has an else")

    def _for(self, statement: ast.For) -> Part:
        source, target = statement.iter, statement.target
        is_range = isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range"
        if not is_range or not isinstance(target, ast.Name) or target.id in GLOBALS or statement.orelse:
            return gives_up("it loops over something else than numbers")
        assert isinstance(source, ast.Call)
        if len(source.args) != 1 or source.keywords:
            return gives_up("it loops over something else than numbers")
        name, body, count_of = target.id, self._block(statement.body), self._expressions.value(source.args[0])

        def run(frame: Frame) -> Any:
            count = count_of(frame)
            if type(count) is not int or "range" in frame.variables:
                raise GivenUpError("it loops over something else than numbers")
            for number in range(count):
                frame.run.begin_round()
                frame.variables[name] = number
                result = body(frame)
                if result is not GOES_ON:
                    return result
            return GOES_ON

        return run

    def _do(self, statement: ast.Expr) -> Part:
        results = self._expressions.results(statement.value)

        def run(frame: Frame) -> Any:
            results(frame)
            return GOES_ON

        return run


class Late:
    """A part that is made when it is first reached: most branches never are.

    >>> part = Late(lambda: print("made") or (lambda frame: 1))
    >>> part(None), part(None)
    made
    (1, 1)
    """

    __slots__ = ("_make", "_part")

    def __init__(self, make: Callable[[], Part]) -> None:
        self._make = make
        self._part: Part | None = None

    def __call__(self, frame: Frame) -> Any:
        part = self._part
        if part is None:
            part = self._part = self._make()
        return part(frame)


def _set_variable(name: str, value: Part) -> Part:
    def run(frame: Frame) -> Any:
        frame.variables[name] = value(frame)
        return GOES_ON

    return run


def _nothing(frame: Frame) -> Any:
    return None


def _go_on(frame: Frame) -> Any:
    return GOES_ON


def _condition(value: Any) -> bool:
    if type(value) is not bool:
        raise GivenUpError("a condition is no bool")
    return value


_STATEMENTS: Final[Mapping[type[ast.stmt], Callable[[Statements, Any], Part]]] = {
    ast.Assign: Statements._assign, ast.AnnAssign: Statements._declare, ast.Return: Statements._return,
    ast.If: Statements._branch, ast.While: Statements._while, ast.For: Statements._for, ast.Expr: Statements._do,
    ast.Pass: lambda statements, node: _go_on,
}  # fmt: skip
