"""The machine's instructions, in one table, and `Code`: a graph made ready to run.

An instruction is a tuple `(op, d, f, a, b, site)`. Registers are indices into a list; `site` is an index into
`Code.sites`, where tracebacks find the place in the source. A block is a pair: instructions that run one after the
other, and the last one, which says what is next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from flambeau.schema.opdef import OpDef
from flambeau.schema.types import Type
from flambeau.util.record import dataclass, field, replace
from flambeau.util.source import SourceRange


class Op(Enum):
    """What an instruction does; the value is its meaning, with r[...] for registers."""

    CALL0 = "r[d] = f()"
    CALL1 = "r[d] = f(r[a])"
    CALL2 = "r[d] = f(r[a], r[b])"
    CALL3 = "r[d] = f(r[a], r[b[0]], r[b[1]])"
    CALL = "r[d] = f(*r[a])"
    CALL_MANY = "r[d...] = f(*r[a])"
    DO2 = "f(r[a], r[b]), the result is not needed"
    DO = "f(*r[a]), the result is not needed"
    ADD = "r[d] = r[a] + r[b], 64-bit integers"
    MOVE = "r[d] = r[a]"
    MOVES = "r[d...] = r[a...], all read before any is written"
    DROP = "r[a...] = None: the values are not needed any more"
    TUPLE = "r[d] = (r[a...],)"
    LIST = "r[d] = [r[a...]]"
    DICT = "r[d] = {r[a[0]]: r[a[1]], ...}"
    UNPACK = "r[d...] = the b items of r[a]; fails if there are more or fewer"
    GET_ATTR = "r[d] = r[a].values[b], the attribute named f"
    SET_ATTR = "r[a].values[b] = r[d], the attribute named f"
    FORK = "r[d] = a future of function f(*r[a])"
    AWAIT = "r[d] = what function f(*r[a]) will give when asked for"
    WARN = "a warning with text r[a], of the class that r[b] names if that is a text, once per call site and run"
    ENTERED = "from here on, a failure leaves the context r[a]"
    LEFT = "the context entered last is being left"
    JUMP = "go to block a"
    RESUME = "go to block b[0], with kernels themselves or through interceptors, as it is from now on"
    BRANCH = "go to block a if r[d] else to block b; both lead to block f"
    FOR = "r[d] += 1; go to block b[0] if r[d] < r[a] else to block b[1]; b[2] is the HotLoop or None"
    LOOP = "r[d] += 1; go to block b[0] if r[d] < r[a] and r[f] else to block b[1]; b[2] is the HotLoop or None"
    WHILE = "go to block b[0] if r[d] else to block b[1]; b[2] is the HotLoop or None"
    CALL_FUNCTION = "r[d...] = function f(*r[a]); first drop r[b[1]...]; then block b[0]"
    CALL_METHOD = "r[d...] = method f of r[a[0]], with r[a]; first drop r[b[1]...]; then block b[0]"
    RETURN = "give r[a...] to the caller"


Instruction = tuple[Op, Any, Any, Any, Any, int]
Block = tuple[tuple[Instruction, ...], Instruction]

LOOPS: Final = frozenset({Op.FOR, Op.LOOP, Op.WHILE})
"""What an iteration of a loop ends in, and stands before its first."""


def step_by_step(last: Instruction, loop: Any = None) -> Instruction:
    """The last instruction of a block, for runs in which every instruction is seen: no loop runs as a whole. `loop` is
    told of its iterations."""
    op, d, f, a, b, site = last
    return (op, d, f, a, (*b[:2], loop), site) if op in LOOPS else last


@dataclass(frozen=True, slots=True)
class Site:
    """Where an instruction comes from."""

    kind: str
    """The node's kind."""
    range: SourceRange | None
    call_chain: tuple[tuple[str, SourceRange | None], ...]
    """The inlined calls around the node, outermost first: the function that is called, and where."""
    definition: OpDef | None
    """The operator, where it is one."""
    is_python: bool = False
    """Whether the program's author wrote what is called in Python."""


class HotFunction:
    """What is known of a code's runs from its start to its end, for all threads (`hot_functions`)."""

    __slots__ = ("calls", "run", "sites")

    def __init__(self) -> None:
        self.calls = 0
        """Runs of the machine; below zero if it always will."""
        self.run: Callable[..., tuple[Any, ...]] | None = None
        """From arguments to the tuple of results."""
        self.sites: Sequence[int] = ()
        """The site of each of its lines."""


@dataclass(slots=True, eq=False)
class Code:
    """A graph as instructions. Never changes while it runs: any number of threads may run it at once."""

    name: str
    """The function's name, for tracebacks."""
    parameters: tuple[Type, ...]
    """Types of the inputs, which come in registers 0, 1, ..."""
    result_count: int
    template: list[Any]
    """What registers hold at the start: the constants, and None."""
    blocks: tuple[Block, ...]
    sites: tuple[Site, ...]
    names: dict[int, str] = field(default_factory=dict)
    """The graph's names of what is in each register, for reading."""
    observed: tuple[Block, ...] | None = None
    """The blocks with tensor operators going through the interceptors; made when first needed."""
    hot: HotFunction = field(default_factory=HotFunction)
    """How often it ran, and the Python function that it becomes."""

    @property
    def register_count(self) -> int:
        """How many registers a call takes."""
        return len(self.template)

    def __str__(self) -> str:
        return "".join(_lines(self))

    def __repr__(self) -> str:
        return str(self)


def called_from(code: Code, calls: tuple[tuple[str, SourceRange | None], ...]) -> Code:
    """The same code with further calls around all of it, the outermost first, for tracebacks."""
    if not calls:
        return code
    return replace(code, sites=tuple([replace(s, call_chain=(*calls, *s.call_chain)) for s in code.sites]))


def _lines(code: Code) -> Any:
    inputs = ", ".join(f"{_register(code, i)}: {t}" for i, t in enumerate(code.parameters))
    yield f"{code.name}({inputs})  # {code.register_count} registers\n"
    for index, value in enumerate(code.template):
        if value is not None and index >= len(code.parameters):
            text = repr(value).replace("\n", " ")
            yield f"  r{index} = {text if len(text) <= 60 else text[:57] + '...'}\n"
    for number, block in enumerate(code.blocks):
        yield f"block {number}:\n"
        for instruction in (*block[0], block[1]):
            text = instruction_text(code, instruction)
            site = code.sites[instruction[5]]
            yield f"  {text:<70} # {site.range}\n" if site.range is not None else f"  {text}\n"


def _register(code: Code, index: int) -> str:
    name = code.names.get(index)
    return f"r{index}(%{name})" if name else f"r{index}"


def _registers(registers: Any) -> str:
    return ", ".join(f"r{i}" for i in registers)


def _name(f: Any, site: Site) -> str:
    if site.definition is not None:
        return site.definition.full_name
    named = getattr(f, "__wrapped__", f)
    return str(getattr(named, "name", None) or getattr(named, "__name__", None) or site.kind)


class _Shown:
    """An operand as texts want it: `{a}` is one register, `{a.all}` several, `{a.plain}` the operand itself."""

    __slots__ = ("plain",)

    def __init__(self, operand: Any) -> None:
        self.plain = operand

    def __str__(self) -> str:
        return f"r{self.plain}"

    @property
    def all(self) -> str:
        """Registers with commas between them."""
        return _registers(self.plain)


_TEXTS: Final[Mapping[Op, str]] = {
    Op.CALL0: "{d} = {name}()",
    Op.CALL1: "{d} = {name}({a})",
    Op.CALL2: "{d} = {name}({a}, {b})",
    Op.CALL3: "{d} = {name}({a}, {b.all})",
    Op.CALL: "{d} = {name}({a.all})",
    Op.DO2: "{name}({a}, {b})",
    **dict.fromkeys((Op.DO, Op.FORK, Op.AWAIT), "{name}({a.all})"),
    Op.CALL_MANY: "{d.all} = {name}({a.all})",
    Op.ADD: "{d} = {a} + {b}",
    Op.MOVE: "{d} = {a}",
    Op.MOVES: "{d.all} = {a.all}",
    Op.UNPACK: "{d.all} = {a}",
    Op.DROP: "{a.all}",
    **dict.fromkeys((Op.TUPLE, Op.LIST, Op.DICT), "{d} = {a.all}"),
    Op.GET_ATTR: "{d} = {a}.{f}",
    Op.SET_ATTR: "{a}.{f} = {d}",
    Op.WARN: "{a}, {b}",
    **dict.fromkeys((Op.ENTERED, Op.LEFT), "{a}"),
    Op.JUMP: "block {a.plain}",
    Op.RESUME: "block {b.plain[0]}",
    Op.BRANCH: "{d}: block {a.plain}, else block {b.plain}",
    Op.FOR: "{d} below {a}: block {b.plain[0]}, else block {b.plain[1]}",
    Op.WHILE: "{d}: block {b.plain[0]}, else block {b.plain[1]}",
    Op.LOOP: "{d} below {a} and r{f}: block {b.plain[0]}, else block {b.plain[1]}",
    Op.RETURN: "{a.all}",
}
"""What follows the name of an opcode; calls of the program's own functions apart."""


def instruction_text(code: Code, instruction: Instruction) -> str:
    """One instruction as text: `r5 = aten::add.Tensor(r0, r1, r3)`."""
    op, d, f, a, b, site_index = instruction
    site = code.sites[site_index]
    if op in (Op.CALL_FUNCTION, Op.CALL_METHOD):
        dropped = f", dropping {_registers(b[1])}" if b[1] else ""
        callee = f if isinstance(f, str) else _name(f, site)
        return f"{op.name:<13} {_registers(d)} = {callee}({_registers(a)}){dropped}, then block {b[0]}"
    text = _TEXTS[op].format(name=_name(f, site), f=f, d=_Shown(d), a=_Shown(a), b=_Shown(b))
    return f"{op.name:<9} {text}"
