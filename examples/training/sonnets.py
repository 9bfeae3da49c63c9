"""A small transformer that learns five sonnets of Shakespeare's, letter by letter, and writes on from a beginning.

The text is in the public domain. Gradients are clipped, rates warm up and then follow a cosine.
"""

from __future__ import annotations

from pathlib import Path

import flambeau
from flambeau import Tensor, nn
from flambeau.optim import AdamW
from flambeau.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

TEXT = (Path(__file__).parent / "sonnets.txt").read_text(encoding="utf-8")
LETTERS = sorted(set(TEXT))


class Block(nn.Module):
    """Attention to what came before, then two linear layers; each is added to what comes in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.questions = nn.Linear(width, 3 * width)
        self.answers = nn.Linear(width, width)
        self.between = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time, width) to the same."""
        batch, time, width = x.shape
        parts = self.questions(self.before(x)).view(batch, time, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.answers(seen.transpose(1, 2).reshape(batch, time, width))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))


class Writer(nn.Module):
    """Scores of the next letter, for each letter of a text."""

    def __init__(self, width: int, blocks: int, heads: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.letters = nn.Embedding(len(LETTERS), width)
        self.places = nn.Embedding(reach, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.last = nn.LayerNorm(width)
        self.scores = nn.Linear(width, len(LETTERS), bias=False)

    def forward(self, letters: Tensor) -> Tensor:
        """Numbers of letters (batch, time) to scores (batch, time, letters)."""
        x = self.letters(letters) + self.places(flambeau.arange(letters.size(1)))
        return self.scores(self.last(self.blocks(x)))


def encoded(text: str) -> Tensor:
    """The numbers of letters."""
    return flambeau.tensor([LETTERS.index(letter) for letter in text])


@flambeau.no_grad()
def write(model: Writer, beginning: str, count: int) -> str:
    """The most likely letters after a beginning, one after the other."""
    numbers = encoded(beginning)
    for _ in range(count):
        scores = model(numbers[-model.reach :].unsqueeze(0))
        numbers = flambeau.cat([numbers, scores[0, -1].argmax().reshape(1)])
    return "".join(LETTERS[number] for number in numbers.tolist())


def train(steps: int = 300, width: int = 48, blocks: int = 2, reach: int = 32) -> tuple[Writer, list[float]]:
    """The model and the loss of each step: bits of surprise are `loss / log(2)`."""
    flambeau.manual_seed(0)
    text = encoded(TEXT)
    model = Writer(width, blocks, 4, reach)
    plain = [p for name, p in model.named_parameters() if p.dim() == 1]
    matrices = [p for name, p in model.named_parameters() if p.dim() > 1]
    optimizer = AdamW([{"params": matrices, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=4e-3)
    warm = LinearLR(optimizer, 0.1, total_iters=20)
    scheduler = SequentialLR(optimizer, [warm, CosineAnnealingLR(optimizer, steps)], [20])
    losses = []
    for _ in range(steps):
        starts = flambeau.randint(0, len(text) - reach - 1, (24,))
        window = text[starts.unsqueeze(1) + flambeau.arange(reach + 1)]
        scores = model(window[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return model, losses


if __name__ == "__main__":
    from examples.training.pictures import curve

    model, losses = train()
    print(f"loss {losses[0]:.2f} to {losses[-1]:.2f}")
    print(write(model, "Shall I compare thee", 160))
    curve("sonnets", losses, "surprise of a letter, in nats")
