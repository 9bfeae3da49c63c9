"""`vmap`: a function of one example, on whole batches of them.

>>> import flambeau
>>> rows = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> vmap(flambeau.dot)(rows, rows)
tensor([ 5., 25.])
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.batching.batched import BatchedTensor, batched
from flambeau.batching.level import BatchLevel
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.bridge import from_numpy_or_copy
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import SCRIPTED_TRANSFORM
from flambeau.util.trees import REGISTER, Structure, flatten

NO_INPUTS: Final = (
    "vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
    "with no inputs. The latter is unsupported."
)
RANDOMNESS: Final = "Only allowed values for randomness are 'error', 'different', or 'same'. Got {}"


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
    in_axes: Any = None,
    out_axes: Any = None,
) -> Callable[..., Any]:
    """A function that applies `func` to each example of a batch at once, by operators on the whole batch.

    Args:
        func: takes tensors, or containers of them, and returns such. What it branches on must be the same for all
            examples.
        in_dims: along which axis of each argument the examples are: a number for all, None for an argument that is the
            same for all, or containers of these like the arguments (they may end earlier).
        out_dims: where the axis of the examples goes in each result, likewise; None for a result that is the same for
            all.
        randomness: what operators that draw random numbers do: "error", they raise; "different", each example has
            numbers of its own; "same", all have the same.
        chunk_size: how many examples at once, for less memory; all if None.
        in_axes, out_axes: the names that JAX has for `in_dims` and `out_dims`.

    Raises ValueError for dimensions that do not fit the arguments, and RuntimeError when the function needs the
    elements of one example: to branch, or as a Python number.

    >>> import flambeau
    >>> x = flambeau.arange(6.0).reshape(2, 3)
    >>> vmap(lambda row: row - row.mean())(x)
    tensor([[-1.,  0.,  1.],
            [-1.,  0.,  1.]])
    >>> vmap(lambda column, n: column.sum() * n, in_dims=(1, None))(x, 2)
    tensor([ 6., 10., 14.])
    """
    in_dims = in_dims if in_axes is None else in_axes
    out_dims = out_dims if out_axes is None else out_axes
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(RANDOMNESS.format(randomness))
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    if chunk_size is None:
        scripted: Callable[..., Any] | None = SCRIPTED_TRANSFORM.implementation(
            "vmap", func, in_dims=in_dims, out_dims=out_dims, randomness=randomness
        )
        if scripted is not None:
            return scripted
    name = getattr(func, "__name__", None) or repr(func)

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args)
        leaves = [from_numpy_or_copy(leaf) if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
        dims = _in_dims(name, in_dims, args, leaves, structure)
        size = _batch_size(leaves, dims)
        if chunk_size is None or chunk_size >= size:
            return _run(func, name, leaves, structure, dims, size, out_dims, randomness, kwargs)
        pieces = [
            _run(func, name, piece, structure, dims, count, out_dims, randomness, kwargs)
            for piece, count in _pieces(leaves, dims, size, chunk_size)
        ]
        return _joined(pieces, name, out_dims)

    return mapped


vmap.language_form = "batches_of"  # type: ignore[attr-defined]  # what calls in programs mean


def _in_dims(name: str, in_dims: Any, args: Any, leaves: Sequence[Any], structure: Structure) -> list[int | None]:
    """The axis of each leaf. Raises ValueError for axes that are none of it."""
    if not isinstance(in_dims, int | tuple | list):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) "
            f"tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(NO_INPUTS.format(name=name))
    flat = structure.broadcast(tuple(in_dims) if isinstance(in_dims, list) else in_dims, _is_dim)
    if flat is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of "
            f"`inputs`. in_dims has structure {flatten(in_dims)[1]} but inputs has structure {structure}."
        )
    checked: list[int | None] = []
    for leaf, dim in zip(leaves, flat, strict=True):
        checked.append(_checked_dim(name, in_dims, leaf, dim))
    return checked


def _is_dim(value: Any) -> bool:
    return not isinstance(value, tuple | list | dict)


def _checked_dim(name: str, in_dims: Any, leaf: Any, dim: Any) -> int | None:
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for"
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(f"{where} an input but in_dim must be either an integer dimension or None.")
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{where} an input but the input is of type {type(leaf)}. We cannot vmap over non-Tensor arguments, please "
            f"use None as the respective in_dim{REGISTER if dataclasses.is_dataclass(leaf) else ''}"
        )
    rank = leaf._array.ndim
    if not -rank <= dim < rank:
        raise ValueError(
            f"{where} some input, but that input is a Tensor of dimensionality {rank} so expected in_dim to satisfy "
            f"-{rank} <= in_dim < {rank}."
        )
    return dim % rank


def _batch_size(leaves: Sequence[Any], dims: Sequence[int | None]) -> int:
    """How many examples there are. Raises ValueError if arguments have different numbers of them, or none an axis."""
    sizes = [leaf._array.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return int(sizes[0])


def _run(
    func: Callable[..., Any], name: str, leaves: Sequence[Any], structure: Structure, dims: Sequence[int | None],
    size: int, out_dims: Any, randomness: str, kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    level = BatchLevel(size, randomness)
    fronted = [leaf if dim is None else _to_front(leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]
    with level.opened():
        wrapped = [leaf if dim is None else batched(level, leaf) for leaf, dim in zip(fronted, dims, strict=True)]
        results, outputs = flatten(func(*structure.unflatten(wrapped), **kwargs))
        result_dims = _out_dims(name, out_dims, outputs)
        finished = [_finished(level, name, r, d) for r, d in zip(results, result_dims, strict=True)]
    return outputs.unflatten([_placed(value, dim) for value, dim in finished])


def _to_front(value: Tensor, dim: int) -> Tensor:
    rest = [d for d in range(value._array.ndim) if d != dim]
    return value if dim == 0 else OPERATORS.permute(value, [dim, *rest])


def _out_dims(name: str, out_dims: Any, outputs: Structure) -> list[Any]:
    if not (out_dims is None or isinstance(out_dims, int | tuple | list | dict)):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    flat = outputs.broadcast(out_dims, _is_dim)
    if flat is None and isinstance(out_dims, tuple) and len(out_dims) == 1:
        flat = outputs.broadcast(out_dims[0], _is_dim) if outputs.is_leaf() else None
    if flat is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure {outputs}."
        )
    return flat


def _finished(level: BatchLevel, name: str, result: Any, dim: Any) -> tuple[Any, Any]:
    """A result without its wrapper, and where its batch goes; `...` for one that has to be repeated."""
    if not isinstance(result, Tensor):
        if dim is None:
            return result, None
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    is_batched = level.owns(result) and result._wrapped.is_batched
    value = result._wrapped.value if level.owns(result) else result
    if dim is None:
        if is_batched:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return value, None
    if not is_batched:
        value = OPERATORS.expand(value, [level.size, *value._array.shape])
    return value, dim


def _placed(value: Any, dim: Any) -> Any:
    """A result with its batch where it goes. Raises IndexError for an axis that it does not have."""
    if dim is None:
        return value
    rank = value._array.ndim
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    order = list(range(1, rank))
    order.insert(dim % rank, 0)
    return value if dim % rank == 0 else OPERATORS.permute(value, order)


def _pieces(
    leaves: Sequence[Any], dims: Sequence[int | None], size: int, chunk: int
) -> list[tuple[list[Any], int]]:
    """The arguments for `chunk` examples at a time."""
    pieces = []
    for start in range(0, size, chunk):
        count = min(chunk, size - start)
        piece = [
            leaf if dim is None else OPERATORS.narrow(leaf, dim, start, count)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        pieces.append((piece, count))
    return pieces


def _joined(pieces: Sequence[Any], name: str, out_dims: Any) -> Any:
    """The results of all pieces, each put together along the axis of its batch."""
    flat = [flatten(piece) for piece in pieces]
    _, structure = flat[0]
    result_dims = _out_dims(name, out_dims, structure)
    columns = zip(*[leaves for leaves, _ in flat], strict=True)
    joined = [
        column[0] if dim is None else OPERATORS.cat(list(column), dim)
        for column, dim in zip(columns, result_dims, strict=True)
    ]
    return structure.unflatten(joined)


__all__ = ["BatchedTensor", "vmap"]
