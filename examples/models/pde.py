"""Steps of partial differential equations: waves on a drum, and heat whose conductivity a small network knows."""

from __future__ import annotations

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn


class Laplacian(nn.Module):
    """The sum of second differences, with still edges: (N, 1, H, W) to the same."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("stencil", flambeau.tensor([[[[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]]]]))

    def forward(self, u: Tensor) -> Tensor:
        return F.conv2d(u, self.stencil, padding=1)


class Wave(nn.Module):
    """u'' = c^2 laplace(u), by leapfrogs; stable for a speed below 0.7."""

    def __init__(self, speed: float = 0.5) -> None:
        super().__init__()
        self.laplacian = Laplacian()
        self.speed = speed

    def forward(self, u: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        return 2.0 * u - before + self.speed**2 * self.laplacian(u), u

    @flambeau.jit.export
    def run(self, u: Tensor, steps: int) -> Tensor:
        before = u
        for _ in range(steps):
            u, before = self.forward(u, before)
        return u


class Heat(nn.Module):
    """u' = k(u) laplace(u), with a conductivity that depends on the temperature."""

    def __init__(self, hidden: int = 8) -> None:
        super().__init__()
        self.laplacian = Laplacian()
        self.conductivity = nn.Sequential(
            nn.Conv2d(1, hidden, 1), nn.Tanh(), nn.Conv2d(hidden, 1, 1), nn.Sigmoid()
        )

    def forward(self, u: Tensor) -> Tensor:
        return u + 0.2 * self.conductivity(u) * self.laplacian(u)


def drop(size: int = 64) -> Tensor:
    """A drum at rest but for a bump beside the middle."""
    place = flambeau.linspace(-1.0, 1.0, size)
    return flambeau.exp(-60 * ((place.unsqueeze(1) + 0.2) ** 2 + (place.unsqueeze(0) + 0.1) ** 2))[None, None]


def main() -> None:
    from examples.models.show import beside, picture, seconds

    flambeau.manual_seed(0)
    u = drop()
    beside(Heat(), u)
    wave = Wave()
    beside(wave, u, u)
    scripted = flambeau.script(wave)
    for name, run in (("python", wave), ("scripted", scripted)):
        print(f"  {name:8} {seconds(lambda run=run: run.run(u, 60), 2) * 1e3:7.1f} ms for 60 steps")
    print(picture(scripted.run(u, 60)[0, 0]))


if __name__ == "__main__":
    main()
