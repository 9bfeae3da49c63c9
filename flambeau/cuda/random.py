"""Seeds of the numbers that are drawn on devices: those of the default generator, which the host and all devices have
in common.

>>> import flambeau
>>> flambeau.cuda.manual_seed(7)
>>> flambeau.cuda.initial_seed()
7
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.cuda.devices import device_count
from flambeau.tensor import random
from flambeau.tensor.tensor import Tensor


def manual_seed(seed: int) -> None:
    """Begin the stream of this seed, for the host, too.

    >>> import flambeau
    >>> flambeau.cuda.manual_seed(7)
    >>> first = flambeau.rand(3, device="cuda")
    >>> flambeau.cuda.manual_seed(7)
    >>> flambeau.rand(3, device="cuda").tolist() == first.tolist()
    True
    """
    random.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Begin the stream of a seed that nobody chose.

    >>> import flambeau
    >>> flambeau.cuda.seed()
    >>> flambeau.cuda.initial_seed() == 7  # one chance in 2**64
    False
    """
    random.default_generator.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed of the current stream.

    >>> import flambeau
    >>> flambeau.cuda.manual_seed(7)
    >>> flambeau.cuda.initial_seed()
    7
    """
    return random.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the generator, which the host and all devices have in common.

    >>> import flambeau
    >>> flambeau.equal(flambeau.cuda.get_rng_state(), flambeau.get_rng_state())
    True
    """
    return random.get_rng_state()


def get_rng_state_all() -> list[Tensor]:
    """That state once for each device.

    >>> import flambeau
    >>> len(flambeau.cuda.get_rng_state_all()) == flambeau.cuda.device_count()
    True
    """
    return [random.get_rng_state() for _ in range(device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Go on from a state, on the host, too.

    >>> import flambeau
    >>> state = flambeau.cuda.get_rng_state()
    >>> first = flambeau.rand(2)
    >>> flambeau.cuda.set_rng_state(state)
    >>> flambeau.equal(flambeau.rand(2), first)
    True
    """
    random.set_rng_state(new_state)


def set_rng_state_all(new_states: Sequence[Tensor]) -> None:
    """Go on from the state of the first device, which is that of all.

    >>> import flambeau
    >>> flambeau.cuda.set_rng_state_all(flambeau.cuda.get_rng_state_all())
    """
    for state in new_states[:1]:
        random.set_rng_state(state)
