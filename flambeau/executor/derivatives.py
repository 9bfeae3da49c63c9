"""What an executor knows of the gradients of its function: how they flow, derivatives, recorded calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.analysis.gradients import Flow
from flambeau.executor import gradients, recomputed_calls, stored_gradients
from flambeau.executor.compiled_gradients import Attach, GradientPlan, Refusal, gradient_plan
from flambeau.executor.differentiable_regions import CALLS_BEFORE_REGIONS, RecordedCode, has_loop, recorded_code
from flambeau.executor.inlined_graph import inlined_graph
from flambeau.executor.options import Options
from flambeau.executor.prepared_graph import PreparedGraph
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import code_of
from flambeau.program.function import Function
from flambeau.program.origin import Provenance
from flambeau.specialise import spec as specs
from flambeau.specialise.cache import CacheStatistics, SpecialisationCache
from flambeau.util.foreign import is_foreign
from flambeau.util.no_collection import no_collection
from flambeau.util.user_code import warn_user

GRADIENTS_FAILED = "the derivative of {name} was not made: {error}. It runs an operator at a time; please report this"


class Derivatives:
    """The derivatives of one function, for the arguments that were seen."""

    def __init__(self, function: Function, options: Options, prepared: PreparedGraph, attach: Attach) -> None:
        """`attach` gives a function what runs it."""
        self._function = function
        self._options = options
        self._prepared = prepared
        self._attach = attach
        self._flows: SpecialisationCache[tuple[specs.Spec, gradients.Asking], Flow] = SpecialisationCache(
            "flows of gradients", options.max_plans, describe=lambda key: specs.describe(key[0])
        )
        self._gradients: SpecialisationCache[tuple[specs.Spec, gradients.Asking], GradientPlan | Refusal] = (
            SpecialisationCache("gradients", options.max_plans, describe=lambda key: specs.describe(key[0]))
        )
        self._recorded: SpecialisationCache[gradients.Asking, RecordedCode] = SpecialisationCache(
            "recorded codes", options.max_plans, describe=str
        )
        self._constants: frozenset[int] | None = None
        self._calls_recorded = 0

    def flow(self, spec: specs.Spec, arguments: Sequence[Any], asks: gradients.Asking) -> Flow:
        """What the function does with arguments that ask for gradients."""
        flow = self._flows.get((spec, asks))
        if flow is None:
            flow = self._flows.get_or_make(
                (spec, asks),
                lambda cause: stored_gradients.flow_of(
                    self._function, spec, asks, lambda: self._new_flow(arguments, asks)
                ),
            )
        return flow

    @no_collection()
    def _new_flow(self, arguments: Sequence[Any], asks: gradients.Asking) -> Flow:
        graph = self._prepared.look(gradients.Plain(arguments).arguments)
        return gradients.flow_through(graph, arguments, asks)

    def gradient_plan(
        self,
        flow: Flow,
        arguments: Sequence[Any],
        spec: specs.Spec | None = None,
        asks: gradients.Asking | None = None,
    ) -> GradientPlan | Refusal:
        """How gradients go back through the function, for arguments like these."""
        asking = gradients.asking(arguments) if asks is None else asks
        key = (specs.spec_of(arguments) if spec is None else spec, asking)

        def make(cause: str) -> GradientPlan | Refusal:
            return stored_gradients.plan_of(
                self._function, key[0], asking, self._options,
                lambda provenance: self._new_gradient_plan(flow, arguments, asking, provenance), self._attach,
            )  # fmt: skip

        known = self._gradients.get(key)
        return self._gradients.get_or_make(key, make) if known is None else known

    @no_collection()
    def _new_gradient_plan(
        self, flow: Flow, arguments: Sequence[Any], asks: gradients.Asking, provenance: Provenance | None
    ) -> GradientPlan | Refusal:
        graph = self._prepared.look(gradients.Plain(arguments).arguments)
        try:
            return gradient_plan(graph, self._function.name, flow, asks, self._attach, provenance)
        except Exception as error:
            if self._options.verify or isinstance(error, RecursionError) or is_foreign(error):
                raise
            name, text = self._function.short_name, f"{type(error).__name__}: {error}"
            warn_user(GRADIENTS_FAILED.format(name=name, error=text), RuntimeWarning)
            return Refusal("an internal error")

    @property
    def gradient_plans(self) -> list[GradientPlan]:
        """The derivatives that are kept, the one used last at the end."""
        return [plan for plan in self._gradients.values if isinstance(plan, GradientPlan)]

    @property
    def is_worth_compiling(self) -> bool:
        """Whether a function whose operators are recorded has been called often enough to be compiled, or has loops."""
        return self._calls_recorded >= CALLS_BEFORE_REGIONS or has_loop(self._function)

    def recorded_code(self, arguments: Sequence[Any]) -> Code:
        """The function for calls of which each operator is recorded: with regions that are compiled."""
        asks = gradients.asking(arguments)
        known = self._recorded.get(asks)
        if known is None:
            if not self.is_worth_compiling:
                self._calls_recorded += 1
                return code_of(self._function)
            known = self._recorded.get_or_make(asks, lambda cause: self._new_recorded_code(asks))
        return known.code

    @no_collection()
    def _new_recorded_code(self, asks: gradients.Asking) -> RecordedCode:
        return recorded_code(self._function, asks, self._attach, verify=self._options.verify)

    @property
    def recorded_codes(self) -> list[RecordedCode]:
        """The codes of calls that were recorded, the one used last at the end."""
        return self._recorded.values

    @property
    def constant_memory(self) -> frozenset[int]:
        """The storages of the function's constants: a result on one of them is not the function's own."""
        if self._constants is None:
            self._constants = recomputed_calls.constant_memory(inlined_graph(self._function))
        return self._constants

    def forget(self) -> None:
        """Find everything out anew when it is needed."""
        self._flows.clear()
        self._gradients.clear()
        self._recorded.clear()

    @property
    def reasons(self) -> list[str]:
        """Why there is no derivative as a graph, each reason once."""
        return list(dict.fromkeys(plan.reason for plan in self._gradients.values if isinstance(plan, Refusal)))

    def statistics(self) -> list[CacheStatistics]:
        """Of the caches of flows and derivatives."""
        return [self._flows.statistics(), self._gradients.statistics()]
