"""The command line: `show FILE.py:FN`, `opt -p dce,cse FILE.ir`, `cache info|clear`, `warm`, `tune`, `doctor`."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import flambeau
from flambeau.codegen.llvm import object_cache
from flambeau.ir.draw import NEEDS_VIZ
from flambeau.ir.parser import parse_ir
from flambeau.ir.verify import verify
from flambeau.jit.function import ScriptFunction
from flambeau.passes import order, pipeline
from flambeau.passes.by_name import PASSES
from flambeau.passes.steps import Step
from flambeau.tools import doctor, warm
from flambeau.tools.targets import REPORTED, CommandError, evaluated_arguments, load_target

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status: 0, or 1 for what is wrong with the user's file or installation.

    A command line that cannot be understood ends in SystemExit(2) and the usage, as `argparse` does it.
    """
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read the output, `head` perhaps, has seen enough. Nothing may be left for the flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except REPORTED as error:
        text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        print(f"flambeau: {text.lstrip()}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="flambeau", description="Look at and transform Flambeau programs.")
    parser.add_argument("--version", action="version", version=f"flambeau {flambeau.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    show = commands.add_parser("show", help="print the stages of a function on its way through the compiler")
    show.add_argument(
        "target", metavar="FILE.py:FN", help="a Python file and a function or module in it; or model.pt[:method]"
    )
    show.add_argument("--stage", choices=[*STAGES, "all"], default="all", help="which stage (default: all)")
    show.add_argument(
        "--args",
        metavar="EXPR",
        help="arguments as Python, evaluated in the file: 'flambeau.ones(3), 2'; for passes, optimised and llvm",
    )
    show.add_argument("--svg", type=Path, metavar="OUT.svg", help="also draw the graph (needs flambeau[viz])")
    show.set_defaults(run=_show)
    opt = commands.add_parser("opt", help="run passes over a graph in text form")
    opt.add_argument("file", metavar="FILE.ir", help="graph text, as printed by fn.graph; - for standard input")
    opt.add_argument("-p", "--passes", default="", help="comma-separated passes in order; see --list")
    opt.add_argument("--each", action="store_true", help="print the graph after each pass that changed it")
    opt.add_argument("--list", action=_ListPasses, nargs=0, help="name the passes and exit")
    opt.set_defaults(run=_opt)
    cache = commands.add_parser("cache", help="look at the compiled code that is kept on disk, or delete it")
    cache.add_argument("action", choices=["info", "clear"], help="what is there, or delete it")
    cache.set_defaults(run=_cache)
    warm_up = commands.add_parser("warm", help="make the native code that most models need, once for this machine")
    warm_up.add_argument("--only", default="", metavar="NAME", help="a part of it: 'convolution', 'float32'")
    warm_up.set_defaults(run=_warm)
    faster = commands.add_parser("tune", help="measure other schedules of a model's kernels, and keep the faster ones")
    faster.add_argument("target", metavar="model.pt|FILE.py:FN", help="as for show")
    faster.add_argument(
        "--args", metavar="EXPR", required=True, help="arguments of a usual call, as for show: 'flambeau.ones(1, 64)'"
    )
    faster.set_defaults(run=_tune)
    check = commands.add_parser("doctor", help="say what this installation can do, and what slows it down")
    check.set_defaults(run=lambda _: doctor.report(sys.stdout))
    return parser


class _ListPasses(argparse.Action):
    """`--list`: one pass a line with what it does."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        width = max(map(len, PASSES))
        for name, function in PASSES.items():
            own = function.__module__ == order.__name__
            doc = (function.__doc__ if own else sys.modules[function.__module__].__doc__) or ""
            print(f"{name:{width}} {doc.strip().partition(chr(10))[0]}")
        parser.exit()


# -- show -------------------------------------------------------------------------------------------------------------


def _show(options: argparse.Namespace) -> int:
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


# -- opt --------------------------------------------------------------------------------------------------------------


def _opt(options: argparse.Namespace) -> int:
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


def _cache(options: argparse.Namespace) -> int:
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


def _warm(options: argparse.Namespace) -> int:
    try:
        print(warm.warm(options.only))
    except RuntimeError as error:
        raise CommandError(str(error)) from error
    return 0


def _tune(options: argparse.Namespace) -> int:
    function, module = load_target(options.target)
    arguments = evaluated_arguments(options.args, module)
    try:
        with flambeau.no_grad():
            print(function.tune(*arguments))
    except (RuntimeError, TypeError) as error:
        raise CommandError(f"{options.target} cannot be tuned: {error}") from error
    return 0


if __name__ == "__main__":
    sys.exit(main())
