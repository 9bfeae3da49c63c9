"""The origin of a function whose graph is there: what the graph says, and those of all that it calls.

Plans and native code follow from the graph, so that a second process that makes an equal one, places in the source
included, reads what the first one left. What refers to something of the process, or reads memory around the program,
has no origin.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from flambeau.executor.records import RecordError, dumps
from flambeau.passes.inline import CALLS, callee_of
from flambeau.program.function import Function
from flambeau.program.origin import NO_NAMES, Origin, Provenance
from flambeau.schema.types import Type
from flambeau.tensor.tensor import Tensor


class _Callees:
    """The functions that graphs call, by name."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}

    def find_type(self, name: str) -> Type | None:
        """None: objects are of the process."""

    def find_function(self, name: str) -> Function | None:
        """The function, or None."""
        return self.functions.get(name)


def provenance_of_graph(function: Function) -> Provenance:
    """What tells a function from every other by its graph, which is looked at when something asks."""
    return Provenance(lambda: _origin(function), is_loaded=False)


def _origin(function: Function) -> Origin | None:
    """The origin; None for what another process cannot make."""
    callees, pending = _Callees(), [function]
    callees.functions[function.name] = function
    digest = hashlib.sha256()
    for each in pending:
        nodes = list(each.graph.all_nodes())
        for node in nodes:
            callee = callee_of(node) if node.op in CALLS else None
            if _reads_memory(node.attributes.values()) or (node.op in CALLS and callee is None):
                return None
            if callee is not None and callees.functions.setdefault(callee.name, callee) is not callee:
                return None
            if callee is not None and callee not in pending:
                pending.append(callee)
        try:
            digest.update(dumps((str(each.schema), each.graph), callees))
        except RecordError:
            return None
    return Origin(digest.hexdigest(), NO_NAMES)


def _reads_memory(values: Iterable[Any]) -> bool:
    """Whether tensors or arrays are among values, which programs read as they are when they run."""
    for value in values:
        if isinstance(value, Tensor | np.ndarray) or (isinstance(value, list | tuple) and _reads_memory(value)):
            return True
    return False
