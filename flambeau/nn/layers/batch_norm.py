"""Normalisation per channel: of a batch (Ioffe and Szegedy, 2015), and of every sample (Ulyanov et al., 2016)."""

from __future__ import annotations

from typing import Any

from flambeau.nn import functional, init
from flambeau.nn.layers import fresh
from flambeau.nn.layers.layer import Affine
from flambeau.nn.module import Module
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType, int64
from flambeau.tensor import dispatch
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor


class ChannelNorm(Affine):
    """What they have in common: `weight` and `bias` if `affine`, running statistics if `track_running_stats`.

    >>> from flambeau import nn
    >>> isinstance(nn.BatchNorm1d(2), ChannelNorm), isinstance(nn.LayerNorm(2), ChannelNorm)
    (True, False)
    """

    _version = 2
    _loads_plainly = True
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(
        self, num_features: int, eps: float, momentum: float | None, affine: bool, track_running_stats: bool,
        device: Device | str | None, dtype: DType | None, bias: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._add_parameters([num_features], affine, affine and bias, device, dtype)
        self.running_mean: Tensor | None
        self.running_var: Tensor | None
        self.num_batches_tracked: Tensor | None
        for name in ("running_mean", "running_var"):
            self.register_buffer(
                name, fresh.empty(num_features, dtype=dtype, device=device) if track_running_stats else None
            )
        count = dispatch.call("aten::zeros", [], dtype=int64, device=device) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running statistics to what they are before the first batch."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Factors 1, shifts 0, no batch seen."""
        self.reset_running_stats()
        super().reset_parameters()

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """States before version 2 did not count batches: the count stays."""
        version, key = local_metadata.get("version"), f"{prefix}num_batches_tracked"
        if (version is None or version < 2) and self.num_batches_tracked is not None:
            state_dict = {key: self.num_batches_tracked, **state_dict}
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def _check_input_dim(self, input: Tensor) -> None:
        """Each layer says which ranks it takes."""

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm(ChannelNorm):
    """Over the batch and all places: the batch's statistics while training, the running ones otherwise.

    >>> from flambeau import nn
    >>> issubclass(nn.BatchNorm2d, BatchNorm)
    True
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Device | str | None = None, dtype: DType | None = None,
        *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays. With `momentum=None` the running statistics are the average over all batches.

        Raises ValueError for another rank, or for a single value per channel while training.
        """
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        is_updated = not self.training or self.track_running_stats
        return functional.batch_norm(
            input, self.running_mean if is_updated else None, self.running_var if is_updated else None, self.weight,
            self.bias, by_batch, factor, self.eps,
        )  # fmt: skip


class BatchNorm1d(BatchNorm):
    """Over (N, C) or (N, C, L).

    Args:
        num_features: channels of the input, its second dimension.
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C) or (N, C, L); it stays.

    >>> import flambeau
    >>> norm = flambeau.nn.BatchNorm1d(2)
    >>> norm(flambeau.tensor([[1.0, 2.0], [3.0, 6.0]])).round().tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(BatchNorm):
    """Over (N, C, H, W).

    Args:
        num_features: channels of the input, its second dimension.
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.BatchNorm2d(2)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 8, 8])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(BatchNorm):
    """Over (N, C, D, H, W).

    Args:
        num_features: channels of the input, its second dimension.
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, D, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.BatchNorm3d(2)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 8, 8, 8])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(BatchNorm):
    """`BatchNorm` of any rank from (N, C) on, over all processes that train together: here there is one.

    Raises ValueError for a group of processes.

    Args:
        num_features: channels of the input, its second dimension.
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        process_group: None: there is one process.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, ...); it stays.

    >>> import flambeau
    >>> flambeau.nn.SyncBatchNorm(2)(flambeau.ones(3, 2)).shape
    flambeau.Size([3, 2])
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any = None, device: Device | str | None = None,
        dtype: DType | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        if process_group is not None:
            raise ValueError("SyncBatchNorm: there is one process here; leave process_group out")
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """A module with its layers `BatchNorm1d` to `BatchNorm3d` replaced by ones that share their tensors."""
        if isinstance(module, BatchNorm) and not isinstance(module, SyncBatchNorm):
            converted = cls(
                module.num_features, module.eps, module.momentum, False, module.track_running_stats, process_group
            )
            converted.affine = module.affine
            converted._parameters, converted._buffers = dict(module._parameters), dict(module._buffers)
            return converted.train(module.training)
        for name, child in module.named_children():
            module.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return module


class InstanceNorm(ChannelNorm):
    """Over the places of every sample; by default without parameters and without running statistics."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Device | str | None = None, dtype: DType | None = None,
        *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def _spatial_rank(self) -> int:
        """How many dimensions there are behind the channels."""
        return 1

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays; a sample without a batch is taken too.

        Raises ValueError for another rank, or another number of channels.
        """
        spatial_rank = self._spatial_rank()
        rank = input.dim()
        if rank != spatial_rank + 1 and rank != spatial_rank + 2:
            raise ValueError(f"expected {spatial_rank + 1}D or {spatial_rank + 2}D input (got {rank}D input)")
        if self.affine and not is_tracing() and input.size(rank - spatial_rank - 1) != self.num_features:
            raise ValueError(
                f"expected input's size at dim={rank - spatial_rank - 1} to match num_features ({self.num_features}), "
                f"but got: {input.size(rank - spatial_rank - 1)}."
            )
        batch = input.unsqueeze(0) if rank == spatial_rank + 1 else input
        result = functional.instance_norm(
            batch, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return result.squeeze(0) if rank == spatial_rank + 1 else result


class InstanceNorm1d(InstanceNorm):
    """Over (N, C, L) or (C, L).

    Args:
        num_features: channels of the input, its second dimension.
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, L) or (C, L); it stays.

    >>> import flambeau
    >>> flambeau.nn.InstanceNorm1d(2)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 8])
    """


class InstanceNorm2d(InstanceNorm):
    """Over (N, C, H, W) or (C, H, W).

    Args:
        num_features: channels of the input, its second dimension.
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, H, W) or (C, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.InstanceNorm2d(2)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 8, 8])
    """

    def _spatial_rank(self) -> int:
        return 2


class InstanceNorm3d(InstanceNorm):
    """Over (N, C, D, H, W) or (C, D, H, W).

    Args:
        num_features: channels of the input, its second dimension.
        eps: a small number that keeps a divisor from zero.
        momentum: how much a batch counts in the running statistics; None for the average over all batches.
        affine: whether there are a weight and a bias for every channel.
        track_running_stats: whether running statistics are kept, and used outside of training.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        bias: whether there is a bias.

    Shape:
        (N, C, D, H, W) or (C, D, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.InstanceNorm3d(2)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 8, 8, 8])
    """

    def _spatial_rank(self) -> int:
        return 3
