"""Views: results that show memory of their first argument in another way.

`view` declares the operator and, where PyTorch has it, the in-place form that changes how the tensor itself looks at
its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flambeau.ops.families.opaque import by_name, declare
from flambeau.ops.families.variants import in_place_schema
from flambeau.schema.function import parse_schema
from flambeau.schema.opdef import ErrorSample, OpDef, Sample, Sizes
from flambeau.schema.registry import register
from flambeau.schema.traits import PLAIN, Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.grad_mode import refuse_writing
from flambeau.tensor.tensor import Tensor

Samples = Callable[[], Iterable[Sample]]
Errors = Callable[[], Iterable[ErrorSample]]


def same_dtype(self: TensorType) -> Any:
    """Views keep the dtype."""
    return self.dtype


def view(
    *schemas: str,
    kernel: Callable[..., Any],
    shape: Callable[..., Any] | None = None,
    dtype: Callable[..., Any] | None = same_dtype,
    in_place: bool = False,
    doc: str = "",
    samples: Samples | None = None,
    errors: Errors | None = None,
    is_method: bool = True,
    is_function: bool = True,
    differentiable: bool = True,
    traits: Traits = PLAIN,
) -> tuple[OpDef, ...]:
    """Register a view. `kernel` takes tensors; `in_place` adds `op_`, which makes `self` that view of its own
    memory."""
    definitions = declare(
        *schemas,
        kernel=kernel,
        family="view",
        on_tensors=True,
        dtype=dtype,
        shape=shape,
        doc=doc,
        samples=samples,
        errors=errors,
        is_method=is_method,
        is_function=is_function,
        differentiable=differentiable,
        traits=traits,
    )
    if in_place:
        for text in schemas:
            _declare_in_place(text, kernel)
    return definitions


def _declare_in_place(text: str, kernel: Callable[..., Any]) -> None:
    schema = in_place_schema(parse_schema(text))
    if schema.overload == "int":
        schema = schema.renamed(schema.name)
    run = by_name(schema, kernel)

    def change(self: Tensor, *rest: Any) -> Tensor:
        refuse_writing(self._storage.version)
        self._array = run(self, *rest)._array
        return self

    register(OpDef(schema=schema, family="view", kernel=change, is_function=False))


def view_of_list(
    *schemas: str,
    kernel: Callable[..., Any],
    shape: Callable[..., Any] | None = None,
    doc: str = "",
    samples: Samples | None = None,
    errors: Errors | None = None,
    is_method: bool = True,
    traits: Traits = PLAIN,
) -> tuple[OpDef, ...]:
    """Register an operator that returns a list of views; `shape` gives sizes that all of them have."""
    return declare(
        *schemas,
        kernel=kernel,
        family="view",
        on_tensors=True,
        dtype=same_dtype,
        shape=shape,
        doc=doc,
        samples=samples,
        errors=errors,
        is_method=is_method,
        traits=traits,
    )


def known_sizes(sizes: Sizes | None) -> tuple[int, ...] | None:
    """The sizes if all are known."""
    if sizes is None or any(s is None for s in sizes):
        return None
    return tuple(s for s in sizes if s is not None)


def ints(values: Any) -> Sequence[int] | None:
    """A list argument if all its elements are known ints."""
    if isinstance(values, list | tuple) and all(isinstance(v, int) for v in values):
        return values
    return None
