"""Pieces of loops over `prange`, as LLVM text: a function that runs one piece on any thread, and what brings the pieces
together.

    call void @flambeau_whole_run_pieces(ptr @piece_0, ptr %team, i64 %iterations, i64 %step, i32 %pieces)

A piece is a call of the loop's function with a context of its own, so that what it allocates, where it fails and what
Python raises meanwhile stay apart. The first piece in the order of the loop that fails decides: those before it go on,
those behind it stop at their next poll.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from flambeau.codegen.graph.call_stack import SHALLOW
from flambeau.codegen.graph.entry.abi import INTERRUPTED, NO_MEMORY
from flambeau.codegen.graph.runtime import BLOCKS, FUNCTIONS, POLL_INTERVAL, PREFIX, runtime_text
from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, CONTEXT, FOREVER, MOST_PIECES, PIECE, TEAM, WORD
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_INTERFACE
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.util.record import dataclass

_ERROR = ("error", "error_value", "error_trace")
RUN_PIECES = PREFIX + "run_pieces"
"""``void (ptr piece, ptr team, i64 iterations, i64 step, i32 pieces)``: what shares the pieces out to threads."""
RUN_ALONE = PREFIX + "run_alone"
"""The function that runs all pieces on the caller's thread."""


@dataclass(frozen=True, slots=True)
class ParallelLoop:
    """A loop whose pieces are calls of a function of the module: ``(first, end, operands...)`` to its results."""

    number: int
    callee: str
    """The symbol of the function."""
    operands: tuple[str, ...]
    """LLVM types of the words that it takes behind the first iteration and the end."""
    results: tuple[str, ...]
    """LLVM types of the words that it gives."""

    @property
    def symbol(self) -> str:
        """What runs a piece."""
        return f"piece_{self.number}"

    @property
    def piece_words(self) -> int:
        """Words of a piece, its results among them."""
        return PIECE.words + len(self.results)


@cache
def team_text() -> str:
    """``share(block)`` and ``unshare(block, references)`` for blocks that several threads count at once, without seeing
    each other's counts; ``gather_failure(team, piece words, record bytes)``.
    """
    m = ModuleBuilder({alias: C_INTERFACE[name] for alias, name in FUNCTIONS.items()}, PREFIX)
    m.access = ", " + BLOCKS
    f = m.function("i64 share", "ptr block")
    (block,) = f.parameters
    f.return_if(f.is_null(block), 0)
    references = f.get(block, BLOCK, "references")
    f.put(block, BLOCK, references=FOREVER)
    f.ret(references)
    f = m.function("void unshare", "ptr block", "i64 references")
    block, references = f.parameters
    with f.when(f.compare("ne", block, NULL)):
        f.put(block, BLOCK, references=references)
    f.ret()
    m.access = ""
    _add_take_failure(m)
    _add_gather_failure(m)
    return m.text(behind=runtime_text())


def _add_gather_failure(m: ModuleBuilder) -> None:
    """``gather_failure(team, piece words, record bytes)``: the call's context takes what the pieces left, and the
    record of the first that failed; gives its code, with the GIL, and with what it raised set. Where the loop is within
    a piece of another one, what was raised is left in that piece's context, and the GIL where it was.
    """
    f = m.function("i64 gather_failure", "ptr team", "i64 piece_words", "i64 record_bytes", attributes="noinline cold")
    team, piece_words, _ = f.parameters
    context = f.get(team, TEAM, "context")
    with f.when(f.compare("ne", f.get(context, CONTEXT, "team"), NULL)):
        state = f.call("ensure_gil")
        code = f.call("take_failure", *f.parameters)
        piece = f.at(f.get(team, TEAM, "pieces"), f.op("mul", f.get(team, TEAM, "failed"), piece_words))
        with f.when(f.compare("ne", f.get(piece, CONTEXT, "error"), NULL)):
            f.put(context, CONTEXT, **{name: f.get(piece, CONTEXT, name) for name in _ERROR})
        f.call("leave_gil", state)
        f.ret(code)
    f.call("restore_thread", f.get(context, CONTEXT, "thread"))
    f.put(context, CONTEXT, thread=NULL)
    code = f.call("take_failure", *f.parameters)
    with f.when(f.compare("eq", code, INTERRUPTED)):
        piece = f.at(f.get(team, TEAM, "pieces"), f.op("mul", f.get(team, TEAM, "failed"), piece_words))
        f.call("set_error", *(f.get(piece, CONTEXT, name) for name in _ERROR))
    f.ret(code)


def _add_take_failure(m: ModuleBuilder) -> None:
    """The same but for the GIL, which is there, and for what was raised."""
    f = m.function("i64 take_failure", "ptr team", "i64 piece_words", "i64 record_bytes", attributes="noinline cold")
    team, piece_words, record_bytes = f.parameters
    context, pieces = f.get(team, TEAM, "context"), f.get(team, TEAM, "pieces")
    failed = f.get(team, TEAM, "failed")
    with f.loop(MOST_PIECES) as k:
        piece = f.at(pieces, f.op("mul", k, piece_words))
        first = f.get(piece, CONTEXT, "next")
        with f.when(f.all_of(f.compare("ne", first, NULL), f.compare("ne", first, piece))):
            last, behind = f.get(piece, CONTEXT, "previous"), f.get(context, CONTEXT, "next")
            f.put(first, BLOCK, previous=context)
            f.put(last, BLOCK, next=behind)
            f.put(behind, BLOCK, previous=last)
            f.put(context, CONTEXT, next=first)
        with f.when(f.compare("ne", k, failed)):
            for name in _ERROR:
                with f.when(f.compare("ne", f.get(piece, CONTEXT, name), NULL)):
                    f.call("drop_reference", f.get(piece, CONTEXT, name))
    piece = f.at(pieces, f.op("mul", failed, piece_words))
    code = f.get(piece, PIECE, "code")
    f.put(context, CONTEXT, trace=f.get(piece, CONTEXT, "trace"))
    with f.when(f.compare("sgt", code, 0)):
        f.copy(f.get(context, CONTEXT, "record"), f.get(piece, CONTEXT, "record"), record_bytes, WORD)
    f.ret(code)


def pieces_text(loops: Sequence[ParallelLoop], record_words: int) -> str:
    """What runs a piece of each loop of a module whose failures take so many words to tell."""
    m = ModuleBuilder({}, own={"new_block": "ptr (ptr, i64)"})
    m.declarations["declare ptr @llvm.frameaddress.p0(i32)"] = None
    functions = [_piece(m, loop, record_words) for loop in loops]
    run = "\n".join(f"declare void @{name}(ptr, ptr, i64, i64, i32)" for name in (RUN_PIECES, RUN_ALONE))
    size = f"@flambeau_record_bytes = internal constant i64 {record_words * WORD}"
    return "\n".join([run, size, team_text(), *(f.text() for f in functions)])


def _piece(m: ModuleBuilder, loop: ParallelLoop, record_words: int) -> FunctionBuilder:
    f = m.function(f"void {loop.symbol}", "ptr team", "i64 first", "i64 end", attributes="#0")
    team, first, end = f.parameters
    number = f.op("udiv", first, f.get(team, TEAM, "step"))
    failed = f.field(team, TEAM, "failed")
    before = f.define(f"load atomic i64, ptr {failed} monotonic, align 8", "i64")
    f.return_if(f.compare("slt", before, number))
    piece = f.at(f.get(team, TEAM, "pieces"), f.op("mul", number, word(loop.piece_words)))
    record = f.slot(f"[{max(1, record_words)} x i64]", 16)
    _start_context(f, team, piece, number, record)
    words = [f"ptr {piece}", f"i64 {first}", f"i64 {end}"]
    for index, kind in enumerate(loop.operands):
        words.append(f"{kind} {_load(f, f.at(team, TEAM.words + index), kind)}")
    kinds = ", ".join(("i64", *loop.results))
    answer = f.define(f"call {{{kinds}}} @{loop.callee}({', '.join(words)})", "i64")
    code = f.define(f"extractvalue {{{kinds}}} {answer}, 0", "i64")
    with f.when(f.compare("eq", code, 0)):
        for index, kind in enumerate(loop.results):
            value = f.define(f"extractvalue {{{kinds}}} {answer}, {index + 1}", kind)
            f.raw(f"store {kind} {value}, ptr {f.at(piece, PIECE.words + index)}")
        f.ret()
    _keep_failure(f, piece, code, record, record_words)
    f.raw(f"%old = atomicrmw min ptr {failed}, i64 {number} seq_cst")
    f.ret()
    return f


def _load(f: FunctionBuilder, address: Value, kind: str) -> Value:
    """A word that `memory.store_word` wrote."""
    if kind == "i1":
        return f.convert("trunc", f.load(address, "i8"), "i1")
    return f.load(address, kind)


def _start_context(f: FunctionBuilder, team: Value, piece: Value, number: Value, record: Value) -> None:
    """A context without blocks, for a thread whose stack begins here."""
    context = f.get(team, TEAM, "context")
    frame = f.define("call ptr @llvm.frameaddress.p0(i32 0)", "ptr")
    f.put(
        piece, CONTEXT, previous=piece, next=piece, record=record, thread=f.get(context, CONTEXT, "thread"),
        user=f.get(context, CONTEXT, "user"), floor=f.at(frame, -SHALLOW, "i8"), floor_known=0, calls=POLL_INTERVAL,
        team=team, piece=number, polled=f.get(context, CONTEXT, "polled"), pool=NULL,
    )  # fmt: skip


def _keep_failure(f: FunctionBuilder, piece: Value, code: Value, record: Value, record_words: int) -> None:
    """What a piece failed with outlives its frame."""
    f.put(piece, PIECE, code=code)
    with f.when(f.compare("sgt", code, 0)):
        block = f.call("new_block", piece, WORD * max(1, record_words))
        kept = f.at(block, BLOCK_DATA, "i8")
        has_room = f.compare("ne", block, NULL)
        with f.when(has_room):
            f.copy(kept, record, WORD * record_words, WORD)
        f.put(piece, PIECE, code=f.pick(has_room, code, NO_MEMORY))
        f.put(piece, CONTEXT, record=f.pick(has_room, kept, record, "ptr"))
