"""Modules from archives of which nothing was read but an image: what they hold comes to be when somebody looks.

A call that the image serves needs no object. Anything else, an attribute, `repr`, a call that asks for gradients, has
the archive read, and the module is from then on what `jit.load` gives elsewhere: the same object, of class
`LoadedModule`, with the same methods. Before that nobody can have changed anything of it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from flambeau.codegen.callable_type import prepare
from flambeau.executor import latest
from flambeau.executor.executor import executor_of
from flambeau.executor.stored import CacheEntry
from flambeau.jit.loading.image_calls import OPTIONS, ImageCalls
from flambeau.jit.loading.image_record import KeptImage
from flambeau.jit.loading.loaded_module import LoadedModule
from flambeau.jit.loading.submodules import Submodules
from flambeau.jit.modules import python_view
from flambeau.jit.modules.promoted_method import PromotedMethod
from flambeau.jit.script import CLASSES
from flambeau.program.object import ScriptObject
from flambeau.tensor.grad_mode import inference_mode, set_grad_enabled
from flambeau.tensor.observer import thread
from flambeau.util.locks import NoForkLock
from flambeau.util.missed import MISSED
from flambeau.util.no_collection import no_collection

METHODS: Final = "_methods"
"""The attribute of a module with its methods, by name."""
IMAGE: Final = "_image"
"""The attribute of a module, and of a method, that is there while it is unread."""


class UnreadModule(LoadedModule):
    """A module that was not read yet; its class is `LoadedModule` once it was."""

    @classmethod
    def with_image(
        cls, kept: KeptImage, memory: Any, entry: CacheEntry, read: Callable[[], ScriptObject]
    ) -> LoadedModule:
        """The module of an archive with an image that lies at `entry`; `read` gives its object."""
        module = cls.__new__(cls)
        vars_of(module).update({METHODS: {}, IMAGE: _Unread(module, kept, memory, entry, read)})
        return module

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return LoadedModule
        own: dict[str, Any] = object.__getattribute__(self, "__dict__")
        image: _Unread | None = own.get(IMAGE)
        if image is not None:
            if name in _ANSWERED:
                return object.__getattribute__(self, name)
            method = image.method(name)
            if method is not None:
                return method
            image.read()
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        _read(self)
        setattr(self, name, value)

    def __delattr__(self, name: str) -> None:
        _read(self)
        delattr(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`."""
        image: _Unread | None = object.__getattribute__(self, "__dict__").get(IMAGE)
        forward = None if image is None else image.method("forward")
        if forward is None:
            _read(self)
            return self(*args, **kwargs)
        result = _answer(forward, args, kwargs)
        return self(*args, **kwargs) if result is MISSED else result

    def train(self, mode: bool = True) -> LoadedModule:  # type: ignore[override]
        """Set `training` here and in every submodule."""
        image: _Unread | None = object.__getattribute__(self, "__dict__").get(IMAGE)
        if image is not None and type(mode) is bool and image.kept.is_training is mode:
            return self
        _read(self)
        return self.train(mode)

    def eval(self) -> LoadedModule:  # type: ignore[override]
        """`train(False)`."""
        return self.train(False)


_ANSWERED: Final = frozenset(("train", "eval"))
UnreadModule.__name__ = UnreadModule.__qualname__ = LoadedModule.__name__


class UnreadMethod(PromotedMethod):
    """A method of a module that was not read yet; its class is `PromotedMethod` once it was."""

    def __init__(self, image: _Unread, calls: ImageCalls) -> None:
        vars_of(self)[IMAGE] = image, calls

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return PromotedMethod
        unread = vars_of(self).get(IMAGE)
        if unread is not None:
            unread[0].read()
        return getattr(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it."""
        result = _answer(self, args, kwargs)
        return self(*args, **kwargs) if result is MISSED else result


UnreadMethod.__name__ = UnreadMethod.__qualname__ = PromotedMethod.__name__


def vars_of(value: Any) -> dict[str, Any]:
    """The attributes of an unread module or method, which stays unread."""
    own: dict[str, Any] = object.__getattribute__(value, "__dict__")
    return own


def _answer(method: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The result of a call; `MISSED` where the method has to run it, which is read by then."""
    unread = vars_of(method).get(IMAGE)
    if unread is None:
        return MISSED
    result = unread[1](args, kwargs)
    if result is MISSED:
        unread[0].read()
    return result


def _read(module: Any) -> None:
    image = vars_of(module).get(IMAGE)
    if image is not None:
        image.read()


class _Unread:
    """What an unread module, and its methods, are made of. They may live without each other."""

    def __init__(
        self, module: UnreadModule, kept: KeptImage, memory: Any, entry: CacheEntry, read: Callable[[], ScriptObject]
    ) -> None:
        self.kept = kept
        self._module = weakref.ref(module)
        self._memory, self._entry, self._read_object = memory, entry, read
        self._methods: weakref.WeakValueDictionary[str, UnreadMethod] = weakref.WeakValueDictionary()
        self._lock = NoForkLock()
        self._is_read = False

    def method(self, name: str) -> UnreadMethod | None:
        """The method of this name; None where the image has no calls of it, and of a module that was read."""
        known, module = self.kept.methods.get(name), self._module()
        if known is None or module is None:
            return None
        methods: dict[str, UnreadMethod] = vars_of(module)[METHODS]
        method = methods.get(name)
        if method is None:
            with self._lock:
                if self._is_read:
                    return None
                method = methods.get(name)
                if method is None:
                    calls = ImageCalls(name, known, self._memory, self._entry, self.read, self._lock)
                    method = methods[name] = self._methods[name] = UnreadMethod(self, calls)
        return method

    @no_collection()
    def read(self) -> None:
        """Have the module be what it is elsewhere, and its methods."""
        with self._lock, _alone():
            if self._is_read:
                return
            script_object, module = self._read_object(), self._module()
            methods = dict(self._methods)
            for name, method in methods.items():
                function = script_object.type.definition.methods[name]
                whole = PromotedMethod(function, script_object, executor_of(function))
                vars_of(method).update(vars(whole))
                prepare(method, whole._with_object.stub, PromotedMethod._call_slowly, script_object)
                method.__class__ = PromotedMethod
            if module is not None:
                own, whole_module = vars_of(module), LoadedModule.around(script_object, CLASSES, OPTIONS)
                own.update({**vars(whole_module), METHODS: methods})
                own["_modules"] = Submodules(object.__getattribute__(module, "_inner_modules"))
                python_view.register(script_object, module)
                object.__setattr__(module, "__class__", LoadedModule)
                del own[IMAGE]
            self._is_read = True
            for method in methods.values():
                _hand_over(method, vars_of(method).pop(IMAGE)[1])


def _hand_over(method: PromotedMethod, calls: ImageCalls) -> None:
    """Have the plans that calls ran before be those of the method."""
    for linked in calls.end():
        with set_grad_enabled(linked.kept.modes[0]):
            executor = method.take(linked.plan, linked.kept.plan, linked.spec)
        latest.succeed(calls, executor)


@contextmanager
def _alone() -> Iterator[None]:
    """A block that nobody watches, in which tensors are ordinary ones: an archive is read as where it was loaded."""
    before = thread.handlers, thread.observer
    thread.handlers, thread.observer = (), None
    try:
        with inference_mode(False):
            yield
    finally:
        thread.handlers, thread.observer = before
