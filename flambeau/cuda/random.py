"""Seeds of the numbers that are drawn on devices: those of the default generator, which the host and all devices have
in common.

>>> import flambeau
>>> flambeau.cuda.manual_seed(7)
>>> flambeau.cuda.initial_seed()
7
"""

from __future__ import annotations

from flambeau.tensor import random


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
