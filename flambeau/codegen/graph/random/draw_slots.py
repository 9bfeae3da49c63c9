"""Whether a native function has NumPy's generator: a slot with its address, null until the first draw.

A function that calls others of the program, or of other compilers, has none: these may draw, too, and the lock is not
one that a thread can take twice.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.lanes_emitter import LaneEmitter
from flambeau.codegen.graph.routines.library import call_routine
from flambeau.codegen.graph.scope import DrawSlot
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.numpy_generator import END
from flambeau.ir.graph import Graph

DRAWS: Final = "python::np_random_"
CALLS = ("prim::CallFunction", "prim::CallMethod", "^")
NULL = Register("null", "ptr", 1)


def new_slot(e: LaneEmitter, graph: Graph) -> DrawSlot | None:
    """The slot of a function that draws; None for others."""
    nodes = graph.listed_nodes()
    names = {node.op for node in nodes}
    if not any(name.startswith(DRAWS) for name in names) or any(name.startswith(CALLS) for name in names):
        return None
    slot = e.slot("ptr", 8)
    e.entry.append(f"  store ptr null, ptr {slot}")
    definitions = [node.definition for node in nodes if node.definition is not None]
    return DrawSlot(slot, any(definition.traits.draws_normals for definition in definitions))


def give_back(fn: EmittedFunction) -> None:
    """Give the generator back, if the function has it."""
    if fn.draws is None:
        return
    e = fn.e
    generator = e.define(f"load ptr, ptr {fn.draws.slot}", "ptr", 1)
    back, after = e.label("give_back"), e.label("without")
    e.branch_if(e.icmp("ne", generator, NULL), back, after)
    e.start(back)
    call_routine(fn, END, memory.number(int(fn.draws.draws_normals)))
    e.raw(f"store ptr null, ptr {fn.draws.slot}")
    e.branch(after)
    e.start(after)
