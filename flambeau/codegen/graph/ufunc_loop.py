"""The text of one loop over strided elements around a scalar function; see `ufunc`, whose module it goes into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flambeau.codegen.graph.function import SYMBOL
from flambeau.codegen.graph.runtime import PREFIX
from flambeau.codegen.layouts import CONTEXT

BLOCK = 256
"""Elements that go through together."""
Kind = str
"""An element type: ``float`` and ``double`` as in LLVM, ``i64``, and ``i8`` for a bool."""
_SIZES = {"float": 4, "double": 8, "i64": 8, "i8": 1}


class Loop:
    """Writes the text of one loop."""

    def __init__(
        self, name: str, number_: int, inputs: Sequence[Kind], outputs: Sequence[Kind], *, polls: bool
    ) -> None:
        """`polls`: the function looks for signals, for which it needs the GIL."""
        self.name, self.number = name, number_
        self.kinds = [*inputs, *outputs]
        self.inputs = range(len(inputs))
        self.outputs = range(len(inputs), len(self.kinds))
        self.polls = polls

    def text(self) -> str:
        """The whole function."""
        parts = (self._entry(), self._block(), self._compute(), self._store(), self._one_by_one())
        lines = "\n".join(line for part in parts for line in part)
        return (
            f"define void @{self.name}(ptr %args, ptr %dims, ptr %steps, ptr %data) #0 {{\nentry:\n{lines}\n}}\n"
            f"!{40 + self.number} = distinct !{{!{40 + self.number}, !{60 + self.number}}}\n"
            f'!{60 + self.number} = !{{!"llvm.loop.parallel_accesses", !30}}\n'
        )

    def _entry(self) -> Iterator[str]:
        """Operands, buffers, and how results lie to operands."""
        yield f"  %context = alloca [{CONTEXT.words} x i64], align 16"
        yield f"  %given = alloca [{max(1, len(self.inputs))} x i64], align 16"
        yield f"  %found = alloca [{len(self.outputs)} x i64], align 16"
        for k, kind in enumerate(self.kinds):
            yield f"  %buffer{k} = alloca [{BLOCK} x {kind}], align 64"
        yield "  %n = load i64, ptr %dims"
        yield "  %last = sub i64 %n, 1"
        for k, kind in enumerate(self.kinds):
            yield f"  %p{k}.p = getelementptr ptr, ptr %args, i64 {k}"
            yield f"  %p{k} = load ptr, ptr %p{k}.p"
            yield f"  %s{k}.p = getelementptr i64, ptr %steps, i64 {k}"
            yield f"  %s{k} = load i64, ptr %s{k}.p"
            yield f"  %beside{k} = icmp eq i64 %s{k}, {_SIZES[kind]}"
            yield f"  %first{k} = ptrtoint ptr %p{k} to i64"
            yield f"  %span{k} = mul i64 %last, %s{k}"
            yield f"  %end{k} = add i64 %first{k}, %span{k}"
            yield f"  %low{k} = call i64 @llvm.umin.i64(i64 %first{k}, i64 %end{k})"
            yield f"  %top{k} = call i64 @llvm.umax.i64(i64 %first{k}, i64 %end{k})"
            yield f"  %high{k} = add i64 %top{k}, {_SIZES[kind]}"
        yield from self._relations()
        if self.polls:
            yield f"  %state = call i32 @{PREFIX}take_gil()"
        yield f"  br i1 {self.fine}, label %outer, label %single"

    def _relations(self) -> Iterator[str]:
        """Whether all results lie away from all operands, and whether each lies away or exactly upon them."""
        apart, fine = "true", "true"
        for out in self.outputs:
            yield f"  %moves{out} = icmp ne i64 %s{out}, 0"
            for k in self.inputs:
                at = f"{out}.{k}"
                yield f"  %below{at} = icmp ule i64 %high{out}, %low{k}"
                yield f"  %above{at} = icmp ule i64 %high{k}, %low{out}"
                yield f"  %apart{at} = or i1 %below{at}, %above{at}"
                yield f"  %same_start{at} = icmp eq i64 %first{out}, %first{k}"
                yield f"  %same_step{at} = icmp eq i64 %s{out}, %s{k}"
                yield f"  %same{at} = and i1 %same_start{at}, %same_step{at}"
                yield f"  %upon{at} = and i1 %same{at}, %moves{out}"
                yield f"  %either{at} = or i1 %apart{at}, %upon{at}"
                yield f"  %all_apart{at} = and i1 {apart}, %apart{at}"
                yield f"  %all_fine{at} = and i1 {fine}, %either{at}"
                apart, fine = f"%all_apart{at}", f"%all_fine{at}"
        yield f"  %apart = and i1 {apart}, true"
        self.fine = fine
        for out in self.outputs:
            yield f"  %direct{out} = and i1 %apart, %beside{out}"

    def _block(self) -> Iterator[str]:
        """The head of the loop over blocks: operands side by side."""
        yield "outer:"
        yield "  %at = phi i64 [0, %entry], [%next, %stored]"
        yield "  %more = icmp slt i64 %at, %n"
        yield "  br i1 %more, label %body, label %done"
        yield "done:"
        yield from self._return(is_done=True)
        yield "body:"
        yield "  %left = sub i64 %n, %at"
        yield f"  %count = call i64 @llvm.smin.i64(i64 %left, i64 {BLOCK})"
        for k in range(len(self.kinds)):
            yield f"  %offset{k} = mul i64 %at, %s{k}"
            yield f"  %here{k} = getelementptr i8, ptr %p{k}, i64 %offset{k}"
        yield "  br label %ready0"
        for k in self.inputs:
            yield f"ready{k}:"
            yield f"  br i1 %beside{k}, label %ready{k + 1}, label %gather{k}"
            yield from self._copy(f"gather{k}", f"ready{k}", f"got{k}", k)
            yield f"got{k}:"
            yield f"  br label %ready{k + 1}"
        yield f"ready{len(self.inputs)}:"
        for k in self.inputs:
            yield f"  %from{k} = select i1 %beside{k}, ptr %here{k}, ptr %buffer{k}"
        for k in self.outputs:
            yield f"  %to{k} = select i1 %direct{k}, ptr %here{k}, ptr %buffer{k}"
        yield "  br label %compute"

    def _copy(self, name: str, before: str, after: str, k: int) -> Iterator[str]:
        """A loop that copies elements of an operand between its buffer and where they lie apart."""
        kind, far, step, near = self.kinds[k], f"%here{k}", f"%s{k}", f"%buffer{k}"
        size, out = _SIZES[kind], k in self.outputs
        yield f"{name}:"
        yield f"  %{name}.i = phi i64 [0, %{before}], [%{name}.next, %{name}]"
        yield f"  %{name}.o = mul i64 %{name}.i, {step}"
        yield f"  %{name}.far = getelementptr i8, ptr {far}, i64 %{name}.o"
        yield f"  %{name}.near = getelementptr {kind}, ptr {near}, i64 %{name}.i"
        source, target = (f"%{name}.near", f"%{name}.far") if out else (f"%{name}.far", f"%{name}.near")
        yield f"  %{name}.v = load {kind}, ptr {source}, align {size}"
        yield f"  store {kind} %{name}.v, ptr {target}, align {size}"
        yield f"  %{name}.next = add i64 %{name}.i, 1"
        yield f"  %{name}.more = icmp slt i64 %{name}.next, %count"
        yield f"  br i1 %{name}.more, label %{name}, label %{after}"

    def _element(self, p: str, sources: dict[int, str], targets: dict[int, str], tag: str) -> Iterator[str]:
        """One element through the function: from element ``%{p}i`` of the sources to that of the targets."""
        yield f"  store [{CONTEXT.words} x i64] zeroinitializer, ptr %context"
        for k in self.inputs:
            kind = self.kinds[k]
            yield f"  %{p}x{k}.p = getelementptr {kind}, ptr {sources[k]}, i64 %{p}i"
            yield f"  %{p}x{k} = load {kind}, ptr %{p}x{k}.p, align {_SIZES[kind]}{tag}"
            yield f"  %{p}g{k} = getelementptr i64, ptr %given, i64 {k}"
            if kind == "float":
                yield f"  %{p}w{k} = fpext float %{p}x{k} to double"
                yield f"  store double %{p}w{k}, ptr %{p}g{k}"
            elif kind == "i8":
                yield f"  %{p}b{k} = icmp ne i8 %{p}x{k}, 0"
                yield f"  %{p}w{k} = zext i1 %{p}b{k} to i64"
                yield f"  store i64 %{p}w{k}, ptr %{p}g{k}"
            else:
                yield f"  store {kind} %{p}x{k}, ptr %{p}g{k}"
        yield f"  %{p}code = call i64 @{SYMBOL}(ptr %context, ptr %given, ptr %found)"
        if p:
            yield f"  %{p}failed = icmp ne i64 %{p}code, 0"
            yield f"  br i1 %{p}failed, label %fail, label %{p}fine"
            yield f"{p}fine:"
        for place, k in enumerate(self.outputs):
            kind = self.kinds[k]
            wide = {"float": "double", "i8": "i64"}.get(kind, kind)
            yield f"  %{p}f{k} = getelementptr i64, ptr %found, i64 {place}"
            yield f"  %{p}r{k} = load {wide}, ptr %{p}f{k}"
            yield f"  %{p}y{k}.p = getelementptr {kind}, ptr {targets[k]}, i64 %{p}i"
            value = f"%{p}r{k}"
            if wide != kind:
                yield f"  %{p}y{k} = {'fptrunc' if kind == 'float' else 'trunc'} {wide} %{p}r{k} to {kind}"
                value = f"%{p}y{k}"
            yield f"  store {kind} {value}, ptr %{p}y{k}.p, align {_SIZES[kind]}{tag}"

    def _one_by_one(self) -> Iterator[str]:
        """The loop over elements that results are written over."""
        yield "single:"
        yield "  %iteration = phi i64 [0, %entry], [%iteration.next, %single.fine]"
        yield "  %single.left = icmp slt i64 %iteration, %n"
        yield "  br i1 %single.left, label %one, label %done"
        yield "one:"
        for k in range(len(self.kinds)):
            yield f"  %single.o{k} = mul i64 %iteration, %s{k}"
            yield f"  %single.at{k} = getelementptr i8, ptr %p{k}, i64 %single.o{k}"
        places = {k: f"%single.at{k}" for k in range(len(self.kinds))}
        yield "  %single.i = add i64 0, 0"
        yield from self._element("single.", places, places, "")
        yield "  %iteration.next = add i64 %iteration, 1"
        yield "  br label %single"

    def _compute(self) -> Iterator[str]:
        """The loop over the elements of a block."""
        tag = ", !llvm.access.group !30"
        yield "compute:"
        yield f"  %i = phi i64 [0, %ready{len(self.inputs)}], [%i.next, %compute]"
        yield f"  %bad = phi i64 [0, %ready{len(self.inputs)}], [%bad.next, %compute]"
        yield from self._element("", {k: f"%from{k}" for k in self.inputs}, {k: f"%to{k}" for k in self.outputs}, tag)
        yield "  %bad.next = or i64 %bad, %code"
        yield "  %i.next = add i64 %i, 1"
        yield "  %unfinished = icmp slt i64 %i.next, %count"
        yield f"  br i1 %unfinished, label %compute, label %computed, !llvm.loop !{40 + self.number}"

    def _store(self) -> Iterator[str]:
        """What follows a block: a failure, or results to where they belong."""
        yield "computed:"
        yield "  %failed = icmp ne i64 %bad.next, 0"
        first = f"%put{self.outputs[0]}"
        yield f"  br i1 %failed, label %fail, label {first}"
        yield "fail:"
        yield "  %failed.at = phi i64 [%at, %computed], [%iteration, %one]"
        yield "  %failed.count = phi i64 [%count, %computed], [1, %one]"
        yield f"  call void @run_in_python(i64 {self.number}, ptr %args, ptr %steps, i64 %failed.at, i64 %failed.count)"
        yield from self._return()
        for k in self.outputs:
            after = f"put{k + 1}" if k + 1 in self.outputs else "stored"
            yield f"put{k}:"
            yield f"  br i1 %direct{k}, label %{after}, label %scatter{k}"
            yield from self._copy(f"scatter{k}", f"put{k}", after, k)
        yield "stored:"
        yield "  %next = add i64 %at, %count"
        yield "  br label %outer"

    def _return(self, *, is_done: bool = False) -> Iterator[str]:
        if self.polls:
            yield f"  call void @{PREFIX}give_gil(i32 %state)"
        if is_done:
            yield "  call void @forget_flags()"
        yield "  ret void"
