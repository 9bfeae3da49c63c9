"""k-means clustering (Lloyd's algorithm) of the colours, here grey levels and positions, of a photograph-like image."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


@flambeau.script
def assign(points: Tensor, centres: Tensor) -> Tensor:
    """Index of the nearest centre for each point: (n, d) and (k, d) to int64 (n,)."""
    difference = points.unsqueeze(1) - centres.unsqueeze(0)
    return (difference * difference).sum(-1).argmin(1)


@flambeau.script
def kmeans(points: Tensor, centres: Tensor, limit: int = 100) -> tuple[Tensor, Tensor, int]:
    """Centres, labels and rounds; stops when no point changes sides. An empty cluster keeps its centre."""
    labels = assign(points, centres)
    rounds = 0
    while rounds < limit:
        rounds += 1
        moved = centres.clone()
        for k in range(centres.size(0)):
            mine = labels == k
            if bool(mine.any()):
                moved[k] = points[mine].mean(0)
        centres = moved
        following = assign(points, centres)
        if flambeau.equal(following, labels):
            break
        labels = following
    return centres, labels, rounds


@flambeau.script
def inertia(points: Tensor, centres: Tensor, labels: Tensor) -> float:
    """Sum of squared distances to the own centre."""
    difference = points - centres[labels]
    return float((difference * difference).sum())


if __name__ == "__main__":
    from examples.image import load

    grey = load().reshape(-1, 1)
    centres, labels, rounds = kmeans(grey, flambeau.tensor([[0.0], [0.33], [0.66], [1.0]], dtype=flambeau.float64))
    print(f"{rounds} rounds; grey levels {[round(v, 3) for v in centres.flatten().tolist()]}")
