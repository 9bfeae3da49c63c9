"""`flambeau.jit.load`: a module from a TorchScript archive; `flambeau.load`: values that were saved."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from mmap import mmap
from typing import IO, Any, Final

from flambeau.executor.records import RecordError
from flambeau.jit.loading import image_writer as _image_writer  # noqa: F401  (what is told of plans)
from flambeau.jit.loading.image_record import KeptImage, image_entry
from flambeau.jit.loading.loaded_objects import view
from flambeau.jit.loading.loaded_shapes import restore_shapes
from flambeau.jit.loading.unread_module import UnreadModule
from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.program.object import ScriptObject
from flambeau.schema.device import Device
from flambeau.serialize.archive_reader.container_reader import Container, memory_of
from flambeau.serialize.archive_reader.limits import DEFAULT, LoadLimits
from flambeau.serialize.archive_reader.permissions import Permissions
from flambeau.serialize.archive_reader.pickle_names import read_pickle
from flambeau.serialize.archive_reader.program import extra_files, is_program, read_program
from flambeau.serialize.archive_reader.storage_reader import AllTo, as_written
from flambeau.tensor.grad_mode import mode
from flambeau.util import log
from flambeau.util.errors import ArchiveError
from flambeau.util.no_collection import no_collection

MapLocation = str | Device | Mapping[str, str] | Callable[[Any, str], Any] | None
Source = str | os.PathLike[str] | IO[bytes]
WRONG_PLACE: Final = "map_location should be either None, string, device or a dict of those, but got type: {kind}"
WRONG_RESULT: Final = (
    "map_location gave {given!r} for a storage on {location!r}: return the storage moved (storage.cuda(1), "
    "storage.cpu()), the storage itself, or None to leave it where it was"
)
NO_FILE: Final = "The provided filename {path} does not exist"
NO_DIRECTORY: Final = "The provided filename {path} is a directory: expected a file, got a directory"


class MissingArchiveError(FileNotFoundError, ValueError):
    """There is no file of the name that `jit.load` is given.

    >>> try:
    ...     load("nowhere.pt")
    ... except ValueError as error:
    ...     print(error)
    [Errno 2] The provided filename nowhere.pt does not exist: 'nowhere.pt'
    """


class DirectoryError(ArchiveError, ValueError):
    """There is a directory of the name that `jit.load` is given.

    >>> try:
    ...     load("/")
    ... except ValueError as error:
    ...     print(error)
    The provided filename / is a directory: expected a file, got a directory
    """


IS_PROGRAM: Final = (
    "'flambeau.load' received a zip file that looks like a TorchScript archive dispatching to 'flambeau.jit.load' "
    "(call 'flambeau.jit.load' directly to silence this warning)"
)


def load(
    f: Source,
    map_location: MapLocation = None,
    _extra_files: MutableMapping[str, Any] | None = None,
    _restore_shapes: bool = False,
    *,
    allow: Iterable[str] = (),
    limits: LoadLimits = DEFAULT,
) -> RecursiveScriptModule:
    """The module in a TorchScript archive, written by Flambeau or by PyTorch.

    Args:
        f: a path, or a file object opened for reading bytes, which is read from where it stands.
        map_location: the device that tensors go to, a dict from the one that they were on to the one they go to, or a
            function of a storage and the name of the device that it was on, which gives the storage moved
            (`lambda storage, location: storage.cuda(1)`), or None to leave it where it was.
        _extra_files: names of files in the archive; their contents are put in as values, as bytes. Those of files that
            are not there stay as they are.
        _restore_shapes: give the parameters of traced methods the sizes of the example inputs, in their graphs.

        allow: operators that the code may call although they reach what is outside of its memory: `["aten::save"]`.
        limits: how much of a file is read before it is refused.

    Methods are parsed and compiled when they are first called or looked at; what they call that does not exist is
    refused here.
    Nothing in the file is executed by Python or imported. Of its own code, `__setstate__` runs while it is loaded. That
    code computes and prints on standard output; it reaches no file and nothing else that others see, unless `allow`
    names the operator. Tensors are views of the file's memory; writing to them does not change the file, which must
    not be written over while the module is used.

    Raises ArchiveError for a file that is no archive, broken, beyond a limit, or of a program that needs what Flambeau
    does not have; MissingArchiveError, which is a FileNotFoundError and a ValueError, for a path where there is none.

    >>> import io, flambeau
    >>> file = io.BytesIO(flambeau.script(flambeau.nn.ReLU()).save_to_buffer())
    >>> load(file)(flambeau.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    device_of = _place(map_location)
    permissions = Permissions(allow)
    if isinstance(f, str | os.PathLike) and os.path.isdir(f):
        raise DirectoryError(NO_DIRECTORY.format(path=os.fspath(f)))
    try:
        memory, title = memory_of(f)
    except FileNotFoundError as error:
        raise MissingArchiveError(error.errno, NO_FILE.format(path=error.filename), error.filename) from None
    if device_of in _HOST and not (permissions.allowed or _extra_files or _restore_shapes) and limits == DEFAULT:
        unread = _unread(memory, title)
        if unread is not None:
            return unread
    container = Container(memory, title, limits)
    with no_collection():  # what is made stays
        program = read_program(container, device_of, permissions)
        module: RecursiveScriptModule = view(program.module)
    if _extra_files is not None:
        for name, data in extra_files(container, _extra_files).items():
            _extra_files[name] = data
    if _restore_shapes:
        restore_shapes(module, program.traced_inputs())
    return module


_HOST: Final = (as_written, AllTo("cpu"))
"""Where storages may go of which an image is kept: they all were in the host's memory."""


def _unread(memory: Any, title: str) -> RecursiveScriptModule | None:
    """The module of a file of which an earlier process left an image; None where none did, or somebody wants to see
    what is made of the file."""
    if mode.inference or any(map(log.level, ("executor", "passes", "codegen"))):
        return None
    content = memoryview(memory)
    entry = image_entry(content)
    record = None if entry is None or not entry.is_there() else entry.read()
    if entry is None or record is None:
        return None
    try:
        kept = KeptImage.read(record)
    except RecordError:
        return None
    if not kept.stamp.fits(content, is_mapped=isinstance(memory, mmap)):
        return None

    def read() -> ScriptObject:
        return read_program(Container(memory, title), as_written, Permissions(())).module

    return UnreadModule.with_image(kept, memory, entry, read)


def load_values(
    f: Source, map_location: MapLocation = None, *, weights_only: bool | None = None, mmap: bool | None = None,
    allow: Iterable[str] = (), limits: LoadLimits = DEFAULT,
) -> Any:  # fmt: skip
    """What `flambeau.save`, `torch.save` or a program's own `torch.save` wrote: tensors, and plain values around them.

    Tensors that shared memory share it again. An archive of a module is loaded as `jit.load` does, with a warning.
    Nothing in the file is executed by Python or imported. Raises ArchiveError for a broken file, and for one that holds
    objects of Python's classes; FileNotFoundError for a path where there is none.

    Args:
        f: a path, or a file object opened for reading bytes.
        map_location, allow, limits: as in `jit.load`.
        weights_only: without meaning, for programs that say it: more than values is never read, which is what True asks
            for, and a file that needs False is refused.
        mmap: without meaning too: a file of which there is a path is mapped into memory, and read where it is used.

    >>> import io, flambeau
    >>> file = io.BytesIO()
    >>> flambeau.save({"w": flambeau.ones(2)}, file)
    >>> flambeau.load(io.BytesIO(file.getvalue()))
    {'w': tensor([1., 1.])}
    """
    permissions = Permissions(allow)
    container = Container.open(f, limits)
    if is_program(container):
        warnings.warn(IS_PROGRAM, UserWarning, stacklevel=2)
        return view(read_program(container, _place(map_location), permissions).module)
    return read_pickle(container, "data", None, _place(map_location))


def get_extra_files(source: Any, wanted: MutableMapping[str, Any]) -> None:
    """Put the contents of files of an archive, by their names, into a dict; of those that are there."""
    for name, data in extra_files(Container.open(source), wanted).items():
        wanted[name] = data


class MovedStorage:
    """Stands for a storage that is about to be loaded, for functions that say where to.

    >>> MovedStorage("cpu").cuda(1).device
    device(type='cuda', index=1)
    """

    def __init__(self, device: str) -> None:
        self.device = Device(device)

    def cpu(self) -> MovedStorage:
        """On the host."""
        return MovedStorage("cpu")

    def cuda(self, device: int | str | Device | None = None, non_blocking: bool = False) -> MovedStorage:
        """On a CUDA device, the one in use if None."""
        return MovedStorage("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else str(device))

    def to(self, device: str | Device, non_blocking: bool = False) -> MovedStorage:
        """On a device."""
        return MovedStorage(str(device))


def _by_function(function: Callable[[Any, str], Any]) -> Callable[[str], str]:
    def place(location: str) -> str:
        answer = function(MovedStorage("cpu"), location)
        if answer is None:
            return location
        if not isinstance(answer, MovedStorage):
            raise RuntimeError(WRONG_RESULT.format(given=answer, location=location))
        return str(answer.device)

    return place


def _place(map_location: MapLocation) -> Callable[[str], str]:
    match map_location:
        case None:
            return as_written
        case str() | Device():
            return AllTo(str(Device(map_location) if isinstance(map_location, str) else map_location))
        case Mapping():
            table = {str(k): str(v) for k, v in map_location.items()}
            return lambda location: table.get(location, location)
        case _ if callable(map_location):
            return _by_function(map_location)
    raise ValueError(WRONG_PLACE.format(kind=type(map_location)))
