"""What instructions read and write, and which of them a loop consists of.

A loop is named by `head`, the block at the head of its body: of all instructions in `LOOPS`, the one before the loop
and the one at the end of its body go there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flambeau.interpreter.code import LOOPS, Block, Code, Instruction, Op

Straight = tuple[Instruction, ...]


class NotTranslatedError(Exception):
    """A loop does what only the machine can do."""


_WITHOUT_RESULT = (
    Op.JUMP, Op.RESUME, Op.BRANCH, Op.WHILE, Op.RETURN, Op.DO, Op.DO2, Op.SET_ATTR, Op.WARN, Op.ENTERED, Op.LEFT
)  # fmt: skip
_ONE_OPERAND = (Op.CALL1, Op.MOVE, Op.GET_ATTR, Op.UNPACK, Op.ENTERED)
_TWO_OPERANDS = (Op.CALL2, Op.DO2, Op.ADD, Op.WARN)
_FLAG = (Op.BRANCH, Op.WHILE)
_NO_OPERAND = (Op.CALL0, Op.JUMP, Op.RESUME, Op.DROP, Op.LEFT)


def operands(instruction: Instruction) -> Sequence[int]:
    """The registers that an instruction reads."""
    op, d, f, a, b, _ = instruction
    if op in _TWO_OPERANDS:
        return (a, b)
    if op in _ONE_OPERAND:
        return (a,)
    if op in _NO_OPERAND:
        return ()
    if op in _FLAG:
        return (d,)
    match op:
        case Op.CALL3:
            return (a, *b)
        case Op.SET_ATTR | Op.FOR:
            return (d, a)
        case Op.LOOP:
            return (d, f, a)
    registers: tuple[int, ...] = a
    return registers


def results(instruction: Instruction) -> Sequence[int]:
    """The registers that an instruction writes."""
    op, d, _, a, _, _ = instruction
    if op is Op.DROP:
        dropped: tuple[int, ...] = a
        return dropped
    if op in _WITHOUT_RESULT:
        return ()
    return d if isinstance(d, tuple) else (d,)


def unwritten(code: Code) -> set[int]:
    """Registers that hold the same in every run: no parameters, and no results."""
    changed = set(range(len(code.parameters)))
    for straight, last in code.blocks:
        for instruction in (*straight, last):
            changed.update(results(instruction))
    return set(range(len(code.template))) - changed


def constants(code: Code) -> dict[int, int]:
    """Registers that hold the same int or bool in every run."""
    same = unwritten(code)
    return {k: value for k, value in enumerate(code.template) if k in same and type(value) in (int, bool)}


def successors(last: Instruction) -> tuple[int, ...]:
    """The blocks that control may go to at the end of a block."""
    op, _, _, a, b, _ = last
    if op is Op.JUMP:
        return (a,)
    if op is Op.BRANCH:
        return (a, b)
    if op is Op.RETURN:
        return ()
    return (b[0], b[1]) if op in LOOPS else (b[0],)


def blocks_inside(code: Code, head: int) -> Iterator[Block]:
    """The blocks of a loop, those of loops inside it included."""
    seen: set[int] = set()
    waiting = [head]
    while waiting:
        block = waiting.pop()
        if block in seen:
            continue
        seen.add(block)
        straight, last = code.blocks[block]
        yield straight, last
        if last[0] not in (Op.JUMP, Op.BRANCH, *LOOPS):
            raise NotTranslatedError(last[0].name)
        if not ends_round(last, head):
            waiting += successors(last)


def ends_round(last: Instruction, head: int) -> bool:
    """Whether an instruction inside a loop is the one that ends its iterations."""
    return last[0] in LOOPS and last[4][0] == head


def end_of_round(code: Code, head: int) -> tuple[Instruction, Straight]:
    """The instruction that ends an iteration, and those before it in its block."""
    ends = [(last, straight) for straight, last in blocks_inside(code, head) if ends_round(last, head)]
    if len(ends) != 1:
        raise NotTranslatedError("it ends in several places")
    return ends[0]


def written_in(code: Code, head: int) -> set[int]:
    """What an iteration writes, apart from the counter of the loop itself."""
    written: set[int] = set()
    for straight, last in blocks_inside(code, head):
        for instruction in straight:
            written.update(results(instruction))
        if not ends_round(last, head):
            written.update(results(last))
    return written


def read_first(code: Code) -> list[set[int]]:
    """For each block, the registers that are read, there or later, before they are written."""
    reads: list[set[int]] = []
    writes: list[set[int]] = []
    for straight, last in code.blocks:
        reading: set[int] = set()
        writing: set[int] = set()
        for instruction in (*straight, last):
            reading.update(r for r in operands(instruction) if r not in writing)
            writing.update(results(instruction))
        reads.append(reading)
        writes.append(writing)
    before: dict[int, list[int]] = {}
    for block, (_, last) in enumerate(code.blocks):
        for successor in successors(last):
            before.setdefault(successor, []).append(block)
    needed = [set(reading) for reading in reads]
    waiting = list(range(len(needed)))
    while waiting:
        block = waiting.pop()
        for predecessor in before.get(block, ()):
            more = needed[block] - writes[predecessor] - needed[predecessor]
            if more:
                needed[predecessor] |= more
                waiting.append(predecessor)
    return needed
