"""Norms of groups of channels of each image: a group at a time, which lies in one piece."""

from __future__ import annotations

from flambeau.codegen.convolutions.channel_norms import Channel
from flambeau.codegen.convolutions.launch_functions import function_of_norm
from flambeau.codegen.convolutions.vectors import Floats, VectorModule
from flambeau.codegen.convolutions.words import GROUPS, GROUPS_AT, NORM
from flambeau.codegen.llvm.emitter import Value, float_constant

SYMBOL = "norm_of_groups"


def groups_text(floats: Floats) -> str:
    """The module whose function `SYMBOL(block, low, high)` normalises the groups of a range, for a launch. A group is
    to `Channel` what a channel is, whose planes are those of the group's channels.
    """
    m = VectorModule(floats)
    f, call, own = function_of_norm(m, SYMBOL, GROUPS_AT, GROUPS)
    block, low, high = f.parameters
    x, y, weight, bias = (f.word_of(block, f.get(call, GROUPS, name), "ptr") for name in ("x", "y", "weight", "bias"))
    f.put(own, NORM, x=x, y=y)
    groups, lanes, t = f.get(call, GROUPS, "groups"), floats.lanes, floats.type
    with f.loop(f.op("sub", high, low)) as k:
        number = f.op("add", low, k)
        group = Channel(f, own, number)
        mean, _, scale = group.statistics()
        centre, wide = f.splat(mean, lanes), f.splat(scale, lanes)
        channels = group.get["images"]
        first = f.op("mul", f.op("urem", number, groups), channels)
        span = f.span(group.get["plane"])
        with f.loop(channels) as c:
            at = f.bytes_of(f.op("add", first, c))

            def of(base: Value, otherwise: float, at: Value = at) -> Value:
                number = float_constant(otherwise, t, 1)
                number_read = f.choose(f.is_null(base), lambda: number, lambda: f.read(f.moved(base, at), t))
                return f.splat(number_read, lanes)

            factor, shift = of(weight, 1.0), of(bias, 0.0)
            offset = f.op("add", f.op("mul", number, group.get["x_channel"]), f.op("mul", c, group.get["x_image"]))
            source, target = f.moved(x, offset), f.moved(y, offset)

            def several(
                here: Value, lanes: int, mask: Value | None, source: Value = source, target: Value = target,
                factor: Value = factor, shift: Value = shift, centre: Value = centre, wide: Value = wide,
            ) -> None:  # fmt: skip
                if lanes == 1:
                    value = f.splat(f.read(f.moved(source, here), t), floats.lanes)
                else:
                    value = f.vector(f.moved(source, here), mask)
                scaled = f.multiply_add(f.fmul(f.fsub(value, centre), wide), factor, shift)
                if lanes == 1:
                    f.write(f.first_of(scaled), f.moved(target, here))
                else:
                    f.put_vector(scaled, f.moved(target, here), mask)

            span.each(several)
    f.ret()
    return m.builder.text()
