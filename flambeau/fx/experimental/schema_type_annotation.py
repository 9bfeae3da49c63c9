"""Types of values in a graph, from what is declared of the functions, modules and attributes that give them.

>>> import flambeau
>>> from flambeau import fx
>>> traced = fx.symbolic_trace(lambda x: flambeau.relu(x).size())
>>> annotated = AnnotateTypesWithSchema(traced).transform()
>>> [node.type for node in annotated.graph.nodes if node.name == "relu"] == [flambeau.Tensor]
True
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from flambeau.fx.interpreter import Transformer
from flambeau.fx.operator_schemas import get_signature_for_torch_op

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(Transformer):
    """Makes the same graph with types: what functions of the package return, what the `forward` of a submodule is
    annotated with, the classes of attributes.

    Args:
        module: the module of the graph.
        annotate_functionals: whether results of functions have types.
        annotate_modules: whether results of submodules do.
        annotate_get_attrs: whether attributes do.

    >>> from flambeau import fx, nn
    >>> traced = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> AnnotateTypesWithSchema(traced).transform().graph.find_nodes(op="call_module")[0].type is not None
    True
    """

    def __init__(
        self, module: Any, annotate_functionals: bool = True, annotate_modules: bool = True,
        annotate_get_attrs: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(module)
        self.annotate_functionals = annotate_functionals
        self.annotate_modules = annotate_modules
        self.annotate_get_attrs = annotate_get_attrs

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function; its type where all overloads that take so many arguments return the same."""
        type_ = _returned(target, len(args), kwargs) if self.annotate_functionals else None
        return self.tracer.create_proxy("call_function", target, args, kwargs, type_expr=type_)

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a submodule; its type as its `forward` says."""
        type_ = _annotated(self.fetch_attr(target).forward) if self.annotate_modules else None
        return self.tracer.create_proxy("call_module", target, args, kwargs, type_expr=type_)

    def get_attr(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute, with its class."""
        type_ = type(self.fetch_attr(target)) if self.annotate_get_attrs else None
        return self.tracer.create_proxy("get_attr", target, args, kwargs, type_expr=type_)


def _returned(target: Callable[..., Any], count: int, kwargs: dict[str, Any]) -> Any:
    """What a function of the package returns, whatever the types of the arguments are; None where that is not sure."""
    signatures = get_signature_for_torch_op(target) or ()
    fitting = [s for s in signatures if count + len(kwargs) <= len(s.parameters) and set(kwargs) <= set(s.parameters)]
    results = {s.return_annotation for s in fitting}
    return results.pop() if len(results) == 1 and inspect.Signature.empty not in results else None


def _annotated(forward: Callable[..., Any]) -> Any:
    try:
        return inspect.signature(forward, eval_str=True).return_annotation or None
    except (NameError, TypeError, ValueError):
        return None
