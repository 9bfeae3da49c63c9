"""Runs the programs on a page and compares what they print with what the page shows.

A block of `python` is run; blocks of a page share their names. A block of `text` behind it is what it prints, an
exception last, as `Type: message`. `title="NAME.py"` makes the block a file of that name too, which the page's
`console` blocks find: their lines `$ flambeau ...` are run. `pycon` is a session as in docstrings. `...` in what is
shown stands for anything; behind `<!-- measured -->` times and rates may differ, behind `<!-- needs: numba -->` a
block is run where that is installed. Any other block stops the test: nothing on such a page is only shown.

    python tests/docs/running_pages.py docs/tutorial/*.md     writes what the programs print into the pages
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import linecache
import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from flambeau.tools import cli

FENCE = re.compile(
    r"(?:^<!-- (?P<measured>measured)? ?(?:needs: (?P<needs>\w+))? ?-->\n)?"
    r"^```(?P<language>\w*)(?P<info>[^\n]*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
RUN = ("python", "pycon", "console")
FIGURE = re.compile(r"(?<![\w.])[\d,]+(\.\d+|(\.\d+)?(?= ?(ns|us|ms|s|GB/s|Gop/s|%|bytes of code)(?!\w)))")
UNIT = re.compile(r"# ?(ns|us|ms|s)(?!\w)")


@dataclass
class Block:
    """One block of a page, and what it is expected to print."""

    language: str
    info: str
    body: str
    line: int
    needs: str = ""
    is_measured: bool = False
    shown: str | None = None
    span: tuple[int, int] = (0, 0)
    """Where the text of the output is on the page."""

    @property
    def title(self) -> str:
        """The file that the block is, if it says so."""
        found = re.search(r'title="([\w.]+)"', self.info)
        return found[1] if found else ""


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page, each with its output."""
    found = list(FENCE.finditer(text))
    for match, behind in zip_longest(found, found[1:]):
        block = Block(
            match["language"], match["info"], match["body"], text.count("\n", 0, match.start("body")),
            match["needs"] or "", bool(match["measured"]), span=match.span("body"),
        )  # fmt: skip
        if behind is not None and behind["language"] == "text" and block.language == "python":
            block.shown, block.span = behind["body"], behind.span("body")
            block.is_measured = bool(behind["measured"])
        yield block


@dataclass
class Runner:
    """What the blocks of one page share."""

    name: str
    folder: Path
    namespace: dict[str, Any] = field(default_factory=dict)

    def run(self, block: Block, number: int) -> str:
        """What a block prints."""
        if block.language == "console":
            return self.console(block)
        filename = block.title or f"{self.name}_{number}.py"
        linecache.cache[filename] = (len(block.body), None, block.body.splitlines(True), filename)
        if block.title:
            (self.folder / block.title).write_text(block.body, encoding="utf-8")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.chdir(self.folder), warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", DeprecationWarning)  # of peers
            warnings.showwarning = lambda message, category, *_, **__: print(f"{category.__name__}: {message}")
            try:
                exec(compile(block.body, filename, "exec"), self.namespace)
            except Exception as error:
                if block.shown is None:
                    raise
                print(f"{type(error).__name__}: {error}")
        return printed.getvalue()

    def console(self, block: Block) -> str:
        """What commands print, each behind its line."""
        said = ""
        for line in (at for at in block.body.splitlines() if at.startswith("$ ")):
            program, *arguments = shlex.split(line[2:])
            assert program == "flambeau", f"{self.name}: {line}: only flambeau is run"
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.chdir(self.folder):
                assert cli.main(arguments) == 0, line
            said += f"{line}\n{printed.getvalue()}".replace(f"{self.folder}/", "")
        return said


def is_same(shown: str, printed: str, is_measured: bool) -> bool:
    """Whether a page shows what was printed; `...` fits anything, figures of measurements any other."""
    if is_measured:
        shown, printed = (" ".join(UNIT.sub("# time", FIGURE.sub("#", t)).split()) for t in (shown, printed))
        shown, printed = (re.sub(r", (#|\d+) from cache", "", t) for t in (shown, printed))  # made by another test
    tidy = ["\n".join(line.rstrip() for line in t.strip().splitlines()) for t in (shown, printed)]
    return doctest.OutputChecker().check_output(f"{tidy[0]}\n", f"{tidy[1]}\n", doctest.ELLIPSIS)


def run_page(path: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run a page; each block with what it printed. Raises AssertionError for a block that nobody runs."""
    name = re.sub(r"\W", "_", path.stem)
    runner = Runner(name, folder, {"__name__": name})
    before = ""
    for number, block in enumerate(blocks(path.read_text(encoding="utf-8")), 1):
        is_output, before = block.language == "text" and before == "python", block.language
        if is_output:
            continue
        assert block.language in RUN, f"{path.name}:{block.line}: a block of {block.language or 'nothing'} is not run"
        if block.needs and importlib.util.find_spec(block.needs) is None:
            continue
        if block.language == "pycon":
            test = doctest.DocTestParser().get_doctest(block.body, runner.namespace, name, path.name, block.line)
            report: list[str] = []
            found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append, clear_globs=False)
            assert not found.failed, "".join(report)
            runner.namespace.update(test.globs)
            continue
        yield block, runner.run(block, number)


def main(paths: list[str]) -> None:
    """Write into pages what their programs print."""
    import tempfile

    for path in map(Path, paths):
        text = path.read_text(encoding="utf-8")
        changes: list[tuple[tuple[int, int], str]] = []
        with tempfile.TemporaryDirectory() as folder:
            for block, printed in run_page(path, Path(folder)):
                shown = block.body if block.language == "console" else block.shown
                if shown is not None and not is_same(shown, printed, block.is_measured):
                    tidy = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
                    changes.append((block.span, tidy + "\n"))
        for (start, end), new in reversed(changes):
            text = text[:start] + new + text[end:]
        path.write_text(text, encoding="utf-8")
        print(f"{path}: {len(changes)} outputs written")


if __name__ == "__main__":
    main(sys.argv[1:])
