"""The order in which the site shows its pages; a page that is in no section is an error of the strict build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Navigation = list[Any]
SECTIONS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("Start", ("index.md",)),
    ("Tutorial", (
        "tutorial/index.md", "tutorial/first-function.md", "tutorial/loops.md", "tutorial/modules.md",
        "tutorial/training.md", "tutorial/looking-inside.md", "tutorial/speed.md", "tutorial/archives.md",
        "tutorial/writing-a-pass.md",
    )),
    ("How-to", (
        "how-to/index.md", "how-to/from-numba.md", "from-pytorch.md", "how-to/training-loops.md",
        "how-to/mixed-precision.md", "how-to/from-jax.md",
    )),
    ("Guide", (
        "language.md", "classes.md", "modules.md", "layers.md", "autograd.md", "transforms.md", "tracing.md",
        "freezing.md", "archives.md", "dispatch.md", "fx.md", "errors.md", "native-code.md", "te.md", "cuda.md",
    )),
    ("Performance", (
        "performance/index.md", "performance/measuring.md", "performance/arrays.md", "performance/loops.md",
        "performance/numba-programs.md", "performance/operators.md", "performance/operator-gradients.md",
        "performance/low-precision.md", "performance/complex.md", "performance/recurrent.md",
        "performance/training.md", "performance/transforms.md", "performance/matrix-programs.md",
        "performance/models.md", "performance/full-size.md", "performance/first-calls.md",
        "performance/first-answers.md",
        "performance/threads.md", "performance/accuracy.md", "performance/tried.md", "benchmarks*",
    )),
    ("Language", ("language-table/*",)),
    ("Reference", ("reference/*",)),
    ("Gallery", ("gallery/*",)),
    ("Inside", ("architecture.md", "walk.md", "glossary.md", "random-programs.md", "contributing.md", "changelog.md")),
)  # fmt: skip
"""Titles and pages in order; `folder/*` stands for the pages that begin so, by path, those of folders in it as groups.
"""

FOLDERS: Final = {"nn": "Layers"}
"""What groups are called whose folder's name does not say it."""


def navigation(pages: Mapping[str, str]) -> Navigation:
    """What MkDocs takes as `nav`, for these pages.

    >>> navigation({"index.md": "", "gallery/index.md": "", "gallery/life.md": ""})
    [{'Start': ['index.md']}, {'Gallery': ['gallery/index.md', 'gallery/life.md']}]
    """
    found: Navigation = []
    for title, names in SECTIONS:
        listed: Navigation = []
        for name in names:
            listed += _below(name[:-1], pages) if name.endswith("*") else [n for n in (name,) if n in pages]
        if listed:
            found.append({title: listed})
    return found


def _below(start: str, pages: Mapping[str, str]) -> Navigation:
    """The pages whose paths begin so: a folder's own page first, the others by their order in `pages`."""
    found: Navigation = []
    groups: dict[str, Navigation] = {}
    for name in sorted((n for n in pages if n.startswith(start)), key=lambda n: not n.endswith("index.md")):
        folder, _, rest = name[len(start) :].partition("/")
        if not rest or not start.endswith("/"):
            found.append(name)
        elif folder in groups:
            groups[folder].append(name)
        else:
            groups[folder] = [name]
            found.append({FOLDERS.get(folder, folder.capitalize()): groups[folder]})
    return sorted(found, key=lambda entry: isinstance(entry, dict))
