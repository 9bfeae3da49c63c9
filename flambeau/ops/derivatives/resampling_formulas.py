"""The formulas of resampling: linear, and along each axis by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.ops.derivatives.plain_arrays import repeated_back
from flambeau.ops.resampling import nearest_places
from flambeau.schema.gradient import formulas


def _along_each_axis(f: Any, grad: Any, sizes: Sequence[int], rank: int, one: Callable[[Any, int, int], Any]) -> Any:
    """The gradient through matrices along the last axes: `one(identity, axis, size)` is the operator along an axis."""
    first = len(sizes) - rank
    for at in range(rank):
        size = sizes[first + at]
        matrix = one(f.eye(size, dtype=grad.dtype), at, grad.shape[first + at])  # (size, size of the result)
        moved = f.movedim(grad, first + at, -1)
        grad = f.movedim(f.matmul(moved, f.transpose(matrix, 0, 1)), -1, first + at)
    return grad


def _only_row(f: Any, images: Any) -> Any:
    """(channels, width) of one image that is one row high."""
    return f.select(f.select(images, 0, 0), 1, 0)


def _adaptive(f: Any, grad: Any, self_sizes: Sequence[int], output_size: Sequence[Any], rank: int) -> Any:
    if all(type(count) is int and count == 1 for count in output_size):
        return f.expand(grad / math.prod(self_sizes[len(self_sizes) - rank :]), self_sizes)

    def one(eye: Any, at: int, out: int) -> Any:
        return f.select(f.adaptive_avg_pool1d(f.unsqueeze(eye, 0), [out]), 0, 0)

    return _along_each_axis(f, grad, self_sizes, rank, one)


for _rank in (1, 2, 3):
    formulas(
        f"aten::adaptive_avg_pool{_rank}d",
        self=(
            lambda rank: lambda f, grad, self_sizes, output_size: _adaptive(f, grad, self_sizes, output_size, rank)
        )(_rank),
    )

_KINDS = {
    "nearest": (1, 2, 3),
    "nearest_exact": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "trilinear": (3,),
    "bicubic": (2,),
}


def _resampled(rank: int, kind: str) -> Callable[..., Any]:
    def by_matrices(f: Any, grad: Any, sizes: Sequence[int], factors: Any, align_corners: Any) -> Any:
        def one(eye: Any, at: int, out: int) -> Any:
            scale = None if factors is None else factors[at]
            corners = [] if align_corners is None else [align_corners]
            if kind == "bicubic":
                plane = f.reshape(eye, [1, eye.shape[0], 1, eye.shape[1]])
                scales = [None, None] if scale is None else [None, scale]
                return _only_row(f, f.upsample_bicubic2d(plane, [1, out], *corners, *scales))
            single = {"nearest": "upsample_nearest1d", "nearest_exact": "_upsample_nearest_exact1d"}.get(
                kind, "upsample_linear1d"
            )
            return f.select(getattr(f, single)(f.unsqueeze(eye, 0), [out], *corners, scale), 0, 0)

        return _along_each_axis(f, grad, sizes, rank, one)

    def by_repeats(grad: Any, sizes: Sequence[int], factors: Any, align_corners: Any) -> Any:
        steps = factors if factors is not None else (None,) * rank
        lengths = zip(sizes[len(sizes) - rank :], grad.shape[grad.ndim - rank :], steps, strict=True)
        return repeated_back(grad, [nearest_places(*one, exact=kind == "nearest_exact") for one in lengths], sizes)

    if kind.startswith("nearest"):
        return lambda f, *operands: f.over_arrays(by_repeats, by_matrices, *operands)
    return by_matrices


for _kind, _ranks in _KINDS.items():
    for _rank in _ranks:
        _name = f"aten::{'_' if _kind == 'nearest_exact' else ''}upsample_{_kind}{_rank}d"
        _run = _resampled(_rank, _kind)
        _keys = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}[_rank]

        def _plain(run: Callable[..., Any], keys: tuple[str, ...]) -> Callable[..., Any]:
            def by_scales(
                f: Any,
                grad: Any,
                self_sizes: Any,
                align_corners: Any = None,
                scales: Any = None,
                scales_d: Any = None,
                scales_h: Any = None,
                scales_w: Any = None,
            ) -> Any:
                known = {"scales": scales, "scales_d": scales_d, "scales_h": scales_h, "scales_w": scales_w}
                factors = [known[key] for key in keys]
                return run(f, grad, self_sizes, factors, align_corners)

            return by_scales

        def _of_vector(run: Callable[..., Any]) -> Callable[..., Any]:
            return lambda f, grad, input_sizes, scale_factors, align_corners=None: run(
                f, grad, input_sizes, scale_factors, align_corners
            )

        formulas(_name, self=_plain(_run, _keys))
        formulas(f"{_name}.vec", input=_of_vector(_run))


_SMOOTH = ("bilinear", "bicubic", "lanczos")


def _smoothed(name: str) -> Callable[..., Any]:
    def formula(f: Any, grad: Any, sizes: Sequence[int], factors: Any, align_corners: bool) -> Any:
        def one(eye: Any, at: int, out: int) -> Any:
            scale = None if factors is None else factors[at]
            plane = f.reshape(eye, [1, eye.shape[0], 1, eye.shape[1]])
            return _only_row(f, getattr(f, name)(plane, [1, out], align_corners, None, scale))

        return _along_each_axis(f, grad, sizes, 2, one)

    return formula


for _kind in _SMOOTH:
    _name = f"aten::_upsample_{_kind}2d_aa"
    _run = _smoothed(_name.partition("::")[2])
    formulas(_name, self=_plain(_run, ("scales_h", "scales_w")))
    formulas(f"{_name}.vec", input=_of_vector(_run))
