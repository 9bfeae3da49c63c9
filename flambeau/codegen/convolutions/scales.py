"""What sums of a convolution are scaled and shifted by: a norm by known statistics, the bias, or nothing."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.convolutions.vectors import VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import CALL
from flambeau.codegen.llvm.emitter import Value, float_constant


def build_scales(m: VectorModule) -> None:
    """``make_scales``: a number for each channel of both kinds, so that ``sum * scale + shift`` is the result."""
    f = m.function("void make_scales", "ptr block", "ptr call", "ptr scale", "ptr shift")
    block, call, scale, shift = f.parameters
    t = m.floats.type
    span = f.span(f.get(call, CALL, "channels"))
    eps = f.read(f.field(call, CALL, "eps"), t)
    pointers = {
        name: f.word_of(block, f.get(call, CALL, name), "ptr") for name in ("bias", "gamma", "beta", "mean", "variance")
    }

    def change(target: Value, combine: Callable[[Value, Value, int], Value], source: str) -> None:
        """Each number of `target` by those of `source`, if that is there."""
        with f.when(f.negated(f.is_null(pointers[source]))):

            def several(at: Value, lanes: int, mask: Value | None) -> None:
                here, there = f.moved(target, at), f.moved(pointers[source], at)
                old, new = (f.read(a, t) if lanes == 1 else f.vector(a, mask) for a in (here, there))
                factor = f.read(f.moved(scale, at), t) if lanes == 1 else f.vector(f.moved(scale, at), mask)
                value = combine(old, f.fmul(new, factor) if target is shift and source != "beta" else new, lanes)
                if lanes == 1:
                    f.write(value, here)
                else:
                    f.put_vector(value, here, mask)

            span.each(several)

    def start(target: Value, number: float) -> None:
        def several(at: Value, lanes: int, mask: Value | None) -> None:
            value = float_constant(number, t, lanes)
            if lanes == 1:
                f.write(value, f.moved(target, at))
            else:
                f.put_vector(value, f.moved(target, at), mask)

        span.each(several)

    start(scale, 1.0)
    start(shift, 0.0)
    change(scale, lambda old, variance, lanes: f.fdiv(old, _root(f, variance, eps, lanes)), "variance")
    change(scale, lambda old, gamma, lanes: f.fmul(old, gamma), "gamma")
    change(shift, lambda old, beta, lanes: beta, "beta")
    change(shift, lambda old, mean, lanes: f.fsub(old, mean), "mean")
    change(shift, lambda old, bias, lanes: f.fadd(old, bias), "bias")
    f.ret()


def _root(f: VectorFunction, variance: Value, eps: Value, lanes: int) -> Value:
    return f.intrinsic("sqrt", f.fadd(variance, f.splat(eps, lanes) if lanes > 1 else eps))
