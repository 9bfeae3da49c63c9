"""The code of a plan's launches, put into one piece that another process loads in one go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.codegen.llvm import loader
from flambeau.codegen.llvm.engine import NativeCode, c_address, engine, memory_imports
from flambeau.codegen.llvm.object_file import NotLinkedError
from flambeau.codegen.products import Tiling
from flambeau.util.record import dataclass


class NotKeptError(Exception):
    """Another process cannot take something up, or this one cannot."""


@dataclass(frozen=True, slots=True)
class KeptCode:
    """Code that the cache on disk has."""

    key: str
    symbols: tuple[str, ...]
    """What is called of it."""
    tiling: Tiling | None = None
    """The schedule, of a product that calls BLAS."""
    is_kernel: bool = False


@dataclass(frozen=True, slots=True)
class KeptCodes:
    """The code of all launches of a plan."""

    identity: str
    """What made the code: the processor and the version of LLVM."""
    codes: tuple[KeptCode, ...]
    image: loader.Prelinked | None
    """All of it in one piece; None where our own linker does not know it."""


class CodeWriter:
    """Collects code."""

    def __init__(self) -> None:
        self._places: dict[KeptCode, int] = {}

    def place_of(self, code: KeptCode) -> int:
        """The number of some code. Raises NotKeptError for code that the cache does not have."""
        if not code.key:
            raise NotKeptError("its code is not in the cache")
        return self._places.setdefault(code, len(self._places))

    def written(self) -> KeptCodes:
        """All code so far. Raises NotKeptError where the cache has some of it no more."""
        codes = tuple(self._places)
        contents = [engine().content(code.key, is_kernel=code.is_kernel) for code in codes]
        kept = [content for content in contents if content is not None]
        if len(kept) < len(contents):
            raise NotKeptError("code is not in the cache any more")
        image: loader.Prelinked | None = None
        if loader.is_supported():
            try:
                image = loader.prelinked(kept)
            except NotLinkedError:
                image = None
        return KeptCodes(engine().identity, codes, image)


def linked(kept: KeptCodes) -> list[NativeCode]:
    """The code of a plan in memory. Raises NotKeptError where it is gone, or was made by another LLVM."""
    if kept.identity != engine().identity:
        raise NotKeptError("another LLVM made its code")
    if kept.image is None or not loader.is_supported():
        return [_linked_alone(code) for code in kept.codes]
    try:
        image = loader.load(kept.image, [code.symbols for code in kept.codes], [_finder(code) for code in kept.codes])
    except NotLinkedError as error:
        raise NotKeptError(str(error)) from error
    return [NativeCode(known, "", 0, 0.0, True, image) for known in image.of_objects]


def _linked_alone(kept: KeptCode) -> NativeCode:
    code = engine().link_known(kept.key, kept.symbols, _imports(kept), is_kernel=kept.is_kernel)
    if code is None:
        raise NotKeptError("code is not in the cache any more")
    return code


def _imports(kept: KeptCode) -> dict[str, int]:
    return memory_imports() | (kept.tiling.imports() if kept.tiling is not None else {})


def _finder(kept: KeptCode) -> Callable[[str], Any]:
    imports = _imports(kept)
    return lambda name: imports.get(name) or c_address(name)
