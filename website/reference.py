"""The reference of functions and classes, from their docstrings: a page for each part of the package.

Layers are grouped as `docs/layers.md` groups them. Functions that are operators are in the reference of operators.
"""

from __future__ import annotations

import inspect
import pydoc
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import flambeau
from flambeau import func, jit, nn, te
from flambeau.nn import functional
from website.stage import ROOT, Pages

PACKAGE: Final = ROOT / "flambeau"
INDEX = """# Reference

- [Operators](operators/index.md): every operator by topic, with signature, dtypes, an example, native or not.
- [The package](package.md): tensors, dtypes, `script`, `trace` and what else `flambeau` itself has.
- [`flambeau.jit`](jit.md): compiling, tracing, freezing, archives, errors.
- [`flambeau.func`](func.md): functions that transform functions.
- [`flambeau.te`](te.md): loop nests, schedules and the code that comes of them.
- [`flambeau.autograd.functional`](autograd_functional.md): Jacobians, Hessians and products with them at given inputs.
- Layers of [`flambeau.nn`](nn/index.md), by kind.
- [`flambeau.nn.functional`](functional.md): functions of networks that are no operators by themselves.

All of it is made from docstrings and declarations: `help(flambeau.nn.Conv2d)` says the same. Tests run the examples.
"""
PRODUCTS = ("hessian", "hvp", "jacobian", "jvp", "vhp", "vjp")
"""What `flambeau.autograd.functional` has."""
LOOP_NESTS = (
    "Cached", "CudaCode", "LoopNest", "NativeCode", "ScheduleError", "cast", "compute", "eq", "maximum", "minimum",
    "ne", "placeholder", "power", "reduce", "var", "where",
)  # fmt: skip
"""What `flambeau.te` has beside functions of single numbers."""
STEPS = [n for n, v in vars(te.LoopNest).items() if inspect.isfunction(v) and not n.startswith("_")]
WITH_MEMBERS = {
    "flambeau.jit.ScriptFunction": ["graph_for", "passes", "explain", "profile", "ptx", "save"],
    "flambeau.te.LoopNest": STEPS,
    "flambeau.te.NativeCode": ["llvm_ir", "optimised_ir", "asm"],
    "flambeau.te.CudaCode": ["mapped", "ptx", "simulate"],
}
"""Classes whose methods are shown as well."""


def pages(_: Path) -> Pages:
    """`reference/index.md` and the pages that it names."""
    explicit = [n for n in vars(flambeau) if _is_here(n, getattr(flambeau, n))]
    compiling = [n for n in jit.__all__ if _is_here(n, getattr(jit, n))]
    own = [n for n, v in vars(functional).items() if _is_own(v)]
    return {
        "reference/index.md": INDEX,
        "reference/package.md": _page("The package", "flambeau", explicit),
        "reference/jit.md": _page("flambeau.jit", "flambeau.jit", compiling),
        "reference/func.md": _page("flambeau.func", "flambeau.func", func.__all__),
        "reference/te.md": _page("flambeau.te", "flambeau.te", LOOP_NESTS),
        "reference/autograd_functional.md": _page(
            "flambeau.autograd.functional", "flambeau.autograd.functional", PRODUCTS
        ),
        "reference/functional.md": _page("flambeau.nn.functional", "flambeau.nn.functional", own),
        **_layers(),
    }


def sources(pages: Pages) -> set[Path]:
    """The files that Griffe reads: where what is shown is defined, and where it can be imported from.

    Griffe would read all of the package, which takes a third of the time of a build.
    """
    found = {path for path in PACKAGE.rglob("*.py*") if path.suffix in (".py", ".pyi") and _exports(path)}
    for name in (n for page in pages.values() for n in re.findall(r"^::: (\S+)", page, re.MULTILINE)):
        shown: Any = pydoc.locate(name)
        owners = inspect.getmro(shown) if inspect.isclass(shown) else (inspect.unwrap(shown),)
        # a function may hide the module of its name, which is found in its place
        modules = {owner.__name__ if inspect.ismodule(owner) else owner.__module__ for owner in owners}
        for module in {name.rpartition(".")[0], *modules}:
            file = getattr(sys.modules.get(module), "__file__", None)
            if module.startswith("flambeau") and file is not None:
                found.add(Path(file))
    return found


def _exports(path: Path) -> bool:
    """Whether a file says what others may import from it."""
    return path.stem == "__init__" or "\n__all__" in path.read_text(encoding="utf-8")


def _is_own(found: object) -> bool:
    return str(getattr(found, "__module__", None)).startswith("flambeau.nn.functions.")


def _is_here(name: str, found: object) -> bool:
    """Whether a name is a function or class of the package that a source file spells out."""
    if name.startswith("_") or isinstance(found, ModuleType) or not callable(found):
        return False
    if not str(getattr(found, "__module__", None)).startswith("flambeau") or hasattr(found, "operator_name"):
        return False
    try:
        inspect.getsourcefile(inspect.unwrap(found))
    except TypeError:
        return False
    return getattr(found, "__name__", "") in (name, f"{name}_") or name in ("load",)


def _page(title: str, module: str, names: Iterable[str]) -> str:
    return f"# {title}\n" + "".join(_entry(f"{module}.{n}") for n in sorted(names, key=str.lower))


def _entry(path: str) -> str:
    text = f"\n::: {path}\n"
    if path in WITH_MEMBERS:
        text += f"    options:\n      members: {WITH_MEMBERS[path]}\n"
    return text


def _layers() -> Pages:
    text = (ROOT / "docs" / "layers.md").read_text(encoding="utf-8").split("## In programs")[0]
    found: Pages = {}
    index = "# Layers\n\n[Layers and models](../../layers.md) says how programs use them.\n\n"
    index += "| kind | layers |\n|---|---|\n"
    for title, row in re.findall(r"^\| ([a-z][\w ]*) \| ((?:`[A-Z]\w+` ?)+)\|", text, re.MULTILINE):
        names = [n for n in re.findall(r"`(\w+)`", row) if n in nn.__all__]
        path = title.replace(" ", "-")
        links = ", ".join(f"[{n}]({path}.md#flambeau.nn.{n})" for n in names)
        index += f"| [{title}]({path}.md) | {links} |\n"
        found[f"reference/nn/{path}.md"] = _page(title.capitalize(), "flambeau.nn", names)
    return {"reference/nn/index.md": index, **found}
