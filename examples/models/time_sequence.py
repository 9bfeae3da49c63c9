"""Two stacked cells that go on with a curve where it ends."""

from __future__ import annotations

import flambeau
from flambeau import Tensor, nn


class Sequence(nn.Module):
    """(N, steps) to the value expected after each step, and `future` more."""

    def __init__(self, hidden: int = 51) -> None:
        super().__init__()
        self.hidden = hidden
        self.lstm1 = nn.LSTMCell(1, hidden)
        self.lstm2 = nn.LSTMCell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, input: Tensor, future: int = 0) -> Tensor:
        outputs = []
        h1 = flambeau.zeros(input.size(0), self.hidden, dtype=input.dtype)
        c1 = flambeau.zeros(input.size(0), self.hidden, dtype=input.dtype)
        h2 = flambeau.zeros(input.size(0), self.hidden, dtype=input.dtype)
        c2 = flambeau.zeros(input.size(0), self.hidden, dtype=input.dtype)
        output = flambeau.zeros(input.size(0), 1, dtype=input.dtype)
        for value in input.split(1, dim=1):
            h1, c1 = self.lstm1(value, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs.append(output)
        for _ in range(future):
            h1, c1 = self.lstm1(output, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs.append(output)
        return flambeau.cat(outputs, dim=1)


def main() -> None:
    from examples.models.show import seconds

    flambeau.manual_seed(0)
    curves = flambeau.sin(flambeau.arange(40).to(flambeau.float32) / 4 + flambeau.arange(3).unsqueeze(1))
    model = Sequence()
    scripted = flambeau.script(model)
    away = float((model(curves, 10) - scripted(curves, 10)).abs().max())
    print(f"Sequence: 40 steps and 10 more, scripted at most {away:.1e} away")
    for name, run in (("python", model), ("scripted", scripted)):
        print(f"  {name:8} {seconds(lambda run=run: run(curves, 10), 2) * 1e3:7.1f} ms")
    print("goes on with", [round(v, 3) for v in scripted(curves, 10)[0, -10:].tolist()])


if __name__ == "__main__":
    main()
