"""Handwritten digits by a small convolutional network: batches from a `DataLoader`, AdamW, one cycle of rates.

The data are scikit-learn's: 1,797 pictures of 8 by 8 pixels. A quarter of them is kept for the test.
"""

from __future__ import annotations

import numpy as np

import flambeau
from flambeau import Tensor, nn
from flambeau.optim import AdamW
from flambeau.optim.lr_scheduler import OneCycleLR
from flambeau.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    """Two convolutions, a pooling, two linear layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, width, 3, padding=1)
        self.second = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.drop = nn.Dropout(0.2)
        self.hidden = nn.Linear(2 * width * 16, 64)
        self.last = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Pictures (batch, 1, 8, 8) to scores (batch, 10)."""
        x = flambeau.relu(self.first(x))
        x = flambeau.max_pool2d(flambeau.relu(self.second(x)), 2)
        x = flambeau.relu(self.hidden(self.drop(x.flatten(1))))
        return self.last(x)


def load() -> tuple[TensorDataset, TensorDataset]:
    """Pictures and digits, for training and for the test."""
    from sklearn.datasets import load_digits

    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    pictures = flambeau.tensor(data.images[order] / 16.0, dtype=flambeau.float32).unsqueeze(1)
    digits = flambeau.tensor(data.target[order])
    part = len(order) * 3 // 4
    return TensorDataset(pictures[:part], digits[:part]), TensorDataset(pictures[part:], digits[part:])


@flambeau.no_grad()
def accuracy(model: nn.Module, data: TensorDataset) -> float:
    """The share of digits that are recognised."""
    model.eval()
    pictures, digits = data.tensors
    return (model(pictures).argmax(1) == digits).float().mean().item()


def train(epochs: int = 12, width: int = 16) -> tuple[nn.Module, list[float], float]:
    """The model, the loss of each step, the accuracy on the test."""
    flambeau.manual_seed(0)
    training, test = load()
    model = Net(width)
    loader = DataLoader(training, batch_size=64, shuffle=True)
    optimizer = AdamW(model.parameters(), weight_decay=1e-2)
    scheduler = OneCycleLR(optimizer, max_lr=1e-2, total_steps=epochs * len(loader))
    losses = []
    for _ in range(epochs):
        model.train()
        for pictures, digits in loader:
            loss = nn.functional.cross_entropy(model(pictures), digits)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    return model, losses, accuracy(model, test)


if __name__ == "__main__":
    from examples.training.pictures import curve

    _, losses, share = train()
    print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}; {100 * share:.1f} % of the test's digits are recognised")
    curve("digits", losses, "loss of a batch")
