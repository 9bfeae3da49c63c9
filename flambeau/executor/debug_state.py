"""What an executor holds, under the names that TorchScript's users ask for it by."""

from __future__ import annotations

from flambeau.executor.executor import Executor
from flambeau.executor.plan import ExecutionPlan
from flambeau.executor.profiling.profiled_function import ProfiledFunction
from flambeau.executor.profiling.switches import profiled_function
from flambeau.interpreter.code import Code
from flambeau.ir.graph import Graph
from flambeau.specialise.spec import describe

PROFILED = "profiled"


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
        self.execution_plans: dict[str, ExecutionPlan | ProfiledPlan] = {
            describe(plan.spec): plan for plan in executor.plans
        }
        """By what they rely on; `plan.graph` is optimised, `plan.code` what the interpreter runs. The one of the
        profiling executor is called `profiled`."""
        profiled = profiled_function(executor)
        if profiled is not None:
            self.execution_plans[PROFILED] = ProfiledPlan(profiled)


class ProfiledPlan:
    """What the profiling executor has for a function: while runs are counted, the graph that records."""

    def __init__(self, profiled: ProfiledFunction) -> None:
        self._profiled = profiled
        self.graph: Graph = profiled.latest_graph
        self.code = ProfiledCode(profiled)

    @property
    def loops(self) -> str:
        """The loop nests of the groups, with their schedules; empty while runs are counted."""
        return "".join(group.loops() for group in self._groups)

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR of the groups' native code; empty while runs are counted."""
        return "".join(group.llvm_ir() for group in self._groups)

    @property
    def _groups(self) -> tuple[Executor, ...]:
        specialised = self._profiled.specialised
        return () if specialised is None else specialised.groups

    @property
    def fallbacks(self) -> list[ProfiledPlan]:
        """What runs where guards fail, each with a graph of its own; none where plans are made by arguments."""
        specialised = self._profiled.specialised
        return [ProfiledPlan(one) for one in (specialised.fallbacks if specialised is not None else ())]


class ProfiledCode:
    """The guards of a function's graph, which TorchScript calls bailouts."""

    def __init__(self, profiled: ProfiledFunction) -> None:
        self._guards = profiled.guards
        self.bytecode: Code | None = None if profiled.specialised is None else profiled.specialised.code
        """What the interpreter runs; None while runs are counted."""

    def num_bailouts(self) -> int:
        """How many guards there are."""
        return len(self._guards)

    @property
    def failures(self) -> list[int]:
        """How often each guard did not hold."""
        return [guard.failures for guard in self._guards]

    def request_bailout(self, index: int) -> None:
        """Have a guard fail the next time that it is asked. Raises IndexError for one that is not there."""
        if not 0 <= index < len(self._guards):
            raise IndexError(f"there is no guard {index}: num_bailouts() is {len(self._guards)}")
        self._guards[index].is_refused = True
