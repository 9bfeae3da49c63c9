"""How native callables end: they give back what they refer to, and the garbage collector sees it."""

from __future__ import annotations

from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_INTERFACE
from flambeau.codegen.llvm.checked_emitter import NULL

LIFE_EXPORTS = ("dealloc", "traverse", "clear")
"""The type's functions of these names."""
_VISIT = "i32 (ptr, ptr)"


def life_module(layouts: ObjectLayouts) -> ModuleBuilder:
    """A module with the functions. A cleared callable cannot be called any more."""
    m = ModuleBuilder(C_INTERFACE)
    f = m.function("i32 clear", "ptr self", exported=True)
    (self,) = f.parameters
    f.put(self, layouts.callable, vectorcall=NULL)
    owned = f.get(self, layouts.callable, "owned")
    f.put(self, layouts.callable, owned=NULL)
    f.call("Py_DecRef", owned)
    f.ret(0)
    f = m.function("void dealloc", "ptr self", exported=True)
    (self,) = f.parameters
    f.call("PyObject_GC_UnTrack", self)
    f.call("clear", self)
    kind = f.get(self, layouts.object, "type")
    f.call("PyObject_GC_Del", self)
    f.call("Py_DecRef", kind)
    f.ret()
    f = m.function("i32 traverse", "ptr self", "ptr visit", "ptr argument", exported=True)
    self, visit, argument = f.parameters
    answer = f.call_address(visit, _VISIT, f.get(self, layouts.object, "type"), argument)
    f.return_unless(f.compare("eq", answer, 0), answer)
    owned = f.get(self, layouts.callable, "owned")
    f.return_if(f.is_null(owned), answer)
    f.ret(f.call_address(visit, _VISIT, owned, argument))
    return m
