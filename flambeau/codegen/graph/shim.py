"""A graph as a plain C function, for code of other compilers.

``i32 shim(ptr results, ptr error, arguments...)``: numbers travel in registers, an array as its data, sizes and
strides in bytes; results are words. The owner of an array among them is 1 + the number of the argument that it shows a
part of, or the address by which `PyMem_RawFree` frees its memory, which is the caller's from then on; arrays of one
owner show one piece of memory. The status is 0, or 1 where the function failed: the word at ``error`` then is what
`describe` gave for the Python exception. The shim may be called by any thread, with or without the GIL; it takes the
GIL only where Python has a part in the function, to look for signals, and to fail.

Arrays are memory that no Python object stands for. Where Python has to see one, it sees a tensor that holds nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.graph import marshalling
from flambeau.codegen.graph.abi import INTERRUPTED
from flambeau.codegen.graph.exit_points import ExitPoint
from flambeau.codegen.graph.function import SYMBOL, FunctionText
from flambeau.codegen.graph.group_runner import RUN_GROUP, group_runner_address
from flambeau.codegen.graph.module import Prepare
from flambeau.codegen.graph.native import ExitHandler, NativeFunction
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import (
    Array,
    Fixed,
    Representation,
    Tupled,
    llvm_words,
    word_count,
)
from flambeau.codegen.graph.runtime import CYCLES, FUNCTIONS, PREFIX, SERVE
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.layouts import BLOCK, CONTEXT, FOREVER, LEAF
from flambeau.codegen.llvm.engine import NativeCode, c_imports, engine
from flambeau.ir.graph import Graph

SHIM = "flambeau_shim"
Describe = Callable[[BaseException], int]
"""Gives the word that tells a caller of an exception."""
_API = {
    **FUNCTIONS, "take_gil": "PyGILState_Ensure", "give_gil": "PyGILState_Release", "has_gil": "PyGILState_Check",
    "fetch": "PyErr_Fetch", "normalize": "PyErr_NormalizeException", "set_traceback": "PyException_SetTraceback",
}  # fmt: skip
_FAIL = PREFIX + "fail"
_CLOCK = "define internal i64 @look_at_clock(ptr %context) "
_CLOCK_TEXT = f"""{_CLOCK}noinline cold {{
entry:
  %now = call i64 @llvm.readcyclecounter()
  %polled.p = getelementptr i64, ptr %context, i64 {CONTEXT.word("polled")}
  %polled = load i64, ptr %polled.p
  %thread.p = getelementptr i64, ptr %context, i64 {CONTEXT.word("thread")}
  %is_first = icmp eq i64 %polled, 0
  br i1 %is_first, label %begin, label %look
begin:
  store i64 %now, ptr %polled.p
  %has = call i32 @{PREFIX}has_gil()
  %is_mine = icmp ne i32 %has, 0
  br i1 %is_mine, label %let_others, label %fine
let_others:
  %given = call ptr @{PREFIX}save_thread()
  store ptr %given, ptr %thread.p
  ret i64 0
look:
  %spent = sub i64 %now, %polled
  %due = icmp ugt i64 %spent, {CYCLES}
  br i1 %due, label %poll, label %fine
poll:
  store i64 %now, ptr %polled.p
  %state = call i32 @{PREFIX}take_gil()
  %signal = call i32 @{PREFIX}check_signals()
  call void @{PREFIX}give_gil(i32 %state)
  %quiet = icmp eq i32 %signal, 0
  %code = select i1 %quiet, i64 0, i64 {INTERRUPTED}
  ret i64 %code
fine:
  ret i64 0
}}
"""
"""What a function does now and then whose caller may have the GIL or not: it gives up one that it was called with."""
_TEXT = """
declare i32 @{p}take_gil()
declare void @{p}give_gil(i32)
declare i32 @{p}has_gil()
declare void @{p}fetch(ptr, ptr, ptr)
declare void @{p}normalize(ptr, ptr, ptr)
declare i32 @{p}set_traceback(ptr, ptr)
@{fail} = external global i8

define internal ptr @fetched() {{
entry:
  %kind = alloca ptr, align 8
  %value = alloca ptr, align 8
  %traceback = alloca ptr, align 8
  call void @{p}fetch(ptr %kind, ptr %value, ptr %traceback)
  call void @{p}normalize(ptr %kind, ptr %value, ptr %traceback)
  %error = load ptr, ptr %value
  %trace = load ptr, ptr %traceback
  %none = icmp eq ptr %trace, null
  br i1 %none, label %done, label %join
join:
  %code = call i32 @{p}set_traceback(ptr %error, ptr %trace)
  call void @{p}drop_reference(ptr %trace)
  br label %done
done:
  %class = load ptr, ptr %kind
  call void @{p}drop_reference(ptr %class)
  ret ptr %error
}}

define internal void @tell(i64 %code, ptr %context, ptr %error) noinline cold {{
entry:
  %given = alloca [3 x ptr], align 16
  %state = call i32 @{p}take_gil()
  %context.i = ptrtoint ptr %context to i64
  %a0 = call ptr @{p}number(i64 %code)
  %a1 = call ptr @{p}number(i64 %context.i)
  %is_set = icmp eq i64 %code, {interrupted}
  br i1 %is_set, label %fetch, label %number
fetch:
  %raised = call ptr @fetched()
  br label %ask
number:
  %zero = call ptr @{p}number(i64 0)
  br label %ask
ask:
  %a2 = phi ptr [%raised, %fetch], [%zero, %number]
  %p1 = getelementptr ptr, ptr %given, i64 1
  %p2 = getelementptr ptr, ptr %given, i64 2
  store ptr %a0, ptr %given
  store ptr %a1, ptr %p1
  store ptr %a2, ptr %p2
  %answer = call ptr @{p}call(ptr @{fail}, ptr %given, i64 3, ptr null)
  %word = call i64 @{p}value_of(ptr %answer)
  store i64 %word, ptr %error
  call void @{p}drop_reference(ptr %answer)
  call void @{p}drop_reference(ptr %a0)
  call void @{p}drop_reference(ptr %a1)
  call void @{p}drop_reference(ptr %a2)
  call void @{p}give_gil(i32 %state)
  ret void
}}

define i32 @{shim}(ptr %results, ptr %error{parameters}) {{
entry:
  %context = alloca [{size} x i64], align 16
  %record = alloca [{record} x i64], align 16
  %given = alloca [{count} x i64], align 16
  store [{size} x i64] zeroinitializer, ptr %context
  %previous = getelementptr i64, ptr %context, i64 {previous}
  %next = getelementptr i64, ptr %context, i64 {next}
  %record.p = getelementptr i64, ptr %context, i64 {record_at}
  store ptr %context, ptr %previous
  store ptr %context, ptr %next
  store ptr %record, ptr %record.p
{stores}
{take}
  %code = call i64 @{symbol}(ptr %context, ptr %given, ptr %results)
  %fine = icmp eq i64 %code, 0
  br i1 %fine, label %owners, label %failed
owners:
{owners}
  br label %done
failed:
  call void @tell(i64 %code, ptr %context, ptr %error)
  br label %done
done:
{give}
  %status = select i1 %fine, i32 0, i32 1
  ret i32 %status
}}
"""
_WIDENED = {
    "i1": "  %w{k} = zext i1 %x{k} to i64", "double": "  %w{k} = bitcast double %x{k} to i64",
    "i64": "  %w{k} = add i64 %x{k}, 0", "ptr": "  %w{k} = ptrtoint ptr %x{k} to i64",
}  # fmt: skip
_BLOCK = f"""  %b{{k}} = alloca [{LEAF.word("object") + 1} x i64], align 16
  store [{LEAF.word("object") + 1} x i64] zeroinitializer, ptr %b{{k}}
  store i64 {FOREVER}, ptr %b{{k}}
  %w{{k}} = ptrtoint ptr %b{{k}} to i64"""
"""A block that stands for memory of the caller's, and for no argument that Python knows."""


def _owners(parameters: Sequence[Representation], results: Sequence[Representation]) -> str:
    """What makes the owners of results something that a caller without blocks can use."""
    blocks = [(k, number) for k, number in enumerate(_numbers(parameters)) if number is not None]
    lines, place = [], 0
    for n, rep in enumerate(leaves(results)):
        if isinstance(rep, Array):
            lines += [
                f"  %o{n}.p = getelementptr i64, ptr %results, i64 {place}", f"  %o{n}.i = load i64, ptr %o{n}.p",
                f"  %o{n}.b = inttoptr i64 %o{n}.i to ptr",
                f"  %o{n}.q = getelementptr i64, ptr %o{n}.b, i64 {BLOCK.word('raw')}",
            ]  # fmt: skip
            known = "false"
            chosen = "0"
            for k, number in blocks:
                lines.append(f"  %o{n}.c{k} = icmp eq i64 %o{n}.i, %w{k}")
                lines.append(f"  %o{n}.k{k} = or i1 {known}, %o{n}.c{k}")
                lines.append(f"  %o{n}.n{k} = select i1 %o{n}.c{k}, i64 {number + 1}, i64 {chosen}")
                known, chosen = f"%o{n}.k{k}", f"%o{n}.n{k}"
            # The word before an argument's block is nothing: the results' place stands in for it.
            lines += [
                f"  %o{n}.s = select i1 {known}, ptr %results, ptr %o{n}.q", f"  %o{n}.r = load i64, ptr %o{n}.s",
                f"  %o{n} = select i1 {known}, i64 {chosen}, i64 %o{n}.r", f"  store i64 %o{n}, ptr %o{n}.p",
            ]  # fmt: skip
        place += word_count(rep)
    return "\n".join(lines)


def leaves(results: Sequence[Representation]) -> list[Representation]:
    """The numbers and arrays of results, which may be tuples or None."""
    found: list[Representation] = []
    for rep in results:
        if rep != Fixed(None):
            found += leaves(rep.items) if isinstance(rep, Tupled) else (rep,)
    return found


def _numbers(parameters: Sequence[Representation]) -> list[int | None]:
    """For each word of the arguments, the number of the argument whose block it is, if it is one."""
    return [
        number if isinstance(rep, Array) and k == 0 else None
        for number, rep in enumerate(parameters)
        for k in range(word_count(rep))
    ]


class Shim(NativeFunction):
    """A graph's native code behind C arguments. Raises `CannotCompileError` where there is none."""

    def __init__(
        self, graph: Graph, parameters: Sequence[Representation], run_exit_point: ExitHandler,
        inline_cache_of: Callable[[ExitPoint], InlineCache],
        describe: Describe, choices: Choices = USUAL, prepare: Prepare | None = None,
    ) -> None:  # fmt: skip
        """`describe` is called with the GIL, once for each failure."""
        self._describe = describe
        self._failed = self._told  # native code has its address, so it must be one object
        super().__init__(graph, parameters, run_exit_point, inline_cache_of, choices=choices, prepare=prepare)

    @property
    def entry(self) -> int:
        """Where the shim is."""
        return self.code.addresses[SHIM]

    @property
    def results(self) -> tuple[Representation, ...]:
        """What it gives, as words."""
        return self.emitted.results

    def _compiled(self) -> FunctionText:
        emitted = super()._compiled()
        emitted.operators = ()  # Python runs them whatever that costs: the caller has no other way
        return emitted

    def _told(self, code: int, context: int, raised: BaseException | int) -> int:
        try:
            if isinstance(raised, BaseException):
                return self._describe(raised)
            self.fail(code, context)
        except BaseException as error:  # whatever it is, the caller gets it
            return self._describe(error)
        finally:
            marshalling.free_ring(context)
        return 0

    def _link(self) -> NativeCode:
        imports = {
            PREFIX + name: ctypes.cast(getattr(ctypes.pythonapi, c_name), ctypes.c_void_p).value or 0
            for name, c_name in _API.items()
        }
        if self.emitted.groups:
            imports[RUN_GROUP] = group_runner_address()
        imports.update({SERVE: id(self._serve), _FAIL: id(self._failed)})
        imports.update(c_imports(self.emitted.libm))
        imports.update({code.symbol: code.address for code in self.emitted.foreign})
        imports.update(self.tensors.addresses)
        for exit_point, inline_cache in zip(self.emitted.groups, self.inline_caches, strict=True):
            imports[exit_point.cell] = ctypes.addressof(inline_cache.cell)
        optimise = self.choices.optimise
        return engine().link(self._text(), (SYMBOL, SHIM), imports, optimise=optimise, is_glue=not optimise)

    def _text(self) -> str:
        """The function's module with the shim in it."""
        text = self.emitted.text
        asks = bool(self.emitted.groups) or " @ask(" in text
        if not asks:
            head, _, rest = text.partition(_CLOCK)
            if not rest:
                raise CannotCompileError("the function does not say when it looks at the clock")
            text = head + _CLOCK_TEXT + rest.partition("\n}\n")[2]
        kinds = [kind for rep in self.parameters for kind in llvm_words(rep)]
        stores, taken = [], []
        for k, (kind, number) in enumerate(zip(kinds, _numbers(self.parameters), strict=True)):
            if number is None:
                taken.append(f", {kind} %x{k}")
            change = (_WIDENED[kind] if number is None else _BLOCK).format(k=k)
            stores += [change, f"  %g{k} = getelementptr i64, ptr %given, i64 {k}", f"  store i64 %w{k}, ptr %g{k}"]
        return text + _TEXT.format(
            p=PREFIX, fail=_FAIL, shim=SHIM, symbol=SYMBOL, interrupted=INTERRUPTED, size=CONTEXT.words,
            record=self.emitted.record_words, count=max(1, len(kinds)), previous=CONTEXT.word("previous"),
            next=CONTEXT.word("next"), record_at=CONTEXT.word("record"), stores="\n".join(stores),
            parameters="".join(taken), owners=_owners(self.parameters, self.emitted.results),
            take=f"  %gil = call i32 @{PREFIX}take_gil()" if asks else "",
            give=f"  call void @{PREFIX}give_gil(i32 %gil)" if asks else "",
        )  # fmt: skip
