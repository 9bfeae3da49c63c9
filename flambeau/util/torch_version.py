"""Versions that are texts, and are compared as versions are.

>>> TorchVersion("1.10.0") > "1.9", TorchVersion("2.1.0rc1") < (2, 1), TorchVersion("2.1.0") == "2.1.0"
(True, True, True)
"""

from __future__ import annotations

import re
from typing import Any, Final

_PARTS: Final = re.compile(
    r"v?(?P<release>\d+(\.\d+)*)[-_.]?((?P<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<which>\d*))?"
    r"([-_.]?(post|rev|r)[-_.]?(?P<post>\d*))?([-_.]?dev[-_.]?(?P<dev>\d*))?(\+(?P<local>[a-z0-9._-]+))?",
    re.IGNORECASE,
)
_STAGES: Final = {"a": 0, "alpha": 0, "b": 1, "beta": 1}
_FINAL: Final = 3


def _key(version: Any) -> Any:
    """What versions are compared by; None for what is none."""
    text = ".".join(map(str, version)) if isinstance(version, tuple | list) else str(version)
    match = _PARTS.fullmatch(text.strip())
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    after = -1 if match["post"] is None else int(match["post"] or 0)
    before = int(match["dev"] or 0) if match["dev"] is not None else float("inf")
    local = [(1, int(p)) if p.isdigit() else (0, p) for p in re.split("[._-]", match["local"] or "") if p]
    return release, _stage(match), after, before, local


def _stage(match: re.Match[str]) -> tuple[int, int]:
    """How far a release is: alphas, betas and candidates lie before it, what is in development before them."""
    pre = match["pre"]
    if pre is not None:
        return _STAGES.get(pre.lower(), 2), int(match["which"] or 0)
    return (-1, 0) if match["post"] is None and match["dev"] is not None else (_FINAL, 0)


class TorchVersion(str):
    """A version: a text, which is compared with texts, tuples and other versions by its numbers.

    What is no version, or compared with none, is compared as a text.

    >>> TorchVersion("0.10") > TorchVersion("0.9.1"), TorchVersion("0.1.0") >= (0, 1)
    (True, True)
    """

    __slots__ = ()

    def _pair(self, other: Any) -> tuple[Any, Any]:
        mine, theirs = _key(self), _key(other)
        return (str(self), str(other)) if mine is None or theirs is None else (mine, theirs)

    def __lt__(self, other: Any) -> bool:
        mine, theirs = self._pair(other)
        return bool(mine < theirs)

    def __le__(self, other: Any) -> bool:
        mine, theirs = self._pair(other)
        return bool(mine <= theirs)

    def __gt__(self, other: Any) -> bool:
        mine, theirs = self._pair(other)
        return bool(mine > theirs)

    def __ge__(self, other: Any) -> bool:
        mine, theirs = self._pair(other)
        return bool(mine >= theirs)

    def __eq__(self, other: object) -> bool:
        mine, theirs = self._pair(other)
        return bool(mine == theirs)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__
