"""Softmax over very many classes: frequent ones at once, rare ones in groups. Grave et al. (2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flambeau.nn.container import ModuleList, Sequential
from flambeau.nn.layers.linear import Linear
from flambeau.nn.module import Module
from flambeau.ops.families.composite import F
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor


class AdaptiveOutput(NamedTuple):
    """The log-probability of every sample's target, and the loss: minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Classes in the order of how frequent they are, cut into groups at `cutoffs`.

    The head chooses a class of the first group, or another group; the further back a group is, the fewer features,
    by `div_value` each time, choose among its classes. Raises ValueError for cutoffs that are no increasing classes,
    and without features.

    Args:
        in_features: features of the input, its last dimension.
        n_classes: the number of classes.
        cutoffs: the classes at which groups begin, increasing.
        div_value: by how much features shrink from group to group.
        head_bias: whether the head has a bias.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (N, in_features) and classes (N,), to (N,) and ().

    >>> import flambeau
    >>> layer = AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10], div_value=2.0)
    >>> layer(flambeau.ones(3, 8), flambeau.tensor([0, 7, 19])).output.shape
    flambeau.Size([3])
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
        head_bias: bool = False, device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        boundaries = [*cutoffs]
        if not boundaries:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        is_rising = all(isinstance(p, int) for p in boundaries) and boundaries == sorted(set(boundaries))
        if not is_rising or boundaries[0] <= 0 or boundaries[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                f"value is between 1 and n_classes-1, got {boundaries}"
            )
        if in_features < 0 or div_value <= 0:
            raise ValueError(f"in_features and div_value should be positive, got {in_features} and {div_value}")
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*boundaries, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = boundaries[0]
        self.n_clusters = len(boundaries)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            width = int(in_features // div_value ** (i + 1))
            narrow = Linear(in_features, width, bias=False, device=device, dtype=dtype)
            self.tail.append(Sequential(narrow, Linear(width, high - low, bias=False, device=device, dtype=dtype)))

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        self.head.reset_parameters()
        for module in self.tail.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> AdaptiveOutput:
        """(N, in_features) and classes (N,), or (in_features,) and one class.

        Raises RuntimeError for other shapes, and for classes that are not there.
        """
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input_.dim() != target_.dim() + 1:
            raise RuntimeError(
                f"{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, but found inputs with "
                f"size {list(input_.size())}"
            )
        is_batched = target_.dim() == 1
        input = input_ if is_batched else input_.unsqueeze(0)
        target = target_ if is_batched else target_.unsqueeze(0)
        self._check(input, target)
        head = F.log_softmax(self.head(input), 1)
        output = F.zeros([input.size(0)], dtype=head.dtype, device=head.device)
        column = target
        for i, part in enumerate(self.tail):
            low = self.cutoffs[i]
            inside = F.logical_and(target >= low, target < self.cutoffs[i + 1])
            rows = F.squeeze(F.nonzero(inside), 1)
            chances = F.log_softmax(part(F.index_select(input, 0, rows)), 1)
            chosen = F.gather(chances, 1, F.unsqueeze(F.index_select(target, 0, rows) - low, 1))
            output = F.index_copy(output, 0, rows, F.squeeze(chosen, 1))
            column = F.masked_fill(column, inside, self.shortlist_size + i)
        output = output + F.squeeze(F.gather(head, 1, F.unsqueeze(column, 1)), 1)
        loss = F.mean(-output)
        return AdaptiveOutput(output if is_batched else F.squeeze(output, 0), loss)

    def _check(self, input: Tensor, target: Tensor) -> None:
        if is_tracing():
            return
        if input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if target.numel() > 0 and (int(target.min()) < 0 or int(target.max()) >= self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{int(target.min())}, "
                f"{int(target.max())}] were found."
            )

    def _log_prob(self, input: Tensor, head: Tensor) -> Tensor:
        first = F.log_softmax(head, 1)
        parts = [first[:, : self.shortlist_size]]
        for i, part in enumerate(self.tail):
            column = self.shortlist_size + i
            parts.append(F.log_softmax(part(input), 1) + first[:, column : column + 1])
        return F.cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """(N, in_features) to the logarithm of every class's probability: (N, n_classes)."""
        return self._log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """(N, in_features) to the most probable class of each sample: (N,)."""
        head = self.head(input)
        best = F.argmax(head, 1)
        rows = F.squeeze(F.nonzero(best >= self.shortlist_size), 1)
        chances = self._log_prob(F.index_select(input, 0, rows), F.index_select(head, 0, rows))
        return F.index_copy(best, 0, rows, F.argmax(chances, 1))
