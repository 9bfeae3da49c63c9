"""Memory as a row of elements: `Tensor.storage()`, beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau


def seen(package: Any) -> list[Any]:
    """What a storage shows, and what is seen through tensors when it is written."""
    x = package.arange(6).reshape(2, 3)
    memory = x[1].storage()
    log: list[Any] = [len(memory), memory.size(), memory.tolist(), list(memory), memory[4], memory[-1]]
    log += [memory.nbytes(), memory.element_size(), str(memory.device), str(memory.dtype).rpartition(".")[2]]
    log += [memory.data_ptr() == x.data_ptr()]
    before = x._version
    memory[0] = 7
    memory[2] = 9
    log += [x.tolist(), x._version >= before]
    copied = memory.clone()
    copied.fill_(1)
    log += [x.tolist(), copied.tolist(), memory.copy_(copied).tolist(), x.tolist()]
    log.append(package.zeros(0).storage().tolist())
    log.append(repr(package.ones(2).storage()).replace("torch", "flambeau").strip("[]"))
    return log


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    assert seen(flambeau) == seen(torch)


def made(package: Any) -> list[Any]:
    """Memory made of elements, of other memory and of bytes, and its bytes one by one."""
    log: list[Any] = [package.FloatStorage([1, 2]).tolist(), len(package.LongStorage(3)), package.BoolStorage([2])[0]]
    typed = package.TypedStorage([1, 2, -3], dtype=package.int16)
    log += [typed.float().tolist(), typed.bool().tolist(), typed.byte().tolist(), typed.half().type().partition(".")[2]]
    log += [package.TypedStorage(wrap_storage=typed.untyped(), dtype=package.uint8).tolist()]
    log += [isinstance(typed, package.ShortStorage), isinstance(typed, package.IntStorage)]
    log += [package.IntStorage.from_buffer(b"abcdefgh", "big", 1, 4).tolist(), package.HalfStorage([1.5]).tolist()]
    raw = package.UntypedStorage([1, 2, 3, 255])
    raw[0] = 9
    raw.byteswap(package.int16)
    log += [raw.tolist(), raw[1:3].tolist(), raw[-1], raw.clone().fill_(7).tolist(), len(package.UntypedStorage(5))]
    log += [package.UntypedStorage(4).copy_(raw).tolist(), package.empty(0).set_(package.FloatStorage([4.0])).tolist()]
    return log


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_made_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    assert made(flambeau) == made(torch)


@pytest.mark.parametrize(
    ("attempt", "error", "words"),
    [
        (lambda: flambeau.UntypedStorage("ab"), TypeError, "a sequence of them, but got str"),
        (lambda: flambeau.UntypedStorage(3).byteswap(flambeau.int16), RuntimeError, "is not a multiple of 2"),
        (lambda: flambeau.UntypedStorage(3)[::2], RuntimeError, "only a step of 1"),
        (lambda: flambeau.TypedStorage("a"), TypeError, "but got str"),
        (lambda: flambeau.TypedStorage(wrap_storage=flambeau.UntypedStorage(1)), RuntimeError, "without dtype"),
        (lambda: flambeau.IntStorage.from_buffer(b"abc"), ValueError, "must be a multiple of element size"),
        (lambda: flambeau.IntStorage.from_buffer(b"abcd", "odd"), ValueError, "invalid byte_order 'odd'"),
        (lambda: flambeau.tensor([1]).set_(flambeau.FloatStorage(1)), RuntimeError, "a Storage of type Long"),
    ],
)
def test_refusals_of_new_memory(attempt: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        attempt()


def test_slices() -> None:
    x = flambeau.arange(6)
    memory = x.storage()
    assert memory[1:3].tolist() == [1, 2]
    memory[2:4] = 9
    assert x.tolist() == [0, 1, 9, 9, 4, 5]


def test_a_write_is_seen_by_who_saved_the_tensor() -> None:
    x = flambeau.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    y.detach().storage()[0] = 5
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@pytest.mark.parametrize(
    ("attempt", "error", "words"),
    [
        (lambda s: s[2], IndexError, "index 2 out of range for storage of size 2"),
        (lambda s: s["a"], TypeError, "can't index a TypedStorage with <class 'str'>"),
        (lambda s: s[::2], RuntimeError, "Trying to slice with a step of 2, but only a step of 1 is supported"),
        (lambda s: s.copy_([1.0]), RuntimeError, "size mismatch: 2 elements cannot take 1"),
    ],
)
def test_refusals(attempt: Callable[[Any], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        attempt(flambeau.ones(2).storage())


def test_what_was_made_in_inference_mode_is_not_written_outside() -> None:
    with flambeau.inference_mode():
        x = flambeau.ones(2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        x.storage().fill_(2)
