"""What the commands do that look at the compiler: `cli` reads which one, and with what."""

from __future__ import annotations

import argparse
import difflib
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import flambeau
from flambeau.codegen.llvm import object_cache
from flambeau.executor.report import duration
from flambeau.ir.draw import NEEDS_VIZ
from flambeau.ir.parser import parse_ir
from flambeau.ir.verify import verify
from flambeau.jit.function import ScriptFunction
from flambeau.passes import order, pipeline
from flambeau.passes.by_name import PASSES
from flambeau.passes.steps import Step
from flambeau.tools import doctor as _doctor
from flambeau.tools import warm as _warm
from flambeau.tools.command_errors import CommandError
from flambeau.tools.inspection import inspected
from flambeau.tools.model_run import compared, described, read_arrays, timed, write_results
from flambeau.tools.targets import evaluated_arguments, load_target

Stage = Callable[[ScriptFunction, Sequence[Any]], Any]
STAGES: dict[str, Stage] = {
    "tree": lambda f, _: f.tree,
    "schema": lambda f, _: f.schema,
    "graph": lambda f, _: f.graph,
    "inlined": lambda f, _: f.inlined_graph,
    "code": lambda f, _: f.code,
    "passes": lambda f, arguments: f.passes(*arguments),
    "optimised": lambda f, arguments: f.graph_for(*arguments),
    "bytecode": lambda f, _: f.bytecode,
    "llvm": lambda f, _: f.llvm_ir,
    "ptx": lambda f, arguments: f.ptx(*arguments),
}
"""What `show --stage` prints, in order of the way through the compiler."""
NEED_ARGUMENTS = ("passes", "optimised", "llvm", "ptx")
"""The stages that depend on what the function is called with."""


# -- show -------------------------------------------------------------------------------------------------------------


def show(options: argparse.Namespace) -> int:
    """Print the stages of a function."""
    function, module = load_target(options.target)
    arguments: Sequence[Any] = ()
    if options.args is not None:
        arguments = evaluated_arguments(options.args, module)
        try:
            function(*arguments)
        except Exception as error:
            raise CommandError(f"the call with --args {options.args!r} failed: {error}") from error
    elif options.stage in NEED_ARGUMENTS:
        raise CommandError(f"stage {options.stage} depends on the arguments; give some: --args 'flambeau.ones(3), 2'")
    for stage, render in STAGES.items():
        if options.stage not in ("all", stage) or (options.args is None and stage in NEED_ARGUMENTS):
            continue
        if options.stage == "all":
            print(f"── {stage} " + "─" * (70 - len(stage)))
        try:
            print(render(function, arguments))
        except AttributeError as error:  # a trace has no tree
            if options.stage != "all":
                raise CommandError(str(error)) from error
            print(error)
    if options.svg:
        picture = function.graph._repr_svg_()
        if picture is None:
            raise CommandError(NEEDS_VIZ)
        options.svg.write_text(picture, encoding="utf-8")
        print(f"wrote {options.svg}", file=sys.stderr)
    return 0


# -- inspect, run -----------------------------------------------------------------------------------------------------


def inspect(options: argparse.Namespace) -> int:
    """Say what is in a saved model."""
    print(inspected(options.model, options.depth, options.operators))
    return 0


def run(options: argparse.Namespace) -> int:
    """Run a saved model; 1 if its results are not the expected ones."""
    start = time.perf_counter()
    function, module = load_target(options.target)
    print(f"loaded       {duration(time.perf_counter() - start)}")
    arguments: Sequence[Any] = [flambeau.from_numpy(array) for path in options.inputs for array in read_arrays(path)]
    if options.args is not None:
        arguments = [*arguments, *evaluated_arguments(options.args, module)]
    expected = None if options.expect is None else read_arrays(options.expect)
    try:
        with flambeau.no_grad():
            result, lines = timed(function, arguments, options.repeat)
    except Exception as error:
        raise CommandError(f"{options.target} failed: {type(error).__name__}: {error}") from error
    print(*lines, *described(result), sep="\n")
    if options.save:
        write_results(options.save, result)
        print(f"wrote {options.save}", file=sys.stderr)
    is_equal = True
    if expected is not None:
        is_equal, lines = compared(result, expected, options.rtol, options.atol)
        print("beside what is expected", *lines, sep="\n")
    if options.explain:
        print(function.explain())
    return 0 if is_equal else 1


# -- opt --------------------------------------------------------------------------------------------------------------


def opt(options: argparse.Namespace) -> int:
    """Run passes over a graph in text form."""
    names = [name.strip() for name in options.passes.split(",") if name.strip()]
    unknown = [name for name in names if name not in PASSES]
    if unknown:
        close = difflib.get_close_matches(unknown[0], PASSES, 1)
        hint = f"Did you mean {close[0]!r}? The" if close else "The"
        raise CommandError(f"there is no pass {unknown[0]!r}. {hint} passes are {', '.join(PASSES)}")
    if options.file != "-" and not Path(options.file).is_file():
        raise CommandError(f"there is no file {options.file}")
    is_typed = options.file == "-"
    text = sys.stdin.read() if is_typed else Path(options.file).read_text(encoding="utf-8")
    graph = parse_ir(text, filename="<stdin>" if is_typed else options.file)
    verify(graph)
    for name in names:
        step = Step(phase="opt", name=name, run=PASSES[name])
        changed = pipeline.optimise(graph, check=True, steps=(step,))
        if options.each and changed:
            print(f"# after {name}\n{graph}")
    if not options.each:
        print(graph, end="")
    return 0


# -- cache ------------------------------------------------------------------------------------------------------------


def cache(options: argparse.Namespace) -> int:
    """Look at the code that is kept on disk, or delete it."""
    entries = object_cache.object_cache()
    if entries is None:
        raise CommandError("there is no cache: FLAMBEAU_CACHE turns it off, or no home directory is known")
    if options.action == "clear":
        print(f"deleted {entries.clear()} files from {entries.path}")
        return 0
    info = entries.info()
    asked = info.hits + info.misses
    kinds = ", ".join(f"{count} for {name}" for name, count in sorted(info.processors.items()))
    print(f"path   {info.path}")
    print(f"files  {info.files}" + (f": {kinds}" if kinds else ""))
    print(f"bytes  {info.bytes:,} of at most {info.bound:,}")
    print(f"hits   {info.hits:,} of {asked:,} look-ups" if asked else "hits   none yet")
    return 0


# -- warm -------------------------------------------------------------------------------------------------------------


def warm(options: argparse.Namespace) -> int:
    """Make the native code that most models need."""
    try:
        print(_warm.warm(options.only))
    except RuntimeError as error:
        raise CommandError(str(error)) from error
    return 0


def tune(options: argparse.Namespace) -> int:
    """Measure other schedules of a model's kernels."""
    function, module = load_target(options.target)
    arguments = evaluated_arguments(options.args, module)
    try:
        with flambeau.no_grad():
            print(function.tune(*arguments))
    except (RuntimeError, TypeError) as error:
        raise CommandError(f"{options.target} cannot be tuned: {error}") from error
    return 0


# -- doctor -----------------------------------------------------------------------------------------------------------


def doctor(options: argparse.Namespace) -> int:
    """Say what this installation can do."""
    return _doctor.report(sys.stdout)


# -- opt --list -------------------------------------------------------------------------------------------------------


def list_passes(options: argparse.Namespace) -> int:
    """Name the passes, one a line with what it does."""
    width = max(map(len, PASSES))
    for name, function in PASSES.items():
        own = function.__module__ == order.__name__
        doc = (function.__doc__ if own else sys.modules[function.__module__].__doc__) or ""
        print(f"{name:{width}} {doc.strip().partition(chr(10))[0]}")
    return 0
