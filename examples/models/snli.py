"""Whether one sentence follows from another: Bowman et al. (2015). One encoder for both, then a network."""

from __future__ import annotations

import flambeau
from flambeau import Tensor, nn


class Encoder(nn.Module):
    """(time, N, size) to the last states of both directions, side by side."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.rnn = nn.LSTM(size, hidden, bidirectional=True)

    def forward(self, inputs: Tensor) -> Tensor:
        _, (h, _) = self.rnn(inputs)
        return h.transpose(0, 1).contiguous().view(inputs.size(1), -1)


class Classifier(nn.Module):
    """Two batches (time, N) of words to scores for follows, contradicts, neither."""

    def __init__(self, words: int = 50, size: int = 16, hidden: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, size)
        self.projection = nn.Linear(size, size)
        self.encoder = Encoder(size, hidden)
        width = 4 * hidden
        self.out = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.2),
            nn.Linear(width, 3),
        )  # fmt: skip

    def forward(self, premise: Tensor, hypothesis: Tensor) -> Tensor:
        first = self.encoder(flambeau.relu(self.projection(self.embed(premise))))
        second = self.encoder(flambeau.relu(self.projection(self.embed(hypothesis))))
        return self.out(flambeau.cat([first, second], 1))


def main() -> None:
    from examples.models.show import beside

    flambeau.manual_seed(0)
    scores = beside(Classifier(), flambeau.randint(0, 50, (9, 4)), flambeau.randint(0, 50, (6, 4)))
    names = ("follows", "contradicts", "neither")
    print("answers", [names[i] for i in scores.argmax(1).tolist()])


if __name__ == "__main__":
    main()
