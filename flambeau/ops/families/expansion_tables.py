"""Where it is registered what plans have in the place of operators without a native form.

>>> import flambeau
>>> "aten::mse_loss" in expansions
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.schema.rule_tables import RuleTable

expansions: Final = RuleTable[Callable[..., Any]]("what plans have in the place of an operator")
differentiated: Final = RuleTable[Callable[..., Any]]("what gradients go through in the place of an operator")
"""Bodies of the same kind, where gradients are asked for: of operators without formulas of their own."""
