"""Renders `still_life.pgm`: three lit spheres on a table before a wall, with sensor noise. Run once; the file is kept.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np


def render(width: int = 160, height: int = 120) -> np.ndarray:
    """Grey levels in [0, 1] of (height, width): Lambert shading with soft shadows, vignette and noise."""
    y, x = np.mgrid[0:height, 0:width].astype(float)
    scene = np.where(y < height * 0.55, 0.62 - 0.2 * x / width, 0.38 + 0.25 * (y - height * 0.55) / height)
    light = np.array([-0.5, -0.7, 0.6]) / np.linalg.norm([-0.5, -0.7, 0.6])
    for cx, cy, radius, albedo in ((50, 66, 28, 0.95), (104, 74, 21, 0.55), (132, 88, 12, 0.8)):
        shadow = np.exp(
            -(((x - cx - radius * 0.7) / (radius * 1.3)) ** 2 + ((y - cy - radius * 0.8) / (radius * 0.4)) ** 2)
        )
        scene = scene * (1.0 - 0.6 * shadow)
        u, v = (x - cx) / radius, (y - cy) / radius
        inside = u * u + v * v < 1.0
        w = np.sqrt(np.clip(1.0 - u * u - v * v, 0.0, None))
        lambert = np.clip(u * light[0] + v * light[1] + w * light[2], 0.0, None)
        scene = np.where(inside, albedo * (0.12 + 0.88 * lambert), scene)
    vignette = 1.0 - 0.35 * (((x - width / 2) / width) ** 2 + ((y - height / 2) / height) ** 2)
    noise = np.random.default_rng(1979).normal(0.0, 0.015, scene.shape)
    return np.clip(scene * vignette + noise, 0.0, 1.0)


if __name__ == "__main__":
    picture = (render() * 255.0).round().astype(np.uint8)
    header = f"P5\n{picture.shape[1]} {picture.shape[0]}\n255\n".encode()
    Path(__file__).with_name("still_life.pgm").write_bytes(header + picture.tobytes())
