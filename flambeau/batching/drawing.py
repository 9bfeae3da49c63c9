"""Batching rules of operators that draw random numbers: one draw for all, or one for each element of the batch."""

from __future__ import annotations

from typing import Any

from flambeau.batching.operand import NotBatched, Operand, all_of, in_front
from flambeau.batching.operators import EITHER
from flambeau.batching.rules import RANDOM_OF_BATCH, Call, batches


@batches(
    "aten::rand_like", "aten::randn_like", "aten::randint_like.", "aten::randint_like.low_dtype",
)  # fmt: skip
def _like(call: Call) -> Any:
    """Of sizes alone."""
    own = call["self"]
    rest = list(call.arguments[1:])
    if call.level.randomness == "different":
        return call.run([own.value, *rest])
    return NotBatched(call.run([own.value.new_zeros(list(own.sizes)), *rest]))


@batches("aten::dropout", "aten::alpha_dropout", "aten::native_dropout")
def _dropout(call: Call) -> Any:
    own = call["input"]
    rest = list(call.arguments[1:])
    if call.level.randomness == "same" and call.definition.draws([own, *rest]):
        if call.definition.name != "aten::dropout":
            raise RuntimeError(RANDOM_OF_BATCH)
        ones = EITHER.ones(list(own.sizes), dtype=own.value.dtype, device=own.value.device)
        return EITHER.mul(own.value, call.run([ones, *rest]))
    return call.run([own.value, *rest])


@batches("aten::bernoulli", "aten::normal", "aten::poisson", "aten::_standard_gamma", "aten::multinomial",
         "aten::uniform_", "aten::normal_", "aten::exponential_", "aten::cauchy_", "aten::geometric_",
         "aten::log_normal_", "aten::random_", "aten::rrelu")  # fmt: skip
def _of_values(call: Call) -> Any:
    """Of numbers that differ within the batch."""
    operands = all_of(call.arguments)
    if call.level.randomness == "same":
        raise RuntimeError(RANDOM_OF_BATCH)
    if any(o.rank != operands[0].rank for o in operands) or call.definition.name == "aten::multinomial":
        return None
    return call.run([in_front(a, call.size) if isinstance(a, Operand) else a for a in call.arguments])
