"""Registering at operators that exist, by name: kernels, shapes without data, gradients, batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from flambeau.autograd.registered import autograd_kernel
from flambeau.jit.operator_library import QUALIFIED, Library, definition_named, kernels_changed
from flambeau.ops.packets import packet_of
from flambeau.schema.cast_policies import take
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import OpDef
from flambeau.tensor import below
from flambeau.tensor.autocast_state import DEVICES
from flambeau.tensor.kernels import table

Function = Callable[..., Any]
_libraries: Final[dict[str, Library]] = {}
"""By namespace: what was registered without naming a library."""
NO_OPERATOR: Final = "operator {name} does not exist: define it before something is registered for it"
NO_TRITON: Final = (
    "{name}: there is no Triton here. Write the kernel as a loop nest (flambeau.te), as a function of arrays that is "
    "compiled (flambeau.script), or in NumPy, and declare it with flambeau.library.custom_op"
)
NO_DEVICE: Final = "Expected one of {known} device type at start of device string: {got}"
NO_FLOATING: Final = "register_autocast: cast_inputs must be a floating dtype such as flambeau.bfloat16, not {got}"
_KEY_OF_DEVICE: Final = {None: "CompositeExplicitAutograd", "cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}


def _name_of(op: Any) -> str:
    name = op if isinstance(op, str) else op.name() if hasattr(op, "overloadpacket") else op.operator_name
    if "::" not in name:
        raise ValueError(QUALIFIED.format(got=name))
    return str(name)


def definition_of(op: Any) -> OpDef:
    """The overload that an operator, an overload, or a qualified name means. Raises RuntimeError if there is none.

    >>> definition_of("aten::relu").name
    'aten::relu'
    """
    name = _name_of(op)
    definition = definition_named(name)
    if definition is None:
        raise RuntimeError(NO_OPERATOR.format(name=name))
    return definition


def _library(name: str, lib: Library | None) -> Library:
    namespace = name.partition("::")[0]
    return lib or _libraries.setdefault(namespace, Library(namespace, "FRAGMENT"))


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Declare an operator.

    Args:
        qualname: its name with the namespace.
        schema: the rest: arguments and results.
        lib: what it belongs to; it stays for good if None.
        tags: what the overload's `tags` say.

    >>> import flambeau
    >>> define("doc_define::twice", "(Tensor x) -> Tensor")
    >>> impl("doc_define::twice", "default", lambda x: x + x)
    >>> flambeau.ops.doc_define.twice(flambeau.ones(2))
    tensor([2., 2.])
    """
    _library(_name_of(qualname), lib).define(f"{qualname}{schema}", tags=tags)


def impl(qualname: str, types: Any, func: Function | None = None, *, lib: Library | None = None) -> Any:
    """Give an operator a kernel for devices, `"cpu"`, or for a dispatch key; for all devices with "default".

    Args:
        qualname: the operator.
        types: devices or a key, one or several.
        func: the kernel; a decorator without.
        lib: what it belongs to; it stays for good if None.

    >>> import flambeau
    >>> _ = flambeau.library.define("docs_impl::half", "(Tensor x) -> Tensor")
    >>> @impl("docs_impl::half", "cpu")
    ... def half(x):
    ...     return x / 2
    >>> flambeau.ops.docs_impl.half(flambeau.ones(2))
    tensor([0.5000, 0.5000])
    """
    if func is None:
        return lambda function: (impl(qualname, types, function, lib=lib), function)[1]
    for key in (types,) if isinstance(types, str) else types:
        name = "CompositeExplicitAutograd" if key == "default" else key
        _library(_name_of(qualname), lib).impl(definition_of(qualname).full_name, func, name)
    return None


def register_kernel(
    op: Any, device_types: Any = None, func: Function | None = None, *, lib: Library | None = None
) -> Any:
    """Give an operator a kernel for tensors on devices; for all without.

    Args:
        op: the operator or its name.
        device_types: "cpu", "cuda", several of them, or None.
        func: the kernel; a decorator without.
        lib: what it belongs to; it stays for good if None.

    >>> import flambeau
    >>> _ = flambeau.library.define("docs_kernel::twice", "(Tensor x) -> Tensor")
    >>> @register_kernel("docs_kernel::twice", "cpu")
    ... def twice(x):
    ...     return 2 * x
    >>> flambeau.ops.docs_kernel.twice(flambeau.ones(2))
    tensor([2., 2.])
    """
    if func is None:
        return lambda function: (register_kernel(op, device_types, function, lib=lib), function)[1]
    for device in device_types if isinstance(device_types, list | tuple) else (device_types,):
        if device not in _KEY_OF_DEVICE:
            raise ValueError(f"unknown device type {device!r}")
        _library(_name_of(op), lib).impl(definition_of(op).full_name, func, _KEY_OF_DEVICE[device])
    return None


def register_fake(op: Any, func: Function | None = None, *, lib: Library | None = None) -> Any:
    """Say what the results of an operator are like: `func` makes tensors of their sizes and dtypes, without data.

    Args:
        op: the operator or its name.
        func: takes the operator's arguments, tensors on the device "meta"; a decorator without.
        lib: what it belongs to; it stays for good if None.

    >>> import flambeau
    >>> define("doc_fake::rows", "(Tensor x) -> Tensor")
    >>> @register_fake("doc_fake::rows")
    ... def rows(x):
    ...     return x.new_empty(x.size(0))
    >>> flambeau.ops.doc_fake.rows(flambeau.ones(2, 3, device="meta")).shape
    flambeau.Size([2])
    """
    if func is None:
        return lambda function: register_fake(op, function, lib=lib)
    _library(_name_of(op), lib).impl(definition_of(op).full_name, func, "Meta")
    return func


def register_autograd(
    op: Any, backward: Function, /, *, setup_context: Function | None = None, lib: Library | None = None
) -> None:
    """Say how gradients go back through an operator.

    Args:
        op: the operator or its name.
        backward: `backward(ctx, *gradients)` gives a gradient for each argument, None for what has none.
        setup_context: `setup_context(ctx, inputs, output)` keeps what `backward` needs.
        lib: what it belongs to; it stays for good if None.

    >>> import flambeau
    >>> define("doc_grad::double", "(Tensor x) -> Tensor")
    >>> impl("doc_grad::double", "cpu", lambda x: flambeau.from_numpy(x.numpy() * 2))
    >>> register_autograd("doc_grad::double", lambda ctx, gradient: gradient * 2)
    >>> x = flambeau.ones(2, requires_grad=True)
    >>> flambeau.ops.doc_grad.double(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    definition = definition_of(op)
    if definition.schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {definition.full_name}: it writes its "
            "arguments. Declare one that gives new tensors."
        )
    _library(_name_of(op), lib).impl(
        definition.full_name, autograd_kernel(definition, backward, setup_context), "Autograd"
    )


def register_autocast(op: Any, device_type: str, cast_inputs: DType, /, *, lib: Library | None = None) -> None:
    """Say in which dtype an operator takes its floating tensors within `autocast`; its function runs outside of it.

    Args:
        op: the operator or its name.
        device_type: the kind of device that `autocast` is about: "cpu", "cuda".
        cast_inputs: what floating tensors there become, but for float64s.
        lib: what it belongs to; accepted.

    Raises RuntimeError for a kind of device that there is none of, TypeError for what is no floating dtype.

    >>> import flambeau
    >>> define("doc_autocast::twice", "(Tensor x) -> Tensor")
    >>> register_kernel("doc_autocast::twice", "cpu", lambda x: 2 * x)
    >>> register_autocast("doc_autocast::twice", "cpu", flambeau.bfloat16)
    >>> with flambeau.autocast("cpu"):
    ...     flambeau.ops.doc_autocast.twice(flambeau.ones(1))
    tensor([2.], dtype=flambeau.bfloat16)
    """
    if device_type not in DEVICES:
        raise RuntimeError(NO_DEVICE.format(known=", ".join(DEVICES), got=device_type))
    if not isinstance(cast_inputs, DType) or not cast_inputs.is_floating_point:
        raise TypeError(NO_FLOATING.format(got=repr(cast_inputs)))
    take(definition_of(op).full_name, device_type, cast_inputs)
    kernels_changed(definition_of(op))


def register_vmap(op: Any, func: Function | None = None, /, *, lib: Library | None = None) -> Any:
    """Say how `vmap` runs an operator on a whole batch.

    Args:
        op: the operator or its name.
        func: `func(info, in_dims, *args)`: `info.batch_size` and `info.randomness`, for each argument the axis of the
            batch or None, the arguments; it gives `(result, out_dims)`. A decorator without.
        lib: what it belongs to; it stays for good if None.

    >>> import flambeau
    >>> define("doc_vmap::twice", "(Tensor x) -> Tensor")
    >>> impl("doc_vmap::twice", "cpu", lambda x: flambeau.from_numpy(x.numpy() * 2))
    >>> @register_vmap("doc_vmap::twice")
    ... def twice(info, in_dims, x):
    ...     return flambeau.ops.doc_vmap.twice(x), in_dims[0]
    >>> flambeau.vmap(flambeau.ops.doc_vmap.twice)(flambeau.ones(3))
    tensor([2., 2., 2.])
    """
    if func is None:
        return lambda function: (register_vmap(op, function, lib=lib), function)[1]
    _library(_name_of(op), lib).impl(definition_of(op).full_name, func, "Batched")
    return None


@contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A library for a block; what it registered is gone behind it.

    >>> import flambeau
    >>> with _scoped_library("docs_scoped", "DEF") as lib:
    ...     _ = lib.define("same(Tensor x) -> Tensor")
    ...     hasattr(flambeau.ops.docs_scoped, "same")
    True
    >>> hasattr(flambeau.ops.docs_scoped, "same")
    False
    """
    library = Library(ns, kind, dispatch_key)
    try:
        yield library
    finally:
        library._destroy()


def register_torch_dispatch(op: Any, torch_dispatch_class: type, func: Function | None = None, /) -> Any:
    """Say what a dispatch mode, or a class of tensors below the tape, does for one operator.

    Args:
        op: the operator or its name.
        torch_dispatch_class: the class of modes, whose `func` is given the mode first, or of tensors.
        func: `func(mode, op, types, args, kwargs)`, or `func(op, types, args, kwargs)` for a class of tensors. A
            decorator without.

    Raises TypeError for another class.

    >>> import flambeau
    >>> define("docs_rule::same", "(Tensor x) -> Tensor")
    >>> impl("docs_rule::same", "cpu", lambda x: x.clone())
    >>> class Mode(flambeau.DispatchMode):
    ...     def __flambeau_dispatch__(self, func, types, args=(), kwargs=None):
    ...         return func(*args, **(kwargs or {}))
    >>> @register_torch_dispatch("docs_rule::same", Mode)
    ... def same(mode, op, types, args, kwargs):
    ...     return op(*args, **kwargs) * 2
    >>> with Mode():
    ...     flambeau.ops.docs_rule.same(flambeau.ones(1))
    tensor([2.])
    """
    if func is None:
        return lambda function: register_torch_dispatch(op, torch_dispatch_class, function) or function
    below.add_rule(definition_of(op).full_name, torch_dispatch_class, func)
    return None


class FakeContext:
    """What `register_fake`'s functions ask about results: see `get_ctx`."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> NoReturn:
        """Raises NotImplementedError: sizes of tensors without data are numbers."""
        raise NotImplementedError(NO_DYNAMIC)

    new_unbacked_symint = create_unbacked_symint = new_dynamic_size


NO_DYNAMIC: Final = (
    "a size that depends on data is not known of tensors without data, whose sizes are numbers: call the operator on "
    "tensors with data, or give its result the size that it has at most"
)


def get_ctx() -> FakeContext:
    """What the function of `register_fake` that runs may ask about its results.

    >>> type(get_ctx()).__name__
    'FakeContext'
    """
    return FakeContext()


def triton_op(name: str, fn: Function | None = None, /, *, mutates_args: Any = (), schema: Any = None) -> NoReturn:
    """Raises RuntimeError: kernels of Triton do not run here; the text says what to write instead.

    >>> try:
    ...     triton_op("mylib::add", mutates_args=())
    ... except RuntimeError as error:
    ...     print(str(error).partition(".")[0])
    triton_op: there is no Triton here
    """
    raise RuntimeError(NO_TRITON.format(name="triton_op"))


def wrap_triton(triton_kernel: Function, /) -> NoReturn:
    """Raises RuntimeError: kernels of Triton do not run here; the text says what to write instead.

    >>> try:
    ...     wrap_triton(len)
    ... except RuntimeError as error:
    ...     print(str(error).partition(".")[0])
    wrap_triton: there is no Triton here
    """
    raise RuntimeError(NO_TRITON.format(name="wrap_triton"))


@contextmanager
def _kernel_enabled(name: str, device_type: str, enabled: bool = True) -> Iterator[None]:
    """Within the block, the kernel that was registered for devices runs, or the function of the operator."""
    full_name, key = definition_of(name).full_name, _KEY_OF_DEVICE[device_type]
    kernel = table.kernels.get(full_name, {}).get(key)
    if kernel is None or enabled:
        yield
        return
    table.set(full_name, key, None)
    kernels_changed(definition_of(name))
    try:
        yield
    finally:
        table.set(full_name, key, kernel)
        kernels_changed(definition_of(name))


def give_methods(operator: Any, name: str) -> None:
    """Let an operator made of a function have `register_fake`, `register_autograd` and their like itself."""
    for method in (
        register_fake, register_autograd, register_autocast, register_kernel, register_vmap, register_torch_dispatch,
    ):  # fmt: skip
        setattr(operator, method.__name__, functools.partial(method, name))
    operator.set_kernel_enabled = functools.partial(_kernel_enabled, name)
    operator._qualname, operator._name, operator._namespace = name, name.rpartition("::")[2], name.partition("::")[0]
    operator._opoverload = packet_of(name).default
