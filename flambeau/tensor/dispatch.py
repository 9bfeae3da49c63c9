"""Running operators by name: bind the call to an overload, pass it through the interceptors, run its kernel.

>>> with intercepting(lambda definition, arguments, proceed: proceed(arguments)):
...     pass
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from flambeau.schema import registry
from flambeau.schema.bind import CallBinding
from flambeau.schema.device import WHEN_NAMED
from flambeau.schema.direct_call import function_of
from flambeau.schema.dtype import DType
from flambeau.schema.function import FunctionSchema
from flambeau.schema.opdef import OpDef
from flambeau.tensor import below, grad_mode, kernels, recorder
from flambeau.tensor.autocast_calls import CONVERSION, cast_arguments
from flambeau.tensor.below import AUTOGRAD
from flambeau.tensor.binding import binder
from flambeau.tensor.call_keys import INTEGERS, NUMBERS, call_key, kind_of, without_no_out
from flambeau.tensor.interceptors import Interceptors, changed, set_stack, stack
from flambeau.tensor.kinds_of_calls import depends_on_types, reads_lists
from flambeau.tensor.observer import thread
from flambeau.tensor.older_calls import older_call, warning_of_name
from flambeau.tensor.overrides import NOT_OVERRIDDEN, answer, overriding
from flambeau.tensor.recorder import is_asked
from flambeau.tensor.repeated_kernels import repeated
from flambeau.tensor.subclasses import special
from flambeau.tensor.tensor import Tensor
from flambeau.tensor.unchanged_operands import on_its_device, unless_it_stays

Proceed = Callable[[Sequence[Any]], Any]
Function = Callable[..., Any]
Handler = Callable[[OpDef, Sequence[Any], Proceed], Any]
"""Called instead of a kernel with the overload, its arguments in schema order, and what runs the rest of the stack."""


@contextmanager
def intercepting(handler: Handler) -> Iterator[None]:
    """Within the block, this thread's operator calls go to `handler`, before handlers that are there already.

    While a handler runs, it is itself not on the stack: operators that it calls go to the handlers below it.
    """
    with changed(handlers=(*stack().handlers, handler)):
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Within the block, this thread's operator calls run their kernels directly."""
    before = thread.handlers
    thread.handlers = ()
    try:
        yield
    finally:
        thread.handlers = before


def is_intercepted() -> bool:
    """Whether this thread has interceptors of operators."""
    here = thread.handlers
    return bool(here) and bool(here.handlers or here.modes or here.excluded or here.autocast)


def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run an overload on all its arguments in schema order, through the interceptors."""
    here = thread.handlers
    if here:
        return _intercepted(here, definition, arguments)
    if special.exists and below.concerns(definition, arguments):
        return _around(definition, arguments)
    return _recorded(definition, arguments)


def _around(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """A call that needs more than its kernel: a user's kernel for gradients comes first."""
    quick = below.QUICK.get(id(definition))
    if quick is not None and not below.overrides.exist and not stack().modes and not _asks(arguments):
        result = quick(arguments)
        if result is not NotImplemented:
            return result
    kernel = kernels.table.get(definition.full_name, AUTOGRAD)
    if kernel is not None:
        with kernels.past(definition.full_name, AUTOGRAD):
            return kernels.call(kernel, definition, arguments)
    definition = below.redirected(definition)
    return definition.kernel(*arguments) if AUTOGRAD in stack().excluded else _recorded(definition, arguments)


def _asks(arguments: Sequence[Any]) -> bool:
    """Whether a call may have to be recorded."""
    return grad_mode.is_grad_enabled() and is_asked(arguments)


def _recorded(definition: OpDef, arguments: Sequence[Any]) -> Any:
    return recorder.run(definition, arguments) if is_asked(arguments) else definition.kernel(*arguments)


def _intercepted(here: Interceptors, definition: OpDef, arguments: Sequence[Any]) -> Any:
    """A call under interceptors: the last handler is asked, or without any the operator is recorded, and goes on."""

    def proceed(changed: Sequence[Any]) -> Any:
        return run(definition, changed)

    handlers = here.handlers
    try:
        if here.autocast:
            cast = cast_arguments(here.autocast, definition, arguments, _converted)
            if cast is not None:
                set_stack(here._replace(functions=(), autocast=()))
                return run(definition, cast)
        if handlers:
            set_stack(here._replace(functions=(), handlers=handlers[:-1]))
            return handlers[-1](definition, arguments, proceed)
        if here.functions:
            set_stack(here._replace(functions=()))
        if here.modes or (special.exists and below.concerns(definition, arguments)):
            return _around(definition, arguments)
        if AUTOGRAD in here.excluded:
            return definition.kernel(*arguments)
        return _recorded(definition, arguments)
    finally:
        thread.handlers = here


def _converted(tensor: Tensor, dtype: DType) -> Tensor:
    """A tensor in another dtype, for a call within `autocast`."""
    result: Tensor = run(registry.get(CONVERSION), (tensor, dtype.code, False, False, None))
    return result


class Operator:
    """All overloads of one name, with the bindings of the calls seen so far."""

    __slots__ = (
        "_by_keywords", "_deep", "_direct", "_function", "_named", "_older_numbers", "_on_devices", "_version",
        "candidates", "fast_path", "name",
    )  # fmt: skip

    MAX_BINDINGS = 512

    fast_path: dict[Any, Callable[..., Any]]
    """By the types of the positional arguments, or the type of the only one: what runs the call, where nothing
    intercepts it. Callers may keep the dictionary itself, which is the operator's for good."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fast_path = {}
        self._function: Function | None = None
        self._named: dict[Any, CallBinding] = {}
        self._deep: dict[Any, CallBinding] = {}
        self._direct: dict[Any, Callable[..., Any]] = {}
        """What runs calls with lists or keywords where nobody intercepts them, by `call_key`."""
        self._by_keywords: dict[Any, Callable[..., Any]] = {}
        """The same for calls of which the types of arguments, and names, say all."""
        self._on_devices: dict[tuple[type, ...], Callable[[Sequence[Any]], Any]] = {}
        """What runs calls of plain tensors on devices, numbers and lists of integers, where nobody intercepts it."""
        self.refresh()

    @property
    def operator_name(self) -> str:
        """How the compiler knows it: programs call the operator directly."""
        return self.name

    @property
    def function(self) -> Function:
        """The operator as a function of the package, always the same one."""
        if self._function is None:
            self._function = function(self.name)
        return self._function

    def refresh(self) -> None:
        """Look the overloads up again."""
        self._version = registry.version()
        self.candidates = tuple(
            d
            for d in registry.overloads(self.name)
            if concerns_tensors(d.schema) or d.family in ("custom", "quantized")
        )
        self._older_numbers = next((d.traits.older_numbers for d in self.candidates if d.traits.older_numbers), ())
        self._forget()

    def forget(self) -> None:
        """Bind calls anew: its kernels are others."""
        self._forget()

    def _forget(self) -> None:
        self.fast_path.clear()
        self._on_devices.clear()
        self._named.clear()
        self._by_keywords.clear()
        self._direct.clear()
        self._deep.clear()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return self.call_with_keywords(args, kwargs)
        fast_path = self.fast_path.get(type(args[0]) if len(args) == 1 else tuple(map(type, args)))
        if fast_path is not None and not thread.handlers:
            return fast_path(*args)
        return self.call_positional(args)

    def _runner(self, binding: CallBinding, count: int) -> Callable[..., Any]:
        """What runs calls of so many arguments."""
        kernel = self._kernel(binding)
        if binding.finish is not None or binding.converters or binding.varargs_at > 1:
            return unless_it_stays(binding.definition, count, function_of(binding, count, 0, kernel))
        return unless_it_stays(binding.definition, count, binding.runner(count, kernel))

    @staticmethod
    def _kernel(binding: CallBinding) -> Callable[..., Any]:
        """What runs calls with all arguments: it looks for tensors that ask for gradients once there are any."""
        definition = binding.definition
        if not grad_mode.has_asked():
            return repeated(definition) if binding.kernel is definition.kernel else binding.kernel
        recorded = recorder.recorded(definition)
        beside = getattr(binding.kernel, "beside", None)  # native code serves none that ask
        return recorded if beside is None else beside(definition.full_name, recorded)

    def call_positional(self, args: tuple[Any, ...], function: Function | None = None) -> Any:
        """A call that `fast_path` does not serve: new types, lists among the arguments, or somebody intercepts it.

        `function` is what Python called, if that is known: function modes and subclasses are asked about it.
        """
        if self._older_numbers and (older := older_call(self.candidates[0].schema, self._older_numbers, args)):
            return self.call_with_keywords(*older, function)
        here = thread.handlers
        if not here and (direct := self._direct.get(call_key(args, _NO_KEYWORDS))) is not None:
            return direct(*args)
        if special.exists and (known := self._known_on_device(here, args)) is not None:
            return known(args)
        if special.exists or here:
            result = answer(function or self.function, args, {})
            if result is not NOT_OVERRIDDEN:
                return result
        try:
            binding = self.binding(args, {})
        except TypeError:
            return _foreign(function or self.function, args, {})
        result = run(binding.definition, binding.arguments(args, {}))
        if binding.finish is not None:
            return binding.finish(result)
        self._note_quick(binding, args)
        return result

    def _known_on_device(self, here: Any, args: tuple[Any, ...]) -> Callable[[Sequence[Any]], Any] | None:
        """What runs a call of tensors of a device that nobody intercepts."""
        return self._on_devices.get(tuple(map(kind_of, args))) if not here or here is below.UNRECORDED else None

    def _note_quick(self, binding: CallBinding, args: tuple[Any, ...]) -> None:
        """Have calls of tensors of a device, and numbers, asked there first."""
        if not special.exists:
            return
        kinds = tuple(map(kind_of, args))
        known = [k is INTEGERS or k in NUMBERS or below.is_plain_on_device(k) for k in kinds]
        if not all(known) or not self.name.startswith("aten::") or not any(map(below.is_plain_on_device, kinds)):
            return
        definition = binding.definition

        def quickly(args: Sequence[Any]) -> Any:
            arguments = binding.arguments(args, {})
            if below.overrides.exist:
                return run(definition, arguments)
            if not thread.handlers and _asks(arguments):
                return recorder.run(below.redirected(definition), arguments)
            quick = below.QUICK.get(id(definition))
            result = NotImplemented if quick is None else quick(arguments)
            return below.redirected(definition).kernel(*arguments) if result is NotImplemented else result

        self._on_devices[kinds] = quickly
        if INTEGERS not in kinds:
            self.fast_path[kinds[0] if len(kinds) == 1 else kinds] = lambda *args: quickly(args)

    def direct(self, key: Any) -> Callable[..., Any] | None:
        """What runs calls of a `call_key` that nobody intercepts; None if there was none yet."""
        return self._direct.get(key)

    def call_with_keywords(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], function: Function | None = None
    ) -> Any:
        """Call the operator with keywords."""
        if not thread.handlers:
            quick = self._by_keywords.get((*map(type, args), *kwargs, *map(type, kwargs.values())))
            if quick is not None:
                return quick(*args, *kwargs.values())
        return self._with_keywords(args, kwargs, function)

    def _with_keywords(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], function: Function | None = None
    ) -> Any:
        here = thread.handlers
        if not here and (direct := self._direct.get(call_key(args, kwargs))) is not None:
            return direct(*args, *kwargs.values())
        if special.exists or here:
            result = answer(function or self.function, args, kwargs)
            if result is not NOT_OVERRIDDEN:
                return result
        kwargs = without_no_out(kwargs)
        binding = self._named.get((*map(type, args), *kwargs, *map(type, kwargs.values())))
        if binding is None:
            try:
                binding = self.binding(args, kwargs)
            except TypeError:
                return _foreign(function or self.function, args, kwargs)
        result = run(binding.definition, binding.arguments(args, kwargs))
        if binding.requires_grad_at >= 0 and kwargs["requires_grad"]:
            result.asking_from_the_start()
        return result if binding.finish is None else binding.finish(result)

    def binding(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> CallBinding:
        """The binding for arguments of these types. Raises TypeError if no overload takes them."""
        if self._version != registry.version():
            self.refresh()
        key = binder.key(args, kwargs)
        binding = self._deep.get(key)
        if binding is None:
            binding = binder.bind(self.name, self.candidates, args, kwargs)
            if len(self._deep) >= self.MAX_BINDINGS:
                self._forget()
            self._deep[key] = binding
            self._note(binding, args, kwargs)
        return binding

    def _note(self, binding: CallBinding, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Have calls like one go to the kernel without a look at their arguments, where that is all that they need."""
        if not depends_on_types(binding.definition, args, kwargs):
            at_once = on_its_device(binding.definition, args, kwargs, lambda *args: self.call_positional(args))
            if at_once is not None:
                self.fast_path[tuple(map(type, args))] = at_once
            return
        types = tuple(map(type, args))
        values = (*args, *kwargs.values())
        has_lists = any(isinstance(v, list | tuple) for v in values)
        if not kwargs and not has_lists:
            self.fast_path[types[0] if len(types) == 1 else types] = self._runner(binding, len(types))
            return
        kind = (*types, *kwargs, *map(type, kwargs.values()))
        if not has_lists:
            self._named[kind] = binding
        key = call_key(args, kwargs)
        is_one = "out" not in kwargs or type(kwargs["out"]) is Tensor
        if key is None or binding.requires_grad_at >= 0 or not is_one:
            return
        run = self._direct[key] = function_of(binding, len(args), len(kwargs), self._kernel(binding))
        if not has_lists:
            self._by_keywords[kind] = run
        elif reads_lists(binding.definition, types, kwargs):
            self._note_reading(binding, kind, len(args), tuple(kwargs))

    def _note_reading(self, binding: CallBinding, kind: tuple[Any, ...], count: int, names: tuple[str, ...]) -> None:
        """Have calls of types with lists go to native code, which looks at what lies in them; and from there here."""
        kernel: Any = binding.kernel
        if names:
            self._by_keywords[kind] = kernel.beside(
                kind, lambda *values: self._with_keywords(values[:count], dict(zip(names, values[count:], strict=True)))
            )
        else:
            beside = kernel.beside(kind, lambda *values: self.call_positional(values))
            self.fast_path[kind[0] if count == 1 else kind] = beside


_NO_KEYWORDS: Final[Mapping[str, Any]] = {}


def _foreign(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call that no overload takes, as an argument's class answers it. Raises the TypeError of before if none can."""
    if not thread.ignores_subclasses and overriding((*args, *kwargs.values())):
        result = answer(function, args, kwargs)
        if result is not NOT_OVERRIDDEN:
            return result
    raise


def concerns_tensors(schema: FunctionSchema) -> bool:
    """Whether a tensor goes in or comes out; other overloads belong to the language alone."""
    return schema.concerns_tensors


_operators: dict[str, Operator] = {}


def _forget_runners() -> None:
    for one in list(_operators.values()):  # of hundreds a few have been called: looked at without a call
        if one.fast_path or one._on_devices or one._named or one._direct or one._deep:
            one.forget()


grad_mode.when_asked(_forget_runners)


def _look_for_devices() -> None:
    special.exists = True
    if not _devices_were_named:  # calls that name one may have runners of before
        _devices_were_named.append(True)
        _forget_runners()


_devices_were_named: list[bool] = []


WHEN_NAMED.append(_look_for_devices)


def operator(name: str) -> Operator:
    """The overloads of `aten::add`, callable with Python values."""
    operator_ = operator_of(name)
    if not operator_.candidates:
        if not registry.overloads(name):
            raise KeyError(f"no operator {name}; similar: {', '.join(registry.similar(name)) or 'none'}")
        operator_.refresh()
    return operator_


def operator_of(name: str) -> Operator:
    """The same for a name whose overloads may be registered later."""
    operator_ = _operators.get(name)
    if operator_ is None:
        operator_ = _operators[name] = Operator(name)
    return operator_


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Run an operator by qualified name, `call("aten::add", x, 1)`. Raises KeyError for an unknown one, TypeError for
    wrong arguments, and what the operator itself raises.
    """
    return (_operators.get(name) or operator(name))(*args, **kwargs)


def caller(target: Operator) -> Callable[..., Any]:
    """A new Python function that calls an operator, without a frame in between where the call is a usual one."""
    find = target.fast_path.get

    def operator_function(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            if len(args) == 1:
                [first] = args
                fast_path = find(type(first))
                if fast_path is not None and not thread.handlers:
                    return fast_path(first)
            elif len(args) == 2:
                first, second = args
                fast_path = find((type(first), type(second)))
                if fast_path is not None and not thread.handlers:
                    return fast_path(first, second)
            elif len(args) == 3:
                first, second, third = args
                fast_path = find((type(first), type(second), type(third)))
                if fast_path is not None and not thread.handlers:
                    return fast_path(first, second, third)
            else:
                fast_path = find(tuple(map(type, args)))
                if fast_path is not None and not thread.handlers:
                    return fast_path(*args)
            return target.call_positional(args, operator_function)
        return target.call_with_keywords(args, kwargs, operator_function)

    operator_function.is_overridable = True  # type: ignore[attr-defined]
    return operator_function


def function(name: str, public_name: str | None = None) -> Callable[..., Any]:
    """A Python function that runs the operator `name`: its help shows what the operator does and its signatures."""
    target = operator(name)
    operator_function = warning_of_name(target.candidates, caller(target))
    short = public_name or name.rpartition("::")[2]
    operator_function.__name__ = operator_function.__qualname__ = short
    operator_function.__module__ = "flambeau"
    operator_function.__doc__ = documentation(target)
    operator_function.operator_name = name  # type: ignore[attr-defined]  # how the compiler knows it
    return operator_function


def documentation(target: Operator) -> str:
    """What the operator does, and its signatures as a Python caller sees them."""
    sentences = next((d.doc for d in target.candidates if d.doc), "")
    forms = "\n".join(f"    {d.schema}" for d in target.candidates)
    return f"{sentences}\n\nSignatures:\n\n{forms}\n" if sentences else f"Signatures:\n\n{forms}\n"
