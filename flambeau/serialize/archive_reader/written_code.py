"""The code of an archive run as it is written, for a first answer that need not wait for graphs.

    x1 = (conv1).forward(x, )      an attribute's value, a method of its class, which is run in turn
    x2 = torch.relu(x1)            the operator, as it is called from Python, for the values that are there

Printed code is small: names, calls, attributes, branches, loops over numbers (`written_statements`,
`written_expressions`). What is not among that, what fails, and what somebody could tell from a run that was begun twice
is given up for the graph (`GivenUpError`): random numbers, messages, tasks, long loops. So errors are the graph's. What
a run has written to by then is made what it was before (`written_memory`). What a function takes and returns is looked
at as its types say.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flambeau.frontend.scopes.name_resolution import Names
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.interpreter.conform import conforms
from flambeau.program.function import Function
from flambeau.program.unit import CompilationUnit
from flambeau.program.written import GivenUpError
from flambeau.schema.function import NO_DEFAULT
from flambeau.schema.types import BoolType, FloatType, IntType, StringType, TensorType, Type
from flambeau.serialize.archive_reader.code_file import CodeFile, last_words
from flambeau.serialize.archive_reader.code_parts import CodeParts, Outline, outlined
from flambeau.serialize.archive_reader.upgrades import meant_the_same, upgrade_of
from flambeau.serialize.archive_reader.written_frame import Frame, Part, Run
from flambeau.serialize.archive_reader.written_memory import ForeignMemory
from flambeau.serialize.archive_reader.written_operators import Call, holds_tensor
from flambeau.serialize.archive_reader.written_plans import Plans, is_direct
from flambeau.serialize.archive_reader.written_statements import Statements
from flambeau.tensor.tensor import Tensor
from flambeau.util.depth import deep_recursion
from flambeau.util.locks import NoForkLock

MOST_ROUNDS: Final = 200
"""Rounds of loops in a run: a program that loops more often is one for native code."""
MOST_STEPS: Final = 50_000
"""Statements in a run."""
DEEPEST: Final = 64
"""Calls within calls."""


class WrittenCode:
    """What the runs of an archive's code share: what names and types in it mean."""

    def __init__(
        self, unit: CompilationUnit, names: Names, constants: Sequence[Any], version: int, lock: NoForkLock,
        parts: CodeParts,
    ) -> None:  # fmt: skip
        """`lock` is held while the unit defines what is named."""
        self.constants = constants
        self._unit, self._names, self._version, self._lock = unit, names, version, lock
        self._named: dict[str, Function | Type | None] = {}
        self._types: dict[str, Type] = {}
        self._bodies: dict[str, Part] = {}
        """What runs statements, by their text."""
        self._parts = parts
        self.plans = Plans()

    def named(self, name: str) -> Function | Type | None:
        """The function or type of a qualified name; None if there is none."""
        if name not in self._named:
            with self._lock:
                self._named[name] = self._unit.find_type(name) or self._unit.find_function(name)
        return self._named[name]

    def type(self, file: CodeFile, annotation: ast.expr) -> Type:
        """The type that is written for something."""
        text = file.text(annotation)
        known = self._types.get(text)
        if known is None:
            known = self._parts.plain_type(text)
            if known is None:
                with self._lock:
                    known = type_of_tree(file.expression(annotation), self._names)
            self._types[text] = known
        return known

    def body_of(self, file: CodeFile, node: ast.FunctionDef) -> Part:
        """What runs the statements of a function. Raises FrontendError for code that is nested too deeply."""
        file.check_nesting(node)
        return Statements(file).body(node.body, file.last_words(node.body))

    def body(self, text: str) -> Part:
        """The same of the text of statements, of which blocks are parsed when something goes into them."""
        known = self._bodies.get(text)
        if known is None:
            outline = outlined(text)
            file, node = self._parts.body(text if outline is None else outline.text)
            if outline is None or len(outline.statements) != len(node.body):
                known = self.body_of(*self._parts.body(text))
            else:
                known = self._statements(file, outline).body(node.body, last_words(outline.statements))
            self._bodies[text] = known
        return known

    def _block(self, text: str) -> Part:
        outline = outlined(text)
        file, node = self._parts.body(text if outline is None else outline.text)
        return self._statements(file, outline).block(node.body)

    def _statements(self, file: CodeFile, outline: Outline | None) -> Statements:
        return Statements(file, None if outline is None else lambda number: self._block(outline.blocks[number]))

    def qualified(self, name: str, values: Sequence[Any], keywords: Mapping[str, Any]) -> str:
        """The operator that `torch.name` is for such values. Raises GivenUpError for one that meant something else."""
        if upgrade_of(name, self._version) is not None and not meant_the_same(name, values, keywords):
            raise GivenUpError(f"torch.{name} meant something else in version {self._version}")
        return f"aten::{name}"


class WrittenFunction:
    """The code of one function."""

    def __init__(self, function: Function, make_body: Callable[[], Part], around: WrittenCode) -> None:
        self._make_body, self._function, self._around = make_body, function, around
        self._body: Part | None = None
        self._checks: list[tuple[str, Type, type | None]] = []
        """Of each parameter the name, the type, and the class that its values have; once there was a call."""
        self._result = function.schema.returns[0].type
        self._exact_result: type | None = None

    def run(self, arguments: Sequence[Any], *, records: bool) -> tuple[Any, int]:
        """The result, and how many operators ran. Raises GivenUpError for what the graph is to answer."""
        run = _Run(self._around, records=records)
        for value in arguments:
            run.memory.add(value)
        try:
            with deep_recursion():
                return run.call(self._function, arguments, {}), run.operators
        except GivenUpError:
            run.memory.restore()
            raise
        except Exception as error:
            run.memory.restore()
            raise GivenUpError(f"{type(error).__name__}: {error}") from error
        except BaseException:
            run.memory.restore()
            raise

    def call(self, run: Run, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """What a call within a run gives."""
        body = self._body
        if body is None:
            self._checks = [(a.name, a.type, _exactly(a.type)) for a in self._function.schema.arguments]
            self._exact_result = _exactly(self._result)
            body = self._body = self._make_body()
        result = body(Frame(run, self._variables(arguments, keywords)))
        if type(result) is not self._exact_result and not conforms(result, self._result):
            raise GivenUpError(f"{self._function.name} returns another type")
        return result

    def _variables(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The variables that a call begins with: parameters with what it gives them, or their defaults."""
        checks = self._checks
        if keywords or len(arguments) != len(checks):
            arguments = self._completed(arguments, keywords)
        variables = {}
        for value, (name, type_, exact) in zip(arguments, checks, strict=True):
            if type(value) is not exact and not conforms(value, type_):
                raise GivenUpError(f"{self._function.name} is given another type for {name}")
            variables[name] = value
        return variables

    def _completed(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
        """All arguments, in order."""
        name, schema = self._function.name, self._function.schema
        positional = schema.positional
        if len(arguments) > len(positional) or any(one not in schema.index for one in keywords):
            raise GivenUpError(f"{name} does not take such arguments")
        by_name = {formal.name: value for formal, value in zip(positional, arguments, strict=False)}
        if by_name.keys() & keywords.keys():
            raise GivenUpError(f"{name} is given an argument twice")
        by_name.update(keywords)
        values = [by_name.get(formal.name, formal.default) for formal in schema.arguments]
        for formal, value in zip(schema.arguments, values, strict=True):
            if value is NO_DEFAULT or (value is formal.default and isinstance(value, list | dict)):
                raise GivenUpError(f"{name} is given another type for {formal.name}")
        return values


def _exactly(type_: Type) -> type | None:
    """The class whose values are all of a type; None where there is more to look at."""
    if isinstance(type_, TensorType):
        return Tensor if type_.dtype is None and type_.sizes is None else None
    return _EXACTLY.get(type(type_))


_EXACTLY: Final[Mapping[type[Type], type]] = {IntType: int, FloatType: float, BoolType: bool, StringType: str}


class _Run:
    """One call from outside, with all calls within it."""

    def __init__(self, around: WrittenCode, *, records: bool) -> None:
        self._plans, self._records, self._is_direct = around.plans, records, is_direct(records=records)
        self.constants, self.named, self.type, self.qualified = (
            around.constants, around.named, around.type, around.qualified,
        )  # fmt: skip
        self.memory = ForeignMemory()
        self.operators = self._rounds = self._steps = self._depth = 0

    def call(self, function: Function, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """The result of a function of the archive."""
        written, provenance = function.as_written, function.provenance
        if not isinstance(written, WrittenFunction) or provenance is None or provenance.is_over:
            raise GivenUpError(f"{function.name} may have been changed")
        if self._depth >= DEEPEST:
            raise GivenUpError("calls within calls")
        self._depth += 1
        try:
            return written.call(self, arguments, keywords)
        finally:
            self._depth -= 1

    def operator(self, call: Call) -> tuple[Any, int]:
        """The results of an operator, and how many they are."""
        result, count = self._plans.run(call, self.memory, records=self._records, is_direct=self._is_direct)
        self.operators += isinstance(result, Tensor) or holds_tensor(result)
        return result, count

    def begin_round(self) -> None:
        """Count a round of a loop."""
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            raise GivenUpError("it loops often")

    def begin_steps(self, count: int) -> None:
        """Count statements."""
        self._steps += count
        if self._steps > MOST_STEPS:
            raise GivenUpError("it takes many steps")
