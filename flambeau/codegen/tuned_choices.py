"""Which schedules were measured to be the fastest on this machine, by kernel, pattern and classes of sizes.

The table is one entry of the cache on disk: names of alternatives, which `codegen.alternatives` gives meaning. Where it
is not there, or names what is no alternative, the defaults hold.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Final

from flambeau.codegen.llvm.emitted import emitter_sources
from flambeau.codegen.llvm.engine import engine
from flambeau.codegen.llvm.host import is_installed
from flambeau.codegen.llvm.object_cache import ObjectCache, key_of, object_cache
from flambeau.util.locks import Lock

MOST: Final = 1 << 12
"""Choices that are kept; the oldest go first."""
_lock = Lock()
_known: dict[tuple[str, str], dict[str, str]] = {}
"""The table by the directory of the cache and the key in it."""


def choice(key: str) -> str:
    """The name of the alternative that was fastest; empty where the default is, or nobody measured."""
    return _table().get(key, "")


def stamp() -> str:
    """Tells what was made under these choices from what was made under others; empty where there are none."""
    table = _table() if is_installed() else {}
    return key_of(json.dumps(table)) if table else ""


def keep(choices: dict[str, str]) -> None:
    """Add choices to the table, in place of older ones of their keys; an empty name takes a choice back."""
    entries = object_cache()
    if entries is None:
        return
    with _lock:
        key = _key()
        table = {k: v for k, v in _read(entries, key).items() if k not in choices}
        table |= {k: v for k, v in choices.items() if v}
        table = dict(list(table.items())[-MOST:])
        entries.store(key, json.dumps(table).encode(), engine().processor.name)
        _known[entries.path, key] = table


def _table() -> dict[str, str]:
    entries = object_cache()
    if entries is None:
        return {}
    key = _key()
    known = _known.get((entries.path, key))
    if known is None:
        known = _known[entries.path, key] = _read(entries, key)
    return known


def _key() -> str:
    return _key_for(engine().identity)


@cache
def _key_for(identity: str) -> str:
    return key_of("tuned", identity, emitter_sources())


def _read(entries: ObjectCache, key: str) -> dict[str, str]:
    if not entries.has(key):
        return {}
    try:
        table = json.loads(entries.load(key, engine().processor.name) or b"{}")
    except ValueError:
        return {}
    return {str(k): str(v) for k, v in table.items()} if isinstance(table, dict) else {}
