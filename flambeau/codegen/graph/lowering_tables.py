"""Where lowerings of nodes are registered, by what their operands have become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.ir.graph import Node
from flambeau.schema.rule_tables import RuleTable

Lowering = Callable[[EmittedFunction, Node], None]
lowers: Final = RuleTable[Lowering]("native code")
"""Registers lowerings of nodes that are no operators, or whose operands may be anything."""
lowers_on_numbers: Final = RuleTable[Lowering]("native code on numbers")
"""Registers lowerings of operators on numbers that tensors have too, where they mean something else."""
lowers_on_lists: Final = RuleTable[Lowering]("native code on lists")
lowers_on_items: Final = RuleTable[Lowering]("native code on lists, known items among them")
"""Registers lowerings of operators that only look at a list, and take its items for it where these are known."""
lowers_on_texts: Final = RuleTable[Lowering]("native code on texts")
"""Registers lowerings of operators whose first operand is a text, or an int that counts repetitions of the second."""
lowers_on_dicts: Final = RuleTable[Lowering]("native code on dicts and sets")
lowers_on_complex: Final = RuleTable[Lowering]("native code on complex numbers")
"""Registers lowerings of operators with a complex number among their operands."""
only_moves: Final = RuleTable[Callable[[Node], bool]]("whether native code only shows or moves elements")
"""Registers operators whose lowerings serve complex tensors too, as they do not compute."""
lowers_on_complex_tensors: Final = RuleTable[Lowering]("native code on complex tensors")
"""Registers lowerings of operators with a complex tensor among their first two operands."""
lowers_on_tensors: Final = RuleTable[Lowering]("native code on tensors")
"""Registers lowerings of operators on tensors without a Scalar meaning."""
