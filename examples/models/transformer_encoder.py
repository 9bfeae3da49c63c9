"""A classifier of sequences: a transformer encoder (Vaswani et al., 2017) over embedded words with sine positions."""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor, nn


class PositionalEncoding(nn.Module):
    """Adds sines and cosines of the place."""

    def __init__(self, size: int, dropout: float = 0.1, longest: int = 200) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        place = flambeau.arange(longest).unsqueeze(1)
        rate = flambeau.exp(flambeau.arange(0, size, 2) * (-math.log(10000.0) / size))
        table = flambeau.zeros(longest, 1, size)
        table[:, 0, 0::2] = flambeau.sin(place * rate)
        table[:, 0, 1::2] = flambeau.cos(place * rate)
        self.register_buffer("table", table)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x + self.table[: x.size(0)])


class Classifier(nn.Module):
    """(time, batch) words and what is padding, (batch, time), to a score for each class."""

    def __init__(self, words: int = 100, size: int = 32, heads: int = 4, layers: int = 2, classes: int = 3) -> None:
        super().__init__()
        self.size = size
        self.embedding = nn.Embedding(words, size)
        self.position = PositionalEncoding(size)
        layer = nn.TransformerEncoderLayer(size, heads, 4 * size, activation="gelu", norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(size), enable_nested_tensor=False)
        self.head = nn.Linear(size, classes)

    def forward(self, words: Tensor, padding: Tensor) -> Tensor:
        x = self.position(self.embedding(words) * math.sqrt(self.size))
        x = self.encoder(x, src_key_padding_mask=padding)
        used = padding.logical_not().t().unsqueeze(2).to(x.dtype)
        return self.head((x * used).sum(0) / used.sum(0))


def main() -> None:
    from examples.models.show import beside

    flambeau.manual_seed(0)
    words = flambeau.randint(0, 100, (20, 4))
    lengths = flambeau.tensor([20, 13, 7, 2])
    padding = flambeau.arange(20).unsqueeze(0) >= lengths.unsqueeze(1)
    scores = beside(Classifier(), words, padding)
    for row, length in zip(scores.softmax(1).tolist(), lengths.tolist(), strict=True):
        print(f"  {length:2} words:", [round(p, 3) for p in row])


if __name__ == "__main__":
    main()
