"""All functions that lower floors call and higher ones provide: where imports run down, these calls run up.

>>> doubled = Inversion[Callable[[int], int]]("doubles a number")
>>> doubled.is_provided
False
>>> doubled.provide(lambda n: 2 * n)(3), doubled.implementation(4)
(6, 8)

Whoever provides one is imported with the package, or is part of the compiler, which is imported when a program first
compiles something, or calls what runs natively (`import_compiler`). Nobody else gives a class of another module
attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Generic, TypeVar, cast

T = TypeVar("T")


class Inversion(Generic[T]):
    """A function, or an object of a protocol, that somebody above provides."""

    __slots__ = ("_default", "_is_later", "implementation", "purpose")
    implementation: T
    """What was provided; until then there is none, or one for programs without whoever provides it."""

    def __init__(self, purpose: str, default: T | None = None, *, is_later: bool = False) -> None:
        """`is_later`: whoever provides it is part of the compiler, which is imported when somebody asks for this."""
        self.purpose = purpose
        self._default, self._is_later = default, is_later
        if default is not None and not is_later:
            self.implementation = default

    def __getattr__(self, name: str) -> Any:
        """The implementation, where nobody has provided it yet."""
        if name != "implementation" or not self._is_later:
            raise AttributeError(f"nobody provides what {self.purpose}")
        import_compiler()
        for_now: Any = self._default
        implementation = _provided(self, for_now)
        if implementation is None:
            raise AttributeError(f"nobody provides what {self.purpose}")
        return implementation

    @property
    def is_provided(self) -> bool:
        """Whether there is an implementation."""
        return _provided(self, None) is not None

    def provide(self, implementation: T) -> T:
        """Let this be the implementation. A decorator, for functions."""
        self.implementation = implementation
        return implementation


def _provided(inversion: Inversion[T], default: T | None) -> T | None:
    """What was provided, without importing anything."""
    try:
        return cast("T", object.__getattribute__(inversion, "implementation"))
    except AttributeError:
        return default


PACKAGE: Final = Inversion[Any]("the package as its users see it, where names of PyTorch are looked up (`flambeau`)")


def import_compiler() -> None:
    """Import all that compiles and runs programs, unless it is there; before the package is, nothing happens."""
    package = _provided(PACKAGE, None)
    if package is not None:
        _ = package.jit


class OftenCalled:
    """Stands for what is told of calls that repeat: the compiler is imported once there were many of them."""

    FIRST: Final = 256
    """Calls before that: they take as long as a hundredth of the import."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, kernel: Any, arguments: Sequence[Any], result: Any) -> None:
        self.calls += kernel.meaning is not None
        if self.calls >= self.FIRST:
            import_compiler()


OFTEN_CALLED: Final = OftenCalled()
TYPE_TEXT: Final = Inversion[Callable[[Any, bool], str]](
    "the text of a type, or its spelling in source code: the printer (`schema.type_text`) needs every class of types"
)
GRAPH_TOOLS: Final = Inversion[Any](
    "what methods of graphs compute with modules above graphs: a `GraphTools` (`analysis.graph_tools`)",
    is_later=True,
)
GRAPH_CHANGES: Final = Inversion[Callable[[Any], None]](
    "forgets all that was made of a graph, which is about to be changed (`executor.changed_graphs`)", lambda graph: None
)
CLASS_COMPILER: Final = Inversion[Callable[[type], Any]](
    "the definition of a class that no program has named and whose instance is met; None for one that programs cannot "
    "have (`jit.classes.script_class`)"
)
TRY_RUNNER: Final = Inversion[Callable[[Any], Any]](
    "gives the body of a `try`, a `Function`, what runs it (`executor.executor`)",
    is_later=True,
)
TASK_EXECUTOR: Final = Inversion[Callable[..., Any]](
    "gives a `Function` that is part of another, a forked task or what is differentiated, run with `Options`, its "
    "executor (`executor.executor`)",
    is_later=True,
)
GENERATOR_STEPS: Final = Inversion[Callable[[Any, tuple[Any, ...]], Iterator[Any]]](
    "goes through the body of a generator, giving what it yields (`executor.executor`, with `interpreter.suspended`)",
    is_later=True,
)
WAITING: Final = Inversion[Callable[[], AbstractContextManager[None]]](
    "a block for a thread that can do nothing but wait for a task (`interpreter.tasks`)", nullcontext
)
EAGER_CALL: Final = Inversion[Callable[[Any, Sequence[Any], Any], None]](
    "told of each call of a kernel that ran in Python: kernel, arguments, result (`executor.eager`)", OFTEN_CALLED
)
REPEATED_CALL: Final = Inversion[Callable[[Any, Callable[..., Any], Sequence[Any], int], Any]](
    "gives what runs calls of an operator like one that was made often by native code, given the operator, what runs "
    "them so far, the arguments and how often it did; None where there is nothing yet, MISSED where there will be "
    "nothing (`executor.repeated_operators`)",
    lambda definition, run, arguments, count: None,
    is_later=True,
)
REPEATED_GRADIENTS: Final = Inversion[Callable[[str, Any, Callable[..., Any], Sequence[Any], int], Any]](
    "gives what computes the gradients of an operator for values like some that came often, by native code: given the "
    "operator's name, each formula with where its values are, what computes the gradients so far, the values and how "
    "often it did; None where there is nothing yet, MISSED where there will be nothing (`executor.repeated_gradients`)",
    lambda name, formulas, run, values, count: None,
    is_later=True,
)
LARGE_CALL: Final = Inversion[Callable[[Any, Sequence[Any]], Any]](
    "runs a call of a kernel as one native loop if it is on large arrays, given the kernel and its arguments; None for "
    "other calls (`ops.large`)",
    lambda kernel, arguments: None,
)
LARGE_KERNEL: Final = Inversion[Callable[[Any, Sequence[Any]], Any]](
    "runs a call of a kernel that is on large arrays; None where NumPy is as good (`executor.eager`, with "
    "`executor.large_calls`)",
    lambda kernel, arguments: None,
    is_later=True,
)
LARGE_ENTRY: Final = Inversion[Callable[[Any, Sequence[Any]], Any]](
    "gives what runs the calls of a kernel that are like one, given the kernel and the arguments, as `LARGE_KERNEL` "
    "does; None where NumPy runs them (`executor.eager`, with `executor.large_calls`)",
    lambda kernel, arguments: None,
    is_later=True,
)
LARGE_WRITE: Final = Inversion[Callable[[Any, Any, Sequence[Any]], bool]](
    "writes the result of a call into a tensor by one native loop if it is large, given the operator's meaning, the "
    "tensor and the arguments; whether there is such a loop (`ops.large`)",
    lambda meaning, target, arguments: False,
)
LARGE_WRITING_KERNEL: Final = Inversion[Callable[[Any, Any, Sequence[Any]], bool]](
    "the same for a tensor that is large (`executor.large_writes`)",
    lambda meaning, target, arguments: False,
    is_later=True,
)
LARGE_CONVERSION: Final = Inversion[Callable[[Any, Any], Any]](
    "gives a large array as another dtype by one native loop; None where NumPy is to do it "
    "(`executor.large_conversions`)",
    lambda array, dtype: None,
    is_later=True,
)
PLAN_KEPT: Final = Inversion[Callable[[Any, Sequence[Any], Sequence[int]], None]](
    "is told that the native function of a plan was kept on disk, where, for which arguments, and to which of them it "
    "writes (`jit.loading.image_writer`)",
    lambda entry, arguments, written: None,
)
NATIVE_DRAWS: Final = Inversion[Callable[[Any, int], Any]](
    "gives what draws by native code from one of NumPy's generators of bits, given that and how many numbers were "
    "drawn in all; None where NumPy is to go on (`executor.native_draws`)",
    lambda bits, drawn: None,
    is_later=True,
)
ROW_FOLDS: Final = Inversion[Callable[[str, Any], Any]](
    "gives the sums, products or norms along the last axis of an array by native code, as its name says, or the sums "
    "of `columns`, along the last but one; None where there is none (`executor.row_folds`)",
    lambda fold, rows: None,
    is_later=True,
)
DEVICE_KERNEL: Final = Inversion[Callable[[Any, Sequence[Any]], Any]](
    "runs an operator on tensors of a device by a kernel of our own, given its declaration and its arguments; "
    "NotImplemented where there is none (`executor.device_kernels`)",
    lambda definition, arguments: NotImplemented,
    is_later=True,
)
DEVICE_COPY: Final = Inversion[Callable[[Any, Any], bool]](
    "writes the elements of a tensor, converted, into another of the same device and sizes by a kernel of our own; "
    "whether there is one (`executor.device_kernels`)",
    lambda target, source: False,
    is_later=True,
)
PLACES_ON_DEVICE: Final = Inversion[Callable[[Any, int, int, str], bool]](
    "has a device look whether places of an array lie within bounds, for an operator of that name; whether it can "
    "(`executor.devices.place_checks`)",
    lambda indices, low, high, operator: False,
    is_later=True,
)
LARGE_GRADIENTS: Final = Inversion[Callable[[str, Any], Callable[[Sequence[Any]], Any]]](
    "gives what computes the gradients of all operands of a call on large arrays together, from the operator's name "
    "and each formula with where its values are: it answers None for calls that it does not serve "
    "(`executor.large_gradients`)",
    lambda name, formulas: lambda values: None,
    is_later=True,
)
RECURRENT_KERNELS: Final = Inversion[Callable[[str, Any, int], Any]](
    "gives what runs the layers of a kind of cell on arrays of a dtype natively, there and back, for gates of so many "
    "elements; None where there is no native code (`executor.recurrent_kernels`)",
    lambda kind, dtype, elements: None,
    is_later=True,
)
QUANTIZED_PANELS: Final = Inversion[Callable[[Any], Any]](
    "packs the weights of a quantised layer for products by native code; None where there is none for them "
    "(`executor.quantized_kernels`)",
    lambda weights: None,
    is_later=True,
)
QUANTIZED_WINDOWS: Final = Inversion[Callable[[Any], Any]](
    "packs the weights of a quantised convolution of each channel by itself for native code; None where there is none "
    "for them (`executor.quantized_windows`)",
    lambda weights: None,
    is_later=True,
)
ATTENTION: Final = Inversion[Callable[..., Any]](
    "gives scaled dot-product attention of arrays by native code that never has all scores in memory; None where there "
    "is none for them (`executor.attention_kernels`)",
    lambda arrays, is_causal, scale, has_groups: None,
    is_later=True,
)
CUDNN_VERSION: Final = Inversion[Callable[[], int | None]](
    "the version of cuDNN where it can be used; None elsewhere (`cuda.cudnn.binding`)", lambda: None
)
CONVOLUTION: Final = Inversion[Callable[..., Any]](
    "gives what fills an array with the convolution of two others, transposed or not, by native code, for arrays that "
    "lie as those given; None where there is no such code (`executor.convolution_kernels`)",
    lambda *arguments: None,
    is_later=True,
)
CONVOLUTION_WEIGHT: Final = Inversion[Callable[..., Any]](
    "gives what fills an array with the gradient of a convolution's weight by native code, for arrays that lie as "
    "those given; None where there is none (`executor.convolution_kernels`)",
    lambda *arguments: None,
    is_later=True,
)
LARGEST_OF_WINDOWS: Final = Inversion[Callable[..., Any]](
    "gives what fills arrays with the largest numbers of windows and their places by native code, for arrays that lie "
    "as those given; None where there is none (`executor.convolution_kernels`)",
    lambda *arguments: None,
    is_later=True,
)
WINDOWS: Final = Inversion[Callable[..., Any]](
    "gives what runs an operator on windows of an array (an average, an interpolation, a padding) by native code, for "
    "arrays that lie as the one given; None where there is none for such calls (`executor.convolution_kernels`)",
    lambda *arguments: None,
    is_later=True,
)
GRID_SAMPLING: Final = Inversion[Callable[..., Any]](
    "reads an image at the places of a grid by native code; None where there is none for the arrays, or for the way to "
    "read (`executor.convolution_kernels`)",
    lambda *arguments: None,
    is_later=True,
)
READING_BETWEEN: Final = Inversion[Callable[..., Any]](
    "reads images linearly between their pixels, or computes an adjoint of that, by native code; None where there is "
    "none for the arrays (`executor.convolution_kernels`)",
    lambda *arguments: None,
    is_later=True,
)
ELEMENT_LOOPS: Final = Inversion[Callable[[Callable[..., None]], "Callable[..., None] | None"]](
    "gives the native form of a loop over elements of arrays, a function of the language; None where there is no "
    "native code (`jit.element_loops`)",
    lambda function: None,
    is_later=True,
)
CHANNEL_NORM: Final = Inversion[Callable[..., Any]](
    "normalises the channels of an array by native code, and gives the result with means, variances and reciprocal "
    "roots; None where there is no such code (`executor.convolution_kernels`)",
    lambda *arguments: None,
    is_later=True,
)
GROUP_NORM: Final = Inversion[Callable[..., Any]](
    "normalises groups of channels of an array by native code; None where there is no such code "
    "(`executor.convolution_kernels`)", lambda *arguments: None,
    is_later=True,
)  # fmt: skip
LAYER_NORM_GRADIENTS: Final = Inversion[Callable[..., Any]](
    "gives the gradients of a norm over trailing dimensions, of weight and bias in parts, by native code; None where "
    "there is none (`executor.convolution_kernels`)",
    lambda *arguments: None,
    is_later=True,
)
NORM_GRADIENTS: Final = Inversion[Callable[..., Any]](
    "gives the gradients of a norm of channels, of its input, weight and bias, by native code; None where there is "
    "none (`executor.convolution_kernels`)",
    lambda *arguments: None,
    is_later=True,
)
LARGE: Final = 1 << 16
"""Elements of an array from which on calls of operators by themselves are large: a loop over them takes longer than
finding a kernel that needs only one."""
TAPE: Final = Inversion[Callable[[Any], Callable[..., Any]]](
    "gives what runs calls of an operator, and records those on tensors that ask for gradients (`autograd.tape`)"
)
LEVEL_TAPE: Final = Inversion[Callable[[Any, Sequence[Any], Any], Any]](
    "runs an operator on tensors of a transform that ask for gradients, by what is to run in place of its kernel, and "
    "records it (`autograd.tape`)"
)
VIEW_NODE: Final = Inversion[Callable[[Any], Any]](
    "the tape's node of a view, made anew if its memory was written since (`autograd.views`)"
)
DEVICE_BLOCK: Final = Inversion[tuple[Callable[[Any], None], Callable[[Any], None]]](
    "begins and ends a block in which new tensors are on a device: `with flambeau.device('meta')` "
    "(`tensor.default_device`)"
)
OVERLOAD: Final = Inversion[Callable[[Any], Any]](
    "an overload as Python calls it, which dispatch modes get: `flambeau.ops.aten.add.Tensor` (`ops.packets`)"
)
GRADIENT_EXPANSION: Final = Inversion[Callable[[Any], bool]](
    "puts derivatives in the place of the gradients in a graph (`autodiff.gradient_nodes`)", lambda graph: False
)
VALUE_TYPE: Final = Inversion[Callable[[Any], Any]](
    "what is known of the value that a node of gradients gives; None for nothing (`autodiff.gradient_nodes`)",
    lambda node: None,
)
CUSTOM_FUNCTION_EXPANSION: Final = Inversion[Callable[[Any], bool]](
    "puts what custom functions with gradients of their own compute in the place of their calls in a graph "
    "(`jit.own_gradients.expansion`)",
    lambda graph: False,
)
CUSTOM_FUNCTION_RESULT: Final = Inversion[Callable[[Any, Sequence[Any]], Any]](
    "which type a custom function gives for arguments of some types, where programs mean it; None elsewhere "
    "(`jit.own_gradients.rules`)",
    lambda function, types: None,
)
FUNCTION_OF_MODULE: Final = Inversion[Callable[[Any, Any], Any]](
    "a module's `forward` as a function of its tensors, and their names; None for what is no module "
    "(`jit.modules.functional_forward`)",
    lambda module, where: None,
)
VMAP_EXPANSION: Final = Inversion[Callable[[Any], bool]](
    "puts operators on whole batches in the place of the batches in a graph (`jit.transforms.vmap_nodes`)",
    lambda graph: False,
)
VMAP_TYPES: Final = Inversion[Callable[[Any], "list[Any] | None"]](
    "the types of what a batch in a graph gives; None if nothing is known of them (`jit.transforms.vmap_nodes`)",
    lambda node: None,
)
TANGENT_TYPES: Final = Inversion[Callable[[Any], "list[Any] | None"]](
    "the types of results with tangents in a graph; None if nothing is known of them (`autodiff.tangent_nodes`)",
    lambda node: None,
)
OPERATOR_EXPANSION: Final = Inversion[Callable[[Any], bool]](
    "puts others in the place of operators that have no native form (`autodiff.expanded_operators`)",
    lambda graph: False,
)
TRANSFORM_PROGRAM: Final = Inversion[Callable[..., Any]](
    "the transform of a function, named by its kind, as a function with a graph (`jit.transforms.programs`)",
    is_later=True,
)
SCRIPTED_TRANSFORM: Final = Inversion[Callable[..., Any]](
    "the transform of a scripted function as a scripted function; None for other functions, and for what has no such "
    "program (`jit.transforms.transformed`)", lambda kind, function, **options: None,
)  # fmt: skip
OPENED_CALL: Final = Inversion[Callable[[Any, Sequence[Any]], Any]](
    "a call with containers as one of a function of the tensors in them (`jit.transforms.opened_calls`); None where "
    "there is none", lambda function, arguments: None,
)  # fmt: skip
CONTAINER_GRADIENT: Final = Inversion[Callable[..., Any]](
    "the value and the gradients of a function by containers, as a function of all arguments: by code for what lies in "
    "them (`jit.transforms.transformed`)",
    is_later=True,
)
LATE_RUNNER: Final = Inversion[Callable[[Any], None]](
    "gives a function that a pass makes what runs it, once something calls it (`executor.executor`)",
    lambda function: None,
)  # fmt: skip
CALL_WITHIN_TRANSFORMS: Final = Inversion[Callable[[Any, Sequence[Any]], Any]](
    "calls a scripted function that goes by elements, within transforms; NotImplemented where it is to run an operator "
    "at a time (`jit.transforms.within`)", lambda function, arguments: NotImplemented,
)  # fmt: skip
GRAPHED_CALLABLES: Final = Inversion[Callable[..., Any]](
    "makes functions whose work, there and back, is captured in graphs of a device (`autograd.graphed_callables`)"
)
CHECKED_MATRICES: Final = Inversion[Callable[[], AbstractContextManager[None]]](
    "a block in which a device's linear algebra raises for matrices that it cannot factor (`cuda.library`)",
    nullcontext,
)
WITHOUT_WRITES: Final = Inversion[Callable[[Callable[..., Any]], Callable[..., Any]]](
    "a function of tensors without what it writes in between (`fx.functionalize`)"
)
