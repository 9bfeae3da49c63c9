"""Operators of your own: declared by a schema, with kernels by device, gradients and shapes; see `docs/dispatch.md`.

>>> from flambeau.library import Library
>>> Library("doc_library", "DEF")
Library(kind=DEF, ns=doc_library, dispatch_key=)
"""

# ruff: noqa: E402  (the compiler as a whole is imported before parts of it)
from __future__ import annotations

from flambeau.util.inversions import import_compiler as _import_compiler

_import_compiler()

from flambeau.jit.library import (
    DispatchKeySet,
    Library,
    custom_op,
    define,
    exclude_keys,
    fallthrough_kernel,
    get_ctx,
    impl,
    include_keys,
    infer_schema,
    opcheck,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
    triton_op,
    wrap_triton,
)
from flambeau.jit.library import _scoped_library as _scoped_library

__all__ = [
    "DispatchKeySet",
    "Library",
    "custom_op",
    "define",
    "exclude_keys",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "include_keys",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]
