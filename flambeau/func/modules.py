"""Modules as functions of their parameters: `functional_call`, `stack_module_state`, and what stands in the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flambeau.nn.layers.batch_norm import BatchNorm
from flambeau.nn.module import Module
from flambeau.nn.utils import stateless
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.tensor import Tensor


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module as if the tensors of these dotted names were its parameters and buffers.

    Args:
        module: any module; it is the same afterwards.
        parameter_and_buffer_dicts: tensors by the names of `named_parameters()` and `named_buffers()`, in one
            dictionary or several. What is not there is the module's own.
        args: a tuple of arguments, or the only one.
        kwargs: arguments by name.
        tie_weights: let a tensor stand for all names of the parameter whose place it takes.
        strict: raise RuntimeError unless all names are there, and no others.

    Raises ValueError for a name in two dictionaries.

    >>> import flambeau
    >>> layer = flambeau.nn.Linear(2, 1, bias=False)
    >>> flambeau.grad(lambda w: functional_call(layer, w, flambeau.ones(2)).sum())({"weight": flambeau.zeros(1, 2)})
    {'weight': tensor([[1., 1.]])}
    """
    values = _together(parameter_and_buffer_dicts)
    return stateless.functional_call(module, values, args, kwargs, tie_weights=tie_weights, strict=strict)


functional_call.language_form = "functional_call"  # type: ignore[attr-defined]  # what calls in programs mean


def _together(dictionaries: Any) -> dict[str, Tensor]:
    if isinstance(dictionaries, dict):
        return dictionaries
    if not (isinstance(dictionaries, Sequence) and all(isinstance(d, dict) for d in dictionaries)):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dictionaries)}"
        )
    names = [name for dictionary in dictionaries for name in dictionary]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: value for dictionary in dictionaries for name, value in dictionary.items()}


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several models of one class, each stacked along a new first axis: for `vmap` of
    `functional_call`, an ensemble in one call.

    Args:
        models: with parameters of the same names and sizes, all in training or all in evaluation.

    Raises RuntimeError for models that are not alike.

    >>> import flambeau
    >>> parameters, buffers = stack_module_state([flambeau.nn.Linear(2, 3) for _ in range(5)])
    >>> parameters["weight"].shape, buffers
    (flambeau.Size([5, 3, 2]), {})
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    first = models[0]
    if any(model.training != first.training for model in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(first) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    stacked = {name: _leaf([one[name] for one in parameters]) for name in parameters[0]}
    return stacked, {name: OPERATORS.stack([one[name] for one in buffers]).detach() for name in buffers[0]}


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Have all batch norms of a module use the statistics of each batch alone, and keep none: transforms cannot write
    running ones, which belong to no single example.

    Args:
        root: any module, which is changed and given back; its batch norms lose `running_mean`, `running_var` and
            `num_batches_tracked`.

    >>> import flambeau
    >>> model = replace_all_batch_norm_modules_(flambeau.nn.Sequential(flambeau.nn.BatchNorm1d(2)))
    >>> print(model[0].running_mean, model[0].track_running_stats, list(model.state_dict()))
    None False ['0.weight', '0.bias']
    """
    for module in root.modules():
        if isinstance(module, BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def _leaf(values: Sequence[Tensor]) -> Tensor:
    """Parameters as one that asks for gradients itself, if they do."""
    asks = values[0].requires_grad
    if any(value.requires_grad is not asks for value in values):
        raise RuntimeError("Expected parameters from different models to have the same .requires_grad")
    result: Tensor = OPERATORS.stack(list(values)).detach()
    return result.requires_grad_(asks)
