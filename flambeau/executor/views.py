"""What an executor shows of its plans: their graphs, code and passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.executor import gradients, listing
from flambeau.executor.first_tier import FirstTier
from flambeau.executor.options import Options
from flambeau.executor.plan import ExecutionPlan, make_plan
from flambeau.executor.report import PassReport
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import code_of
from flambeau.ir.frozen import freeze
from flambeau.ir.graph import Graph
from flambeau.passes.pipeline import PassRecord
from flambeau.program.function import Function
from flambeau.specialise import spec as specs
from flambeau.specialise.cache import SpecialisationCache


class Views:
    """The part of an executor that looks at what the rest has made."""

    function: Function
    options: Options
    first_tier: FirstTier
    _plans: SpecialisationCache[specs.Spec, ExecutionPlan]
    _latest: ExecutionPlan | None

    @property
    def name(self) -> str:
        """The function's."""
        return self.function.short_name

    @property
    def calls(self) -> int:
        """How often the plans kept were run."""
        return sum(plan.calls for plan in self.plans)

    @property
    def latest_graph(self) -> Graph | None:
        """The graph of the plan used last; that of the function as written where only the first tier answered."""
        if self._latest is None:
            return self.function.graph if self.first_tier.calls else None
        freeze(self._latest.graph, plan_of=self.name)
        return self._latest.graph

    def latest_code(self) -> Code:
        """The bytecode of the latest plan; of the function as written before the first call."""
        return self._latest.code if self._latest is not None else code_of(self.function)

    @property
    def plans(self) -> list[ExecutionPlan]:
        """The plans kept, the one used last at the end."""
        return self._plans.values

    def loops(self) -> str:
        """The loops of all native code."""
        return listing.loops(self.function.short_name, self.plans)

    def llvm_ir(self) -> str:
        """The LLVM IR of all native code."""
        return listing.llvm_ir(self.function.short_name, self.plans)

    def asm(self) -> str:
        """The machine instructions of all native code."""
        return listing.asm(self.function.short_name, self.plans)

    def pass_report(self, arguments: Sequence[Any]) -> PassReport:
        """Make a plan anew, watching each pass; the plan is not kept."""
        records: list[PassRecord] = []
        arguments = gradients.Plain(arguments).arguments
        make_plan(self.function, arguments, self.options, "looking", records.append)
        return PassReport(records, specs.describe(specs.spec_of(arguments)))
