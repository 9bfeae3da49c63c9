"""The first tier: a long program answers its first call as it is written, an operator at a time.

A plan for a model takes a hundred times longer to make than the model takes to run; who wants one answer should not
wait for it. The second call has the plan made behind it (`background`), and calls are answered here until it is there;
later calls and later processes have it. A call that asks for gradients makes its plan itself. Programs that may run for
long, because they loop as often as a number says or call themselves, have a plan at once. So have those that compute
with numbers alone or are short, which programs from archives with operators on tensors never are: their plans are made
quickly, and may be what they need to be quick at all. Programs from archives with loops are tried all the same where
nobody can tell: once a loop has gone round often, the run is given up, and a plan answers.

Programs from archives are run from their text where nobody can tell (`program.written`): there is no graph then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.analysis.effects import own_writes
from flambeau.analysis.gradients import is_open
from flambeau.codegen.callable_type import MISSED
from flambeau.executor import background, gradients
from flambeau.executor.inlined_graph import reached_nodes
from flambeau.executor.lost_numbers import is_reading
from flambeau.executor.options import Options
from flambeau.executor.rehearsal import leaves_no_trace
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Node, Value
from flambeau.passes.inline import CALLS, callee_of
from flambeau.passes.recursion import Recursion
from flambeau.program.function import Function
from flambeau.program.written import GivenUpError
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import TensorType
from flambeau.tensor import dispatch
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.util import log
from flambeau.util.at_hand import TakesLongError, at_hand_only, trial
from flambeau.util.no_collection import no_collection
from flambeau.util.user_code import warn_user

FIRST_CALLS: Final = 1
"""Calls that the first tier answers before there is a plan, or one is begun."""
FAILED: Final = (
    "the plan of {name} could not be made, and each call of it is answered an operator at a time: {kind}: {error}"
)
LONG: Final = 32
"""Operators on tensors from which on a program is long: a plan takes 50 ms and more, running so many less than one."""
LONG_OF_ARCHIVES: Final = 1
"""The same of programs with loops that were loaded: who loads one may want a single answer, and code for layers takes
100 ms. Those without loops are always long."""
FEW: Final = 1 << 10
"""Iterations that a constant may ask for: a loop of so few takes no time."""

_TASKS: Final = frozenset(("prim::fork", "prim::awaitable"))


class FirstTier:
    """Of one function: whether calls are still answered as it is written, and how many were."""

    def __init__(self, function: Function, options: Options) -> None:
        self.is_on = options.tiered and options.backend == "native" and not options.verify
        """Whether the next call may be one for this tier."""
        self.calls = 0
        self.operators = 0
        """Of the program, once it was seen to be suited."""
        self.is_trial = False
        """Whether a call is given up when a loop has gone round often, for a plan to answer it."""
        self._function, self._options = function, options
        self._is_suited_program: bool | None = None
        """Whether programs like this one are for this tier; None before somebody looked."""
        self._needs_derivative = False
        """Whether gradients may have to go through numbers, or what is written over: the tape cannot do that."""
        self._is_open = False
        """Whether the program itself looks at the need of gradients, or sets it."""
        self._written = function.as_written if self.is_on else None
        """What answers before there is even a graph; None where nothing does, or no longer."""
        self._is_kept: bool | None = None
        """Whether an earlier process has left the plan for the first call; None before somebody looked."""
        self._job: background.Job | None = None
        """Makes the plan."""
        self._error: BaseException | None = None
        """Why it could not be compiled."""

    def call(
        self,
        arguments: Sequence[Any],
        make: Callable[[], None],
        is_kept: Callable[[], bool],
        prepare: Callable[[Sequence[Any]], Callable[[], Any] | None],
    ) -> Any:
        """The answer to a call; `MISSED` where a plan is to answer. `make` makes the plan for it, `is_kept` tells
        whether an earlier process has left it: then it is read quickly. `prepare` gives what runs the graph.
        """
        with_gradients = is_grad_enabled()
        result = self._run_text(arguments, make, is_kept, with_gradients=with_gradients)
        if result is MISSED and self._takes_call(arguments, make, is_kept, with_gradients=with_gradients):
            run = prepare(arguments)
            return MISSED if run is None else self._answer(run)
        return result

    def _takes_call(
        self, arguments: Sequence[Any], make: Callable[[], None], is_kept: Callable[[], bool], *, with_gradients: bool
    ) -> bool:
        """Whether the graph, as it is, answers the call that is made now; if so, the call counts."""
        if self._is_suited_program is None:
            self.is_on = self._is_suited_program = not self._has_plan(is_kept) and self._is_suited()
        if self.calls >= FIRST_CALLS and self.is_on and self._error is None:
            self.is_on = self._is_behind(arguments, make, with_gradients=with_gradients)
        if not self.is_on or (with_gradients and self._needs_derivative and self._may_ask(arguments)):
            return False
        self.calls += 1
        return True

    def _run_text(
        self, arguments: Sequence[Any], make: Callable[[], None], is_kept: Callable[[], bool], *, with_gradients: bool
    ) -> Any:
        """The answer of a program that is run as its text says, without a graph; `MISSED` where there is none."""
        program = self._written
        if program is None or self._has_plan(is_kept):
            return MISSED
        if (
            self.calls >= FIRST_CALLS
            and self._error is None
            and not self._is_behind(arguments, make, with_gradients=with_gradients)
        ):
            self.is_on, self._written = False, None
            return MISSED
        records = with_gradients and any(one is not False for one in gradients.asking(arguments))
        try:
            one_by_one = dispatch.intercepting(gradients.one_by_one) if records else contextlib.nullcontext()
            # The first run makes functions of the text, which stay.
            is_first = self.calls == 0
            with one_by_one, at_hand_only(), no_collection() if is_first else contextlib.nullcontext():
                result, self.operators = program.run(arguments, records=records)
        except GivenUpError as error:
            if log.level("executor"):
                log.write("executor", f"{self._function.short_name} is not run as it is written: {error}")
            self._written = None
            return MISSED
        self.calls += 1
        return result

    def _has_plan(self, is_kept: Callable[[], bool]) -> bool:
        if self._is_kept is None:
            self._is_kept = is_kept()
        return self._is_kept

    def _may_ask(self, arguments: Sequence[Any]) -> bool:
        """Whether anything that the call computes may ask for gradients."""
        return self._is_open or any(one is not False for one in gradients.asking(arguments))

    def _is_behind(self, arguments: Sequence[Any], make: Callable[[], None], *, with_gradients: bool) -> bool:
        """Whether the plan is being made behind the call that is made now, or could not be compiled."""
        job = self._job
        if job is not None and not job.is_over:
            return True
        if job is None or job.is_lost:
            asks = with_gradients and any(one is not False for one in gradients.asking(arguments))
            self._job = background.start(make) if background.is_wanted() and not asks else None
            return self._job is not None
        self._job, self._error = None, job.error
        for text, category in job.warnings:
            warn_user(text, category)
        if job.error is None:
            return False
        error = str(job.error).partition("\n")[0]
        text = FAILED.format(name=self._function.short_name, kind=type(job.error).__name__, error=error)
        warn_user(text, RuntimeWarning)
        return True

    def _answer(self, run: Callable[[], Any]) -> Any:
        """What a run gives whose operators run one at a time, by code that is at hand: one answer is waited for.
        `MISSED` where it takes long in a trial: then plans answer from now on."""
        try:
            with contextlib.ExitStack() as within:
                if self.is_trial and self._error is None:
                    within.enter_context(trial())
                within.enter_context(dispatch.intercepting(gradients.one_by_one))
                within.enter_context(at_hand_only())
                return run()
        except TakesLongError:
            self.calls -= 1
            self.end()
            return MISSED

    def end(self) -> None:
        """Have plans answer from now on, once what is made is there."""
        self.is_on = False
        job = self._job
        if job is not None:
            job.wait()

    @no_collection()
    def _is_suited(self) -> bool:
        """Whether the program is long and does not loop, or can be tried."""
        nodes = list(reached_nodes(self._function))
        self.operators = sum(map(_gives_tensor, nodes))
        if Recursion(callee_of).is_recursive(self._function):
            return False
        provenance = self._function.provenance
        is_loaded = provenance is not None and provenance.is_loaded
        least = LONG if not is_loaded else LONG_OF_ARCHIVES if _has_loop(nodes) else 0
        if self.operators < least or any(map(_may_take_long, nodes)):
            self.is_trial = is_loaded and _can_be_tried(self._function, nodes)
            if not self.is_trial:
                return False
        self._needs_derivative = any(is_reading(node) or own_writes(node) for node in nodes)
        self._is_open = self._needs_derivative and any(map(is_open, nodes))
        return True

    @property
    def note(self) -> str:
        """What `explain` says of it; empty where it answered nothing."""
        if not self.calls:
            return ""
        answered = (
            f"first tier: {self.calls} call{'s' * (self.calls > 1)} answered as the program is written"
            f"{f', {self.operators} operators one at a time' * bool(self.operators)}"
        )
        if self._error is not None:
            return f"{answered}, and all to come: the plan could not be made: {self._error}"
        if self._job is not None and not self._job.is_over:
            return f"{answered}; the plan is being made, fn.compile(*args) waits for it"
        return (
            f"{answered}, before there was a plan; "
            "fn.compile(*args) makes it beforehand, script(fn, tiered=False) at the first call"
        )


def _gives_tensor(node: Node) -> bool:
    """Whether a node is an operator that computes a tensor, or shows one otherwise."""
    return node.definition is not None and any(isinstance(v.static_type, TensorType) for v in node.results)


def _has_loop(nodes: Sequence[Node]) -> bool:
    return any(node.op == "prim::Loop" for node in nodes)


def _can_be_tried(function: Function, nodes: Sequence[Node]) -> bool:
    """Whether nobody can tell that a call was given up and begun again; tasks run where nobody gives them up."""
    return not any(node.op in _TASKS for node in nodes) and leaves_no_trace(function.frozen_graph)


def _may_take_long(node: Node) -> bool:
    """Whether a node loops as often as a number says, or calls what is decided at run time only."""
    if node.op == "prim::Loop":
        return not (_is_short(node.operand(0)) or _counts_shortly(node))
    return node.op in CALLS and callee_of(node) is None


def _counts_shortly(loop: Node) -> bool:
    """Whether a loop goes on only while a number that it counts up is below one that is small, as archives write loops
    over lists that may end early.
    """
    body = loop.nested_blocks[0]
    conditions = [body.returns[0]]
    for condition in conditions:
        node = condition.defining_node
        if node is not None and node.op == "aten::__and__":
            conditions += node.operands
        elif node is not None and node.op == "aten::lt":
            following, limit = node.operands
            is_fixed = limit.defining_node is None or limit.defining_node.owner_block is not body
            if is_fixed and _is_short(limit) and _is_counted_up(loop, following):
                return True
    return False


def _is_counted_up(loop: Node, following: Value) -> bool:
    """Whether a value of a loop's body is a number that every iteration makes larger, from a small one on."""
    body, node = loop.nested_blocks[0], following.defining_node
    if node is None or node.op != "aten::add" or node.owner_block is not body:
        return False
    steps = [k for k in map(_number, node.operands) if k is not None]
    carried = [k for k, v in enumerate(body.parameters[1:], 1) if v in node.operands and body.returns[k] is following]
    return any(0 < step <= FEW for step in steps) and any(_is_short(loop.operand(k + 1)) for k in carried)


def _number(value: Value) -> int | None:
    """The int that a value always is."""
    node = value.defining_node
    number = node.attributes.get("value") if node is not None and node.op == CONSTANT else None
    return number if type(number) is int else None


def _is_short(count: Value) -> bool:
    """Whether a number of iterations follows from lengths of lists, ranks, and small constants; those of tensors may be
    any.
    """
    waiting = [count]
    for value in waiting:
        node = value.defining_node
        if node is None or len(waiting) > FEW:
            return False
        if node.op == CONSTANT:
            number = node.attributes.get("value")
            if not isinstance(number, int) or abs(number) > FEW:
                return False
        elif node.op not in _followed_from:
            return False
        else:
            waiting += [v for v in _followed_from[node.op](node) if v not in waiting]
    return True


_followed_from = RuleTable[Callable[[Node], Sequence[Value]]]("small numbers: which operands have to be small as well")
_followed_from("aten::dim")(lambda node: ())
_followed_from("aten::len")(lambda node: node.operands if isinstance(node.operand(0).static_type, TensorType) else ())
_followed_from("aten::add", "aten::sub", "aten::__range_length", "prim::min", "prim::max")(lambda node: node.operands)
