"""Weights with some entries held at zero: `weight` is `weight_orig` times `weight_mask`, in programs too.

Each function prunes what is not pruned yet: an `amount` that is a float is a share of that, an int a number of entries,
or of slices where whole slices go.

>>> from flambeau import nn
>>> layer = l1_unstructured(nn.Linear(4, 2), "weight", amount=0.25)
>>> sorted(layer.state_dict()), int(layer.weight_mask.sum())
(['bias', 'weight_mask', 'weight_orig'], 6)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.nn.utils.computed import compute, computed_as, drop, refuse_flat
from flambeau.ops.families.composite import F
from flambeau.tensor.settled import readable
from flambeau.tensor.tensor import Tensor, wrap

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity",
    "is_pruned", "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip

M = TypeVar("M", bound=Module)
Amount = int | float
PRUNED = "prune"
WRONG_TYPE = "{method}.PRUNING_TYPE is one of 'unstructured', 'structured' and 'global', got {kind!r}"
NOT_PRUNED = "Parameter '{name}' of module {module} has to be pruned before pruning can be removed"


def check(amount: Any) -> None:
    """Raise TypeError and ValueError for amounts that mean nothing."""
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        raise TypeError(f"Invalid type for amount: {amount!r}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def count(amount: Amount, size: int) -> int:
    """How many of `size` go. Raises ValueError for more than there are.

    >>> count(0.5, 5), count(3, 5)
    (2, 3)
    """
    if isinstance(amount, float):
        return round(amount * size)
    if amount > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return amount


class BasePruningMethod:
    """Which entries go: `compute_mask` gives 0 for those, for scores of all and the mask that there is.

    `PRUNING_TYPE` says what `compute_mask` is given of a parameter that is pruned already: with `"unstructured"` the
    entries that are left, as a vector; with `"structured"` the slices of `dim`, an attribute, which are not all zero;
    with `"global"` everything.

    >>> from flambeau import nn
    >>> class EveryOther(BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = EveryOther.apply(nn.Linear(4, 1), "weight")
    >>> EveryOther.apply(layer, "weight").weight_mask
    tensor([[0., 0., 0., 1.]])
    """

    PRUNING_TYPE: str = "global"
    _tensor_name: str
    """The parameter that it prunes, once it was applied."""

    def compute_mask(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The next mask. Raises NotImplementedError unless written."""
        raise NotImplementedError(f"{type(self).__name__} has no compute_mask")

    def next_mask(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The mask after this method, where there is one. Raises ValueError for another `PRUNING_TYPE`."""
        if self.PRUNING_TYPE == "global":
            return self.compute_mask(scores, mask)
        if self.PRUNING_TYPE == "unstructured":
            where = F.eq(mask, 1)
            left = self.compute_mask(F.masked_select(scores, where), F.masked_select(mask, where))
            return F.masked_scatter(mask, where, F.to(left, mask.dtype))
        if self.PRUNING_TYPE != "structured":
            raise ValueError(WRONG_TYPE.format(method=type(self).__name__, kind=self.PRUNING_TYPE))
        dim: int = getattr(self, "dim", 0) % mask.dim()
        others = [d for d in range(mask.dim()) if d != dim]
        kept = F.nonzero(F.ne(F.sum(mask, others), 0))[:, 0]
        left = self.compute_mask(F.index_select(scores, dim, kept), F.index_select(mask, dim, kept))
        return F.index_copy(mask, dim, kept, F.to(left, mask.dtype))

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A tensor with zeros where entries go.

        >>> import flambeau
        >>> L1Unstructured(amount=1).prune(flambeau.tensor([3.0, 1.0, 2.0]))
        tensor([3., 0., 2.])
        """
        mask = F.ones_like(t) if default_mask is None else default_mask
        scores = t if importance_scores is None else importance_scores
        return F.mul(t, F.to(self.compute_mask(scores, mask), t.dtype))

    @classmethod
    def apply(
        cls, module: M, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> M:
        """Prune a parameter of a module, with other arguments for the constructor. Raises ValueError for scores of
        another shape."""
        mask = mask_of(module, name)
        was_pruned = computed_as(module, name) == PRUNED
        tensor: Tensor = getattr(module, f"{name}_orig" if was_pruned else name).detach()
        scores = tensor if importance_scores is None else importance_scores
        if tuple(scores.shape) != tuple(tensor.shape):
            raise ValueError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs "
                f"{tensor.shape}"
            )
        method = cls(*args, **kwargs)
        method._tensor_name = name
        new_mask = method.next_mask(scores, mask) if was_pruned else method.compute_mask(scores, mask)
        return custom_from_mask(module, name, new_mask)


def mask_of(module: Module, name: str) -> Tensor:
    """The mask of a parameter: of ones, if it is not pruned."""
    if computed_as(module, name) == PRUNED:
        mask: Tensor = getattr(module, f"{name}_mask")
        return mask
    ones: Tensor = F.ones_like(getattr(module, name).detach())
    return ones


class Identity(BasePruningMethod):
    """Nothing goes.

    >>> import flambeau
    >>> Identity().compute_mask(flambeau.ones(2), flambeau.ones(2))
    tensor([1., 1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The mask that there is."""
        return mask


class _Entries(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Amount) -> None:
        check(amount)
        self.amount = amount

    def _order(self, scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What goes first, what next."""
        return np.argsort(np.abs(scores), kind="stable")

    def compute_mask(self, scores: Tensor, mask: Tensor) -> Tensor:
        """With that many entries less."""
        entries = readable(mask.detach())._array.copy()
        left = np.flatnonzero(entries.reshape(-1))
        going = left[self._order(readable(scores.detach())._array.reshape(-1)[left])[: count(self.amount, left.size)]]
        entries.reshape(-1)[going] = 0
        return wrap(entries).to(mask.device)


class L1Unstructured(_Entries):
    """The entries closest to zero go.

    >>> import flambeau
    >>> L1Unstructured(2).compute_mask(flambeau.tensor([3.0, -1.0, 2.0]), flambeau.ones(3))
    tensor([1., 0., 0.])
    """


class RandomUnstructured(_Entries):
    """Any entries go.

    >>> import flambeau
    >>> RandomUnstructured(2).compute_mask(flambeau.ones(5), flambeau.ones(5)).sum().item()
    3.0
    """

    def _order(self, scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.argsort(-F.rand([scores.size]).numpy(), kind="stable")


class LnStructured(BasePruningMethod):
    """The slices of `dim` with the smallest norms of order `n` go. Raises IndexError for a dimension that is not
    there, ValueError for vectors.

    >>> import flambeau
    >>> scores = flambeau.tensor([[3.0, 4.0], [1.0, 1.0]])
    >>> LnStructured(1, n=2, dim=0).compute_mask(scores, flambeau.ones(2, 2)).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, n: float, dim: int = -1) -> None:
        check(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def _order(self, scores: Tensor, left: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The slices that are left, in the order in which they go."""
        others = [i for i in range(scores.dim()) if i != self.dim % scores.dim()]
        norms = F.linalg_vector_norm(scores.detach(), _order_of(self.n), others)
        order = np.argsort(readable(norms)._array, kind="stable")
        return order[left[order]]

    def compute_mask(self, scores: Tensor, mask: Tensor) -> Tensor:
        """With that many slices less."""
        if mask.dim() < 2:
            raise ValueError(
                f"Structured pruning can only be applied to multidimensional tensors. Found tensor of "
                f"shape {mask.shape} with {mask.dim()} dims"
            )
        if not -mask.dim() <= self.dim < mask.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {mask.shape}")
        channels: Any = np.moveaxis(readable(mask.detach())._array.copy(), self.dim, 0)
        left = channels.reshape(len(channels), -1).any(axis=1)
        order = self._order(F.mul(scores, mask), left)
        channels[order[: count(self.amount, int(left.sum()))]] = 0
        return wrap(np.ascontiguousarray(np.moveaxis(channels, 0, self.dim))).to(mask.device)


def _order_of(n: Any) -> float:
    """The order of a norm of vectors: those of matrices with names, over all that is not `dim`, are of vectors too."""
    return 2.0 if n == "fro" else float(n)


class RandomStructured(LnStructured):
    """Any slices of `dim` go.

    >>> import flambeau
    >>> RandomStructured(1, dim=0).compute_mask(flambeau.ones(3, 2), flambeau.ones(3, 2)).sum().item()
    4.0
    """

    def __init__(self, amount: Amount, dim: int = -1) -> None:
        super().__init__(amount, 2.0, dim)

    def _order(self, scores: Tensor, left: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        slices = np.flatnonzero(left)
        return slices[np.argsort(F.rand([slices.size]).numpy(), kind="stable")]


class CustomFromMask(BasePruningMethod):
    """The entries go where a mask is zero.

    >>> import flambeau
    >>> CustomFromMask(flambeau.tensor([1.0, 0.0])).compute_mask(flambeau.ones(2), flambeau.ones(2))
    tensor([1., 0.])
    """

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Without the entries of both masks."""
        return F.mul(F.to(self.mask, mask.dtype), mask)


class PruningContainer(BasePruningMethod):
    """Methods for one parameter, each of which goes on with what the ones before it left. `_tensor_name` of a method
    says for which.

    Args:
        methods: the methods, in their order.

    >>> first, second = L1Unstructured(1), L1Unstructured(1)
    >>> first._tensor_name = second._tensor_name = "weight"
    >>> container = PruningContainer(first)
    >>> container.add_pruning_method(second)
    >>> import flambeau
    >>> container.compute_mask(flambeau.tensor([3.0, 1.0, 2.0]), flambeau.ones(3))
    tensor([1., 0., 0.])
    """

    def __init__(self, *methods: Any) -> None:
        self._methods: list[BasePruningMethod] = []
        listed = list(methods[0]) if len(methods) == 1 and not isinstance(methods[0], BasePruningMethod) else methods
        for method in listed:
            self._tensor_name = getattr(method, "_tensor_name", "") if not self._methods else self._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Put a method behind the others. Raises TypeError for what is none, ValueError for another parameter's."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method).__name__} is not a BasePruningMethod subclass")
        name = getattr(method, "_tensor_name", "")
        if self._methods and name != self._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to this "
                f"PruningContainer, not one acting on '{name}'"
            )
        self._methods.append(method)

    def __len__(self) -> int:
        return len(self._methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._methods[index]

    def compute_mask(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The mask behind all methods."""
        for method in self._methods:
            mask = method.next_mask(scores, mask)
        return mask


def identity(module: M, name: str) -> M:
    """A mask of ones.

    >>> import flambeau
    >>> is_pruned(identity(flambeau.nn.Linear(2, 2), "weight"))
    True
    """
    return Identity.apply(module, name)


def random_unstructured(module: M, name: str, amount: Amount) -> M:
    """Prune any entries.

    >>> import flambeau
    >>> int((random_unstructured(flambeau.nn.Linear(2, 2), "weight", amount=3).weight == 0).sum())
    3
    """
    return RandomUnstructured.apply(module, name, amount)


def l1_unstructured(module: M, name: str, amount: Amount, importance_scores: Tensor | None = None) -> M:
    """Prune the entries closest to zero, or those with the lowest scores.

    >>> import flambeau
    >>> int((l1_unstructured(flambeau.nn.Linear(4, 1), "weight", amount=0.5).weight == 0).sum())
    2
    """
    return L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)


def random_structured(module: M, name: str, amount: Amount, dim: int) -> M:
    """Prune any slices of a dimension.

    >>> import flambeau
    >>> int((random_structured(flambeau.nn.Linear(3, 2), "weight", amount=1, dim=0).weight == 0).sum())
    3
    """
    return RandomStructured.apply(module, name, amount, dim)


def ln_structured(
    module: M, name: str, amount: Amount, n: float, dim: int, importance_scores: Tensor | None = None
) -> M:
    """Prune the slices of a dimension with the smallest norms of order `n`.

    >>> import flambeau
    >>> int((ln_structured(flambeau.nn.Linear(3, 2), "weight", amount=1, n=2, dim=1).weight == 0).sum())
    2
    """
    return LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune the entries where a mask is zero. Raises RuntimeError for a mask of another shape.

    >>> import flambeau
    >>> mask = flambeau.tensor([[1.0, 0.0]])
    >>> (custom_from_mask(flambeau.nn.Linear(2, 1), "weight", mask).weight == 0).tolist()
    [[False, True]]
    """
    refuse_flat(module, name)
    before = mask_of(module, name)
    if tuple(mask.shape) != tuple(before.shape):
        raise RuntimeError(f"the mask of '{name}' has to be of shape {list(before.shape)}, not {list(mask.shape)}")
    new_mask = F.mul(F.to(mask, before.dtype), before)
    if computed_as(module, name) == PRUNED:
        setattr(module, f"{name}_mask", new_mask)
        return module
    parameter = getattr(module, name)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", parameter)
    module.register_buffer(f"{name}_mask", new_mask)

    def value(self: Any) -> Tensor:
        return F.mul(getattr(self, f"{name}_orig"), getattr(self, f"{name}_mask"))

    compute(module, name, PRUNED, value, f"self.{name}_orig * self.{name}_mask")
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]], pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None, **kwargs: Any,
) -> None:  # fmt: skip
    """Prune several parameters, given as module and name, as if they were one. Raises TypeError for methods of slices:
    those of your own say `PRUNING_TYPE = "unstructured"`.

    >>> import flambeau
    >>> first, second = flambeau.nn.Linear(2, 2), flambeau.nn.Linear(2, 2)
    >>> global_unstructured([(first, "weight"), (second, "weight")], L1Unstructured, amount=3)
    >>> int((first.weight == 0).sum() + (second.weight == 0).sum())
    3
    """
    if pruning_method.PRUNING_TYPE != "unstructured":
        raise TypeError(f"{pruning_method.__name__} prunes slices: only methods of single entries prune globally")
    listed, known_scores = list(parameters), importance_scores or {}
    scores = []
    for module, name in listed:
        tensor = getattr(module, f"{name}_orig" if computed_as(module, name) == PRUNED else name).detach()
        scores.append(F.reshape(known_scores.get((module, name), tensor), [-1]))
    masks = [mask_of(module, name) for module, name in listed]
    flat = F.cat([F.reshape(mask, [-1]) for mask in masks])
    pruned, start = pruning_method(**kwargs).next_mask(F.cat(scores), flat), 0
    for (module, name), mask in zip(listed, masks, strict=True):
        part = F.narrow(pruned, 0, start, mask.numel())
        custom_from_mask(module, name, F.reshape(part, list(mask.shape)))
        start += mask.numel()


def remove(module: M, name: str) -> M:
    """Make a pruned parameter a plain one, with zeros in it. Raises ValueError for one that is not pruned.

    >>> import flambeau
    >>> layer = remove(l1_unstructured(flambeau.nn.Linear(2, 2), "weight", amount=1), "weight")
    >>> is_pruned(layer), int((layer.weight == 0).sum())
    (False, 1)
    """
    if computed_as(module, name) != PRUNED:
        raise ValueError(NOT_PRUNED.format(name=name, module=module))
    value, original = getattr(module, name).detach(), getattr(module, f"{name}_orig")
    drop(module, name)
    delattr(module, f"{name}_orig")
    delattr(module, f"{name}_mask")
    original.data = value
    module.register_parameter(name, original if isinstance(original, Parameter) else Parameter(value))
    return module


def is_pruned(module: Module) -> bool:
    """Whether a module, or one below it, has a pruned parameter.

    >>> import flambeau
    >>> is_pruned(flambeau.nn.Linear(2, 2))
    False
    """
    return any(computed_as(one, name) == PRUNED for one in module.modules() for name in dir(type(one)))
