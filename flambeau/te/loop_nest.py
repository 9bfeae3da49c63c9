"""`LoopNest`: tensors as loops, and the steps that change how they run and never what they give."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias, overload

from flambeau.te.arguments import Argument
from flambeau.te.compiled import Compiled, Interpreted, NativeCode
from flambeau.te.device.compiled import CudaCode
from flambeau.te.errors import ScheduleError
from flambeau.te.factoring import rfactor
from flambeau.te.marks import mark
from flambeau.te.nest import LoopName, Nest, step
from flambeau.te.placing import Cached, cache, compute_at, compute_inline
from flambeau.te.reordering import reorder
from flambeau.te.simplified import simplify_body
from flambeau.te.splitting import check_fusible, check_tiles, fuse, sliced, split
from flambeau.te.statements import BLOCK, PARALLEL, THREAD, UNROLL, VECTOR, Loop
from flambeau.te.tensors import Tensor

Args: TypeAlias = "Sequence[Argument] | None"
BACKENDS: dict[str, type[Compiled]] = {"llvm": NativeCode, "cuda": CudaCode, "interp": Interpreted}


class LoopNest(Nest):
    """Loops that compute some tensors, which steps of a schedule change in place.

    Loops are named by what `loops` gives, or by their names in the text. A step that cannot be done raises
    ScheduleError and leaves the nest as it was.

    Args:
        outputs: a tensor, or several: what a call gives. What they read and is no placeholder becomes a temporary.

    >>> from flambeau import te
    >>> A = te.placeholder("A", 10)
    >>> nest = te.LoopNest(te.compute("B", 10, lambda i: A[i] + 1))
    >>> outer, inner = nest.split("i", 4)
    >>> nest.vectorize(inner)
    >>> print(nest)
    in A: float32[10]
    out B: float32[10]
    for i_outer in range(3):
        vector for i_inner in range(4):
            if i_outer * 4 + i_inner < 10:
                B[i_outer * 4 + i_inner] = A[i_outer * 4 + i_inner] + 1.0
    <BLANKLINE>
    """

    # --- loops cut and joined

    @step
    def split(
        self, loop: LoopName, factor: int | None = None, *, parts: int | None = None, tail: str = "mask"
    ) -> tuple[Loop, Loop]:
        """Cut a loop into an outer and an inner one; gives both.

        Args:
            loop: which one.
            factor: iterations of the inner loop.
            parts: iterations of the outer loop, in place of `factor`.
            tail: what is done where the iterations are not a multiple: `mask`, a condition inside; `loop`, a loop over
                the rest behind (`split_with_tail` gives it too); `never`, an error.

        Raises ScheduleError for an unknown loop, for one that is marked, and where `never` cannot be promised.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> nest.split("j", 4)
        (serial loop j_outer from 0 to 3, serial loop j_inner from 0 to 4)
        """
        outer, inner, _ = split(self, self.loop(loop), factor, parts, tail)
        return outer, inner

    @step
    def split_with_tail(self, loop: LoopName, factor: int) -> tuple[Loop, Loop, Loop | None]:
        """`split` with a loop over the rest behind; gives the outer, the inner and that one, or None.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> nest.split_with_tail("j", 4)[2]
        serial loop j_tail from 8 to 10
        """
        return split(self, self.loop(loop), factor, None, "loop")

    @step
    def fuse(self, outer: LoopName, inner: LoopName) -> Loop:
        """Make one loop of a loop and the one directly inside it.

        Raises ScheduleError where there is something between, and where the inner range depends on the outer index.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> nest.fuse("i", "j")
        serial loop i_j from 0 to 40
        """
        return fuse(self, self.loop(outer), self.loop(inner))

    @step
    def flatten(self, *loops: LoopName) -> Loop:
        """`fuse` for any number of loops, outermost first. Raises ScheduleError as `fuse` does.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> nest.flatten("i", "j").name
        'i_j'
        """
        result, *others = flattened = [self.loop(loop) for loop in loops]
        if not others:
            raise ScheduleError("flatten takes two loops or more, outermost first")
        for outer, inner in pairwise(flattened):
            check_fusible(outer, inner)
        for other in others:
            result = fuse(self, result, other)
        return result

    @step
    def slice_head(self, loop: LoopName, count: int) -> tuple[Loop, Loop]:
        """Take the first iterations off; gives the loop over them and the one over the rest.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> nest.slice_head("j", 1)
        (serial loop j_head from 0 to 1, serial loop j_body from 1 to 10)
        """
        return sliced(self, self.loop(loop), count, is_head=True)

    @step
    def slice_tail(self, loop: LoopName, count: int) -> tuple[Loop, Loop]:
        """Take the last iterations off; gives the loop over the others and the one over them.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> nest.slice_tail("j", 1)
        (serial loop j_body from 0 to 9, serial loop j_tail from 9 to 10)
        """
        return sliced(self, self.loop(loop), count, is_head=False)

    # --- order

    @step
    def reorder(self, *loops: LoopName) -> None:
        """Put loops that lie in one another in this order, in the places that they have now.

        What stands between them gets loops of its own before or behind, as the start of a reduction. The order of a
        reduction's loops decides how floats are rounded.

        Raises ScheduleError for loops that do not lie in one another, a loop whose range depends on one that would be
        inside it, and where what stands between cannot be taken apart.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> nest.reorder("j", "i")
        >>> [loop.name for loop in nest.loops("B")]
        ['j', 'i']
        """
        reorder(self, [self.loop(loop) for loop in loops])

    @step
    def tile(
        self, first: LoopName, second: LoopName, first_factor: int, second_factor: int, *, tail: str = "mask"
    ) -> tuple[Loop, Loop, Loop, Loop]:
        """Cut two loops, one directly inside the other, into tiles; gives both outer loops, then both inner ones.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> [loop.name for loop in nest.tile("i", "j", 2, 5)]
        ['i_outer', 'j_outer', 'i_inner', 'j_inner']
        """
        a, b = self.loop(first), self.loop(second)
        check_tiles(self, a, b, (first_factor, second_factor), tail)
        first_outer, first_inner, _ = split(self, a, first_factor, None, tail)
        second_outer, second_inner, _ = split(self, b, second_factor, None, tail)
        reorder(self, [first_outer, second_outer, first_inner, second_inner])
        return first_outer, second_outer, first_inner, second_inner

    # --- how loops run

    @step
    def vectorize(self, loop: LoopName) -> None:
        """Take all iterations of a loop of fixed length at once, as lanes of vectors.

        Raises ScheduleError for a loop whose length calls decide, and where lanes would end at different places.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> nest.vectorize("i")
        >>> nest.loop("i")
        vector loop i from 0 to 4
        """
        mark(self, self.loop(loop), VECTOR)

    @step
    def unroll(self, loop: LoopName) -> None:
        """Write the iterations of a loop of fixed length out one after another.

        Raises ScheduleError for a loop whose length calls decide.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> nest.unroll("i")
        """
        mark(self, self.loop(loop), UNROLL)

    @step
    def parallel(self, loop: LoopName) -> None:
        """Share the iterations of a loop among threads (`flambeau.set_num_threads`).

        Raises ScheduleError for a loop along a reduction, and where iterations would write the same elements.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> nest.parallel("i")
        """
        mark(self, self.loop(loop), PARALLEL)

    @step
    def bind(self, loop: LoopName, to: str) -> None:
        """Run the iterations of a loop as `block`s or `thread`s of a device, for `codegen("cuda")`.

        Raises ScheduleError as `parallel` does, and for more than 1,024 threads.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> nest.bind("i", "block")
        """
        if to not in (BLOCK, THREAD):
            raise ScheduleError(f"bind takes 'block' or 'thread', got {to!r}")
        mark(self, self.loop(loop), to)

    # --- where things are computed and kept

    @step
    def compute_at(self, tensor: Tensor | str, loop: LoopName) -> list[Loop]:
        """Compute of a temporary what each iteration of a loop reads of it, in that iteration; gives the new loops.

        Raises ScheduleError for a result of the nest, and for a loop that is not around all that reads the tensor.

        >>> from flambeau import te
        >>> A = te.placeholder("A", 8)
        >>> B = te.compute("B", 8, lambda i: A[i] + 1)
        >>> nest = te.LoopNest(te.compute("C", 8, lambda j: B[j] * 2))
        >>> nest.compute_at(B, "j")
        [serial loop i from 0 to 1]
        """
        return compute_at(self, self.tensor(tensor), self.loop(loop))

    @step
    def compute_inline(self, tensor: Tensor | str) -> None:
        """Put a temporary's expression in the place of each element that is read.

        Raises ScheduleError for results and reductions.

        >>> from flambeau import te
        >>> A = te.placeholder("A", 8)
        >>> B = te.compute("B", 8, lambda i: A[i] + 1)
        >>> nest = te.LoopNest(te.compute("C", 8, lambda j: B[j] * 2))
        >>> nest.compute_inline(B)
        >>> print(str(nest).splitlines()[-1].strip())
        C[j] = (A[j] + 1.0) * 2.0
        """
        compute_inline(self, self.tensor(tensor))

    @step
    def cache(self, tensor: Tensor | str, loop: LoopName, name: str | None = None) -> Cached:
        """Keep what an iteration of a loop touches of a tensor in memory of its own, filled before and written back.

        Small memory whose indices are constants, as in unrolled loops, becomes registers. Raises ScheduleError for a
        tensor that the loop does not touch.

        >>> from flambeau import te
        >>> A = te.placeholder("A", (4, 8))
        >>> nest = te.LoopNest(te.reduce("S", 4, "sum", lambda i, k: A[i, k], over=8))
        >>> kept = nest.cache("S", "i")
        >>> kept.written_back
        [serial loop S_local_0 from 0 to 1]
        """
        named = tensor if isinstance(tensor, str) else tensor.name
        cached_tensor = next((t for t in self.tensors if t is tensor or t.name == named), None) or self.tensor(tensor)
        return cache(self, cached_tensor, self.loop(loop), name or f"{cached_tensor.name}_local")

    @step
    def rfactor(self, loop: LoopName) -> Loop:
        """Give each iteration of a reduction's loop a result of its own; gives the loop that puts these together.

        The loop reduces nothing then, so that it can be vectorized or made parallel. Raises ScheduleError for a loop
        that is no outermost one of a reduction.

        >>> from flambeau import te
        >>> A = te.placeholder("A", (4, 8))
        >>> nest = te.LoopNest(te.reduce("S", 4, "sum", lambda i, k: A[i, k], over=8))
        >>> nest.rfactor("k")
        serial loop k_all from 0 to 8
        >>> nest.vectorize("k")
        """
        return rfactor(self, self.loop(loop))

    @step
    def simplify(self) -> None:
        """Leave out loops of one iteration, conditions that always hold and what never runs.

        >>> from flambeau import te
        >>> nest = te.LoopNest(te.compute("B", (4, 10), lambda i, j: i * j))
        >>> outer, inner = nest.split("i", 4)
        >>> nest.simplify()
        >>> [loop.name for loop in nest.loops()]
        ['i_inner', 'j']
        """
        simplify_body(self)

    # --- code

    @overload
    def codegen(self, backend: Literal["llvm"] = ..., args: Args = ..., **options: Any) -> NativeCode: ...
    @overload
    def codegen(self, backend: Literal["cuda"], args: Args = ..., **options: Any) -> CudaCode: ...
    @overload
    def codegen(self, backend: Literal["interp"], args: Args = ..., **options: Any) -> Interpreted: ...

    def codegen(self, backend: str = "llvm", args: Args = None, **options: Any) -> Compiled:
        """Something to call that runs the nest as it is now.

        Args:
            backend: `llvm` for machine code, `cuda` for a device, `interp` for plain Python, an element at a time.
            args: what calls take, in order: placeholders, variables, and results that calls write into. None for the
                placeholders and then the variables that are no size of one, each in the order in which they were made;
                results are then made by the call.

        Raises ScheduleError for a backend that there is not, and for what it cannot run.

        >>> from flambeau import te
        >>> A = te.placeholder("A", 8)
        >>> B = te.compute("B", 8, lambda i: A[i] + 1)
        >>> nest = te.LoopNest(te.compute("C", 8, lambda j: B[j] * 2))
        >>> nest.codegen("interp")([1.0] * 8).tolist()
        [4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0]
        """
        if backend not in BACKENDS:
            raise ScheduleError(f"no backend is called {backend!r}; write one of {', '.join(map(repr, BACKENDS))}")
        return BACKENDS[backend](self, args, **options)
