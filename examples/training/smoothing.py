"""How stiff a smoother should be at each place, learned from noisy signals that jump: a custom `autograd.Function`.

What comes out, x, solves a tridiagonal system: each gap between neighbours is a spring, and `(1 + D' W D) x = signal`,
where D takes differences and W has the springs' stiffness. Both ways are scripted loops over elements. The way back is
one more solution of the same system, so nothing of the loops is kept for it.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.autograd import Function
from flambeau.optim import Adam

JUMPS = (18, 41)
"""The gaps in which signals jump."""


@flambeau.script
def solve(signals: Tensor, stiffness: Tensor) -> Tensor:
    """Smooth signals (rows, n), for stiffness (n - 1): elimination down the diagonal, then back up."""
    rows, n = signals.size(0), signals.size(1)
    factor, pivot = flambeau.zeros_like(signals[0]), flambeau.ones_like(signals[0])
    for i in range(n):
        if i > 0:
            factor[i] = -stiffness[i - 1] / pivot[i - 1]
            pivot[i] += stiffness[i - 1] * (1.0 + factor[i])
        if i < n - 1:
            pivot[i] += stiffness[i]
    smooth = signals.clone()
    for row in range(rows):
        for i in range(1, n):
            smooth[row, i] -= factor[i] * smooth[row, i - 1]
        smooth[row, n - 1] /= pivot[n - 1]
        for k in range(n - 1):
            i = n - 2 - k
            smooth[row, i] = (smooth[row, i] + stiffness[i] * smooth[row, i + 1]) / pivot[i]
    return smooth


@flambeau.script
def go_back(gradient: Tensor, smooth: Tensor, stiffness: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of signals and stiffness. The matrix is symmetric: its transpose is solved by `solve` too."""
    of_signals = solve(gradient, stiffness)
    return of_signals, -(of_signals.diff() * smooth.diff()).sum(0)


class Smooth(Function):
    """`solve`, with the derivative that says what a solution is in place of how it was found."""

    @staticmethod
    def forward(ctx: Any, signals: Tensor, stiffness: Tensor) -> Tensor:
        """Solve, and remember the solution."""
        smooth = solve(signals, stiffness)
        ctx.save_for_backward(smooth, stiffness)
        return smooth

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Solve for the gradient."""
        smooth, stiffness = ctx.saved_tensors
        return go_back(gradient, smooth, stiffness)


def signals(rows: int, n: int = 60) -> tuple[Tensor, Tensor]:
    """Signals that drift slowly and jump by chance at `JUMPS`, as they are and with noise: (rows, n) each."""
    place = flambeau.arange(n, dtype=flambeau.float64)
    clean = flambeau.sin(place / 15.0 + 6.0 * flambeau.rand(rows, 1, dtype=flambeau.float64))
    for jump in JUMPS:
        clean = clean + 2.0 * flambeau.randn(rows, 1, dtype=flambeau.float64) * (place > jump)
    return clean, clean + 0.3 * flambeau.randn(rows, n, dtype=flambeau.float64)


def train(steps: int = 150, rows: int = 24) -> tuple[Tensor, list[float]]:
    """The stiffness of each gap, and the mean square error in each step."""
    _ = flambeau.manual_seed(0)
    logarithms = flambeau.zeros(59, dtype=flambeau.float64).requires_grad_()
    optimizer = Adam([logarithms], lr=0.1)
    losses = []
    for _ in range(steps):
        clean, noisy = signals(rows)
        loss = ((Smooth.apply(noisy, logarithms.exp()) - clean) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return logarithms.detach().exp(), losses


if __name__ == "__main__":
    from examples.training.pictures import INK, draw

    stiffness, losses = train()
    clean, noisy = signals(40)
    smallest_jump = clean.diff()[:, list(JUMPS)].abs().amin(1)
    noisy = noisy[smallest_jump.argmax()].unsqueeze(0)
    print(f"error {losses[0]:.4f} to {losses[-1]:.4f}; stiffness {stiffness.min():.3f} to {stiffness.max():.1f}")

    def paint(axes: Any) -> None:
        axes.plot(noisy[0].numpy(), ".", color="#b0bec5", label="noisy")
        uniform = solve(noisy, flambeau.full_like(stiffness, stiffness.median().item()))
        axes.plot(uniform[0].numpy(), color="#ffab91", linewidth=1, label="as stiff everywhere")
        axes.plot(solve(noisy, stiffness)[0].numpy(), color=INK, linewidth=1.5, label="learned")
        axes.set_xlabel("place")
        axes.legend(frameon=False)

    draw("smoothing", paint)
