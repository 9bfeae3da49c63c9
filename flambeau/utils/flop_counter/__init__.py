"""How many floating point operations a block takes, by module and operator.

>>> import flambeau
>>> from flambeau import nn
>>> with FlopCounterMode(display=False) as counted:
...     _ = nn.Linear(3, 4)(flambeau.ones(2, 3))
>>> counted.get_total_flops()
48
"""

from flambeau.utils.flop_counter.formulas import flop_registry, register_flop_formula
from flambeau.utils.flop_counter.mode import FlopCounterMode

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]
