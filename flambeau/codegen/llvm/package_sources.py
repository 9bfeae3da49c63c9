"""The stamps of this package's sources, by which the cache on disk tells what is made by them.

Which files the package has lies in the cache: a process asks for the ages of a hundred folders and reads none of them.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

from flambeau.codegen.llvm.file_statuses import native_look
from flambeau.codegen.llvm.object_cache import key_of, object_cache
from flambeau.util import log
from flambeau.util.source_files import Listing, listed, sizes_and_ages
from flambeau.util.source_stamps import SourceStamps

PACKAGE: Final = str(Path(__file__).parents[2])
ANY_PROCESSOR: Final = "any processor"
EDITED: Final = (
    "sources of flambeau were edited after this process began (by the ages of their files): it reads nothing that "
    "others left, and others read nothing of it; start it anew, or correct ages that lie in the future"
)


def package_stamp(room: str = "") -> str:
    """Tells the sources of this package, or of one of its folders, from what they were before they were edited."""
    return _stamps().of(room)


@cache
def _stamps() -> SourceStamps:
    stamps = SourceStamps(PACKAGE, kept_listing, native_look() or sizes_and_ages)
    if log.level("cache") and stamps.are_own:
        log.write("cache", EDITED)
    return stamps


def kept_listing(package: str) -> Listing:
    """The files of a package, from the cache where the ages of its folders say that they are the same."""
    cache = object_cache()
    if cache is None:
        return listed(package)
    key = key_of("files", os.fsencode(package).hex())
    content = cache.load(key, ANY_PROCESSOR) if cache.has(key) else None
    kept = None if content is None else Listing.read(content)
    if kept is not None and kept.is_current(package):
        return kept
    files = listed(package)
    if files.is_settled():
        cache.store(key, files.written(), ANY_PROCESSOR)
    return files
