"""What worker processes send: a pickle, and the memory of arrays as memory that both processes share.

The memory has no name: it is a file descriptor that goes along with the message (on Linux), so that nothing is left
behind whoever ends, and however. Where there is none, or for little, the memory is part of the message.
"""

from __future__ import annotations

import mmap
import os
import pickle
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any, Final

SHARED_FROM: Final = 16_384
"""Bytes of arrays from which they are shared."""
CAN_SHARE: Final = hasattr(os, "memfd_create") and reduction.HAVE_SEND_HANDLE
ALIGNMENT: Final = 64


def send(connection: Connection, value: Any, receiver: int) -> None:
    """Send a value to a process. What cannot be pickled raises as `pickle` does, before anything is sent."""
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    sizes = [view.nbytes for view in views]
    if not CAN_SHARE or sum(sizes) < SHARED_FROM:
        connection.send((text, [bytes(view) for view in views], None))
        return
    offsets, total = _offsets(sizes)
    descriptor = os.memfd_create("flambeau-batch")
    try:
        os.ftruncate(descriptor, total)
        with mmap.mmap(descriptor, total) as memory:
            for index, view in zip(offsets, views, strict=True):
                memory[index : index + view.nbytes] = view
        connection.send((text, sizes, total))
        reduction.send_handle(connection, descriptor, receiver)
    finally:
        os.close(descriptor)


def receive(connection: Connection) -> Any:
    """What was sent. Tensors in it lie in the shared memory, which lives as long as they do.

    Raises EOFError and OSError if the other process is gone.
    """
    text, parts, total = connection.recv()
    if total is None:
        return pickle.loads(text, buffers=[bytearray(part) for part in parts])
    descriptor = reduction.recv_handle(connection)
    try:
        memory = memoryview(mmap.mmap(descriptor, total))
    finally:
        os.close(descriptor)
    offsets, _ = _offsets(parts)
    return pickle.loads(text, buffers=[memory[p : p + size] for p, size in zip(offsets, parts, strict=True)])


def _offsets(sizes: list[int]) -> tuple[list[int], int]:
    """Where each of some buffers begins, and how long all are."""
    offsets, end = [], 0
    for size in sizes:
        offsets.append(end)
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return offsets, end
