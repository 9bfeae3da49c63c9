"""The words that say which loops are run: see ``llvm.loops``."""

from __future__ import annotations

PROGRAM = 15
"""The word of the block with the program's address."""
WORDS = 17
"""Of a block: the last has the number of elements."""
SCRATCH, ADDRESS = 16, 256
OPERANDS = 4
STEP = 4 + 2 * OPERANDS
"""Words of a loop."""
ALL, ONCE, REST = range(3)
"""For how many elements a loop is: all of a row, one, or all from the second on."""
OWN = -1 << 62
"""The distance of elements that only the call tells."""
NOT_SERVED = 3
"""What stands in the error flag after a call in which a guard did not hold."""
