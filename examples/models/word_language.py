"""A language model over words with a recurrent network: Mikolov et al. (2010)."""

from __future__ import annotations

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn


class LSTMModel(nn.Module):
    """(time, batch) words and a state to the logarithms of the next words' probabilities, and the next state."""

    def __init__(self, words: int, size: int, hidden: int, layers: int, dropout: float = 0.2) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(words, size)
        self.rnn = nn.LSTM(size, hidden, layers, dropout=dropout)
        self.decoder = nn.Linear(hidden, words)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, input: Tensor, hidden: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        return F.log_softmax(self.decoder(self.drop(output)), dim=-1), hidden


class GRUModel(nn.Module):
    """The same with gated units, whose state is one tensor."""

    def __init__(self, words: int, size: int, hidden: int, layers: int, dropout: float = 0.2) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(words, size)
        self.rnn = nn.GRU(size, hidden, layers, dropout=dropout)
        self.decoder = nn.Linear(hidden, words)

    def forward(self, input: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        return F.log_softmax(self.decoder(self.drop(output)), dim=-1), hidden


TEXT = "the cat sat on the mat and the dog sat on the log while the rain fell on the roof"


def main() -> None:
    from examples.models.show import beside

    flambeau.manual_seed(0)
    words = sorted(set(TEXT.split()))
    sentence = flambeau.tensor([words.index(w) for w in TEXT.split()]).unsqueeze(1)
    lstm = LSTMModel(len(words), 32, 64, 2)
    zero = flambeau.zeros(2, 1, 64)
    scores, _ = beside(lstm, sentence, (zero, zero))
    beside(GRUModel(len(words), 32, 64, 2), sentence, zero)
    print(f"perplexity {float(F.nll_loss(scores[:-1, 0], sentence[1:, 0]).exp()):.2f} of {len(words)} words")

    model, hidden, word = flambeau.script(lstm.eval()), (zero, zero), sentence[:1]
    said = []
    for _ in range(12):
        scores, hidden = model(word, hidden)
        word = flambeau.multinomial(scores[-1].exp(), 1)
        said.append(words[int(word)])
    print("...", " ".join(said))


if __name__ == "__main__":
    main()
