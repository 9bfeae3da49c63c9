"""The families of random programs, each with its way of checking one and of telling what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.random_programs import check, generate
from tests.random_programs.arrays import check as arrays_check
from tests.random_programs.arrays import generate as arrays_generate
from tests.random_programs.flow import check as flow_check
from tests.random_programs.flow import generate as flow_generate
from tests.random_programs.gradients import check as gradients_check
from tests.random_programs.gradients import generate as gradients_generate
from tests.random_programs.model import Program
from tests.random_programs.modules import check as modules_check
from tests.random_programs.modules import generate as modules_generate
from tests.random_programs.native import check as native_check
from tests.random_programs.native import generate as native_generate
from tests.random_programs.objects import generate as objects_generate
from tests.random_programs.tensors import check as tensors_check
from tests.random_programs.tensors import generate as tensors_generate
from tests.random_programs.typed import generate as typed_generate
from tests.random_programs.typed import modules as typed_modules

Paths = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of random programs."""

    name: str
    doc: str
    generate: Callable[[int], Program]
    """The program of a seed."""
    disagreement: Callable[[Program, int, Paths], str | None]
    """How two paths differ on a program of a seed; None if none do."""
    report: Callable[..., str]
    """What to print of a program, its seed and what was found; the keywords `paths` and `disagree` say how to look."""
    paths: Callable[[int], Paths] = check.paths_for
    """The paths to try with a seed."""


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family(
            name="general",
            doc="tensors, containers, strings and control flow; values compared with CPython's",
            generate=generate.generate,
            disagreement=check.disagreement,
            report=check.report,
        ),
        Family(
            name="objects",
            doc="classes, dataclasses, enums, named tuples, interfaces and context managers; values compared with CPython's",
            generate=objects_generate.generate,
            disagreement=check.disagreement,
            report=check.report,
        ),
        Family(
            name="modules",
            doc="modules with state, submodules, methods and properties; results and the state afterwards",
            generate=modules_generate.generate,
            disagreement=modules_check.disagreement,
            report=modules_check.report,
        ),
        Family(
            name="flow",
            doc="exceptions, matches, generators, closures, contexts, formats; results, order of events and errors",
            generate=flow_generate.generate,
            disagreement=flow_check.disagreement,
            report=flow_check.report,
        ),
        Family(
            name="typed",
            doc="values of every type and classes of all kinds, both made up for each program; results, errors",
            generate=typed_generate.generate,
            disagreement=flow_check.disagreement,
            report=flow_check.report,
            paths=check.fewer_paths_for,
        ),
        Family(
            name="made",
            doc="modules made up for each program, with attributes and methods over types of every kind",
            generate=typed_modules.generate,
            disagreement=flow_check.disagreement,
            report=flow_check.report,
            paths=check.fewer_paths_for,
        ),
        Family(
            name="native",
            doc="scalars, nested loops, elements, lists and calls, with hostile arguments; values, prints and errors",
            generate=native_generate.generate,
            disagreement=native_check.disagreement,
            report=native_check.report,
        ),
        Family(
            name="tensors",
            doc="whole tensors of every size from 0: broadcasts, masks, folds, writes, growing slices, elements, tasks, recursion",
            generate=tensors_generate.generate,
            disagreement=tensors_check.disagreement,
            report=tensors_check.report,
            paths=tensors_check.native_paths_for,
        ),
        Family(
            name="arrays",
            doc="arrays as NumPy's users write them: functions, folds, views, masks, writes, loops; values and dtypes of NumPy",
            generate=arrays_generate.generate,
            disagreement=arrays_check.disagreement,
            report=arrays_check.report,
            paths=arrays_check.paths_for,
        ),
        Family(
            name="gradients",
            doc="smooth functions through loops, branches, writes, views, lists and elements; gradients, second order",
            generate=gradients_generate.generate,
            disagreement=gradients_check.disagreement,
            report=gradients_check.report,
            paths=gradients_check.paths_for,
        ),
        Family(
            name="second-derivatives",
            doc="the programs of `gradients`, each to second order",
            generate=gradients_generate.generate,
            disagreement=gradients_check.second_disagreement,
            report=partial(gradients_check.report, disagree=gradients_check.second_disagreement),
            paths=gradients_check.paths_for,
        ),
    )
}


def check_seed(family: Family, seed: int) -> str | None:
    """How the paths differ on the program of a seed, if they do."""
    return family.disagreement(family.generate(seed), seed, family.paths(seed))
