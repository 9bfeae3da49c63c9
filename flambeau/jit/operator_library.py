"""Operators that users declare by their schema and give kernels by key: `flambeau.library.Library`.

>>> import flambeau
>>> lib = Library("doc_lib", "DEF")
>>> lib.define("scaled(Tensor x, float by=2.0) -> Tensor")
'scaled'
>>> lib.impl("scaled", lambda x, by=2.0: x * by, "CompositeExplicitAutograd")
>>> flambeau.ops.doc_lib.scaled(flambeau.ones(2), by=3.0)
tensor([3., 3.])
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from flambeau.executor.executor import forget_all_plans
from flambeau.ops import operator_namespaces
from flambeau.schema import registry
from flambeau.schema.function import FunctionSchema, parse_schema
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.tags import declare_tags
from flambeau.tensor import below, dispatch, interceptors, kernels
from flambeau.tensor.below import AUTOGRAD
from flambeau.tensor.kernels import EXPLICIT, IMPLICIT, KEYS, OTHER_NAMES, key_of, table
from flambeau.util.user_code import warn_user

Function = Callable[..., Any]
KINDS: Final = ("DEF", "IMPL", "FRAGMENT")
RESERVED: Final = "{name} is a reserved namespace. Please try creating a library with another name."
TWICE: Final = (
    "Only a single library can be used to register the namespace {name}; put all definitions in one "
    'Library("{name}", "DEF"), use Library("{name}", "IMPL") for implementations, or "FRAGMENT" if the namespace is '
    "defined in a distributed way."
)
DUPLICATE: Final = (
    "Tried to register an operator ({schema}) with the same name and overload name multiple times. Each overload's "
    "schema should only be registered with a single call to def()."
)
OTHER_NAMESPACE: Final = (
    "Explicitly provided namespace ({got}) in schema string does not match namespace of enclosing library block "
    "({wanted})."
)
QUALIFIED: Final = (
    'Expected `qualname` to be of the form "namespace::name", but got {got}. The qualname passed to the library '
    "APIs must consist of a namespace and a name, e.g. aten::sin"
)
IMPL_TWICE: Final = (
    "This is not allowed since there's already a kernel registered from python overriding {name}'s behavior for {key} "
    "dispatch key and {namespace} namespace."
)

OVERRIDDEN: Final = (
    "Overriding a previously registered kernel for the same operator and the same dispatch key\n  operator: {schema}\n"
    "  dispatch key: {key}\nWith allow_override=False that is refused."
)

_defined: Final[dict[str, weakref.ref[Library]]] = {}
_registered: Final[dict[tuple[str, str], list[Function]]] = {}
"""The kernels of libraries by operator and key, the one that runs last: those below it come back when it goes."""


class _OwnKernel:
    """Runs an operator of a library by the kernels that it has."""

    __slots__ = ("definition",)
    definition: OpDef

    @property
    def is_spelling(self) -> bool:
        """Whether it is written in terms of other operators only."""
        by_key = table.kernels.get(self.definition.full_name, {})
        return IMPLICIT in by_key and not any(key in by_key for key in ("CPU", "CUDA", EXPLICIT))

    def __call__(self, *arguments: Any) -> Any:
        return kernels.run_own(self.definition, arguments)


class Library:
    """Operators of one namespace, and kernels for operators of any; all are gone when it is.

    Args:
        ns: the namespace.
        kind: "DEF" to define operators, once for each namespace; "FRAGMENT" for more of them; "IMPL" for kernels only.
        dispatch_key: the key of kernels for which none is named.

    Raises ValueError for other kinds and reserved namespaces, RuntimeError for a second "DEF" of a namespace.

    >>> import flambeau
    >>> library = Library('docs_demo', 'DEF')
    >>> library.define('scaled(Tensor x, float by) -> Tensor')
    'scaled'
    >>> library.impl('scaled', lambda x, by: x * by, 'CompositeImplicitAutograd')
    >>> flambeau.ops.docs_demo.scaled(flambeau.ones(2), 3.0)
    tensor([3., 3.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in KINDS:
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim", "python") and kind != "IMPL":
            raise ValueError(RESERVED.format(name=ns))
        if kind == "DEF":
            before = _defined.get(ns)
            if ns == "aten" or (before is not None and before() is not None):
                raise RuntimeError(TWICE.format(name=ns))
            _defined[ns] = weakref.ref(self)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._definitions: list[OpDef] = []
        self._kernels: list[tuple[str, str, Function | None]] = []
        self._fallbacks: list[str] = []
        weakref.finalize(self, _destroy, self._definitions, self._kernels, self._fallbacks)

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare an operator, `blur(Tensor x, float by=1.0) -> Tensor`; its name as it is written, without overload.

        Args:
            schema: name, arguments with types and defaults, results. What it writes is said by `Tensor(a!)`.
            alias_analysis: accepted; effects are what the schema says.
            tags: what the overload's `tags` say.

        Raises RuntimeError for text that is no schema, another namespace, and a name that is taken.
        """
        if self.kind == "IMPL":
            raise RuntimeError("a library of kind IMPL defines no operators: make one of kind DEF or FRAGMENT")
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        namespace, colons, _ = schema.partition("(")[0].partition("::")
        if colons and namespace != self.ns:
            raise RuntimeError(OTHER_NAMESPACE.format(got=namespace, wanted=self.ns))
        parsed = parse_schema(schema if colons else f"{self.ns}::{schema}")
        if registry.find(parsed.full_name if parsed.overload else f"{parsed.name}.") is not None:
            raise RuntimeError(DUPLICATE.format(schema=parsed))
        effect = Effect.WORLD if alias_analysis == "CONSERVATIVE" else Effect.NONE
        self._definitions.append(_declare(parsed, effect))
        declare_tags(parsed.full_name, tags)
        return parsed.name if colons else parsed.name.partition("::")[2]

    def impl(
        self, op_name: Any, fn: Function | None = None, dispatch_key: str = "", *, with_keyset: bool = False,
        allow_override: bool = True,
    ) -> Any:  # fmt: skip
        """Give an operator a kernel for a dispatch key; a decorator without `fn`.

        Args:
            op_name: the operator: a name, with or without namespace and overload, or an overload itself.
            fn: takes the operator's arguments; those that are defaults are left out.
            dispatch_key: "CPU", "CUDA", "Meta", "Autograd", "CompositeExplicitAutograd" or
                "CompositeImplicitAutograd", which is the default; "Batched" for what `register_vmap` takes;
                "Functionalize" for what `functionalize` records in its place: for an operator that writes, `fn` gives
                what it writes as new tensors.
            with_keyset: whether `fn` takes the keys that are left first, for `op.redispatch(keyset, ...)`.
            allow_override: whether `fn` takes the place of a kernel that is there, with a warning, while there is this
                library.

        `fallthrough_kernel` in the place of `fn` has calls go on as if there were no kernel.

        Raises TypeError for what cannot be called, RuntimeError for an unknown key or operator, and for a second kernel
        without `allow_override`.
        """
        if fn is None:
            options: dict[str, Any] = {"with_keyset": with_keyset, "allow_override": allow_override}
            return lambda function: self.impl(op_name, function, dispatch_key, **options) or function
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = key_named(dispatch_key or self.dispatch_key)
        definition = self._definition(op_name)
        if fn is fallthrough_kernel:
            if key != AUTOGRAD:
                return None
            fn = _past_autograd(definition)
        if table.kernels.get(definition.full_name, {}).get(key) is not None:
            _tell_of_another(definition, key, allow_override)
        kernel = fn
        if with_keyset:
            left = DispatchKeySet(KEYS[KEYS.index(key) :])

            def kernel(*args: Any, **kwargs: Any) -> Any:
                return fn(left, *args, **kwargs)

        table.set(definition.full_name, key, kernel)
        _registered.setdefault((definition.full_name, key), []).append(kernel)
        self._kernels.append((definition.full_name, key, kernel))
        kernels_changed(definition)
        return None

    def fallback(self, fn: Function, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Have `fn(op, *args, **kwargs)` run operators of libraries that have no kernel for a key."""
        key = key_named(dispatch_key or self.dispatch_key)
        if self.ns != "_":
            raise RuntimeError(f"""Fallbacks can only be registered using library fragment on the global namespace "_" \
but it is {self.ns}""")
        kernel = fn
        if with_keyset:

            def kernel(op: Any, *args: Any, **kwargs: Any) -> Any:
                return fn(DispatchKeySet(KEYS), op, *args, **kwargs)

        table.fallbacks[key] = kernel
        table.version += 1
        self._fallbacks.append(key)

    def _definition(self, op_name: Any) -> OpDef:
        name = op_name if isinstance(op_name, str) else op_name.name()
        definition = definition_named(name if "::" in name else f"{self.ns}::{name}")
        if definition is None:
            raise RuntimeError(f"operator {self.ns}::{name.rpartition('::')[2]} does not exist: define it first")
        return definition

    def _destroy(self) -> None:
        """Take away what it registered."""
        _destroy(self._definitions, self._kernels, self._fallbacks)
        if self.kind == "DEF":
            _defined.pop(self.ns, None)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"


def _tell_of_another(definition: OpDef, key: str, allow_override: bool) -> None:
    """Warn of a kernel that is there already, or raise RuntimeError."""
    namespace, _, name = definition.full_name.partition("::")
    if not allow_override:
        raise RuntimeError(IMPL_TWICE.format(name=name, key=key, namespace=namespace))
    warn_user(OVERRIDDEN.format(schema=definition.schema, key=key), UserWarning)


def fallthrough_kernel(*args: Any, **kwargs: Any) -> NoReturn:
    """For `Library.impl`: a key passes calls on, as if there were no kernel for it. Raises NotImplementedError.

    >>> lib = Library("doc_through", "DEF")
    >>> lib.define("same(Tensor x) -> Tensor")
    'same'
    >>> lib.impl("same", fallthrough_kernel, "Autograd")
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def _past_autograd(definition: OpDef) -> Function:
    """What an operator does where nothing is recorded for it: its kernel runs, and what that calls is recorded."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        by_key = table.kernels.get(definition.full_name, {})
        keys = (key_of((*args, *kwargs.values())), EXPLICIT, IMPLICIT)
        below_it = next((by_key[key] for key in keys if key in by_key), None)
        if below_it is None:
            return kernels.run_own(definition, args)
        return below_it(*args, **kwargs)

    return kernel


def _destroy(    definitions: list[OpDef], own_kernels: list[tuple[str, str, Function | None]], fallbacks: list[str]
) -> None:
    for full_name, key, kernel in own_kernels:
        stacked = _registered.get((full_name, key), [])
        if kernel in stacked:
            stacked.remove(kernel)
        if table.kernels.get(full_name, {}).get(key) is kernel:
            table.set(full_name, key, stacked[-1] if stacked else None)
            definition = definition_named(full_name)
            if definition is not None:
                kernels_changed(definition)
    for key in fallbacks:
        table.fallbacks.pop(key, None)
    for definition in definitions:
        registry.unregister(definition)
        below.forget(definition)
        table.kernels.pop(definition.full_name, None)
        operator_namespaces.forget(definition.name)
    for storage in (own_kernels, fallbacks, definitions):
        storage.clear()


def _declare(schema: FunctionSchema, effect: Effect) -> OpDef:
    kernel = _OwnKernel()
    definition = OpDef(
        schema=schema, family="custom", kernel=kernel, effect=effect, is_method=False, is_function=False,
        doc="An operator of a library.",
    )  # fmt: skip
    kernel.definition = definition
    registry.register(definition)
    operator_namespaces.forget(schema.name)
    return definition


def kernels_changed(definition: OpDef) -> None:
    """The kernels of an operator are others than before: nobody may remember them."""
    below.forget(definition)
    dispatch.operator_of(definition.name).forget()
    forget_all_plans()


def definition_named(name: str) -> OpDef | None:
    """The overload of a qualified name, `aten::add.Tensor`; without one the only overload, or the one without a name.

    >>> definition_named("aten::relu")
    <operator aten::relu(Tensor self) -> Tensor>
    """
    base, _, overload = name.partition(".")
    if overload == "default":
        overload = ""
    overloads = {d.schema.overload: d for d in registry.overloads(base)}
    return overloads.get(overload) or (next(iter(overloads.values())) if len(overloads) == 1 and not overload else None)


def key_named(name: str) -> str:
    """The dispatch key of a name. Raises RuntimeError for another name.

    >>> key_named("AutogradCPU")
    'Autograd'
    """
    key = OTHER_NAMES.get(name, name)
    if key not in KEYS:
        raise RuntimeError(f"could not parse dispatch key: {name}")
    return key


class DispatchKeySet:
    """Keys that a call may still go to, first to last.

    >>> DispatchKeySet(("CPU", "Meta")).remove("CPU").has("CPU")
    False
    """

    def __init__(self, keys: Any) -> None:
        self.keys = tuple(keys)

    def has(self, key: str) -> bool:
        """Whether a key is among them."""
        return key_named(key) in self.keys

    def remove(self, key: str) -> DispatchKeySet:
        """The others."""
        return DispatchKeySet(k for k in self.keys if k != key_named(key))

    def add(self, key: str) -> DispatchKeySet:
        """These and one more."""
        return DispatchKeySet(k for k in KEYS if k in self.keys or k == key_named(key))

    def __sub__(self, key: str) -> DispatchKeySet:
        return self.remove(key)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(self.keys)})"


@contextmanager
def exclude_keys(*names: str) -> Iterator[None]:
    """Within the block, this thread's calls go past these dispatch keys: without "Autograd" nothing is recorded.

    >>> import flambeau
    >>> x = flambeau.ones(2, requires_grad=True)
    >>> with exclude_keys("Autograd"):
    ...     (x * 2).requires_grad
    False
    """
    with interceptors.changed(excluded=interceptors.stack().excluded | set(map(key_named, names))):
        yield


@contextmanager
def include_keys(*names: str) -> Iterator[None]:
    """Within the block, dispatch keys that a block around excludes count again.

    >>> import flambeau
    >>> with include_keys("Functionalize"):
    ...     print(flambeau.ones(2))
    tensor([1., 1.])
    """
    with interceptors.changed(excluded=interceptors.stack().excluded - set(map(key_named, names))):
        yield
