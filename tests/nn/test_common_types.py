"""Names for sizes: a program may be given one number or several."""

from __future__ import annotations

import flambeau
from flambeau import Tensor, nn
from flambeau.nn.common_types import _size_2_t


def pooled(x: Tensor, size: _size_2_t) -> Tensor:
    return nn.functional.max_pool2d(x, size)


def test_one_number_or_two() -> None:
    x = flambeau.arange(16.0).reshape(1, 1, 4, 4)
    function = flambeau.script(pooled)
    assert function(x, [4, 2]).tolist() == [[[[13.0, 15.0]]]]
    assert function(x, 2).tolist() == function(x, (2, 2)).tolist() == [[[[5.0, 7.0], [13.0, 15.0]]]]
    assert "int[2] size" in str(function.schema)

    def f(x: Tensor) -> Tensor:
        return pooled(x, 4) + pooled(x, (4, 4))

    assert flambeau.script(f)(flambeau.arange(16.0).reshape(1, 1, 4, 4)).tolist() == [[[[30.0]]]]
