"""Dictionaries whose keys are compared by identity and kept by nobody: what is known of a tensor ends with it.

Tensors compare their elements with `==`, and other tensors may be equal to them, so that they are no keys of
`weakref.WeakKeyDictionary`.

>>> import flambeau
>>> names = WeakIdKeyDictionary()
>>> x = flambeau.ones(2)
>>> names[x] = "x"
>>> names[x], flambeau.ones(2) in names, len(names)
('x', False, 1)
>>> del x
>>> len(names)
0
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any, Final

from flambeau.tensor.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]
Pairs = dict[Any, Any]
NO_TENSOR: Final = "TensorWeakRef refers to a tensor, but got {kind}"


class WeakIdRef(weakref.ref[Any]):
    """A reference that keeps nothing alive, and equals another one to the same object.

    What died equals nothing but its own reference.

    >>> class Box: ...
    >>> box = Box()
    >>> WeakIdRef(box) == WeakIdRef(box), WeakIdRef(box)() is box
    (True, True)
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]  # as `__new__` takes them
        self._id = id(key)

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine = self()
        theirs = other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or theirs is None else mine is theirs

    def __ne__(self, other: object) -> bool:
        return not self == other


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary that keeps no key alive, and finds keys by identity.

    Args:
        dict: a mapping, or pairs, to begin with.
        ref_type: the class of references to keys.

    >>> class Box: ...
    >>> a, b = Box(), Box()
    >>> boxes = WeakIdKeyDictionary({a: 1})
    >>> boxes.setdefault(b, 2), [value for _, value in boxes.items()], boxes.pop(a), len(boxes)
    (2, [1, 2], 1, 1)
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Pairs = {}
        self.ref_type = ref_type
        home = weakref.ref(self)

        def remove(reference: Any) -> None:
            living = home()
            if living is not None:
                living.data.pop(reference, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # what nothing can refer to weakly is no key
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            if (key := reference()) is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """References to the keys: some may have died meanwhile."""
        return list(self.data)

    def popitem(self) -> tuple[Any, Any]:
        """Take a pair out whose key lives. Raises KeyError where there is none."""
        while True:
            reference, value = self.data.popitem()
            if (key := reference()) is not None:
                return key, value

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary of the same pairs."""
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        copied = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            copied[key] = deepcopy(value, memo)
        return copied

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        joined = type(self)(other, self.ref_type)
        joined.update(self)
        return joined

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(key): value for key, value in self.items()} == {id(key): value for key, value in other.items()}

    __hash__ = None  # type: ignore[assignment]  # it changes


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A reference to a tensor that keeps it not alive. Raises TypeError for what is no tensor.

    Args:
        tensor: the tensor.

    >>> import flambeau
    >>> x = flambeau.ones(2)
    >>> reference = TensorWeakRef(x)
    >>> reference() is x
    True
    >>> del x
    >>> reference()
    """

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(NO_TENSOR.format(kind=type(tensor).__name__))
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
