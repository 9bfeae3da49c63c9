"""Writes the pages of `docs/` that are made from the system itself; with `--check` it fails if they are out of date.

    make docs            docs/operators.md: every operator, from the registry
                         docs/language-table.md: every row of the language, from tests/language
                         docs/walk.md: one function at every stage of its way, as it really prints
"""

from __future__ import annotations

import argparse
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import flambeau
from flambeau.jit.function import ScriptFunction
from flambeau.passes.fusible import has_kernel_form
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.tools.language_table import language_table

ROOT: Final = Path(__file__).resolve().parents[2]
"""The checkout; the pages are no part of an installed package."""
NOTICE = "<!-- Written by `make docs` (flambeau.tools.docs): do not edit. -->\n"
MACHINE_START, MACHINE_END = "<!-- depends on the machine -->", "<!-- on all machines again -->"
LLVM_LINES = 24
"""How much of the LLVM IR the walk shows."""

# -- operators --------------------------------------------------------------------------------------------------------

FORMS = ("in_place", "out")
"""Families that say the same again: they are columns of the operator that they are forms of."""
OPERATORS_TEXT = """# Operators

Made from the declarations in `flambeau/ops`. *Forms* are derived: `x.relu_()` in place, `out=` into a tensor that is
there. *Native* operators become part of kernels where dtype and device allow; the others run one by one.
`help(flambeau.relu)` has the signatures.

{count} operators in {overloads} overloads, {native} of them native.
"""


def operators_page() -> str:
    """`docs/operators.md`: a table for each family."""
    rows: dict[str, list[str]] = {}
    native = overloads = 0
    for name in sorted(registry.names()):
        definitions = list(registry.overloads(name))
        overloads += len(definitions)
        main = [d for d in definitions if d.family not in FORMS]
        if main:
            is_native = any(map(has_kernel_form, main))
            native += is_native
            rows.setdefault(main[0].family, []).append(_row(name, main, is_native))
    text = OPERATORS_TEXT.format(count=sum(map(len, rows.values())), overloads=overloads, native=native)
    for family in sorted(rows, key=lambda f: (f == "language", f)):
        text += f"\n## {family}\n\n| operator | overloads | forms | native | what it does |\n|---|---|---|---|---|\n"
        text += "".join(rows[family])
    return NOTICE + text


def _row(name: str, definitions: list[OpDef], is_native: bool) -> str:
    overloads = ", ".join(d.schema.overload or "default" for d in definitions)
    has_out = any(d.family == "out" for d in registry.overloads(name))
    forms = [text for text, has in (("in place", registry.overloads(name + "_")), ("out", has_out)) if has]
    doc = " ".join(next((d.doc for d in definitions if d.doc), "").split()).replace("|", "\\|")
    shown = name.removeprefix("aten::")
    return f"| `{shown}` | {overloads} | {', '.join(forms)} | {'yes' if is_native else ''} | {doc} |\n"


# -- the walk ---------------------------------------------------------------------------------------------------------

SOURCE = '''import flambeau
from flambeau import Tensor


def decay(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = x * 0.5 + 1.0
    return flambeau.tanh(x)
'''
WALK_TEXT = """# One function from file to machine code

`docs/architecture.md` says what each stage is for. Here is what each prints for this file, `decay.py`. `flambeau show
decay.py:decay --args "flambeau.ones(3), 2"` prints the same for your own functions.
"""


def load(source: str, filename: str) -> dict[str, Any]:
    """Run a source text as if it were a file, so that graphs name its lines."""
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict[str, Any] = {"__name__": filename.removesuffix(".py")}
    exec(compile(source, filename, "exec"), namespace)
    return namespace


def walk_page() -> str:
    """`docs/walk.md`: every stage."""
    decay = flambeau.script(load(SOURCE, "decay.py")["decay"])
    decay(flambeau.ones(3), 2)
    text = f"{NOTICE}{WALK_TEXT}\n```python\n{SOURCE}```\n"
    for title, explanation, body in _stages(decay):
        text += f"\n## {title}\n\n{explanation}\n\n```\n{body.strip()}\n```\n"
    llvm = "\n".join(decay.llvm_ir.splitlines()[:LLVM_LINES])
    text += f"\n## LLVM IR\n\n`decay.llvm_ir`, its beginning, on the machine that wrote this page.\n\n{MACHINE_START}\n"
    return text + f"```llvm\n{llvm}\n...\n```\n{MACHINE_END}\n"


def _stages(decay: ScriptFunction) -> Iterator[tuple[str, str, str]]:
    arguments = (flambeau.ones(3), 2)
    yield "Tree", "`decay.tree`: the syntax, each node with its place in the file.", str(decay.tree)
    yield "Graph", "`decay.graph`: names and types resolved, variables made values.", str(decay.graph)
    yield "Code", "`decay.code`: the graph as source again.", decay.code
    changes = (f"{r.phase}: {r.name}\n{r.diff}" for r in decay.passes(*arguments).changes)
    yield (
        "Passes",
        "`decay.passes(flambeau.ones(3), 2)`: those that changed something, and what.",
        "\n\n".join(changes),
    )
    yield (
        "Optimised graph",
        "`decay.graph_for(flambeau.ones(3), 2)`: for vectors of float32 of any length, pointwise operators grouped.",
        str(decay.graph_for(*arguments)),
    )
    yield "Bytecode", "`decay.bytecode`: what the interpreter runs; a group is one instruction.", str(decay.bytecode)


def without_machine(text: str) -> str:
    """A page without the part that differs between machines."""
    return re.sub(f"{MACHINE_START}.*?{MACHINE_END}", "", text, flags=re.DOTALL)


# -- the command ------------------------------------------------------------------------------------------------------

def language_page() -> str:
    """`docs/language-table.md`: the rows of the language that the tests run."""
    return NOTICE + language_table(ROOT)


PAGES: Mapping[str, Callable[[], str]] = {
    "language-table.md": language_page, "operators.md": operators_page, "walk.md": walk_page,
}  # fmt: skip


def main(arguments: list[str] | None = None, folder: Path | None = None) -> int:
    """Write the pages, or with `--check` say which are out of date; 1 if one is."""
    parser = argparse.ArgumentParser(prog="flambeau.tools.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    is_check = parser.parse_args(arguments).check
    status = 0
    for name, make in PAGES.items():
        path = (folder or ROOT / "docs") / name
        text = make()
        present = path.read_text(encoding="utf-8") if path.is_file() else ""
        if without_machine(present) == without_machine(text):
            continue
        if is_check:
            print(f"{path} is out of date: run make docs", file=sys.stderr)
            status = 1
        else:
            path.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
