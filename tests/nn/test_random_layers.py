"""Layers with random options beside PyTorch's, in Python and in programs; what that refuses is refused here too."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from tests.nn.random_layers import layer

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [one for item in value for one in flat(item)]
    return [] if value is None else [value]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(130))
def test_same_as_torch(seed: int) -> None:
    r = Random(seed)
    name, args, options, inputs = layer(r)
    is_training = r.random() < 0.5
    mine = getattr(nn, name)(*args, **options).train(is_training)
    theirs = getattr(torch.nn, name)(*args, **options).train(is_training)
    state = {key: flambeau.from_numpy(value.numpy().copy()) for key, value in theirs.state_dict().items()}
    mine.load_state_dict(state)

    def run(module: Any) -> Any:
        return module(*[flambeau.from_numpy(x.copy()) for x in inputs])

    try:
        want = theirs(*[torch.from_numpy(x.copy()) for x in inputs])
    except (RuntimeError, ValueError, IndexError):
        with pytest.raises((RuntimeError, ValueError, IndexError)):
            run(mine)
        return
    found = run(mine)
    mine.load_state_dict(state)
    scripted = run(flambeau.script(mine, backend="interpreter"))
    for a, b, c in zip(flat(found), flat(want), flat(scripted), strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(c.detach().numpy(), a.detach().numpy(), rtol=1e-4, atol=1e-5)
