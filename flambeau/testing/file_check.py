"""Checks on text that a compiler printed: what must occur, in which order, what must not occur in between.

>>> text = "x = load a\\ny = load b\\nz = add x, y\\n"
>>> FileCheck().check_count("load", 2).check_next("add").check_not("load").run(text)

The checks are those of LLVM's FileCheck tool, without patterns in the text: https://llvm.org/docs/CommandGuide/FileCheck.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NoReturn, Self

from flambeau.util.record import dataclass


class Kind(StrEnum):
    """What a check asks for, as it is spelt behind ``CHECK-``."""

    CHECK = ""
    NEXT = "NEXT"
    SAME = "SAME"
    NOT = "NOT"
    DAG = "DAG"
    COUNT = "COUNT"
    SOURCE_HIGHLIGHTED = "SOURCE-HIGHLIGHTED"
    REGEX = "REGEX"


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    >>> [check] = parse_checks('# CHECK: aten::mul')
    >>> check.text
    'aten::mul'
    """

    kind: Kind
    text: str
    count: int = 1
    exactly: bool = False

    def __str__(self) -> str:
        spelling = "-".join(part for part in ("CHECK", self.kind, "EXACTLY" if self.exactly else "") if part)
        return f"{spelling}{f'-{self.count}' if self.kind is Kind.COUNT else ''}: {self.text}"


class CheckError(RuntimeError, AssertionError):
    """A check that did not hold; says which, where the search began, and the text there.

    >>> try:
    ...     FileCheck().check("aten::mul").run("aten::add")
    ... except CheckError as error:
    ...     print(type(error).__name__)
    CheckError
    """


class InvalidCheckError(RuntimeError, ValueError):
    """Checks that are none: a line that cannot be read, a count of 0, or nothing to check.

    >>> try:
    ...     FileCheck().run("aten::add")
    ... except InvalidCheckError as error:
    ...     print(type(error).__name__)
    InvalidCheckError
    """


ABSENT = 'Expected to find {asked}"{text}" but did not find it'
PRESENT = 'Expected to not find "{text}" but found it'
NOT_HIGHLIGHTED = 'Expected to find "{text}" highlighted but it is not.'
NO_CHECKS = (
    "No checks have been added to this instance of FileCheck! Check for bad input: call check(...) first, or give "
    "lines such as `# CHECK: aten::mul`"
)
BAD_CHECK = "Could not parse check at: {line!r}; write CHECK, {kinds} or CHECK-COUNT-3, then a colon"
_LINE = re.compile(
    r"^\s*#\s*CHECK(?:-(?P<kind>NEXT|SAME|NOT|DAG|SOURCE-HIGHLIGHTED|REGEX)"
    r"|-COUNT(?P<exactly>-EXACTLY)?-(?P<count>\d+))?:\s*(?P<text>.*?)\s*$"
)


class FileCheck:
    """A sequence of checks; each method adds one and gives the whole, `run` applies them to a text.

    >>> FileCheck().check('aten::mul').check_not('aten::neg').run('%y = aten::mul(%x, %x)')
    """

    def __init__(self) -> None:
        self.checks: list[Check] = []

    def check(self, text: str) -> Self:
        """`text` occurs after what was found before."""
        return self._add(Kind.CHECK, text)

    def check_next(self, text: str) -> Self:
        """`text` occurs on the line after."""
        return self._add(Kind.NEXT, text)

    def check_same(self, text: str) -> Self:
        """`text` occurs after, on the same line."""
        return self._add(Kind.SAME, text)

    def check_not(self, text: str) -> Self:
        """`text` does not occur between what is found before and after this check."""
        return self._add(Kind.NOT, text)

    def check_dag(self, text: str) -> Self:
        """`text` occurs after; neighbouring checks of this kind may be met in any order, even by the same place."""
        return self._add(Kind.DAG, text)

    def check_regex(self, pattern: str) -> Self:
        """Something that the pattern of `re` matches occurs after."""
        return self._add(Kind.REGEX, pattern)

    def check_source_highlighted(self, text: str) -> Self:
        """`text` occurs after, on a line whose next one marks exactly it with ``~``."""
        return self._add(Kind.SOURCE_HIGHLIGHTED, text)

    def check_count(self, text: str, count: int, exactly: bool = False) -> Self:
        """`text` occurs `count` times after; with `exactly`, not once more up to what is found next.

        Raises InvalidCheckError for a count below 1, unless it is 0 and `exactly`, which is `check_not`.
        """
        if count < 0 or (count == 0 and not exactly):
            raise InvalidCheckError(f"a count of {count}: write check_not(...) for what must not occur")
        if count == 0:
            return self.check_not(text)
        self.checks.append(Check(Kind.COUNT, text, count, exactly))
        return self

    def _add(self, kind: Kind, text: str) -> Self:
        self.checks.append(Check(kind, text))
        return self

    def run(self, *texts: Any) -> None:
        """Apply the checks to a text, or to what an object such as a graph prints.

        With two arguments the first holds further checks, one in a line, as in ``# CHECK-NEXT: aten::mul``. Raises
        CheckError for the first that does not hold, and InvalidCheckError if there is none at all.
        """
        if len(texts) not in (1, 2):
            raise TypeError(f"run takes a text, or checks and a text, got {len(texts)} arguments")
        checks = [*self.checks, *(parse_checks(str(texts[0])) if len(texts) == 2 else ())]
        if not checks:
            raise InvalidCheckError(NO_CHECKS)
        _Run(str(texts[-1])).all(checks)

    def __repr__(self) -> str:
        return "FileCheck:\n" + "\n".join(f"    {c}" for c in self.checks)


def parse_checks(text: str) -> Iterator[Check]:
    """The checks in a text. Raises InvalidCheckError for a line that begins like one and is none."""
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is not None:
            count, kind = match["count"], Kind(match["kind"] or "")
            yield (
                Check(Kind.COUNT, match["text"], int(count), bool(match["exactly"]))
                if count
                else Check(kind, match["text"])
            )
        elif re.match(r"^\s*#\s*CHECK", line):
            kinds = ", ".join(f"CHECK-{k}" for k in Kind if k not in (Kind.CHECK, Kind.COUNT))
            raise InvalidCheckError(BAD_CHECK.format(line=line.strip(), kinds=kinds))


Span = tuple[int, int]


class _Run:
    """The checks applied to one text: `at` is the end of what was found last."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def all(self, checks: list[Check]) -> None:
        forbidden: list[Check] = []
        index = 0
        while index < len(checks):
            check = checks[index]
            index += 1
            if check.kind is Kind.NOT:
                forbidden.append(check)
                continue
            group = [check]
            while check.kind is Kind.DAG and index < len(checks) and checks[index].kind is Kind.DAG:
                group.append(checks[index])
                index += 1
            start, end = self.any_order(group) if check.kind is Kind.DAG else self.find(check)
            for unwanted in forbidden:
                self.absent(unwanted, self.at, start)
            forbidden = [Check(Kind.NOT, check.text)] if check.exactly else []
            self.at = end
        for unwanted in forbidden:
            self.absent(unwanted, self.at, len(self.text))

    def find(self, check: Check) -> Span:
        """Where what a check asks for is."""
        if check.kind is Kind.REGEX:
            match = re.compile(check.text).search(self.text, self.at)
            return match.span() if match is not None else self.fail(check, "no match", ABSENT)
        if check.kind is Kind.SOURCE_HIGHLIGHTED:
            return self.highlighted(check)
        if check.kind is Kind.COUNT:
            return self.several(check)
        line_end = self.text.find("\n", self.at)
        span = self.first(check, line_end if check.kind is Kind.NEXT and line_end >= 0 else self.at)
        breaks = self.text.count("\n", self.at, span[0])
        if check.kind is Kind.SAME and breaks:
            self.fail(check, f"found {breaks} line(s) later, not on the same line", PRESENT, "\\n")
        if check.kind is Kind.NEXT and breaks != 1:
            self.fail(check, f"found {breaks} line(s) later, not on the next line", PRESENT, "\\n")
        return span

    def first(self, check: Check, at: int) -> Span:
        start = self.text.find(check.text, at)
        return (start, start + len(check.text)) if start >= 0 else self.fail(check, "not found", ABSENT)

    def several(self, check: Check) -> Span:
        spans: list[Span] = []
        for _ in range(check.count):
            at = spans[-1][1] if spans else self.at
            if self.text.find(check.text, at) < 0:
                self.fail(check, f"found {len(spans)} of {check.count}", ABSENT)
            spans.append(self.first(check, at))
        return spans[0][0], spans[-1][1]

    def any_order(self, group: list[Check]) -> Span:
        spans = [self.first(check, self.at) for check in group]
        return min(start for start, _ in spans), max(end for _, end in spans)

    def highlighted(self, check: Check) -> Span:
        at, elsewhere = self.at, ""
        while (start := self.text.find(check.text, at)) >= 0:
            end = start + len(check.text)
            line = self.text.rfind("\n", 0, start) + 1
            below = self.text.find("\n", end)
            marks = self.text[below + 1 :].partition("\n")[0] if below >= 0 else ""
            width = len(marks.rstrip()) if "<---" not in marks else len(marks.partition("<---")[0].rstrip())
            marked = {k for k in range(width) if marks[k] == "~"}
            if marked and marked == set(range(start - line, end - line)):
                return start, below + 1 + width
            elsewhere = f"; below it stands {marks!r}"
            at = start + 1
        if elsewhere:
            self.fail(check, f"not highlighted{elsewhere}", NOT_HIGHLIGHTED)
        return self.fail(check, "not found", ABSENT)

    def absent(self, check: Check, start: int, end: int) -> None:
        position = self.text.find(check.text, start, end)
        if position >= 0:
            self.at = start
            self.fail(check, f"found in line {self.line(position)}", PRESENT)

    def line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def fail(self, check: Check, what: str, expected: str, text: str | None = None) -> NoReturn:
        """Raise CheckError: what was expected of `text`, by which check, and what was the case instead."""
        asked = "regex " if check.kind is Kind.REGEX else ""
        headline = expected.format(text=check.text if text is None else text, asked=asked)
        shown = self.text[self.at :]
        raise CheckError(f"{headline}\nFrom {check}\n{what}; searched from line {self.line(self.at)} on:\n{shown}")
