"""Functions and methods of tensors that PyTorch had and has no longer, or has as deprecated: calls say what to write.

>>> import flambeau
>>> try:
...     flambeau.solve(flambeau.eye(2), flambeau.eye(2))
... except RuntimeError as error:
...     print(str(error).partition("removed. ")[2])
Write linalg.solve(A, B): here A is the first argument
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from flambeau.tensor.tensor import Tensor, install_method
from flambeau.util.user_code import warn_user

REMOVED: Final = "This function was deprecated since version 1.9 and is now removed. Write {instead}"
INSTEAD: Final = {
    "eig": "linalg.eig(A), whose results are complex, or linalg.eigvals(A)",
    "lstsq": "linalg.lstsq(A, B): here A is the first argument",
    "matrix_rank": "linalg.matrix_rank(A), in which `symmetric` is `hermitian`",
    "solve": "linalg.solve(A, B): here A is the first argument",
    "symeig": "linalg.eigh(A), whose eigenvectors come from the lower triangle, or linalg.eigvalsh(A)",
}
EXAMPLES: Final = {
    "eig": "flambeau.linalg.eig(flambeau.eye(2))",
    "lstsq": "flambeau.linalg.lstsq(flambeau.eye(2), flambeau.ones(2, 1))",
    "matrix_rank": "flambeau.linalg.matrix_rank(flambeau.eye(2))",
    "solve": "flambeau.linalg.solve(flambeau.eye(2), flambeau.ones(2))",
    "symeig": "flambeau.linalg.eigh(flambeau.eye(2))",
}
REINFORCE: Final = (
    "reinforce() was removed. Draw actions from a distribution, and go back from the loss: m = "
    "distributions.Categorical(probs), action = m.sample(), (-m.log_prob(action) * reward).backward()"
)
OLDER: Final = "non-inplace {name} is deprecated"
OTHER_COUNT: Final = (
    "requested resize to {sizes} ({wanted} elements in total), but the given tensor has a size of {have} ({count} "
    "elements). autograd's resize can only change the shape of a given tensor, while preserving the number of elements."
)


def _removed(name: str) -> Callable[..., Any]:
    def call(A: Any, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: N803  # as it was called
        raise RuntimeError(REMOVED.format(instead=INSTEAD[name]))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"No longer there: write {INSTEAD[name]}. Raises RuntimeError.\n\nArgs:\n    A: a matrix, or a batch of them.\n"
        f"    args: what else there was.\n    kwargs: the same.\n\n>>> import flambeau\n>>> _ = {EXAMPLES[name]}\n"
    )
    return call


REMOVED_CALLS: Final = {name: _removed(name) for name in INSTEAD}
eig = REMOVED_CALLS["eig"]
lstsq = REMOVED_CALLS["lstsq"]
matrix_rank = REMOVED_CALLS["matrix_rank"]
solve = REMOVED_CALLS["solve"]
symeig = REMOVED_CALLS["symeig"]


def reinforce(self: Tensor, reward: Any) -> None:
    """No longer there: distributions have it. Raises RuntimeError."""
    raise RuntimeError(REINFORCE)


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """The same elements with other sizes: write `reshape`. Raises RuntimeError for another number of elements.

    Args:
        sizes: the sizes, one by one or as one sequence.

    >>> import flambeau, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     flambeau.arange(4).resize(2, 2).tolist()
    [[0, 1], [2, 3]]
    """
    warn_user(OLDER.format(name="resize"), UserWarning)
    return _resized(self, list(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else list(sizes))


def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The same elements with the sizes of another tensor: write `reshape_as`.

    Args:
        tensor: has the sizes.

    Raises RuntimeError for another number of elements.
    """
    warn_user(OLDER.format(name="resize_as"), UserWarning)
    return _resized(self, list(tensor.shape))


def _resized(tensor: Tensor, sizes: list[int]) -> Tensor:
    wanted = 1
    for size in sizes:
        wanted *= size
    if wanted != tensor.numel():
        have = "x".join(map(str, tensor.shape))
        text = "x".join(map(str, sizes))
        raise RuntimeError(OTHER_COUNT.format(sizes=text, wanted=wanted, have=have, count=tensor.numel()))
    result: Tensor = tensor.contiguous().view(sizes)
    return result


for _name in ("eig", "lstsq", "solve", "symeig"):
    install_method(_name, REMOVED_CALLS[_name])
for _method in (reinforce, resize, resize_as):
    install_method(_method.__name__, _method)
