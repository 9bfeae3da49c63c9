"""A small generative transformer over characters, after Radford et al. (2019), which writes text."""

from __future__ import annotations

import math

import flambeau
import flambeau.nn.functional as F
from flambeau import Tensor, nn


class CausalSelfAttention(nn.Module):
    """Each place looks at those before it and at itself."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.resid_dropout = nn.Dropout(dropout)
        self.heads = heads
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        batch, time, width = x.size()
        q, k, v = self.c_attn(x).split(width, dim=2)
        shape = [batch, time, self.heads, width // self.heads]
        q, k, v = q.view(shape).transpose(1, 2), k.view(shape).transpose(1, 2), v.view(shape).transpose(1, 2)
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=None, dropout_p=self.dropout if self.training else 0.0, is_causal=True
        )
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(batch, time, width)))


class MLP(nn.Module):
    """Two linear layers with a GELU between."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):
    """Attention and a network, each added to its input."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = CausalSelfAttention(width, heads, dropout)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = MLP(width, dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """(batch, time) characters to a score for each character that may come next."""

    def __init__(
        self, words: int, block_size: int = 32, layers: int = 2, heads: int = 2, width: int = 32, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.block_size = block_size
        self.wte = nn.Embedding(words, width)
        self.wpe = nn.Embedding(block_size, width)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList([Block(width, heads, dropout) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, words, bias=False)
        self.lm_head.weight = self.wte.weight  # one table for both ends: Press and Wolf (2017)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers))
            elif name.endswith("weight") and "ln_" not in name:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, idx: Tensor) -> Tensor:
        place = flambeau.arange(0, idx.size(1), dtype=flambeau.long, device=idx.device)
        x = self.drop(self.wte(idx) + self.wpe(place))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))

    @flambeau.jit.export
    def generate(self, idx: Tensor, count: int, temperature: float = 1.0, top_k: int = 0) -> Tensor:
        """Append `count` characters, each drawn from what the model expects of the last `block_size`.

        Only the `top_k` likeliest are drawn, if it is not 0.
        """
        for _ in range(count):
            seen = idx if idx.size(1) <= self.block_size else idx[:, -self.block_size :]
            scores = self.forward(seen)[:, -1, :] / temperature
            if top_k > 0:
                least = flambeau.topk(scores, min(top_k, scores.size(-1)))[0][:, -1:]
                scores = scores.masked_fill(scores < least, -float("inf"))
            drawn = flambeau.multinomial(F.softmax(scores, dim=-1), num_samples=1)
            idx = flambeau.cat([idx, drawn], dim=1)
        return idx


TEXT = "What we cannot speak about we must pass over in silence."


def main() -> None:
    from examples.models.show import beside, seconds

    flambeau.manual_seed(0)
    letters = sorted(set(TEXT))
    model = GPT(len(letters)).eval()
    idx = flambeau.tensor([[letters.index(c) for c in TEXT[:16]]])
    beside(model, idx)
    scripted = flambeau.script(model)
    for name, run in (("python", model), ("scripted", scripted)):
        flambeau.manual_seed(0)
        said = "".join(letters[i] for i in run.generate(idx, 40, 0.8, 5)[0].tolist())
        print(f"  {name:8} {seconds(lambda run=run: run.generate(idx, 40, 0.8, 5), 2) * 1e3:7.1f} ms  {said!r}")


if __name__ == "__main__":
    main()
