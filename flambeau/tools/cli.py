"""The command line: `flambeau show FILE.py:FN`, `flambeau opt -p dce,cse FILE.ir`, `flambeau doctor`."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import flambeau
from flambeau.ir.parser import parse_ir
from flambeau.ir.verify import verify
from flambeau.jit.function import ScriptFunction
from flambeau.passes import pipeline
from flambeau.tools import doctor
from flambeau.util.errors import CompileError, ParseError, VerifyError

STAGES: dict[str, Callable[[ScriptFunction], Any]] = {
    "tree": lambda f: f.tree,
    "schema": lambda f: f.schema,
    "graph": lambda f: f.graph,
    "inlined": lambda f: f.inlined_graph,
    "code": lambda f: f.code,
    "bytecode": lambda f: f.bytecode,
}
"""What `show --stage` prints, in order of the way through the compiler."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status. Errors of the user's program are printed without a Python traceback."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        return status
    except (CompileError, ParseError, VerifyError, CommandError) as error:
        print(error, file=sys.stderr)
        return 1


class CommandError(Exception):
    """A command that cannot be carried out; the text says why and what to do."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="flambeau", description="Look at and transform Flambeau programs.")
    parser.add_argument("--version", action="version", version=f"flambeau {flambeau.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    show = commands.add_parser("show", help="print the stages of a function on its way through the compiler")
    show.add_argument("target", metavar="FILE.py:FN", help="a Python file and a function in it, scripted or not")
    show.add_argument("--stage", choices=[*STAGES, "all"], default="all", help="which stage (default: all)")
    show.add_argument("--svg", type=Path, metavar="OUT.svg", help="also draw the graph (needs flambeau[viz])")
    show.set_defaults(run=_show)
    opt = commands.add_parser("opt", help="run passes over a graph in text form")
    opt.add_argument("file", metavar="FILE.ir", help="graph text, as printed by fn.graph; - for standard input")
    opt.add_argument("-p", "--passes", default="", help="comma-separated passes in order; see --list")
    opt.add_argument("--each", action="store_true", help="print the graph after each pass that changed it")
    opt.add_argument("--list", action=_ListPasses, nargs=0, help="name the passes and exit")
    opt.set_defaults(run=_opt)
    check = commands.add_parser("doctor", help="say what this installation can do, and what slows it down")
    check.set_defaults(run=lambda _: doctor.report(sys.stdout))
    return parser


class _ListPasses(argparse.Action):
    """`--list`: one pass a line with what it does."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        for name, function in pipeline.PASSES.items():
            doc = (sys.modules[function.__module__].__doc__ or "").strip().splitlines()
            print(f"{name:24} {doc[0] if doc else ''}")
        parser.exit()


def load_function(target: str) -> ScriptFunction:
    """The function that `FILE.py:FN` names, scripted. Raises CommandError when there is no such file or function."""
    path, _, name = target.rpartition(":")
    if not path or not name:
        raise CommandError(f"expected FILE.py:FN, got {target!r}; for example examples/nbody.py:energy")
    module = _load_module(Path(path))
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = [n for n, v in vars(module).items() if isinstance(v, ScriptFunction) or getattr(v, "__module__", "") == module.__name__]
            raise CommandError(f"{path} has no {name!r}; it defines {', '.join(known) or 'nothing that can be shown'}")
        found = getattr(found, part)
    scripted = flambeau.script(found)
    if not isinstance(scripted, ScriptFunction):
        raise CommandError(f"{name} is a {type(found).__name__}, not a function")
    return scripted


def _load_module(path: Path) -> ModuleType:
    if not path.is_file():
        raise CommandError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def _show(options: argparse.Namespace) -> int:
    function = load_function(options.target)
    for stage, render in STAGES.items():
        if options.stage == "all":
            print(f"── {stage} " + "─" * (70 - len(stage)))
        if options.stage in ("all", stage):
            print(render(function))
    if options.svg:
        options.svg.write_text(function.graph._repr_svg_(), encoding="utf-8")
        print(f"wrote {options.svg}", file=sys.stderr)
    return 0


def _opt(options: argparse.Namespace) -> int:
    if options.file == "-":
        text = sys.stdin.read()
    elif Path(options.file).is_file():
        text = Path(options.file).read_text(encoding="utf-8")
    else:
        raise CommandError(f"there is no file {options.file}")
    graph = parse_ir(text)
    verify(graph)
    for name in filter(None, options.passes.split(",")):
        if name not in pipeline.PASSES:
            raise CommandError(f"there is no pass {name!r}; the passes are {', '.join(pipeline.PASSES)}")
        changed = pipeline.PASSES[name](graph)
        verify(graph)
        if options.each and changed:
            print(f"# after {name}\n{graph}")
    if not options.each:
        print(graph)
    return 0


if __name__ == "__main__":
    sys.exit(main())
