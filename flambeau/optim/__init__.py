"""Optimisers: what changes parameters by their gradients, and what changes learning rates (`lr_scheduler`).

>>> import flambeau
>>> from flambeau import nn, optim
>>> _ = flambeau.manual_seed(0)
>>> model = nn.Linear(2, 1)
>>> optimizer = optim.Adam(model.parameters(), lr=0.1)
>>> x = flambeau.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
>>> for _ in range(300):
...     loss = ((model(x).squeeze(1) - flambeau.tensor([2.0, 1.0, 3.0])) ** 2).mean()
...     optimizer.zero_grad()
...     loss.backward()
...     optimizer.step()
>>> loss.item() < 1e-4
True
"""

# ruff: noqa: E402  (what is imported stays, so no collection goes over it)
from __future__ import annotations

from flambeau.util.inversions import import_compiler as _import_compiler
from flambeau.util.no_collection import no_collection as _no_collection

_importing = _no_collection()
_importing.__enter__()
_import_compiler()

from flambeau.optim import formulas, lr_scheduler, steps, swa_utils
from flambeau.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from flambeau.optim.adaptive import Adadelta, Adagrad, RMSprop
from flambeau.optim.factored import Adafactor
from flambeau.optim.lbfgs import LBFGS
from flambeau.optim.muon import Muon
from flambeau.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from flambeau.optim.sgd import SGD
from flambeau.optim.signs_and_averages import ASGD, Rprop
from flambeau.util.import_paths import also as _also
from flambeau.util.import_paths import provide as _provide

_importing.__exit__(None, None, None)

__getattr__ = _provide(
    __name__,
    {
        "adadelta": "Adadelta",
        "adagrad": "Adagrad",
        "adamax": "Adamax",
        "adamw": "AdamW",
        "asgd": "ASGD",
        "nadam": "NAdam",
        "radam": "RAdam",
        "rmsprop": "RMSprop",
        "rprop": "Rprop",
    },
)
"""Each optimiser under the path of a file of its own, which PyTorch's programs import it from."""
_also(f"{__name__}._functional", f"{__name__}.steps")

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "swa_utils",
]
