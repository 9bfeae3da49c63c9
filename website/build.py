"""Stages the pages, has MkDocs build them strictly, and checks what came out: links, and that no Markdown is left."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from mkdocs.commands import build as mkdocs_build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from website import floors, gallery, language, operators, reference
from website.links import broken
from website.markup import left_over
from website.navigation import navigation
from website.stage import ROOT, Maker, Pages, stage

MAKERS: tuple[Maker, ...] = (
    language.pages, reference.pages, operators.pages, floors.pages, gallery.pages,
)  # fmt: skip
"""What makes pages besides those that are written by hand."""


class Warnings(logging.Handler):
    """Keeps what is logged as a warning or worse."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.found.append(f"{record.name}: {record.getMessage()}")


def copied(pages: Pages, folder: Path) -> Path:
    """A folder with copies of the files of the package whose docstrings the pages show."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in reference.sources(pages):
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return folder


def build(folder: Path) -> list[str]:
    """Build the site in `folder / "site"`; what is wrong with it, nothing if all is well."""
    pages = stage(folder / "docs", MAKERS)
    config = load_config(
        str(ROOT / "mkdocs.yml"), docs_dir=str(folder / "docs"), site_dir=str(folder / "site"), strict=True,
        nav=navigation(pages),
    )  # fmt: skip
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [str(copied(pages, folder / "sources"))]
    warnings = Warnings()
    logging.getLogger("mkdocs").addHandler(warnings)
    config.plugins.on_startup(command="build", dirty=False)
    try:
        mkdocs_build.build(config)
    except Abort as error:
        warnings.found.append(f"mkdocs: {error}")
    finally:
        config.plugins.on_shutdown()
        logging.getLogger("mkdocs").removeHandler(warnings)
    return warnings.found or [*broken(folder / "site"), *left_over(folder / "site")]
