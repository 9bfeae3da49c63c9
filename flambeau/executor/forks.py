"""What runs the tasks that a plan forks: an executor for each fork, so that tasks have plans and native code.

Native code works on copies of lists and dicts. A task that changes one it is given, or gives one on, is interpreted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, cast

from flambeau.analysis.alias import AliasAnalysis
from flambeau.codegen.callable_type import MISSED
from flambeau.executor.options import Options
from flambeau.executor.task_waits import calls_python, waits_for_others
from flambeau.interpreter.fork_site import ForkSite
from flambeau.interpreter.select import SITE
from flambeau.interpreter.task_length import TaskLength, length_of
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node
from flambeau.ir.printer import SUBGRAPH
from flambeau.passes.inline import callee_of
from flambeau.program.function import Function
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.types import AnyType, ClassType, DictType, InterfaceType, ListType, Type
from flambeau.util.inversions import TASK_EXECUTOR
from flambeau.util.record import replace

FORK = "prim::fork"


class TaskExecutor(Protocol):
    """What is needed of the executor of a task."""

    @property
    def fast_path(self) -> Callable[..., Any] | None:
        """The native entry of the arguments it ran with last; it gives `MISSED` for others."""

    @property
    def latest_graph(self) -> Graph | None:
        """The graph that ran last."""

    def __call__(self, *arguments: Any) -> Any: ...


def attach_tasks(graph: Graph, options: Options) -> list[ForkSite]:
    """Say what runs the tasks of each fork of a plan's graph: executors with the plan's options."""
    sites = []
    for node in graph.find_all(FORK):
        body: Graph = node.attributes[SUBGRAPH]
        own = replace(options, backend="interpreter") if _shares_containers(body) else options
        called = _called(body)
        executor: TaskExecutor
        if called is not None and getattr(called.runner, "options", None) == own:
            executor = cast("TaskExecutor", called.runner)
        else:
            executor = TASK_EXECUTOR.implementation(_function(node, body), own)
        length = TaskLength(blocks=calls_python(body))
        site = node.attributes[SITE] = ForkSite(partial(_run, executor), partial(_waits, executor), length)
        sites.append(site)
    return sites


def site_of(run: Callable[..., Any], executor: TaskExecutor) -> ForkSite:
    """What makes tasks that call a compiled function from Python."""
    return ForkSite(run, partial(_waits, executor), length_of(run))


def _waits(executor: TaskExecutor) -> bool | None:
    graph = executor.latest_graph
    return None if graph is None else waits_for_others(graph)


def _run(executor: TaskExecutor, *arguments: Any) -> Any:
    fast_path = executor.fast_path
    result = MISSED if fast_path is None else fast_path(*arguments)
    return executor(*arguments) if result is MISSED else result


def _called(body: Graph) -> Function | None:
    """The function that a task consists of calling with what it is given."""
    nodes = [node for node in body.body if node.op != CONSTANT]
    if len(nodes) != 1 or nodes[0].op != "prim::CallFunction":
        return None
    (call,) = nodes
    callee = callee_of(call)
    is_passed_on = list(call.operands[1:]) == list(body.parameters) and list(call.results) == list(body.returns)
    return callee if is_passed_on else None


def _function(node: Node, body: Graph) -> Function:
    name = node.op.rpartition("::")[2]
    arguments = tuple([Argument(f"a{k}", v.static_type) for k, v in enumerate(body.parameters)])
    returns = tuple([Argument("", v.static_type) for v in body.returns])
    return Function(name, body, FunctionSchema(name, "", arguments, returns))


def _shares_containers(body: Graph) -> bool:
    """Whether anybody could tell a container of the task's from a copy."""
    containers = [v for v in body.parameters if _holds_containers(v.static_type)]
    if not containers:
        return False
    aliases = AliasAnalysis(body)
    are_written = any(aliases.has_writers(v) for v in containers)
    return are_written or any(_holds_containers(v.static_type) for v in body.returns)


def _holds_containers(type_: Type) -> bool:
    """Whether values of a type are lists or dicts, or have some in them, those within objects left aside."""
    if isinstance(type_, ClassType | InterfaceType):
        return False
    return isinstance(type_, ListType | DictType | AnyType) or any(map(_holds_containers, type_.contained))
