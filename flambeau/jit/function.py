"""`ScriptFunction`: a compiled function as its user holds it, callable, and open to inspection at every stage."""

from __future__ import annotations

import functools
import inspect
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self

from flambeau.codegen import available, native_call
from flambeau.codegen.callable_type import MISSED, prepare
from flambeau.executor.debug_state import DebugState
from flambeau.executor.executor import Executor, executor_of
from flambeau.executor.forks import site_of
from flambeau.executor.ledger import Profile
from flambeau.executor.number_calls import OnContainers
from flambeau.executor.options import Options
from flambeau.executor.profiling.switches import forget, graph_for
from flambeau.executor.report import Explanation, PassReport
from flambeau.executor.stored import graph_to_show
from flambeau.executor.tune import TuningReport, tune
from flambeau.frontend.trees.tree_views import Def
from flambeau.interpreter.fork_site import ForkSite
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph
from flambeau.jit import saving
from flambeau.jit.arguments import ArgumentError, Signature
from flambeau.jit.by_types import ByTypes, ByTypesOfTransform
from flambeau.jit.structured_calls import StructuredCalls, gains_from_structure
from flambeau.jit.unannotated import ByCall
from flambeau.passes import inline
from flambeau.program.function import Function
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.serialize.python_print import print_code, print_code_with_constants
from flambeau.tensor import observer
from flambeau.tensor.interceptors import without_functions
from flambeau.tensor.observer import thread
from flambeau.util.errors import CompileError
from flambeau.util.inversions import CALL_WITHIN_TRANSFORMS
from flambeau.util.markup import Listing
from flambeau.util.names_of_numba import unknown_attribute
from flambeau.util.native_type import NativeBase, let_instances_be_native

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar  # what type checkers bring along: defaults are new in 3.13

    P = ParamSpec("P", default=...)
    R = TypeVar("R", default=Any, covariant=True)
else:
    from typing import ParamSpec, TypeVar

    P, R = ParamSpec("P"), TypeVar("R", covariant=True)


class ScriptFunction(NativeBase, Generic[P, R]):  # type: ignore[misc]  # made at run time
    """A function compiled from source, from a trace, or from a graph.

    Call it like the Python function. Look at it with `tree`, `graph`, `inlined_graph`, `code`, `schema`, `bytecode`,
    `graph_for(*args)`, `passes(*args)`, `loops`, `llvm_ir`, `asm`, `ptx(*args)`, `explain()`, `profile(*args)`.

    >>> import flambeau
    >>> from flambeau import Tensor
    >>> unit = flambeau.CompilationUnit("def double(x: Tensor): return x + x")
    >>> unit.double(flambeau.ones(2))
    tensor([2., 2.])
    """

    def __init__(
        self, function: Function, python: Callable[..., Any] | None = None,
        tree: Callable[[], Def] | None = None, executor: Executor | None = None,
    ) -> None:  # fmt: skip
        """`python` is what it was compiled from, `tree` gives its syntax tree, `executor` runs it, if given."""
        self.script_function = function
        """What the rest of the system knows it as."""
        self._python = python
        self._tree = tree
        self._signature = Signature(function.schema)
        self.transforms: dict[Any, Any] = {}
        """What transforms have made of it, by their kind and options."""
        self._executor: Executor = executor or executor_of(function)
        prepare(self, self._executor.stub, type(self)._call_slowly)
        if python is not None:
            functools.update_wrapper(self, python)
        self.__doc__ = function.doc or None
        self.__name__ = function.short_name
        function.followers.add(self)

    def begin_anew(self) -> None:
        """Forget plans and transforms of the function: it has another graph."""
        self.transforms = {}
        self._structured = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # a property that refused: it says why again
                return object.__getattribute__(self, name)
            raise AttributeError(unknown_attribute(type(self).__name__, name), name=name, obj=self)

    @property
    def fork_site(self) -> ForkSite:
        """What makes tasks that call it."""
        if self._fork_site is None:
            self._fork_site = site_of(self, self._executor)
        return self._fork_site

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__call__ is ScriptFunction.__call__:
            let_instances_be_native(cls)  # others say so themselves

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it. Raises ArgumentError before anything runs, ScriptError for its own raise, else RuntimeError."""
        # CPython comes here until there is a fast path; from then on it jumps into native code, which does the
        # same as these lines.
        fast_path = self._executor.fast_path
        is_watched = thread.observer is not None or thread.handlers or thread.is_plain
        if fast_path is not None and not kwargs and not is_watched:
            if available():
                native_call.go_native(self)
            result: R = fast_path(*self._first, *args)
            if result is not MISSED:
                return result
        outcome: R = self._call_slowly(*args, **kwargs)
        return outcome

    array_source: Callable[..., Any] | None = None
    """The Python function, where programs on arrays compile it for what they call it with."""
    by_call: ByCall | None = None
    """What it is for calls that bring numbers for parameters without annotations."""
    by_types: ByTypes | ByTypesOfTransform | None = None
    """What it is for calls that bring more than tensors for such parameters, beside tensors."""
    _fork_site: ForkSite | None = None
    _structured: tuple[StructuredCalls | None] | None = None
    _first: tuple[Any, ...] = ()
    """What goes before the arguments of a call."""

    def _call_slowly(self, *args: Any, **kwargs: Any) -> Any:
        """The call of arguments that the fast path does not serve, or that somebody watches."""
        if thread.is_plain and self._python is not None:
            return self._python(*args, **kwargs)
        if not kwargs and not thread.handlers and thread.observer is None:
            result = self._as_before((*self._first, *args))
            if result is not MISSED:
                return result
        arguments = self._bound(args, kwargs)
        return self._by_call(args, kwargs) if arguments is None else self._run_bound(arguments)

    def _as_before(self, arguments: tuple[Any, ...]) -> Any:
        """The result for arguments as they are given, like those of calls before; `MISSED` for others."""
        fast_path = self._executor.fast_path
        if type(fast_path) is OnContainers:
            return fast_path.answer(arguments)
        return self._executor.once_more(arguments) if self._executor.remembers else MISSED

    def _run_bound(self, arguments: tuple[Any, ...]) -> Any:
        """The call with all arguments converted."""
        watching = observer.current()
        if watching is not None:
            return self._watched(watching, arguments)
        if thread.handlers and not self._first:
            result = CALL_WITHIN_TRANSFORMS.implementation(self.script_function, arguments)
            if result is not NotImplemented:
                return result
        if thread.handlers and thread.handlers.functions:
            with without_functions():
                return self._executor(*self._first, *arguments)
        if self.structured is not None and not thread.handlers and (call := self.structured.of(arguments)) is not None:
            return call[0](*call[1])
        return self._executor(*self._first, *arguments)

    @property
    def structured(self) -> StructuredCalls | None:
        """What calls with dicts and lists of tensors are, where code for their keys and lengths is quicker."""
        if self._structured is None:
            function, options = self.script_function, self.options
            gains = not self._first and options.backend == "native" and gains_from_structure(function)
            script = partial(self._alike, options)
            self._structured = (StructuredCalls(function, script) if gains else None,)
        return self._structured[0]

    @staticmethod
    def _alike(options: Options, function: Function) -> ScriptFunction:
        return ScriptFunction(function, executor=Executor(function, options))

    @property
    def _executors(self) -> list[Executor]:
        """What has code of it."""
        calls = None if self._structured is None else self._structured[0]
        flat = [] if calls is None else calls.scripts
        own = [self._executor] if self._executor.plans or not flat else []
        return [*own, *[script._executor for script in flat]]

    def _running(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Executor, Sequence[Any]]:
        """What runs calls with arguments like these, and what it is called with."""
        if (self.by_types is not None or self.by_call is not None) and self._bound(tuple(args), kwargs) is None:
            variant = self._for_types(tuple(args), kwargs)
            if variant is None:
                assert self.by_call is not None
                variant = self.by_call.function()
            return variant._running(args, kwargs)  # type: ignore[no-any-return]
        arguments = self._full(args, kwargs)
        call = None if self.structured is None else self.structured.of(arguments)
        return (self._executor, arguments) if call is None else (call[0]._executor, call[1])

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """The arguments, converted; None for those that another program than the one on tensors takes."""
        by_call = self.by_call
        if by_call is not None and by_call.takes(args):
            return None
        try:
            return self._signature.bind(args, kwargs)
        except ArgumentError:
            if self._for_types(args, kwargs) is None and (by_call is None or not by_call.may_take(args, kwargs)):
                raise
            return None

    def _for_types(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What runs calls that bring more than tensors where nothing is annotated; None for others, and where the
        program does not mean anything with them."""
        try:
            return None if self.by_types is None else self.by_types.of(args, kwargs)
        except CompileError:
            return None

    def _by_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if (variant := self._for_types(args, kwargs)) is not None:
            return variant(*args, **kwargs)
        assert self.by_call is not None
        function = self.by_call.function()
        result = function(*args, **kwargs)
        if function.stub.target is not None:  # from now on it serves such calls
            self._executor.stub.target = function.stub.target
        return result

    def _watched(self, watching: observer.Observer, arguments: tuple[Any, ...]) -> Any:
        return watching.called(self.script_function, arguments, lambda plain: self._executor(*plain))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else partial(self, instance)

    @property
    def options(self) -> Options:
        """How it is run."""
        return self._executor.options

    def with_options(self, options: Options) -> ScriptFunction:
        """This function run with other options."""
        python = getattr(self, "__wrapped__", None)
        return ScriptFunction(self.script_function, python, self._tree, Executor(self.script_function, options))

    _known_to_numba: Any = None

    @property
    def _numba_type_(self) -> Any:
        """What Numba, which asks for this, knows it as: functions that it compiles call the script's native code."""
        known = self._known_to_numba
        if known is None or known.callee.script is not self:  # whoever wraps a function may have copied its attributes
            from flambeau.jit.with_numba.numba_bridge import numba_type  # needs Numba, which is loaded if it asks

            known = self._known_to_numba = numba_type(self)
        return known

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The function's name."""
        return self.script_function.short_name

    @property
    def qualified_name(self) -> str:
        """The name in its compilation unit: `__torch__.module.function`."""
        return self.script_function.name

    @property
    def schema(self) -> FunctionSchema:
        """Parameters, defaults and returns with their types."""
        return self.script_function.schema

    @property
    def tree(self) -> Def:
        """The syntax tree; prints as an s-expression. Raises AttributeError for traces and graphs, which have none."""
        if self._tree is None:
            raise AttributeError(f"{self.name} was not compiled from source, so it has no tree; look at its graph")
        return self._tree()

    @property
    def graph(self) -> Graph:
        """The graph as compiled, calls not inlined."""
        return graph_to_show(self.script_function)

    @property
    def inlined_graph(self) -> Graph:
        """A copy of the graph with every call inlined."""
        copy = clone_graph(self.graph)
        inline.do(copy)
        return copy

    @property
    def code(self) -> str:
        """The graph as source again."""
        return print_code(self.script_function)

    @property
    def code_with_constants(self) -> tuple[str, Any]:
        """`code`, and the namespace of the constants it names `CONSTANTS.c0`."""
        return print_code_with_constants(self.script_function)

    def save(self, f: Any, _extra_files: Mapping[str, str | bytes] | None = None) -> None:
        """Write it to a file, as `flambeau.jit.save` does: as a module whose `forward` it is."""
        saving.save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: Mapping[str, str | bytes] | None = None) -> bytes:
        """What `save` would write to a file."""
        return saving.save_to_buffer(self, _extra_files)

    # -- how it runs --------------------------------------------------------------------------------------------------

    @property
    def bytecode(self) -> Any:
        """What the interpreter runs; prints as a listing with registers and source lines."""
        return self._executor.latest_code()

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR of the native code made so far, before LLVM's own passes; call the function first."""
        return Listing("".join([executor.llvm_ir() for executor in self._executors]))

    @property
    def loops(self) -> str:
        """The loop nests of fused groups with their schedules, and native functions' loops; call the function first."""
        return Listing("".join([executor.loops() for executor in self._executors]))

    @property
    def asm(self) -> str:
        """The machine instructions of the native code made so far. Raises RuntimeError without llvmlite."""
        return Listing("".join([executor.asm() for executor in self._executors]))

    def ptx(self, *args: Any, arch: str = "sm_90", **kwargs: Any) -> str:
        """The PTX of the fused groups that run for arguments like these, as CUDA kernels; no GPU is needed.

        Each kernel stands below a comment: its operators, their source lines, its grid and parameters. Raises
        ValueError for an `arch` that is not known and RuntimeError without llvmlite.

        >>> import flambeau
        >>> from flambeau import Tensor
        >>> unit = flambeau.CompilationUnit("def f(x: Tensor): return flambeau.tanh(x) * 2")
        >>> text = unit.f.ptx(flambeau.ones(3, 5), arch="sm_90")
        >>> [line for line in text.splitlines() if ".entry" in line or ".target" in line]
        ['.target sm_90', '.visible .entry flambeau_group_0(']
        """
        from flambeau.executor.ptx import plan_ptx  # few programs ask for it, and its modules take time to load

        executor, arguments = self._running(args, kwargs)
        return Listing(plan_ptx(executor.plan_for(arguments), arguments, arch))

    def _full(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All that the executor is called with. To be asked for first: a method may have another executor then."""
        return (*self._first, *self._signature.bind(tuple(args), kwargs))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Make the optimised plan and the native code for arguments like these now, and wait for it.

        Nothing is written, printed or drawn: kernels, which are compiled when sizes are known, are tried on copies
        where nobody can tell. Without it a long program answers as it is written until its plan was made meanwhile.

        >>> import flambeau
        >>> from flambeau import Tensor
        >>> unit = flambeau.CompilationUnit("def f(x: Tensor): return flambeau.tanh(x) * 2")
        >>> unit.f.compile(flambeau.ones(3))
        >>> len(unit.f.explain().compilations)
        1
        """
        executor, arguments = self._running(args, kwargs)
        executor.compile(arguments)

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph that runs for arguments like these."""
        executor, arguments = self._running(args, kwargs)
        return graph_for(executor, arguments)

    def passes(self, *args: Any, **kwargs: Any) -> PassReport:
        """Each pass that runs for arguments like these: what it changed, as a diff, and how long it took."""
        executor, arguments = self._running(args, kwargs)
        return executor.pass_report(arguments)

    def get_debug_state(self) -> DebugState:
        """The graph as compiled and the plans made so far."""
        return DebugState(self._executor)

    def _debug_flush_compilation_cache(self) -> None:
        """Make all plans anew when they are needed."""
        self._executor.forget_plans()
        forget(self._executor)

    def tune(self, *args: Any, **kwargs: Any) -> TuningReport:
        """Measure other schedules of its kernels for arguments like these, and keep those that are faster.

        Winners go to the cache on disk under the kernel's pattern and the classes of its sizes: calls of other sizes
        of these classes, other functions with such a kernel and later processes have them. A gain within what
        measurements differ by is not kept. Sums may be added in another order than before. Prints as a table; while it
        measures, a bar shows on a terminal. The function is called as `compile` does it.

        Raises RuntimeError where the cache is turned off, or the function does not run natively.

        >>> import flambeau
        >>> from flambeau import Tensor
        >>> unit = flambeau.CompilationUnit("def f(x: Tensor, y: Tensor): return flambeau.relu(x @ y)")
        >>> report = unit.f.tune(flambeau.ones(8, 16), flambeau.ones(16, 32))
        >>> all(kernel.after <= kernel.before for kernel in report.kernels)
        True
        """
        executor, arguments = self._running(args, kwargs)
        return tune(executor, arguments)

    def explain(self, *, measure: bool | None = None) -> Explanation:
        """What was compiled, why and how long it took; what became native, what did not and why; what kernels cost.

        Kernels are timed for milliseconds each, on arrays of their own, up to 64 MB; `measure` False: none, True: all.
        """
        executors = [*self._executors, *(e for variant in self._variants() for e in variant._executors)]
        others = [executor.explain(measure) for executor in dict.fromkeys(executors) if executor is not self._executor]
        of_transform = self.by_types.scripts if isinstance(self.by_types, ByTypesOfTransform) else ()
        others += [one.explain(measure=measure) for one in of_transform if hasattr(one, "explain")]
        return self._executor.explain(measure).joined(others)

    def _variants(self) -> list[ScriptFunction[..., Any]]:
        """What was compiled for calls with arguments of other types."""
        of_types = self.by_types.scripts if isinstance(self.by_types, ByTypes) else []
        by_call = None if self.by_call is None else self.by_call.compiled
        return [*of_types, *(by_call._variants() if isinstance(by_call, ScriptFunction) else ())]

    def profile(self, *args: Any, **kwargs: Any) -> Profile:
        """Run it once, as a call does (it writes to what the program writes to), and tell what each line took.

        Prints as a table beside the source; `save("page.html")` draws it, `lines` and `regions` hold the numbers.
        Counts are exact. Measured are the two outer levels of loops, fused groups, allocations and what Python runs;
        the rest of a loop's time is shared out among its lines by counts and instructions. Code that counts is made for
        the purpose: other calls are as fast as ever, this one may be slower. Time spent on compiling is left out.
        Raises RuntimeError for the reference backend, otherwise what a call raises.

        >>> import flambeau
        >>> text = "def f(n: int):\\n  s = 0\\n  for i in range(n):\\n    s += i * s\\n  return s"
        >>> profile = flambeau.CompilationUnit(text).f.profile(10)
        >>> profile.result, profile[4].hits
        (0, 10)
        """
        from flambeau.executor.profile import profile  # few programs ask for it, and its modules take time to load

        executor, arguments = self._running(args, kwargs)
        return profile(executor, arguments)

    def __repr__(self) -> str:
        return f"<flambeau.ScriptFunction {self.script_function.schema}>"

    def _repr_html_(self) -> str:
        return self.graph._repr_html_()

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter

        def kind_of(argument: Argument) -> Any:
            by_place = kind.POSITIONAL_ONLY if argument.positional_only else kind.POSITIONAL_OR_KEYWORD
            return kind.KEYWORD_ONLY if argument.kwarg_only else by_place

        empty = inspect.Parameter.empty
        return inspect.Signature([
            inspect.Parameter(
                a.name, kind_of(a), default=a.default if a.has_default else empty, annotation=a.type.annotation
            )
            for a in self.schema.arguments
        ])  # fmt: skip

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> Any:
        """The name by which other processes find it, as of Python's functions."""
        python = self._python
        owner: Any = sys.modules.get(getattr(python, "__module__", ""))
        path = getattr(python, "__qualname__", "")
        for part in path.split("."):
            owner = getattr(owner, part, None)
        if owner is self:
            return path
        raise pickle.PickleError(
            "ScriptFunction cannot be pickled, for no module has it under its name, where other processes look; "
            "keep the Python function and script it where it is needed"
        )


let_instances_be_native(ScriptFunction)
