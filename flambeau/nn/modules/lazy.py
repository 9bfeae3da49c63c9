"""Modules that learn sizes from their first input."""

from flambeau.nn.lazy_module import LazyModuleMixin
from flambeau.nn.uninitialized import is_lazy

__all__ = ["LazyModuleMixin", "is_lazy"]
