"""What an executor holds, under the names that TorchScript's users ask for it by."""

from __future__ import annotations

from flambeau.executor.executor import Executor
from flambeau.executor.plan import ExecutionPlan
from flambeau.ir.graph import Graph
from flambeau.specialise.spec import describe


class DebugState:
    """The graph as compiled and the plans at one moment.

    >>> import flambeau
    >>> unit = flambeau.CompilationUnit("def f(x: Tensor): return x + x")
    >>> y = unit.f(flambeau.ones(2))
    >>> list(unit.f.get_debug_state().execution_plans)
    ['float32[*]']
    """

    def __init__(self, executor: Executor) -> None:
        self.graph: Graph = executor.function.graph
        """As compiled, before any pass."""
        self.execution_plans: dict[str, ExecutionPlan] = {describe(plan.spec): plan for plan in executor.plans}
        """By what they rely on; `plan.graph` is optimised, `plan.code` what the interpreter runs."""
