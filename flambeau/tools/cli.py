"""The command line: `show FILE.py:FN`, `inspect model.pt`, `run model.pt`, `opt FILE.ir` and others: `--help`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flambeau
from flambeau.tools.command_errors import REPORTED

STAGES = ("tree", "schema", "graph", "inlined", "code", "passes", "optimised", "bytecode", "llvm", "ptx")
"""What `show --stage` prints, in order of the way through the compiler (`commands.STAGES`)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status: 0, or 1 for what is wrong with the user's file or installation.

    A command line that cannot be understood ends in SystemExit(2) and the usage, as `argparse` does it.
    """
    options = _parser().parse_args(arguments)
    try:
        status = _run(options.run, options)
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
    show.set_defaults(run="show")
    _add_models(commands)
    opt = commands.add_parser("opt", help="run passes over a graph in text form")
    opt.add_argument("file", metavar="FILE.ir", help="graph text, as printed by fn.graph; - for standard input")
    opt.add_argument("-p", "--passes", default="", help="comma-separated passes in order; see --list")
    opt.add_argument("--each", action="store_true", help="print the graph after each pass that changed it")
    opt.add_argument("--list", action=_ListPasses, nargs=0, help="name the passes and exit")
    opt.set_defaults(run="opt")
    cache = commands.add_parser("cache", help="look at the compiled code that is kept on disk, or delete it")
    cache.add_argument("action", choices=["info", "clear"], help="what is there, or delete it")
    cache.set_defaults(run="cache")
    warm_up = commands.add_parser("warm", help="make the native code that most models need, once for this machine")
    warm_up.add_argument("--only", default="", metavar="NAME", help="a part of it: 'convolution', 'float32'")
    warm_up.set_defaults(run="warm")
    faster = commands.add_parser("tune", help="measure other schedules of a model's kernels, and keep the faster ones")
    faster.add_argument("target", metavar="model.pt|FILE.py:FN", help="as for show")
    faster.add_argument(
        "--args", metavar="EXPR", required=True, help="arguments of a usual call, as for show: 'flambeau.ones(1, 64)'"
    )
    faster.set_defaults(run="tune")
    check = commands.add_parser("doctor", help="say what this installation can do, and what slows it down")
    check.set_defaults(run="doctor")
    return parser


def _add_models(commands: Any) -> None:
    """The commands for those who have a saved model."""
    inspect = commands.add_parser("inspect", help="say what is in a saved model: parts, weights, methods, operators")
    inspect.add_argument("model", type=Path, metavar="model.pt", help="a TorchScript archive; none of it is run")
    inspect.add_argument("--depth", type=int, default=2, help="down to which depth parts are listed (default: 2)")
    inspect.add_argument("--operators", action="store_true", help="name all operators")
    inspect.set_defaults(run="inspect")
    run = commands.add_parser("run", help="run a saved model, time it, and compare its results")
    run.add_argument("target", metavar="model.pt|FILE.py:FN", help="as for show")
    run.add_argument(
        "--inputs", type=Path, metavar="FILE", nargs="*", default=[], help="arguments: the arrays of .npz or .npy files"
    )
    run.add_argument("--args", metavar="EXPR", help="further arguments as Python: 'flambeau.ones(1, 64)'")
    run.add_argument(
        "--expect", type=Path, metavar="FILE", help="compare with these arrays; 1 is returned if they differ"
    )
    run.add_argument("--rtol", type=float, default=1e-4, help="relative difference that is equal (default: 1e-4)")
    run.add_argument("--atol", type=float, default=1e-5, help="absolute difference that is equal (default: 1e-5)")
    run.add_argument("--save", type=Path, metavar="OUT.npz", help="write the results")
    run.add_argument("--repeat", type=int, default=100, help="later calls to time, for a second at most (default: 100)")
    run.add_argument("--explain", action="store_true", help="say what became native, and what each kernel takes")
    run.set_defaults(run="run")


class _ListPasses(argparse.Action):
    """`--list`: one pass a line with what it does."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *_: Any) -> None:
        _run("list_passes", namespace)
        parser.exit()


def _run(command: str, options: argparse.Namespace) -> int:
    """Carry out one of `commands`, which are imported for it: `--version` and `--help` do without the compiler."""
    _ = flambeau.jit  # as programs import it: no collection goes over it
    from flambeau.tools import commands

    status: int = getattr(commands, command)(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
