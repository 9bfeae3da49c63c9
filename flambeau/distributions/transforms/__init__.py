"""Functions of values with known inverses and log-determinants, which make distributions of others.

>>> import flambeau
>>> TanhTransform().inv(flambeau.tensor(0.0))
tensor(0.)
"""

from typing import Final

from flambeau.distributions.transforms.elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from flambeau.distributions.transforms.joined import CatTransform, StackTransform
from flambeau.distributions.transforms.transform import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
)
from flambeau.distributions.transforms.vectors import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

identity_transform: Final = ComposeTransform([])
"""What leaves values as they are."""

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip
