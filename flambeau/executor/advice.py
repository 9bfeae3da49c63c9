"""Why a loop is interpreted, and what to write instead, in the words of who wrote it.

a dict has no native form
keep the numbers in a list or tensor that the keys index: counts = [0] * n
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flambeau.codegen.graph.representation import is_key
from flambeau.codegen.graph.result_types import of_type
from flambeau.executor.native_parts import is_region, only_words
from flambeau.ir.graph import Block, Graph, Node
from flambeau.ir.walk import nodes_within, operands_within
from flambeau.passes.inline import CALLS, callee_of
from flambeau.passes.try_blocks.lower import TRY as TRY_BLOCK
from flambeau.passes.try_blocks.lower import why_not
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    AnyType,
    DictType,
    EnumType,
    FutureType,
    NamedType,
    StringType,
    TensorType,
    Type,
    UnionType,
)
from flambeau.util.instead import instead
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

Why = tuple[str, str]
"""What has no native form, and what has one."""
Whole = tuple[str, Node | None]
"""Why a function is not native as a whole, and the node that keeps it from that."""
DICT: Final = (
    "a dict has no native form unless its keys are ints, bools, texts or tuples of these, and its values numbers, "
    "texts, lists of them or tensors",
    "let ints, or tuples of ints, be the keys, keep the numbers in a list or tensor that the keys index "
    + instead("(`{code}`, ", "counts = [0] * n", given="n: int", gives="counts")
    + instead("`{code}`), ", "counts[k] += 1", given="counts: list[int], k: int = 0", gives="counts")
    + "or copy what is needed of the dict into lists before the loop",
)
SET: Final = (
    "a set has no native form unless it is one of ints, bools, texts or tuples of these",
    "let ints, or tuples of ints, be the items, or keep a list of bools that they index: "
    + instead("`{code}`, ", "seen = [False] * n", given="n: int", gives="seen")
    + instead("`{code}`", "seen[k] = True", given="seen: list[bool], k: int = 0", gives="seen"),
)
IN_PART: Final = (
    "dicts and sets have no native form in a part of a function",
    "give the loop a function of its own, whose arguments are numbers, tensors, lists and dicts of ints: texts and "
    "objects are what keeps this one from being native as a whole",
)
TEXT: Final = (
    "text has a native form as far as parts of it, comparisons, searches, sums, order, f-strings of texts and ints, "
    "`ord`, `chr`, `split`, `strip`, `replace`, `join`, `upper`, `lower`, `isalpha` and their like go",
    instead(
        "loop over numbers: `{code}` before the loop, and make text of the result after it",
        "codes = [ord(c) for c in text]",
        of="list(text.encode())",
        given="text: str",
        gives="codes",
    ),
)
OBJECT: Final = (
    "objects of class {name} have a native form in a function that is native as a whole, and this one is not",
    "give the loop a function of its own, which makes the objects or takes them as arguments",
)
HINDERED: Final = (
    "objects of class {name} have a native form in a function that is native as a whole, which {what} keeps this one "
    "from",
    "do that outside of the function, or give the loop a function of its own, which takes the objects as arguments",
)
ATTRIBUTE: Final = (
    "{why}",
    "let attributes be numbers, texts, tuples, lists, dicts and objects, and assign all of them in `__init__` before "
    "the object goes anywhere",
)
OF_OBJECTS: Final = (
    "{what} has no native form on objects",
    "write out with a loop over the objects, and their attributes, what it does",
)
ANY: Final = (
    "a value that may be of several types has no native form",
    "give each variable one type",
)
TRY: Final = (
    "a `try` block has no native form around {what}, of which only running it tells whether it raises",
    "name the exceptions that are meant (`except ZeroDivisionError:`), ask before the operation whether it would fail "
    "(`if b != 0:`), or put the loop into the `try` block",
)
PRINT: Final = (
    "printing has no native form",
    "append what is to be printed to a list, and print that after the loop",
)
PYTHON: Final = (
    "only Python can run the function that is called here",
    "give it to `flambeau.script` or `numba.njit` too, or call it outside of the loop",
)
TASK: Final = (
    "it forks tasks, or waits for them",
    "let each task do more: fork one for many iterations of the loop",
)
CHOSEN: Final = (
    "which function is called here is decided while the program runs",
    "call functions by their names: `if kind == 0: y = f(x)`",
)
GRADIENT: Final = (
    "tensors that ask for gradients have no native form in loops",
    "call it with `x.detach()`",
)
OPERATOR: Final = (
    "{what} has no native form here",
    "apply it to whole tensors outside of the loop, or write out with elements what it does",
)
LISTS: Final = (
    "lists of lists have no native form in a part of a function",
    "give the loop a function of its own, whose arguments are numbers, tensors and lists: texts and dicts are what "
    "keeps this one from being native as a whole",
)
METHOD: Final = (
    "a method that calls itself has no native form",
    "write it as a function outside of the class, which takes what it reads of the object as arguments",
)
LOOKED_AT: Final = (
    "a `try` block whose exception is looked at, or raised again, has no native form",
    "note in a variable what happened (`failed = 1` in the handler), and word or raise it after the loop",
)
KINDS: Final[dict[str, Why]] = {"prim::Print": PRINT, "^generator": CHOSEN}


@dataclass(frozen=True, slots=True)
class SlowPart:
    """A loop, or a call of a function that calls itself, which is interpreted."""

    node: Node
    what: str
    """`this loop`, `the recursion`."""
    why: str
    cure: str
    blamed: SourceRange | None
    """What stands in the way."""

    def __str__(self) -> str:
        return f"{self.what} is interpreted: {self.why}. Instead, {self.cure}"


def loop_part(loop: Node, reason: str, blamed: Node | None, whole: Whole = ("", None)) -> SlowPart:
    """What to say of a loop that is no region, or one that has turned out to have no native form. `whole` is why the
    function is not native as a whole.
    """
    obstacle = next(_obstacles(loop), None) if blamed is None else None
    node = blamed or (obstacle[0] if obstacle is not None else loop)
    why, cure = _why(node, reason) if obstacle is None else obstacle[1]
    name = _object_in(node)
    if whole[1] is not None and name and why == OBJECT[0].format(name=name):
        node = whole[1]
        why, cure = _of_objects(node, whole[0], name)
    return SlowPart(loop, "this loop", why, cure, node.range)


def _object_in(node: Node) -> str:
    """The class of the objects that a node is about; empty where there are none."""
    values = [*node.results, *node.operands, *(v for block in node.nested_blocks for v in block.parameters)]
    names = [t.name for v in values for t in v.static_type.walk() if isinstance(t, NamedType)]
    return names[0].rpartition(".")[2] if names else ""


def _of_objects(node: Node, reason: str, name: str) -> Why:
    """What to say of the node for which a function with objects is not native as a whole."""
    known = _of_kind(node)
    if known is not None:
        return known
    short = reason.partition(" (")[0].removeprefix(f"{node.op}: ")
    if node.op in ("prim::CreateObject", "prim::GetAttr", "prim::SetAttr"):
        return ATTRIBUTE[0].format(why=short), ATTRIBUTE[1]
    what = f"`{_short(node)}`"
    if _object_in(node):
        return OF_OBJECTS[0].format(what=what), OF_OBJECTS[1]
    return HINDERED[0].format(name=name, what=what), HINDERED[1]


def recursion_part(call: Node, reason: str, blamed: Node | None) -> SlowPart:
    """What to say of recursion that has no native form."""
    node = blamed or call
    name = _object_in(node)
    if call.op == "prim::CallMethod" and blamed in (None, call):
        why, cure = METHOD
    else:
        why, cure = _of_objects(node, reason, name) if name else _why(node, reason)
    return SlowPart(call, "this recursion", why, cure, node.range)


def operator_part(node: Node, reason: str) -> SlowPart:
    """What to say of a node that native code has Python run."""
    why, cure = _why(node, f"{node.op} has no native form")
    return SlowPart(node, "what stands here", f"{why}: {reason}" if reason else why, cure, node.range)


def calls_itself(graph: Graph) -> Node | None:
    """The first call of a function that calls itself: others stand where they were called."""
    return next((node for node in graph.all_nodes() if callee_of(node) is not None), None)


def _obstacles(loop: Node) -> Iterator[tuple[Node, Why]]:
    """Nodes of a loop that keep it from being native, what is in inner loops that are native left aside."""
    for block in loop.nested_blocks:
        for node in block:
            if is_region(node) or node.op in ("prim::Constant", "prim::RaiseException") or only_words(node):
                continue
            why = _of_kind(node) or _of_types(node)
            if why is not None:
                yield node, why
            for inner in node.nested_blocks:
                yield from _inner(inner)


def _inner(block: Block) -> Iterator[tuple[Node, Why]]:
    for node in block:
        for one in nodes_within(node):
            why = None if only_words(one) else _of_kind(one) or _of_types(one)
            if why is not None:
                yield one, why


def _of_kind(node: Node) -> Why | None:
    if node.op == TRY_BLOCK:
        unknown = why_not(node)
        return LOOKED_AT if unknown is None else (TRY[0].format(what=f"`{_short(unknown)}`"), TRY[1])
    if node.op in KINDS:
        return KINDS[node.op]
    if node.op.startswith("^"):
        return PYTHON
    return CHOSEN if node.op in CALLS and callee_of(node) is None else None


def _of_types(node: Node) -> Why | None:
    values = [*node.results, *node.operands, *(v for block in node.nested_blocks for v in block.parameters)]
    for value in values:
        if value.defining_node is not None and value.defining_node.op == "prim::Constant":
            continue
        for type_ in value.static_type.walk():
            why = _of_type(type_)
            if why is not None:
                return why
    return None


def _of_type(type_: Type) -> Why | None:
    match type_:
        case DictType():
            return IN_PART if of_type(type_) is not None else DICT
        case SetType():
            return IN_PART if _is_native_item(type_.element) else SET
        case FutureType():
            return TASK
        case StringType():
            return TEXT
        case NamedType():
            return OBJECT[0].format(name=type_.name.rpartition(".")[2]), OBJECT[1]
        case AnyType() | UnionType() | EnumType():
            return ANY
        case TensorType() if type_.requires_grad:
            return GRADIENT
    return None


def _is_native_item(type_: Type) -> bool:
    """Whether sets of such items have a native form."""
    rep = of_type(type_)
    return rep is not None and is_key(rep)


def _why(node: Node, reason: str) -> Why:
    """What to say of a node that has no native form, for the reason that native code gives."""
    known = _of_kind(node) or _of_types(node) or _within(node)
    if known is not None:
        return known
    if not reason:
        return LISTS
    short = reason.partition(" (")[0].removeprefix(f"{node.op}: ")
    if node.op in reason and "no native form" in reason:
        return OPERATOR[0].format(what=f"`{_short(node)}`"), OPERATOR[1]
    return short, OPERATOR[1]


def _short(node: Node) -> str:
    """What an operator or a function is called, without where it is from."""
    return node.op.rpartition("::")[2].removeprefix("^").removeprefix("__").removesuffix("__")


def _within(node: Node) -> Why | None:
    return next(
        (why for v in operands_within(node) for t in v.static_type.walk() if (why := _of_type(t)) is not None), None
    )
