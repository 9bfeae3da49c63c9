"""A recommender of the shape of DLRM: Naumov et al. (2019). Dense features through a network, bags of sparse ones
through tables, every pair of the results multiplied.
"""

from __future__ import annotations

from itertools import pairwise

import flambeau
from flambeau import Tensor, nn


def mlp(*sizes: int, last: nn.Module) -> nn.Sequential:
    """Linear layers with rectifiers between, and `last` at the end."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1], last)


class Recommender(nn.Module):
    """(N, dense) numbers, and for each table indices in a row with the places where the N bags begin."""

    def __init__(self, dense: int = 13, rows: tuple[int, ...] = (1000, 200, 50), size: int = 16) -> None:
        super().__init__()
        self.bottom = mlp(dense, 64, size, last=nn.ReLU())
        self.tables = nn.ModuleList([nn.EmbeddingBag(n, size, mode="sum") for n in rows])
        pairs = (len(rows) + 1) * len(rows) // 2
        self.top = mlp(size + pairs, 64, 1, last=nn.Sigmoid())
        self.register_buffer("below", flambeau.tril_indices(len(rows) + 1, len(rows) + 1, -1))

    def forward(self, dense: Tensor, indices: list[Tensor], offsets: list[Tensor]) -> Tensor:
        x = self.bottom(dense)
        found = [x]
        for i, table in enumerate(self.tables):
            found.append(table(indices[i], offsets[i]))
        all_of_them = flambeau.stack(found, dim=1)
        products = flambeau.bmm(all_of_them, all_of_them.transpose(1, 2))
        pairs = products[:, self.below[0], self.below[1]]
        return self.top(flambeau.cat([x, pairs], dim=1)).squeeze(1)


def batch(count: int = 8, rows: tuple[int, ...] = (1000, 200, 50)) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Random inputs; each bag of the table number i holds i + 1 indices."""
    indices = [flambeau.randint(0, n, (count * (i + 1),)) for i, n in enumerate(rows)]
    offsets = [flambeau.arange(count) * (i + 1) for i in range(len(rows))]
    return flambeau.randn(count, 13), indices, offsets


def main() -> None:
    from examples.models.show import beside

    flambeau.manual_seed(0)
    clicks = beside(Recommender(), *batch())
    print("probabilities of a click", [round(p, 3) for p in clicks.tolist()])


if __name__ == "__main__":
    main()
