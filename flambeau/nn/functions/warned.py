"""What functions warn of where they run as Python: calls that are most often not what was meant.

>>> import flambeau, warnings
>>> with warnings.catch_warnings(record=True) as seen:
...     warnings.simplefilter("always")
...     loss = flambeau.nn.functional.mse_loss(flambeau.ones(3), flambeau.ones(3, 1))
>>> seen[0].category.__name__
'UserWarning'
"""

from __future__ import annotations

from typing import Final

from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor
from flambeau.util.user_code import warn_user

SIZES: Final = (
    "Using a target size ({target}) that is different to the input size ({input}): one is broadcast to the other, and "
    "elements are compared with others than their own. Give both the same size"
)
OLDER: Final = "size_average and reduce are deprecated: write reduction='{word}' instead"
IMPLICIT_DIM: Final = (
    "Implicit dimension choice for {name} has been deprecated: here it is dim={dim}. Write the call with dim"
)
MEAN: Final = (
    "reduction: 'mean' divides by the number of elements, not by the size of the batch, as the divergence is defined: "
    "write 'batchmean' for that"
)
CORNERS: Final = (
    "{name} without align_corners takes align_corners=False: write which one is meant, where the corners' centres "
    "matter"
)
CHANNELS: Final = (
    "{name}: a {rank}-D input is deprecated: it drops whole channels of {shapes}. Write dropout for elements by "
    "themselves, dropout1d for channels of (N, C, L)"
)
UPSAMPLE: Final = "`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate`, which takes the same"


def of_sizes(input: Tensor, target: Tensor) -> None:
    """Where a loss compares tensors of different shapes."""
    if not is_tracing() and input.shape != target.shape:
        shapes = {"input": f"torch.Size({list(input.shape)})", "target": f"torch.Size({list(target.shape)})"}
        warn_user(SIZES.format(**shapes), UserWarning)


def of_older_reduction(word: str) -> None:
    """Where a reduction is said by flags."""
    warn_user(OLDER.format(word=word), UserWarning)


def of_implicit_dim(name: str, dim: int) -> None:
    """Where a function along a dimension is not told which."""
    warn_user(IMPLICIT_DIM.format(name=name, dim=dim), UserWarning)


def of_mean() -> None:
    """Where the mean of a divergence is taken over all elements."""
    warn_user(MEAN, UserWarning)


def of_corners(name: str) -> None:
    """Where it is not said whether corners are aligned."""
    warn_user(CORNERS.format(name=name), UserWarning)


def of_channels(name: str, rank: int, shapes: str) -> None:
    """Where channels are dropped of something that has none."""
    warn_user(CHANNELS.format(name=name, rank=rank, shapes=shapes), UserWarning)


def of_older_upsampling(name: str) -> None:
    """Where an image is resized by an older name."""
    warn_user(UPSAMPLE.format(name=name), UserWarning)
