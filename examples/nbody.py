"""The Sun and four planets under gravity: the n-body program of the Computer Language Benchmarks Game.

Published answers: the energy is -0.169075164 at the start and -0.169087605 after 1,000 steps of 0.01.
"""

from __future__ import annotations

import math

import flambeau

SOLAR_MASS = 4.0 * math.pi * math.pi
DAYS = 365.24


def bodies() -> tuple[list[list[float]], list[list[float]], list[float]]:
    """Positions (astronomical units), velocities (per year) and masses of the Sun, Jupiter, Saturn, Uranus and Neptune.
    """
    positions = [
        [0.0, 0.0, 0.0],
        [4.84143144246472090, -1.16032004402742839, -0.103622044471123109],
        [8.34336671824457987, 4.12479856412430479, -0.403523417114321381],
        [12.8943695621391310, -15.1111514016986312, -0.223307578892655734],
        [15.3796971148509165, -25.9193146099879641, 0.179258772950371181],
    ]
    velocities = [
        [0.0, 0.0, 0.0],
        [0.00166007664274403694 * DAYS, 0.00769901118419740425 * DAYS, -0.0000690460016972063023 * DAYS],
        [-0.00276742510726411 * DAYS, 0.00499852801234917238 * DAYS, 0.0000230417297573763929 * DAYS],
        [0.00296460137564761618 * DAYS, 0.00237847173959480950 * DAYS, -0.0000296589568540237556 * DAYS],
        [0.00268067772490389322 * DAYS, 0.00162824170038242295 * DAYS, -0.0000951592254519715870 * DAYS],
    ]
    masses = [
        SOLAR_MASS,
        0.000954791938424326609 * SOLAR_MASS,
        0.000285885980666130812 * SOLAR_MASS,
        0.0000436624404335156298 * SOLAR_MASS,
        0.0000515138902046611451 * SOLAR_MASS,
    ]
    return positions, velocities, masses


@flambeau.script
def offset_momentum(v: list[list[float]], m: list[float]) -> None:
    """Give the Sun the momentum that makes the whole system stand still."""
    for axis in range(3):
        total = 0.0
        for i in range(len(m)):
            total += v[i][axis] * m[i]
        v[0][axis] = -total / m[0]


@flambeau.script
def energy(x: list[list[float]], v: list[list[float]], m: list[float]) -> float:
    """Kinetic and potential energy."""
    total = 0.0
    for i in range(len(m)):
        total += 0.5 * m[i] * (v[i][0] * v[i][0] + v[i][1] * v[i][1] + v[i][2] * v[i][2])
        for j in range(i + 1, len(m)):
            dx = x[i][0] - x[j][0]
            dy = x[i][1] - x[j][1]
            dz = x[i][2] - x[j][2]
            total -= m[i] * m[j] / math.sqrt(dx * dx + dy * dy + dz * dz)
    return total


@flambeau.script
def advance(x: list[list[float]], v: list[list[float]], m: list[float], step: float, count: int) -> None:
    """Move everything `count` times by `step` years."""
    for _ in range(count):
        for i in range(len(m)):
            for j in range(i + 1, len(m)):
                dx = x[i][0] - x[j][0]
                dy = x[i][1] - x[j][1]
                dz = x[i][2] - x[j][2]
                square = dx * dx + dy * dy + dz * dz
                magnitude = step / (square * math.sqrt(square))
                v[i][0] -= dx * m[j] * magnitude
                v[i][1] -= dy * m[j] * magnitude
                v[i][2] -= dz * m[j] * magnitude
                v[j][0] += dx * m[i] * magnitude
                v[j][1] += dy * m[i] * magnitude
                v[j][2] += dz * m[i] * magnitude
        for i in range(len(m)):
            x[i][0] += step * v[i][0]
            x[i][1] += step * v[i][1]
            x[i][2] += step * v[i][2]


@flambeau.script
def simulate(x: list[list[float]], v: list[list[float]], m: list[float], steps: int) -> tuple[float, float]:
    """The energy before and after `steps` steps of 0.01 years."""
    offset_momentum(v, m)
    before = energy(x, v, m)
    advance(x, v, m, 0.01, steps)
    return before, energy(x, v, m)


if __name__ == "__main__":
    for value in simulate(*bodies(), 1000):
        print(f"{value:.9f}")
