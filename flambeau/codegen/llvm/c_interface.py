"""The functions of Python's and NumPy's C interfaces, and of the system, that stubs call, with their LLVM types."""

from __future__ import annotations

C_INTERFACE = {
    "PyCapsule_GetPointer": "ptr (ptr, ptr)", "PyCapsule_New": "ptr (ptr, ptr, ptr)", "PyErr_CheckSignals": "i32 ()",
    "PyErr_Clear": "void ()", "PyErr_Fetch": "void (ptr, ptr, ptr)", "PyErr_NormalizeException": "void (ptr, ptr, ptr)",
    "PyErr_Occurred": "ptr ()", "PyErr_Restore": "void (ptr, ptr, ptr)",
    "PyThread_get_thread_ident": "i64 ()", "PyException_SetTraceback": "i32 (ptr, ptr)", "PyGILState_Check": "i32 ()",
    "PyGILState_Ensure": "i32 ()", "PyGILState_Release": "void (i32)", "PyEval_RestoreThread": "void (ptr)",
    "PyEval_SaveThread": "ptr ()", "PyFloat_AsDouble": "double (ptr)", "PyFloat_FromDouble": "ptr (double)",
    "PyComplex_FromDoubles": "ptr (double, double)", "PyComplex_ImagAsDouble": "double (ptr)",
    "PyComplex_RealAsDouble": "double (ptr)",
    "PyDict_New": "ptr ()", "PyDict_Next": "i32 (ptr, ptr, ptr, ptr)", "PyDict_SetItem": "i32 (ptr, ptr, ptr)",
    "PyDict_Size": "i64 (ptr)", "PySet_Add": "i32 (ptr, ptr)", "PySet_New": "ptr (ptr)",
    "PySet_Size": "i64 (ptr)", "PyObject_GetIter": "ptr (ptr)", "PyIter_Next": "ptr (ptr)",
    "PyList_GetItem": "ptr (ptr, i64)", "PyList_New": "ptr (i64)", "PyList_SetItem": "i32 (ptr, i64, ptr)",
    "PyList_Size": "i64 (ptr)", "PyLong_AsDouble": "double (ptr)", "PyLong_AsLongLong": "i64 (ptr)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)", "PyLong_FromLongLong": "ptr (i64)",
    "PyMem_RawFree": "void (ptr)", "PyMem_RawMalloc": "ptr (i64)", "PyObject_GC_Del": "void (ptr)",
    "PyObject_GC_UnTrack": "void (ptr)", "PyObject_GetAttr": "ptr (ptr, ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyTuple_GetItem": "ptr (ptr, i64)", "PyTuple_New": "ptr (i64)", "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyTuple_Size": "i64 (ptr)", "PyType_GenericAlloc": "ptr (ptr, i64)",
    "PyType_IsSubtype": "i32 (ptr, ptr)", "Py_DecRef": "void (ptr)",
    "PyUnicode_AsUCS4": "ptr (ptr, ptr, i64, i32)", "PyUnicode_FromKindAndData": "ptr (i32, ptr, i64)",
    "PyUnicode_GetLength": "i64 (ptr)", "Py_IncRef": "void (ptr)", "madvise": "i32 (ptr, i64, i32)",
}  # fmt: skip
NUMPY_INTERFACE = {"new_array": "ptr (ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)", "set_base": "i32 (ptr, ptr)"}
"""``PyArray_NewFromDescr`` and ``PyArray_SetBaseObject``."""
ALIGNED, WRITEABLE, C_CONTIGUOUS = 0x100, 0x400, 0x1
"""Flags of arrays, as NumPy numbers them."""
