"""`backward` and `grad`: from tensors back over the tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.autograd.engine import Run
from flambeau.autograd.first_gradients import first_at, fitting, sizes_of
from flambeau.autograd.node import Edge, GradientEdge, accumulate, call_post_hooks, edge_of
from flambeau.batching.vmap import vmap
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.tensor import Tensor
from flambeau.util.user_code import warn_user

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]

CYCLE: Final = (
    "Using backward() with create_graph=True makes parameters and their gradients keep each other in memory: write "
    "autograd.grad(..., create_graph=True), or set .grad to None when it has been used"
)
NOT_ASKED: Final = "element {number} of tensors does not require grad and does not have a grad_fn"
NO_INPUT: Final = "all inputs have to be Tensors or GradientEdges, but got {kind}"
NO_BATCH: Final = (
    "is_grads_batched=True takes a batch of gradients in grad_outputs: each has one dimension more in front than its "
    "output"
)
OTHER_BATCH: Final = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
    "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
    "detected: grad_output[{number}] has a shape of {given} and output[{number}] has a shape of {own}."
)
NOT_MATERIALIZED: Final = (
    "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
)


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of `tensors` to the `grad` of the leaves they were computed from.

    Args:
        tensors: tensors, or one, that ask for gradients.
        grad_tensors: a gradient for each, of its shape; None for 1, of tensors with one element.
        retain_graph: keep what was saved, for another run; by default if `create_graph`.
        create_graph: record the run itself, so that gradients can be differentiated.
        inputs: the leaves that get gradients; all if omitted.

    Raises RuntimeError if a tensor asks for no gradient, a gradient has the wrong shape, or a saved tensor was written.

    >>> import flambeau
    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> backward(x * x)
    >>> x.grad
    tensor(6.)
    """
    if create_graph:
        warn_user(CYCLE, UserWarning)
    if inputs is None and type(tensors) is Tensor and (grad_tensors is None or isinstance(grad_tensors, Tensor)):
        _back_from(tensors, grad_tensors, create_graph if retain_graph is None else retain_graph, create_graph)
        return
    roots, targets = _listed(tensors), None if inputs is None else _listed(inputs)
    if targets is not None and not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    gradients = _gradients(roots, grad_tensors)
    if targets is None:
        run = _run(roots, gradients, retain_graph, create_graph, None)
        run.finish([g for g in gradients if g is not None])
        return
    _add_to(targets, roots, gradients, retain_graph, create_graph)


def _back_from(root: Tensor, gradient: Tensor | None, keep: bool, create_graph: bool) -> None:
    """`backward` from one tensor, to all leaves."""
    if not root.requires_grad:
        raise RuntimeError(NOT_ASKED.format(number=0))
    seed = fitting(0, root, gradient)
    run = Run(keep=keep, create_graph=create_graph, targets=None)
    run.start(edge_of(root), seed)
    run.run()
    run.finish((seed,))


def _add_to(
    targets: Sequence[Tensor | GradientEdge],
    roots: Sequence[Tensor | GradientEdge],
    gradients: Sequence[Tensor | None],
    retain_graph: bool | None,
    create_graph: bool,
) -> None:
    """Add gradients to the `grad` of some tensors, and of no others."""
    if not all(isinstance(target, GradientEdge) or target.requires_grad for target in targets):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    for target in targets:
        if isinstance(target, Tensor) and target.grad_fn is not None:
            target.grad_fn.retain(target)
    for target, gradient in zip(targets, grad_of(roots, targets, gradients, retain_graph, create_graph), strict=True):
        leaf = target.node.variable if isinstance(target, GradientEdge) else target
        if gradient is not None and leaf.grad_fn is None:
            accumulate(leaf, gradient, may_keep=False)
            call_post_hooks(leaf)


def grad_of(
    roots: Sequence[Tensor | GradientEdge],
    targets: Sequence[Tensor | GradientEdge],
    gradients: Sequence[Tensor | None],
    retain_graph: bool | None,
    create_graph: bool,
    *,
    ends_at_targets: bool = False,
) -> list[Tensor | None]:
    """The gradients of some tensors by others; None for those that nothing depends on. With `ends_at_targets`, without
    what depends on one target through another."""
    edges = [edge_of(target) for target in targets]
    return gradients_at(roots, edges, gradients, retain_graph, create_graph, ends_at_targets=ends_at_targets)


def gradients_at(
    roots: Sequence[Tensor | GradientEdge],
    edges: Sequence[Edge],
    gradients: Sequence[Tensor | None],
    retain_graph: bool | None,
    create_graph: bool,
    *,
    ends_at_targets: bool = False,
) -> list[Tensor | None]:
    """The same at places of the tape."""
    run = _run(roots, gradients, retain_graph, create_graph, edges, ends_at_targets=ends_at_targets)
    run.finish([])
    return [None if edge is None else run.captured.get((id(edge[0]), edge[1])) for edge in edges]


def _run(
    roots: Sequence[Tensor | GradientEdge],
    gradients: Sequence[Tensor | None],
    retain_graph: bool | None,
    create_graph: bool,
    targets: Sequence[Edge] | None,
    *,
    ends_at_targets: bool = False,
) -> Run:
    keep = create_graph if retain_graph is None else retain_graph
    run = Run(keep=keep, create_graph=create_graph, targets=targets, ends_at_targets=ends_at_targets)
    edges = [edge_of(root) for root in roots]
    if targets is not None:
        run.restrict(edges)
    for edge, gradient in zip(edges, gradients, strict=True):
        if gradient is not None:
            run.start(edge, gradient)
    run.run()
    return run


def _listed(tensors: Tensors) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor | GradientEdge) else list(tensors)


def _gradients(roots: Sequence[Tensor | GradientEdge], gradients: Any) -> list[Tensor | None]:
    """A gradient per root. Raises RuntimeError for one that is missing, or of another shape."""
    listed = (
        [gradients] * len(roots)
        if gradients is None
        else [gradients]
        if isinstance(gradients, Tensor)
        else list(gradients)
    )
    if len(listed) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(listed)} gradients")
    result: list[Tensor | None] = []
    for number, (root, gradient) in enumerate(zip(roots, listed, strict=True)):
        if isinstance(root, GradientEdge):
            result.append(first_at(root) if gradient is None else gradient)
            continue
        if not root.requires_grad:
            raise RuntimeError(NOT_ASKED.format(number=number))
        result.append(fitting(number, root, gradient))
    return result


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` by `inputs`, summed over the outputs; nothing is added to any `grad`.

    Args:
        outputs: tensors, or one, that ask for gradients.
        inputs: tensors, or one, that they were computed from.
        grad_outputs: a gradient for each output, of its shape; None for 1, of outputs with one element.
        retain_graph: keep what was saved, for another run; by default if `create_graph`.
        create_graph: record the run itself, so that gradients can be differentiated.
        allow_unused: give None for inputs that nothing depends on, in place of raising RuntimeError.
        is_grads_batched: each of `grad_outputs` has one axis more in front: one run for each element of it.
        materialize_grads: give zeros in place of None.

    Raises RuntimeError for inputs that are none, or that nothing depends on, ValueError for `materialize_grads` where
    `allow_unused` is False, and what `backward` raises.

    >>> import flambeau
    >>> x = flambeau.tensor(2.0, requires_grad=True)
    >>> (first,) = grad(x**3, x, create_graph=True)
    >>> first.item(), grad(first, x)[0].item()
    (12.0, 12.0)
    """
    roots, targets = _listed(outputs), _listed(inputs)
    if materialize_grads and allow_unused is False:
        raise ValueError(NOT_MATERIALIZED)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    seeds = None if is_grads_batched else _gradients(roots, grad_outputs)
    for target in targets:
        if not isinstance(target, Tensor | GradientEdge):
            raise RuntimeError(NO_INPUT.format(kind=type(target).__name__))
        if isinstance(target, Tensor) and not target.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    if is_grads_batched:
        if grad_outputs is None:
            raise ValueError(NO_BATCH)
        return _batched(roots, targets, grad_outputs, create_graph, bool(allow_unused), materialize_grads)
    assert seeds is not None
    gradients = grad_of(roots, targets, seeds, retain_graph, create_graph)
    return tuple(_checked(gradients, targets, bool(allow_unused) or materialize_grads, materialize_grads))


def _checked(
    gradients: list[Tensor | None], targets: Sequence[Tensor | GradientEdge], allow_unused: bool, materialize: bool
) -> list[Tensor | None]:
    for number, gradient in enumerate(gradients):
        if gradient is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {number} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
        target = targets[number]
        if gradient is None and materialize and isinstance(target, Tensor):
            gradients[number] = OPERATORS.zeros_like(target.detach())
    return gradients


def _batched(
    roots: list[Any], targets: list[Any], batches: Any, create_graph: bool, allow_unused: bool, materialize: bool
) -> tuple[Tensor | None, ...]:
    listed = [batches] if isinstance(batches, Tensor) else list(batches)
    for number, (root, batch) in enumerate(zip(roots, listed, strict=False)):
        if isinstance(root, Tensor) and batch is not None and batch._array.shape[1:] != root._array.shape:
            sizes = f"torch.Size({list(batch._array.shape[1:])})"
            raise RuntimeError(OTHER_BATCH.format(number=number, given=sizes, own=sizes_of(root)))
    reached: list[int] = []

    def one(*seeds: Tensor) -> list[Tensor]:
        gradients = grad_of(roots, targets, _gradients(roots, list(seeds)), True, create_graph)
        reached[:] = [n for n, gradient in enumerate(gradients) if gradient is not None]
        return [gradient for gradient in gradients if gradient is not None]

    columns: list[Tensor | None] = [None] * len(targets)
    for number, column in zip(reached, vmap(one)(*listed), strict=True):
        columns[number] = column
    return tuple(_checked(columns, targets, allow_unused or materialize, materialize))


backward.operator_name = "aten::backward"  # type: ignore[attr-defined]  # how the compiler knows them
grad.operator_name = "aten::grad"  # type: ignore[attr-defined]
