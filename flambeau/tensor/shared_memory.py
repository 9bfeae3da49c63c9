"""Memory that several processes have: those that are forked from this one, or that are sent a tensor.

>>> import flambeau
>>> x = flambeau.zeros(3)
>>> row = x[:2]
>>> x.share_memory_() is x, x.is_shared(), row.is_shared()
(True, True, True)

The memory has no name: it is a file descriptor (on Linux), which `multiprocessing` sends along with a tensor, so that
nothing is left behind whoever ends, and however. Elsewhere it goes to forked processes alone.
"""

from __future__ import annotations

import gc
import mmap
import os
import weakref
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Final

from flambeau.schema.dtype import DType
from flambeau.tensor.array_library import np
from flambeau.tensor.storage import Storage
from flambeau.tensor.tensor import Tensor, install_method, view_of

CAN_SEND: Final = hasattr(os, "memfd_create")
NOT_LEAF: Final = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
    "process boundaries. If you just want to transfer the data, call detach() on the tensor before serializing (e.g., "
    "putting it on the queue)."
)


class SharedPages(mmap.mmap):
    """Pages that processes share, with the descriptor that says which they are; -1 where there is none."""

    descriptor: int


def _pages(count: int) -> SharedPages:
    """New pages for some bytes."""
    size = max(count, 1)
    if not CAN_SEND:
        pages = SharedPages(-1, size)
        pages.descriptor = -1
        return pages
    descriptor = os.memfd_create("flambeau-tensor")
    os.ftruncate(descriptor, size)
    return _mapped(descriptor, size)


def _mapped(descriptor: int, size: int) -> SharedPages:
    pages = SharedPages(descriptor, size)
    pages.descriptor = descriptor
    weakref.finalize(pages, os.close, descriptor)
    return pages


def is_shared(self: Tensor) -> bool:
    """Whether the memory is shared with forked processes; that of devices counts as shared.

    >>> import flambeau
    >>> is_shared(flambeau.ones(1))
    False
    """
    return isinstance(self._storage.owner, SharedPages) if type(self._storage) is Storage else True


def share_memory_(self: Tensor) -> Tensor:
    """Put the memory where processes that are forked from this one, or are sent the tensor, read and write it too.

    All tensors that show the memory go along; NumPy's arrays of it stay where they are. Nothing happens to tensors on a
    device.

    >>> import flambeau
    >>> share_memory_(flambeau.arange(3)).tolist()
    [0, 1, 2]
    """
    share((self,))
    return self


def share(tensors: Iterable[Tensor]) -> None:
    """`share_memory_` of several tensors, which looks once for what shows their memory.

    >>> import flambeau
    >>> first, second = flambeau.ones(1), flambeau.ones(1)
    >>> share((first, second))
    >>> first.is_shared(), second.is_shared()
    (True, True)
    """
    alone = [tensor for tensor in tensors if not is_shared(tensor)]
    if not alone:
        return
    _let_processes_send()
    bases = {id(tensor._storage.base): tensor._storage.base for tensor in alone}
    storages = [s for s in gc.get_referrers(*bases.values()) if type(s) is Storage and id(s.base) in bases]
    numbers = set(map(id, storages))
    shown = [t for t in gc.get_referrers(*storages) if isinstance(t, Tensor) and id(t._storage) in numbers]
    copies = {number: (_first(base), _copied(base)) for number, base in bases.items()}
    for tensor in shown:
        start, memory = copies[id(tensor._storage.base)]
        array = tensor._array
        if array.size:
            offset = array.ctypes.data - start
            tensor._array = np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
    for storage in storages:
        storage.base, storage._bytes = copies[id(storage.base)][1], None


def _first(base: Any) -> int:
    return int(base.ctypes.data)


def _copied(base: Any) -> Any:
    """The bytes of an array's whole extent, in pages of their own."""
    data = Storage(base).bytes
    memory = np.ndarray(data.size, np.uint8, _pages(data.size))
    memory[:] = data
    return memory


def _let_processes_send() -> None:
    if CAN_SEND:
        for cls in MADE_OF:
            _reduction().register(cls, _reduced)


def _reduction() -> Any:
    return import_module("multiprocessing.reduction")  # not before somebody shares: it takes long to import


MADE_OF: Final[dict[type[Tensor], Callable[[Tensor, bool], Tensor]]] = {Tensor: Tensor.requires_grad_}
"""The classes whose tensors go to other processes as memory: what makes one of a plain tensor there, and of whether it
asks for gradients."""


def _reduced(tensor: Tensor) -> tuple[Any, ...]:
    """What `multiprocessing` sends of a tensor: the descriptor of its memory if that is shared, else a copy."""
    if not tensor.is_leaf and tensor.requires_grad:
        raise RuntimeError(NOT_LEAF)
    owner = tensor._storage.owner
    if not isinstance(owner, SharedPages):
        return tensor.__reduce__()
    form = (tuple(tensor._array.shape), tensor.stride(), tensor.storage_offset())
    handle = _reduction().DupFd(owner.descriptor)
    return (_received, (handle, len(owner), type(tensor), tensor.dtype, form, tensor.requires_grad))


def _received(
    handle: Any, size: int, cls: type[Any], dtype: DType, form: tuple[Any, ...], requires_grad: bool
) -> Tensor:
    """A tensor on the memory of another process."""
    _let_processes_send()
    memory = np.ndarray(size, np.uint8, _mapped(handle.detach(), size))
    tensor = view_of(Tensor(np.empty(0, dtype.numpy), Storage(memory)), *form)
    return MADE_OF[cls](tensor, requires_grad)


install_method("is_shared", is_shared)
install_method("share_memory_", share_memory_)
