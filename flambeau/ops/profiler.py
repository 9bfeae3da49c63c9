"""What `with record_function(name):` of TorchScript archives calls. Flambeau profiles otherwise: they do nothing."""

from __future__ import annotations

from typing import Any

from flambeau.ops.language.declare import declare
from flambeau.schema.opdef import Effect
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """Stands for a block under way."""

    name: str
    args: str | None


declare(
    "profiler::_record_function_enter_new(str name, str? args=None) -> Any",
    RecordedBlock,
    effect=Effect.ORDERED,
    doc="Begin a block with a name.",
)
declare("profiler::_record_function_exit(Any record) -> ()", lambda record: None, effect=Effect.ORDERED, doc="End it.")


def _watched(record: Any, future: Any) -> Any:
    return future


declare(
    "profiler::_call_end_callbacks_on_jit_fut(Any x, Future(t) y) -> Future(t)",
    _watched,
    effect=Effect.ORDERED,
    doc="The future, at whose end the block ends.",
)
