"""What gradients go through in the place of a recurrent network: one operator for each direction of each layer."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from flambeau.ops.families.expansion_tables import differentiated
from flambeau.ops.recurrent import Weights, split
from flambeau.ops.recurrent_arrays import FLOATS, GATES
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Network:
    """The arguments of a network, but for its input."""

    kind: str
    hx: Sequence[Any]
    weights: Sequence[Weights]
    directions: int
    dropout: float
    """Between layers."""


def _network(kind: str, hx: Any, params: Any, options: Sequence[Any]) -> Network | None:
    """A network that layers of one operator each compute, if it is one."""
    has_biases, num_layers, dropout, is_training, is_bidirectional = options
    starts, directions = list(hx) if isinstance(hx, list) else [hx], 2 if is_bidirectional else 1
    each = (4 if has_biases else 2) * num_layers * directions
    if not isinstance(params, list) or len(params) != each or len(starts) != 1 + (kind == "lstm"):
        return None
    dropped = dropout if num_layers > 1 and dropout > 0 and is_training else 0.0
    return Network(kind, starts, split(params, has_biases, False, num_layers, directions), directions, dropped)


def _is_taken(xs: Any, network: Network, rank: int) -> bool:
    """Whether layers take the tensors: of one float dtype, and of the ranks that networks have."""
    matrices = [w for one in network.weights for w in (one.w_ih, one.w_hh)]
    biases = [b for one in network.weights for b in (one.b_ih, one.b_hh) if b is not None]
    tensors = [xs, *network.hx, *matrices, *biases]
    ranks = [rank, *[3] * len(network.hx), *[2] * len(matrices), *[1] * len(biases)]
    return all(t.ndim == n for t, n in zip(tensors, ranks, strict=True)) and all(
        t.dtype is xs.dtype and t.dtype.numpy in FLOATS for t in tensors
    )


def _fitting(xs: Any, network: Network) -> list[Any]:
    """That the sizes of input and states fit the weights, as conditions."""
    units, first = network.weights[0].w_hh.shape[1], network.weights[0].w_ih
    return [
        xs.shape[-1] == first.shape[1],
        *[s.shape[0] == len(network.weights) for s in network.hx],
        *[s.shape[2] == units for s in network.hx],
    ]


def _layers(F: Any, xs: Any, network: Network, batch_sizes: Any) -> tuple[Any, ...]:
    """Layer upon layer: the outputs of the last, and the last states of all."""
    ends: list[Sequence[Any]] = []
    last = len(network.weights) // network.directions - 1
    for layer in range(last + 1):
        numbers = range(layer * network.directions, (layer + 1) * network.directions)
        each = [_one_direction(F, xs, network, batch_sizes, number) for number in numbers]
        ends += [states for _, *states in each]
        xs = each[0][0] if len(each) == 1 else F.cat([output for output, *_ in each], -1)
        if network.dropout and layer < last:
            xs = F.dropout(xs, network.dropout, True)
    return xs, *[F.stack(list(last_states), 0) for last_states in zip(*ends, strict=True)]


def _one_direction(F: Any, xs: Any, network: Network, batch_sizes: Any, number: int) -> Sequence[Any]:
    """The outputs and the last states of one direction of a layer."""
    one, starts = network.weights[number], [F.select(s, 0, number) for s in network.hx]
    memory = starts[1] if len(starts) > 1 else F.new_empty(xs, [0])
    operands = [xs, starts[0], memory, one.w_ih, one.w_hh, *([] if one.b_ih is None else [one.b_ih, one.b_hh])]
    is_reversed = number % network.directions == 1
    results = F.own("recurrent_layer", operands, network.kind, batch_sizes, is_reversed)
    return list(results[: 1 + len(starts)])


def _padded(F: Any, kind: str, xs: Any, hx: Any, params: Any, *options: Any) -> tuple[Any, ...] | None:
    """(time, batch, features), or (batch, time, features)."""
    network = _network(kind, hx, params, options[:-1])
    if network is None or not _is_taken(xs, network, 3):
        return None
    is_batch_first = options[-1]
    steps = F.transpose(xs, 0, 1) if is_batch_first else xs
    time, batch, _ = steps.shape
    F.require(time > 0, *_fitting(xs, network), *[s.shape[1] == batch for s in network.hx])
    output, *states = _layers(F, steps, network, None)
    return (F.transpose(output, 0, 1) if is_batch_first else output, *states)


def _packed(
    F: Any, kind: str, data: Any, batch_sizes: Any, hx: Any, params: Any, *options: Any
) -> tuple[Any, ...] | None:  # fmt: skip
    """(rows, features)."""
    network = _network(kind, hx, params, options)
    if network is None or batch_sizes.ndim != 1 or not _is_taken(data, network, 2):
        return None
    rows, batch = F.sum(batch_sizes), F.sum(F.slice(batch_sizes, 0, 0, 1, 1))
    fits = [F.holds(F.eq(rows, data.shape[0])), *[F.holds(F.eq(batch, s.shape[1])) for s in network.hx]]
    F.require(*fits, *_fitting(data, network))
    return _layers(F, data, network, batch_sizes)


def _either(kind: str, F: Any, *arguments: Any) -> tuple[Any, ...] | None:
    """By the overload, padded or packed, that the arguments are those of."""
    is_packed = isinstance(arguments[3], list)
    return (_packed if is_packed else _padded)(F, kind, *arguments)


for _kind in GATES:
    differentiated(f"aten::{_kind}")(partial(_either, _kind))
