"""`view`, `reshape` and `flatten` of tensors that lie anyhow: a view where there is one, else a copy or an error."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from tests.codegen.graph.one_meaning import agree, functions, outcome, same

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
NUMBERS = np.arange(240.0, dtype=np.float32)

Made = Callable[[], Tensor]


def _of(build: Callable[[np.ndarray], np.ndarray]) -> Made:
    return lambda: flambeau.from_numpy(build(NUMBERS.copy()))


LAYOUTS: dict[str, Made] = {
    "row-major": _of(lambda a: a[:24].reshape(2, 3, 4)),
    "turned": _of(lambda a: a[:24].reshape(4, 3, 2).transpose(2, 1, 0)),
    "heads": _of(lambda a: a[:24].reshape(3, 2, 4).transpose(1, 0, 2)),
    "every other": _of(lambda a: a[:48].reshape(2, 3, 8)[:, :, ::2]),
    "a part": _of(lambda a: a[:60].reshape(3, 4, 5)[:2, :3, :4]),
    "repeated": _of(lambda a: np.broadcast_to(a[:4], (2, 3, 4))),
    "repeated outside": _of(lambda a: np.broadcast_to(a[:12].reshape(3, 4), (2, 3, 4))),
    "empty": _of(lambda a: a[:0].reshape(2, 0, 4)),
    "ones": _of(lambda a: a[:8].reshape(1, 8, 1)[:, ::2]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reshape_and_flatten_of_every_layout(layout: str) -> None:
    source = """
def f(x: Tensor, y: Tensor):
    a, b, c = x.size(0), x.size(1), x.size(2)
    p = x.reshape([a * b, c])
    q = x.reshape([a, b * c])
    y.add_(1.0)
    return p, q, x.flatten(), x.flatten(1), x.flatten(0, 1), x.reshape([c, b, a, 1]), x.reshape_as(q), x.flatten(1, 1)
"""

    def arguments() -> tuple[Tensor, Tensor]:
        x = LAYOUTS[layout]()
        x = x.clone() if layout.startswith("repeated") else x  # what overlaps itself is not written to
        return x, x.select(0, 0)

    agree(source, arguments)
    agree(source.replace("    y.add_(1.0)\n", ""), lambda: (LAYOUTS[layout](), LAYOUTS["ones"]()))


SIZES = (
    (6, 4),
    (2, 12),
    (24,),
    (2, 3, 2, 2),
    (1, 2, 3, 4),
    (3, -1, 2),
    (4, 6),
    (3, 2, 4),
    (2, 1, 3, 4, 1),
    (5, -1),
    (-2,),
)


def test_views_of_every_layout_are_those_of_torch() -> None:
    """Sizes and strides where there is a view, the same error where there is none."""
    for rank in (1, 2, 3, 4, 5):
        by = functions(f"def f(x: Tensor, n: Tuple[{', '.join(['int'] * rank)}]):\n    "
                       f"{', '.join('abcde'[:rank])}{',' * (rank == 1)} = n\n    "
                       f"return x.view([{', '.join('abcde'[:rank])}])\n")  # fmt: skip
        for layout, sizes in itertools.product(LAYOUTS, [s for s in SIZES if len(s) == rank]):

            def arguments(layout: str = layout, sizes: tuple[int, ...] = sizes) -> tuple[Tensor, tuple[int, ...]]:
                return LAYOUTS[layout](), sizes

            expected = outcome(by["interpreter"], arguments())
            for _ in range(2):
                same(outcome(by["native"], arguments()), expected, "native code")
            x, _ = arguments()
            if len(expected) == 3:
                with pytest.raises(RuntimeError) as refused:
                    torch.as_strided(torch.from_numpy(NUMBERS), x.shape, x.stride()).view(sizes)
                assert str(refused.value) in expected[1]
            else:
                viewed = torch.as_strided(torch.from_numpy(NUMBERS), x.shape, x.stride()).view(sizes)
                assert expected[0][1:3] == (tuple(viewed.shape), viewed.stride()), (layout, sizes)
        plans = by["native"]._executor.plans
        assert plans
        assert not any(p.compiled.reason for p in plans if p.compiled is not None)


def test_a_view_that_is_written_writes_through() -> None:
    source = """
def f(x: Tensor):
    y = x.transpose(0, 1)
    y.view([3, 2, 2, 2]).mul_(2.0)
    z = y.reshape([6, 4])
    z.add_(1.0)
    return y, z, x.reshape([24]), x.unflatten(2, [2, -1]), x.view_as(x.reshape([4, 6]))
"""
    agree(source, lambda: (LAYOUTS["row-major"](),))
    agree(source, lambda: (LAYOUTS["heads"](),))


@pytest.mark.parametrize("sizes", [(1 << 32, 1 << 32), (3, (1 << 64) // 3), (1 << 62, 4), (0, 5), (1 << 62, 2, 2)])
def test_sizes_whose_product_wraps_are_refused(sizes: tuple[int, ...]) -> None:
    names = "abc"[: len(sizes)]
    declared = ", ".join(f"{n}: int" for n in names)
    for made in (LAYOUTS["empty"], LAYOUTS["turned"], LAYOUTS["row-major"]):
        agree(
            f"def f(x: Tensor, {declared}):\n    return x.reshape([{', '.join(names)}]).size(0)",
            lambda made=made: (made(), *sizes),
        )
