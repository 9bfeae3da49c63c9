"""The order of passes for graphs on devices: that of all graphs, with what is of use where a library computes products.

>>> [step.name for step in for_devices(STEPS)][-4:]
['part_products', 'fuse', 'fuse_alone', 'dce_2']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.passes import part_products
from flambeau.passes.order import STEPS
from flambeau.passes.steps import Step, check_order

_PART_PRODUCTS: Final = Step(
    phase="fuse",
    name="part_products",
    run=part_products.do,
    after=(("refresh_shapes", "dtypes tell what kernels can take on"),),
    before=(("fuse", "what is added behind a product is one group with what follows"),),
)


def for_devices(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps, or those that are left of them, for a graph on devices."""
    index = next(k for k, step in enumerate(steps) if step.name == "fuse")
    return *steps[:index], _PART_PRODUCTS, *steps[index:]


check_order(for_devices(STEPS))
