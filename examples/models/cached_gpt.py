"""A generative transformer that writes text token by token and keeps keys and values of what it has read.

With a cache each step reads one token. `GrowingGPT` appends to tensors that get longer; `StaticGPT` writes into tensors
of the longest length, in place.
"""

from __future__ import annotations

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn

Past = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer, (batch, heads, time, width of a head)."""


class MLP(nn.Module):
    """Two linear layers with a GELU between."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class GrowingAttention(nn.Module):
    """Attention of new tokens to all so far, whose keys and values it is given and gives."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.heads = heads

    def forward(self, x: Tensor, past: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        batch, time, width = x.size()
        q, k, v = self.c_attn(x).split(width, dim=2)
        shape = [batch, time, self.heads, width // self.heads]
        q, k, v = q.view(shape).transpose(1, 2), k.view(shape).transpose(1, 2), v.view(shape).transpose(1, 2)
        if past is not None:
            k = flambeau.cat([past[0], k], dim=2)
            v = flambeau.cat([past[1], v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        return self.c_proj(y.transpose(1, 2).reshape(batch, time, width)), (k, v)


class GrowingBlock(nn.Module):
    """Attention and a network, each added to its input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = GrowingAttention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = MLP(width)

    def forward(self, x: Tensor, past: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        y, present = self.attn(self.ln_1(x), past)
        x = x + y
        return x + self.mlp(self.ln_2(x)), present


class GrowingGPT(nn.Module):
    """(batch, time) tokens to `steps` more, the most likely each time."""

    def __init__(self, words: int, longest: int, layers: int = 2, heads: int = 2, width: int = 32) -> None:
        super().__init__()
        self.wte = nn.Embedding(words, width)
        self.wpe = nn.Embedding(longest, width)
        self.h = nn.ModuleList([GrowingBlock(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, words, bias=False)

    def read(self, tokens: Tensor, past: Past) -> tuple[Tensor, Past]:
        """Scores of the token that comes next, and keys and values with those of these tokens."""
        start = past[0][0].size(2) if len(past) > 0 else 0
        places = flambeau.arange(start, start + tokens.size(1))
        x = self.wte(tokens) + self.wpe(places)
        presents: Past = []
        for number, block in enumerate(self.h):
            x, present = block(x, past[number] if len(past) > 0 else None)
            presents.append(present)
        return self.lm_head(self.ln_f(x[:, -1])), presents

    def forward(self, tokens: Tensor, steps: int) -> Tensor:
        past: Past = []
        scores, past = self.read(tokens, past)
        for _ in range(steps - 1):
            newest = scores.argmax(dim=-1, keepdim=True)
            tokens = flambeau.cat([tokens, newest], dim=1)
            scores, past = self.read(newest, past)
        return flambeau.cat([tokens, scores.argmax(dim=-1, keepdim=True)], dim=1)


class StaticAttention(nn.Module):
    """Attention of one new token to all so far, whose keys and values lie in tensors of the longest length."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.heads = heads

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, place: int) -> Tensor:
        batch, width = x.size()
        q, k, v = self.c_attn(x).view(batch, 3, self.heads, width // self.heads).unbind(1)
        keys[:, :, place] = k
        values[:, :, place] = v
        seen, known = keys[:, :, : place + 1], values[:, :, : place + 1]
        y = F.scaled_dot_product_attention(q.unsqueeze(2), seen, known)
        return self.c_proj(y.reshape(batch, width))


class StaticBlock(nn.Module):
    """Attention and a network, each added to its input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = StaticAttention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = MLP(width)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, place: int) -> Tensor:
        x = x + self.attn(self.ln_1(x), keys, values, place)
        return x + self.mlp(self.ln_2(x))


class StaticGPT(nn.Module):
    """The same model, which reads its first tokens one by one too. Its weights are those of a `GrowingGPT`."""

    def __init__(self, words: int, longest: int, layers: int = 2, heads: int = 2, width: int = 32) -> None:
        super().__init__()
        self.wte = nn.Embedding(words, width)
        self.wpe = nn.Embedding(longest, width)
        self.h = nn.ModuleList([StaticBlock(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, words, bias=False)
        self.layers, self.heads, self.longest = layers, heads, longest

    def forward(self, tokens: Tensor, steps: int) -> Tensor:
        batch, given = tokens.size()
        shape = [self.layers, batch, self.heads, self.longest, self.wte.weight.size(1) // self.heads]
        keys, values = flambeau.zeros(shape), flambeau.zeros(shape)
        text = flambeau.zeros([batch, given + steps], dtype=flambeau.int64)
        text[:, :given] = tokens
        for place in range(given + steps - 1):
            x = self.wte(text[:, place]) + self.wpe.weight[place]
            for number, block in enumerate(self.h):
                x = block(x, keys[number], values[number], place)
            if place + 1 >= given:
                text[:, place + 1] = self.lm_head(self.ln_f(x)).argmax(dim=-1)
        return text


def main() -> None:
    """The same text by both, in Python and scripted."""
    flambeau.manual_seed(0)
    growing = GrowingGPT(words=50, longest=64).eval()
    static = StaticGPT(words=50, longest=64).eval()
    static.load_state_dict(growing.state_dict())
    tokens = flambeau.tensor([[3, 1, 4]])
    with flambeau.no_grad():
        print("in Python", growing(tokens, 12).tolist())
        print("scripted ", flambeau.script(growing)(tokens, 12).tolist())
        print("in place ", flambeau.script(static)(tokens, 12).tolist())


if __name__ == "__main__":
    main()
