"""Passes one after the other, in an order that constraints ask for, perhaps until nothing changes.

>>> from flambeau import fx
>>> def drop_dead(module):
...     return PassResult(module, module.graph.eliminate_dead_code())
>>> result = PassManager([drop_dead])(fx.symbolic_trace(lambda x: x + 1))
>>> result.modified
False
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final

from flambeau.fx.graph_module import GraphModule
from flambeau.fx.passes.infra.pass_base import PassResult
from flambeau.nn.module import Module

Pass = Callable[[Any], Any]
Constraint = Callable[[Pass, Pass], bool]
"""Whether a pass may come somewhere before another."""
FAILED: Final = "An error occurred when running the '{name}' pass after the following passes: {before}"
NO_RESULT: Final = "The result of the pass {name} should be type PassResult. Wrap it with pass_result_wrapper()"
VIOLATED: Final = (
    "pass schedule constraint violated. Expected {other} before {one} but found {one} at index {i} and {other} at "
    "index {j} in pass list."
)
CYCLE: Final = "Circular dependency detected within the following passes: {names}"


def pass_result_wrapper(fn: Pass) -> Pass:
    """A function that changes a module, as a pass: whatever it gives, what comes is a `PassResult`.

    >>> from flambeau import fx
    >>> pass_result_wrapper(lambda module: None)(fx.symbolic_trace(lambda x: x)).modified
    True
    """

    @wraps(fn)
    def run(module: Any) -> PassResult:
        result = fn(module)
        if isinstance(result, PassResult):
            return result
        return PassResult(module if result is None else result, True)

    return run


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """The constraint that one pass comes before another.

    >>> this_before_that_pass_constraint(len, repr)(repr, len)
    False
    """
    return lambda a, b: not (a is that and b is this)


class PassManager:
    """Runs passes in order.

    Args:
        passes: called with a module; they give a `PassResult`, or None where they changed nothing.
        constraints: each says of two passes whether the first may come somewhere before the second.
        steps: how often all of them run, at most: until nothing changes.
        run_checks_after_each_pass: whether `check` looks at the module behind each, and not only at the end.
        suppress_check_failures: whether errors of checks are ignored.
    """

    def __init__(
        self, passes: Sequence[Pass] | None = None, constraints: Sequence[Constraint] | None = None,
        steps: int | None = None, run_checks_after_each_pass: bool = False, suppress_check_failures: bool = False,
    ) -> None:  # fmt: skip
        self.passes: list[Pass] = list(passes or ())
        self.constraints: list[Constraint] = list(constraints or ())
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures

    def add_pass(self, _pass: Pass) -> None:
        """One more pass, behind the others."""
        self.passes.append(_pass)

    def add_constraint(self, constraint: Constraint) -> None:
        """One more constraint."""
        self.constraints.append(constraint)

    def validate_constraints(self) -> None:
        """Raise RuntimeError where passes do not come as constraints want them."""
        for i, one in enumerate(self.passes):
            for j, other in enumerate(self.passes[i + 1 :], i + 1):
                if not all(allows(one, other) for allows in self.constraints):
                    raise RuntimeError(VIOLATED.format(one=_name(one), other=_name(other), i=i, j=j))

    def solve_constraints(self) -> None:
        """Bring the passes into an order that the constraints allow. Raises RuntimeError if there is none."""
        left, order = list(self.passes), list[Pass]()
        while left:
            able = (p for p in left if all(allows(p, q) for q in left if q is not p for allows in self.constraints))
            first = next(able, None)
            if first is None:
                raise RuntimeError(CYCLE.format(names=[_name(one) for one in left]))
            left.remove(first)
            order.append(first)
        self.passes = order

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Have a function look at the module. Raises TypeError for one that takes another number of arguments."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign]

    def check(self, module: Module) -> None:
        """Called with the module at the end, or behind each pass: raises where it is not as it should be."""

    def __call__(self, module: Module) -> PassResult:
        """What the passes make of a module. What a pass raises comes out as its class, with its name in the text."""
        self.validate_constraints()
        self._checked(module)
        changed = False
        for _ in range(self.steps):
            module, again = self._once(module)
            changed = changed or again
            if not again:
                break
        self._checked(module)
        assert isinstance(module, GraphModule)
        return PassResult(module, changed)

    def _once(self, module: Any) -> tuple[Any, bool]:
        """All passes once: the module, and whether one of them changed something."""
        changed, before = False, list[str]()
        for one in self.passes:
            try:
                result = one(module)
                if result is not None and not isinstance(result, PassResult):
                    raise TypeError(NO_RESULT.format(name=_name(one)))
                if result is not None:
                    module, changed = result.graph_module, changed or result.modified
                if isinstance(module, GraphModule):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self._checked(module)
            except Exception as error:
                raise Exception(FAILED.format(name=_name(one), before=before)) from error
            before.append(_name(one))
        return module, changed

    def _checked(self, module: Any) -> None:
        try:
            self.check(module)
        except Exception:
            if not self.suppress_check_failures:
                raise


def _name(one: Any) -> str:
    return one.__name__ if inspect.isfunction(one) else type(one).__name__
