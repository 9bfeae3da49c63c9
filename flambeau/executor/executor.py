"""Runs a function: finds the plan for the arguments at hand, or makes it; keeps some plans; can tell what it did."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from flambeau.analysis.gradients import Flow, is_open
from flambeau.autodiff import expanded_operators as _expanded_operators  # noqa: F401  (operators that plans write as others)
from flambeau.codegen.callable_type import MISSED, DispatchStub
from flambeau.executor import (
    asking_calls,
    compiled_calls,
    gradients,
    latest,
    listing,
    lost_numbers,
    recomputed_calls,
    recording,
    repeated_calls,
    stored,
)
from flambeau.executor import changed_graphs as _changed_graphs  # noqa: F401  (what changes of graphs mean)
from flambeau.executor import provided_kernels as _provided_kernels  # noqa: F401  (what operators find then)
from flambeau.executor.compiled_gradients import GradientPlan, Refusal
from flambeau.executor.derivatives import Derivatives
from flambeau.executor.explain import caches_of, compilation_of, compilations_of
from flambeau.executor.explanation_notes import notes_of
from flambeau.executor.first_tier import FirstTier
from flambeau.executor.inlined_graph import has_node, inlined_graph
from flambeau.executor.one_by_one import runs_one_by_one
from flambeau.executor.options import Options
from flambeau.executor.plan import ExecutionPlan, make_plan, plan_of_read
from flambeau.executor.precisions import Precisions, alone
from flambeau.executor.prepared_graph import PreparedGraph
from flambeau.executor.read_plan import ReadPlan
from flambeau.executor.repeated_calls import RepeatedCall
from flambeau.executor.report import Explanation
from flambeau.executor.views import Views
from flambeau.interpreter import reference
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import code_of
from flambeau.interpreter.machine import run
from flambeau.interpreter.suspended import run_suspended
from flambeau.program.function import Function
from flambeau.program.shared import SHARED
from flambeau.schema.types import AnyClassType, AnyType, NamedType, Type
from flambeau.specialise import spec as specs
from flambeau.specialise.cache import SpecialisationCache
from flambeau.tensor import below, defaults, dispatch, kernels
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.subclasses import special
from flambeau.util.depth import deep_recursion
from flambeau.util.inversions import CALL_WITHIN_TRANSFORMS, GENERATOR_STEPS, LATE_RUNNER, TASK_EXECUTOR, TRY_RUNNER
from flambeau.util.kept_on import forget
from flambeau.util.record import replace
from flambeau.util.weak_sets import members

MOST_REPEATED = 4
"""Kinds of calls on the tape that are remembered."""


class Executor(Views):
    """One function with its options and plans. Calls from several threads are independent."""

    def __init__(
        self,
        function: Function,
        options: Options = Options(),  # noqa: B008  (immutable)
        is_noted: bool = True,
    ) -> None:
        """`is_noted` is false for what no user asked for: it is never the function that ran last."""
        self.function = function
        self.options = options
        self.is_noted = is_noted
        self.stub = DispatchStub()
        """Where native code finds `fast_path`."""
        self._set_up()
        _executors.add(self)
        function.followers.add(self)

    def _set_up(self) -> None:
        """Know nothing yet of the function."""
        function, options, is_noted = self.function, self.options, self.is_noted

        def compare(spec: specs.Spec, other: specs.Spec) -> str:
            return specs.compare(spec, other, [a.name for a in function.schema.arguments])

        self._plans: SpecialisationCache[specs.Spec, ExecutionPlan] = SpecialisationCache(
            "plans", options.max_plans, describe=specs.describe, compare=compare, uses=lambda plan: plan.calls
        )
        self._prepared = PreparedGraph(function)
        parts = partial(attach, options=replace(options, tiered=False), is_noted=is_noted)
        self.derivatives = Derivatives(function, options, self._prepared, parts)
        self.precisions = Precisions(function, lambda within: attach(within, options, is_noted=is_noted))
        self._latest: ExecutionPlan | None = None
        self.first_tier = FirstTier(function, options)
        self._takes_objects = any(map(_may_hold_objects, [a.type for a in function.schema.arguments]))
        self._is_open: bool | None = None  # whether the function looks at, or sets, the need of gradients itself
        self.asking_call: asking_calls.AskingCall | None = None
        self.repeated_calls: tuple[RepeatedCall, ...] = ()
        """What calls on the tape may rely on that are like one before, the newest first."""
        self._is_one_by_one: bool | None = None
        """Whether it makes tensors that kernels do not take, or that ask for gradients."""

    def begin_anew(self) -> None:
        """Know nothing any more: the function has another graph. Plans that are made just now are waited for."""
        self.first_tier.end()
        self.forget_plans()
        forget(self)
        self._set_up()

    def begin_because(self, cause: str) -> None:
        """Say why there is code of this function beside that of another one: its first plan is made for that."""
        self._plans.first_cause = cause

    @property
    def fast_path(self) -> Callable[..., Any] | None:
        """The latest plan's short way, which may give `MISSED`; not for threads that watch or intercept."""
        return self.stub.target

    def __call__(self, *arguments: Any) -> Any:
        """Run the function on all arguments in schema order."""
        if self.options.backend == "reference":
            self._keep_numbers(arguments, lost_numbers.REFERENCE)
            return single(reference.evaluate(self.function.graph, arguments))
        if dispatch.is_intercepted():
            if recording.local.recorder is not None:
                return recording.local.recorder(self, arguments)
            if precision := alone():
                return self.precisions(precision, arguments)
            self._keep_numbers(arguments, lost_numbers.WATCHED)
            return single(run(self._plain_code(), arguments))
        if self.first_tier.is_on:
            result = self.at_once(arguments)
            if result is not MISSED:
                return result
        if self.is_dispatched(arguments):
            return self.recorded(arguments, lost_numbers.OVERRIDDEN)
        result = self._quickly(arguments)
        if result is MISSED:
            result = self.once_more(arguments)
        if result is not MISSED:
            return result
        spec = specs.spec_of(arguments)
        plan = self._latest
        if plan is None or plan.spec != spec:
            if specs.asks_for_gradients(spec):
                return self._with_gradients(spec, arguments, gradients.asking(arguments))
            plan = None
        return (self._run_on_objects if self._takes_objects else self._run)(plan, spec, arguments)

    def at_once(
        self, arguments: Sequence[Any], make: Callable[[], None] | None = None,
        is_kept: Callable[[], bool] | None = None,
    ) -> Any:  # fmt: skip
        """The answer of the first tier, as the program is written; `MISSED` where a plan is to answer. Where that is
        of another function, `make` makes it (`background`), and `is_kept` tells whether an earlier process left it."""
        is_special = special.exists and (below.has_special(arguments) or bool(kernels.table.overridden_names))
        if is_special or dispatch.is_intercepted():
            return MISSED
        make = make or partial(self.make_ready, arguments)
        is_kept = is_kept or partial(stored.is_kept, self.function, arguments, self.options)
        result = self.first_tier.call(arguments, make, is_kept, self._plain_run)
        if result is not MISSED and self.is_noted:
            latest.note(self)
        return result

    def _plain_run(self, arguments: Sequence[Any]) -> Callable[[], Any] | None:
        """What runs the graph as it is; None where it is too deep, which the plan says."""
        with suppress(RecursionError), deep_recursion():
            code = self._plain_code()
            return lambda: single(run(code, arguments))
        return None

    def compile(self, arguments: Sequence[Any]) -> None:
        """Make the plan for arguments like these with its native code and kernels, if it has none."""
        self.first_tier.end()
        self.make_ready(arguments)

    def make_ready(self, arguments: Sequence[Any]) -> None:
        """Make the plan for arguments like these with its native code, and that of its kernels where nobody notices."""
        plan = self.plan_for(arguments)
        plain = gradients.Plain(arguments).arguments
        if not plan.runs and not plan.rehearsals:
            plan.rehearse(plain)  # before there is native code: groups show whether they are one kernel each
        plan.compile(plain)

    def _run_on_objects(self, plan: ExecutionPlan | None, spec: specs.Spec, arguments: Sequence[Any]) -> Any:
        """A call by a plan, with objects among the arguments: what is in them may ask for gradients."""
        if self._is_open is None:
            self._is_open = has_node(self.function, "open", is_open)
        if is_grad_enabled() or self._is_open:
            flow = self._flow_of_objects(spec, arguments)
            if flow is not None and flow.is_open:
                return self.recorded(arguments, lost_numbers.OPEN)
            if flow is not None and flow.is_recorded and is_grad_enabled():
                return self.on_tape(flow, arguments, lambda: self._run(plan, spec, arguments), spec)
        return self._run(plan, spec, arguments)

    def _quickly(self, arguments: Sequence[Any]) -> Any:
        """The result of the latest plan's short way; `MISSED` for arguments that it does not serve."""
        fast_path = self.stub.target
        return MISSED if fast_path is None else fast_path(*arguments)

    def is_dispatched(self, arguments: Sequence[Any]) -> bool:
        """Whether each operator is dispatched: on tensors of users' classes, on those without data, and in functions
        that make such themselves, quantise, or ask for gradients."""
        if special.exists and (below.has_special(arguments, but_on_devices=True) or self._is_overridden()):
            return True
        if self._is_one_by_one is None:
            self._is_one_by_one = runs_one_by_one(self.function)
        return self._is_one_by_one

    def _is_overridden(self) -> bool:
        """Whether users replaced the kernel of an operator in the function: then each operator is dispatched."""
        names = kernels.table.overridden_names
        return bool(names) and any(node.op in names for node in inlined_graph(self.function).listed_nodes())

    def _run(self, plan: ExecutionPlan | None, spec: specs.Spec, arguments: Sequence[Any]) -> Any:
        """A call by the plan for its spec, which is made now if there is none; gradients are not looked at."""
        if plan is None:
            changes = self.function.changes
            plan = self._latest = self._plan(spec, arguments)
            if self.function.changes != changes:  # meanwhile, by another thread
                self._latest = None
        plan.runs += 1
        if self.is_noted:
            latest.note(self)
        try:
            return single(plan.run(arguments))
        finally:
            if self._latest is plan:
                self._answer_natively(plan.short_way)
                if self._latest is not plan:  # forgotten meanwhile, by another thread
                    self.stub.target = None

    def _answer_natively(self, short_way: Callable[..., Any] | None) -> None:
        """Have native code answer calls from now on by a plan's short way, if it has one."""
        self.stub.target = short_way
        if self.is_noted and short_way is not None:
            latest.is_answered(self)

    def drop_fast_paths(self) -> None:
        """Have the next call come through Python."""
        self.stub.target = None

    def _flow_of_objects(self, spec: specs.Spec, arguments: Sequence[Any]) -> Flow | None:
        """How gradients flow from what is in objects among the arguments; None where nothing in them asks for any."""
        asks = gradients.asking(arguments)
        return self.derivatives.flow(spec, arguments, asks) if any(one is not False for one in asks) else None

    def _with_gradients(self, spec: specs.Spec, arguments: Sequence[Any], asks: gradients.Asking) -> Any:
        """A call with arguments that ask for gradients."""
        flow = self.derivatives.flow(spec, arguments, asks)
        if flow.is_open:
            return self.recorded(arguments, lost_numbers.OPEN)
        if is_grad_enabled() and flow.is_recorded:
            return self.on_tape(flow, arguments, lambda: self._plainly(arguments), spec, asks)
        result = self._plainly(arguments)
        self.asking_call = asking_calls.remembered(flow, arguments, result)
        return result

    def _plainly(self, arguments: Sequence[Any]) -> Any:
        """A call on plain tensors over the memory of those that ask for gradients."""
        plain = gradients.Plain(arguments)
        fast_path = self.stub.target
        result = MISSED if fast_path is None else fast_path(*plain.arguments)
        if result is MISSED:
            spec = specs.spec_of(plain.arguments)
            known = self._latest
            result = self._run(known if known is not None and known.spec == spec else None, spec, plain.arguments)
        return plain.restored(result)

    def on_tape(
        self,
        flow: Flow,
        arguments: Sequence[Any],
        run: Callable[[], Any],
        spec: specs.Spec | None = None,
        asks: gradients.Asking | None = None,
    ) -> Any:
        """A call whose results depend on what asks: one node of the tape where that can be, else one an operator.
        `spec` and `asks` are those of the arguments, where they are known."""
        if not flow.is_repeatable:
            return self._on_tape_once(flow, arguments, spec, asks)
        saved, marks = recomputed_calls.Arguments(arguments), flow.marks
        plan = self.derivatives.gradient_plan(flow, arguments, spec, asks)
        constants = self.derivatives.constant_memory
        if not isinstance(plan, GradientPlan):
            self._keep_numbers(arguments, plan.reason)
            result = run()
            is_done = recomputed_calls.put_on_tape(result, marks, saved, self.recorded, constants)
            return result if is_done else self.recorded(arguments, lost_numbers.SHARED)
        call = compiled_calls.CompiledCall(plan, marks, self._again)
        keeps = not compiled_calls.recomputes(plan, arguments)
        if keeps:
            result, is_done = compiled_calls.kept_on_tape(call, arguments, saved, constants)
        else:
            result = run()
            is_done = compiled_calls.on_tape(call, result, None, saved, constants)
        if not is_done:
            return self.recorded(arguments, lost_numbers.SHARED)
        if not self._takes_objects:
            stub = executor_of(plan.forward).stub if keeps else self.stub
            self._repeat(repeated_calls.remembered(call, arguments, result, stub, constants, keeps=keeps))
        return result

    def _on_tape_once(self, flow: Flow, arguments: Sequence[Any], spec: specs.Spec | None, asks: Any) -> Any:
        """The same of a call that has no second run, as it draws random numbers or writes to what asks for nothing."""
        reason, known = lost_numbers.EFFECTS, self.derivatives
        if flow.replay and (known.is_worth_compiling or lost_numbers.losing(self.function, arguments)):
            plan = known.gradient_plan(flow, arguments, spec, asks)
            result = compiled_calls.once_on_tape(plan, flow, arguments, self._again, known.constant_memory)
            if not isinstance(result, Refusal):
                return result
            reason = result.reason
        return self.recorded(arguments, reason)

    def _repeat(self, call: RepeatedCall | None) -> None:
        """Remember what calls like this one may rely on."""
        known = self.repeated_calls
        if call is not None and not any(one.kinds == call.kinds for one in known):
            self.repeated_calls = (call, *known[: MOST_REPEATED - 1])

    def _again(self, arguments: Sequence[Any]) -> Any:
        """A call once more, for gradients that are batches or have tangents."""
        result = CALL_WITHIN_TRANSFORMS.implementation(self.function, arguments)
        return self.recorded(arguments) if result is NotImplemented else result

    def recorded(self, arguments: Sequence[Any], reason: str = lost_numbers.AGAIN) -> Any:
        """A call of which each operator is put on the tape, for a reason. Raises RuntimeError where a derivative would
        have to go through a number."""
        self._keep_numbers(arguments, reason)
        is_seen = dispatch.is_intercepted() or (
            special.exists and (below.has_special(arguments) or self._is_overridden())
        )
        with_regions = not is_seen and is_grad_enabled() and self.options.backend == "native"
        code = self.derivatives.recorded_code(arguments) if with_regions else self._plain_code()
        with dispatch.intercepting(gradients.one_by_one):
            return single(run(code, arguments))

    def _keep_numbers(self, arguments: Sequence[Any], reason: str) -> None:
        """Refuse to run an operator at a time where a derivative would have to go through a number."""
        if is_grad_enabled():
            lost_numbers.refuse(self.function, arguments, reason)

    @property
    def remembers(self) -> bool:
        """Whether a call with arguments that ask for gradients may be like one before (`once_more`)."""
        return bool(self.repeated_calls) or self.asking_call is not None

    def once_more(self, arguments: Sequence[Any]) -> Any:
        """A call like the last one with arguments that ask for gradients; `MISSED` where it is not."""
        if self.repeated_calls and is_grad_enabled():
            for repeated in self.repeated_calls:
                result = repeated(arguments)
                if result is not MISSED:
                    return result
        known, fast_path = self.asking_call, self.stub.target
        return MISSED if known is None or fast_path is None else known(fast_path, arguments)

    def _plain_code(self) -> Code:
        """The function as written, for interceptors that want to see every operator."""
        return code_of(self.function)

    def plan_for(self, arguments: Sequence[Any]) -> ExecutionPlan:
        """The plan for arguments like these, made now if there is none."""
        arguments = gradients.Plain(arguments).arguments
        return self._plan(specs.spec_of(arguments), arguments)

    def forget_plans(self) -> None:
        """Make all plans anew when they are needed."""
        self._plans.clear()
        self.precisions.cache.clear()
        self.derivatives.forget()
        self._latest = self.stub.target = self.asking_call = None
        self.repeated_calls = ()

    def _plan(self, spec: specs.Spec, arguments: Sequence[Any]) -> ExecutionPlan:
        """The plan for a spec, which is now the one used last."""

        def make(cause: str) -> ExecutionPlan:
            if self.is_noted:
                latest.makes_plan()
            # Native code changes copies of lists and dicts: those that the caller shares are interpreted.
            is_shared = any(map(SHARED.__contains__, spec))
            options = replace(self.options, backend="interpreter") if is_shared else self.options
            prepared = self._prepared.take(spec, options)
            return make_plan(self.function, arguments, options, cause, prepared=prepared, spec=spec)

        return self._plans.get_or_make(spec, make, partial(listing.log_eviction, self.name, self.options.max_plans))

    def take(self, read: ReadPlan, entry: stored.CacheEntry, spec: specs.Spec) -> None:
        """Have a plan that was called before there was this function be the one for a spec; it lies at `entry`."""
        plan = self._plans.get_or_make(spec, partial(plan_of_read, read, self.function, entry, spec))
        self._latest = plan
        self._answer_natively(plan.short_way)

    # -- looking ------------------------------------------------------------------------------------------------------

    def explain(self, measure: bool | None = None) -> Explanation:
        """Every plan: with cause and time, what became native, what did not and why."""
        plans = [c for p in self.plans for c in compilations_of(p, measure)]
        for gradient in self.derivatives.gradient_plans:
            for half in gradient.functions:
                named = executor_of(half)
                plans += [replace(compilation_of(p, measure), cause=f"{named.name}: {p.cause}") for p in named.plans]
        for recorded in self.derivatives.recorded_codes:
            for region in recorded.regions:
                plans += executor_of(region.function).explain(measure).compilations
        caches = [self._plans.statistics(), *self.derivatives.statistics()]
        caches += [s for p in self.plans for s in caches_of(p)]
        evicted = self._plans.statistics().evictions
        notes = notes_of(self.function, self.plans, self.derivatives.reasons)
        return Explanation(
            self.function.short_name, self.options.backend, tuple(plans), evicted,
            notes=(*filter(None, (self.first_tier.note,)), *notes),
            caches=tuple(c for c in caches if c.entries), first_calls=self.first_tier.calls,
        )  # fmt: skip


_executors: weakref.WeakSet[Executor] = weakref.WeakSet()


def forget_all_plans() -> None:
    """Plans rely on the default dtype: `zeros(n)` has it."""
    for executor in members(_executors):
        executor.forget_plans()


defaults.when_changed(forget_all_plans)


def _may_hold_objects(type_: Type) -> bool:
    return any(isinstance(part, NamedType | AnyType | AnyClassType) for part in type_.walk())


def single(results: tuple[Any, ...]) -> Any:
    """The value of a call: a function without results gives None."""
    return results[0] if len(results) == 1 else results or None


def attach(function: Function, options: Options | None = None, *, is_noted: bool = True) -> Executor:
    """Give a function an executor, which then runs it."""
    executor = Executor(function, options or Options(), is_noted)
    function.runner = executor
    return executor


@LATE_RUNNER.provide
def attach_late(function: Function) -> None:
    """Give a function an executor once something calls it: of those of archives and passes few run by themselves."""
    function.runner = lambda *arguments: executor_of(function)(*arguments)


def executor_of(function: Function) -> Executor:
    """The executor that runs a function, attached now if there is none."""
    return function.runner if isinstance(function.runner, Executor) else attach(function)


@TRY_RUNNER.provide
def _interpreted(function: Function) -> Executor:
    """What runs the body of a `try`: containers that it changes are the caller's."""
    return attach(function, Options(backend="interpreter"))


TASK_EXECUTOR.provide(attach)
GENERATOR_STEPS.provide(run_suspended)
