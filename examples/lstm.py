"""A long short-term memory cell and its loop over time, written by hand (Hochreiter and Schmidhuber, 1997)."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


@flambeau.script
def cell(x: Tensor, h: Tensor, c: Tensor, w: Tensor, u: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """One step: x (batch, inputs), h and c (batch, hidden), w (4 hidden, inputs), u (4 hidden, hidden), b (4 hidden,).
    """
    gates = flambeau.linear(x, w, b) + flambeau.linear(h, u)
    entry, forget, candidate, output = gates.chunk(4, 1)
    c = forget.sigmoid() * c + entry.sigmoid() * candidate.tanh()
    return output.sigmoid() * c.tanh(), c


@flambeau.script
def lstm(xs: Tensor, h: Tensor, c: Tensor, w: Tensor, u: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All steps: xs (time, batch, inputs); the hidden states (time, batch, hidden), and the last h and c."""
    states: list[Tensor] = []
    for x in xs:
        h, c = cell(x, h, c, w, u, b)
        states.append(h)
    return flambeau.stack(states), h, c


def arguments(steps: int, batch: int, inputs: int, hidden: int, seed: int = 0) -> tuple[Tensor, ...]:
    """Random arguments of these sizes, float32."""
    import numpy as np

    draw = np.random.default_rng(seed)

    def normal(*shape: int) -> Tensor:
        return flambeau.from_numpy(draw.standard_normal(shape).astype(np.float32) * 0.3)

    return (
        normal(steps, batch, inputs), normal(batch, hidden), normal(batch, hidden),
        normal(4 * hidden, inputs), normal(4 * hidden, hidden), normal(4 * hidden),
    )  # fmt: skip


if __name__ == "__main__":
    states, h, c = lstm(*arguments(10, 4, 8, 16))
    print(tuple(states.shape), f"mean |h| {float(h.abs().mean()):.4f}")
