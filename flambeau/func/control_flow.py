"""Control flow as functions of functions: `cond`, `while_loop`, `map`, `scan`, `associative_scan`.

Each runs the Python functions that it is given; gradients are recorded as the operators in them are. Programs write
`if` and `for` instead, which are compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor
from flambeau.util.trees import Structure, flatten

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
Function = Callable[..., Any]
NO_PREDICATE: Final = "Expected pred to be bool or tensor, but got {got}."
NOT_ONE: Final = "Expected pred to be bool or single-element tensor, but got {got}."
NO_FUNCTION: Final = "{name}: expected functions to call, but got {got}"
NO_OPERANDS: Final = (
    "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but got "
    "{got}."
)
NO_CARRIED: Final = "while_loop: expected a tuple or list of what the functions take, but got {got}"
OTHER_STATE: Final = "{name}: {of} gives {got} in place of {wanted}: what goes round keeps its {kept}"
NO_PAIR: Final = "scan: combine_fn gives the next state and a result, but got {got}"
OUTSIDE: Final = "Dimension out of range (expected to be in range of [{first}, {last}], but got {dim})"
NOTHING: Final = "{name}: Leading dimensions of mapped xs cannot be 0, or missing: got sizes {sizes}"
UNEQUAL: Final = "{name}: Leading dimensions of mapped xs must be consistent. Got shapes {sizes}."
NO_MODE: Final = "Combine_mode must either 'pointwise' or 'generic', but got {got}"


def cond(pred: bool | Tensor, true_fn: Function, false_fn: Function, operands: Sequence[Any] = ()) -> Any:
    """What one of two functions gives: `true_fn(*operands)` if `pred` holds, else `false_fn(*operands)`.

    Args:
        pred: a bool, or a tensor of one element.
        true_fn, false_fn: functions of the operands; one of them runs.
        operands: a tuple or list of arguments.

    Raises RuntimeError for another predicate, and for operands that are not in a tuple, TypeError for what cannot be
    called.

    >>> import flambeau
    >>> x = flambeau.tensor([1.0, 2.0])
    >>> cond(x.sum() > 2, lambda x: x * 2, lambda x: x - 1, (x,))
    tensor([2., 4.])
    """
    _check_functions("cond", true_fn, false_fn)
    if not isinstance(operands, tuple | list):
        raise RuntimeError(NO_OPERANDS.format(got=operands))
    return (true_fn if _holds(pred) else false_fn)(*operands)


def while_loop(cond_fn: Function, body_fn: Function, carried_inputs: Sequence[Any]) -> Any:
    """What `body_fn` makes of its arguments, again and again, while `cond_fn` of them holds.

    Args:
        cond_fn: gives a bool, or a tensor of one element.
        body_fn: gives the next arguments, a tuple as long; tensors keep their sizes and dtypes.
        carried_inputs: the first arguments.

    Raises RuntimeError for what is carried in another structure or with other sizes, TypeError for what cannot be
    called.

    >>> import flambeau
    >>> while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (flambeau.tensor(0), flambeau.ones(1)))
    (tensor(3), tensor([8.]))
    """
    _check_functions("while_loop", cond_fn, body_fn)
    if not isinstance(carried_inputs, tuple | list):
        raise RuntimeError(NO_CARRIED.format(got=carried_inputs))
    carried: Sequence[Any] = carried_inputs
    while _holds(cond_fn(*carried)):
        result = body_fn(*carried)
        following = result if isinstance(result, tuple | list) else (result,)
        _check_state("while_loop", "body_fn", tuple(following), tuple(carried))
        carried = following
    return list(carried) if isinstance(carried_inputs, list) else tuple(carried)


def map(f: Function, xs: Any, *args: Any) -> Any:
    """What a function gives for each slice of `xs` along the first dimension, stacked.

    Args:
        f: takes a slice, and `args`; gives tensors, or containers of them.
        xs: a tensor, or containers of tensors with one size in the first dimension.
        args: further arguments, the same for all slices.

    Raises RuntimeError for no slices, and for tensors with another number of them.

    >>> import flambeau
    >>> map(lambda row, by: row.sum() * by, flambeau.ones(2, 3), 10.0)
    tensor([30., 30.])
    """
    _check_functions("map", f)
    slices = _slices("map", xs, 0)
    return _stacked([f(one, *args) for one in slices], 0)


def scan(combine_fn: Function, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """A state taken through the slices of `xs`: the last one, and what each step gave, stacked.

    Args:
        combine_fn: takes the state and a slice, gives the next state and a result.
        init: the first state.
        xs: a tensor, or containers of tensors with one size along `dim`.
        dim: along which slices are taken, and results are stacked.
        reverse: whether the last slice comes first; the results lie where their slices do.

    Raises RuntimeError for no slices and for a state of another structure or sizes, IndexError for no such dimension.

    >>> import flambeau
    >>> scan(lambda total, x: (total + x, total * x), flambeau.tensor(0.0), flambeau.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 2., 9.]))
    """
    _check_functions("scan", combine_fn)
    slices = _slices("scan", xs, dim)
    state, results = init, []
    for one in reversed(slices) if reverse else slices:
        following = combine_fn(state, one)
        if not isinstance(following, tuple | list) or len(following) != 2:
            raise RuntimeError(NO_PAIR.format(got=type(following).__name__))
        _check_state("scan", "combine_fn", following[0], state)
        state, result = following
        results.append(result)
    return state, _stacked(results[::-1] if reverse else results, dim)


def associative_scan(
    combine_fn: Function, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """Running results of an associative function along a dimension: `cumsum` is the one of additions.

    Args:
        combine_fn: takes what came before and what comes, of any number of slices, and gives what both make together.
        xs: a tensor, or containers of tensors with one size along `dim`.
        dim: along which dimension.
        reverse: whether results run from the end.
        combine_mode: "pointwise" or "generic"; both do the same here.

    Raises ValueError for another mode, RuntimeError for no slices, IndexError for no such dimension.

    >>> import flambeau
    >>> associative_scan(lambda a, b: a * b, flambeau.tensor([2.0, 3.0, 4.0]), 0)
    tensor([ 2.,  6., 24.])
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(NO_MODE.format(got=combine_mode))
    _check_functions("associative_scan", combine_fn)
    slices = _slices("associative_scan", xs, dim)
    ordered = slices[::-1] if reverse else slices
    results = ordered[:1]
    for one in ordered[1:]:
        following = combine_fn(results[-1], one)
        _check_state("associative_scan", "combine_fn", following, one)
        results.append(following)
    return _stacked(results[::-1] if reverse else results, dim)


def _check_functions(name: str, *functions: Any) -> None:
    for function in functions:
        if not callable(function):
            raise TypeError(NO_FUNCTION.format(name=name, got=repr(function)))


def _holds(pred: Any) -> bool:
    if isinstance(pred, Tensor):
        if pred.numel() != 1:
            raise RuntimeError(NOT_ONE.format(got=pred))
        return bool(pred)
    if not isinstance(pred, bool | int):
        raise RuntimeError(NO_PREDICATE.format(got=pred))
    return bool(pred)


def _check_state(name: str, of: str, following: Any, before: Any) -> None:
    """Raise RuntimeError if what goes round changes its structure, its sizes or its dtypes."""
    now, structure = flatten(following)
    earlier, wanted = flatten(before)
    if structure != wanted:
        raise RuntimeError(OTHER_STATE.format(name=name, of=of, got=structure, wanted=wanted, kept="places"))
    for one, other in zip(now, earlier, strict=True):
        if not isinstance(one, Tensor) or not isinstance(other, Tensor):
            continue
        if one.shape != other.shape:
            got, kept = tuple(one.shape), tuple(other.shape)
            raise RuntimeError(OTHER_STATE.format(name=name, of=of, got=got, wanted=kept, kept="sizes"))
        if one.dtype is not other.dtype:
            raise RuntimeError(OTHER_STATE.format(name=name, of=of, got=one.dtype, wanted=other.dtype, kept="dtypes"))


def _slices(name: str, xs: Any, dim: int) -> list[Any]:
    """The slices of all tensors along a dimension, in the structure that these are in."""
    leaves, structure = flatten(xs)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(NOTHING.format(name=name, sizes=type(leaf).__name__))
        if leaf.ndim and not -leaf.ndim <= dim < leaf.ndim:
            raise IndexError(OUTSIDE.format(first=-leaf.ndim, last=leaf.ndim - 1, dim=dim))
    sizes = [tuple(leaf.shape) for leaf in leaves]
    if not leaves or any(not leaf.ndim or not leaf.shape[dim] for leaf in leaves):
        raise RuntimeError(NOTHING.format(name=name, sizes=sizes))
    if len({leaf.shape[dim] for leaf in leaves}) > 1:
        raise RuntimeError(UNEQUAL.format(name=name, sizes=sizes))
    return [structure.unflatten(parts) for parts in zip(*(leaf.unbind(dim) for leaf in leaves), strict=True)]


def _stacked(results: Sequence[Any], dim: int) -> Any:
    """Results of one structure, their tensors stacked along a dimension."""
    flat = [flatten(result) for result in results]
    structure: Structure = flat[0][1]
    if any(other != structure for _, other in flat):
        raise RuntimeError(f"the results of steps have one structure, but got {[str(s) for _, s in flat]}")
    columns = zip(*(leaves for leaves, _ in flat), strict=True)
    return structure.unflatten([F.stack(list(column), _within(column[0], dim)) for column in columns])


def _within(one: Tensor, dim: int) -> int:
    """The dimension that results are stacked along; those of fewer dimensions along their last."""
    return dim if dim < 0 else min(dim, one.ndim)
