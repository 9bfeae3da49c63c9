"""Leaves an image of an archive in the cache once a plan of one of its methods lies there, for processes to come.

What a later process would find is looked up as that process would: the archive is read anew from the same memory, so
that whatever was done to the module since is no part of the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.executor.executor import executor_of
from flambeau.executor.promoted_answers import GRAD_MODE
from flambeau.executor.records import RecordError
from flambeau.executor.stored import CacheEntry, plan_entry
from flambeau.jit.loading.image_calls import OPTIONS
from flambeau.jit.loading.image_record import (
    MOST_CALLS,
    KeptCall,
    KeptImage,
    KeptMethod,
    KeptParameter,
    StoredTensor,
    image_entry,
    is_number,
    is_simple,
)
from flambeau.jit.loading.loaded_module import LoadedModule, find_properties, kind_for
from flambeau.jit.modules.promoted_method import PromotedMethod, method_of
from flambeau.program.object import ScriptObject
from flambeau.schema.function import FunctionSchema
from flambeau.serialize.archive_reader.code_unit import CodeUnit
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.file_stamp import Stamp
from flambeau.serialize.archive_reader.limits import DEFAULT
from flambeau.serialize.archive_reader.permissions import Permissions
from flambeau.serialize.archive_reader.program import read_program
from flambeau.serialize.archive_reader.storage_reader import as_written
from flambeau.specialise.spec import describe, spec_of
from flambeau.tensor.array_library import address_of
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.settled import is_readable
from flambeau.tensor.tensor import Tensor
from flambeau.util import log
from flambeau.util.errors import ArchiveError
from flambeau.util.inversions import PLAN_KEPT

TRAINING: Final = "training"


class NoImageError(Exception):
    """Calls like the one that was made need the object."""


@PLAN_KEPT.provide
def keep_image(entry: CacheEntry, arguments: Sequence[Any], written: Sequence[int]) -> None:
    """Keep, beside a plan that was kept, what calls for such arguments need of the archive that its code is from.

    `written`: the arguments of the plan that it writes to.
    """
    unit = entry.origin.names
    if not isinstance(unit, CodeUnit) or unit.permissions.allowed or unit.container.limits != DEFAULT:
        return
    try:
        _keep(entry, unit.container, unit.permissions, arguments, written)
    except (NoImageError, ArchiveError) as reason:
        if log.level("cache"):
            log.write("cache", f"there is no image of {unit.container.title}: {reason}")


def _keep(
    entry: CacheEntry, container: Container, permissions: Permissions, arguments: Sequence[Any], written: Sequence[int]
) -> None:
    image = image_entry(container.memory)
    function = entry.function
    if image is None or function is None:
        raise NoImageError("nothing tells the file from others")
    root = read_program(container, as_written, permissions).module
    definition = root.type.definition
    find_properties(definition)
    name = function.short_name
    own = definition.methods.get(name)
    if own is None or own.name != function.name or name in _REACHED_OTHERWISE:
        raise NoImageError("it is no method of the module itself")
    if kind_for(definition) is not LoadedModule or any(definition.hooks):
        raise NoImageError("the module has hooks, or is a container")
    parameters = _parameters(own.schema)
    count = len(parameters)
    if any(number >= count for number in written):
        raise NoImageError("the method writes to tensors of the module")
    method = method_of(own, root, executor_of(own))
    if not isinstance(method, PromotedMethod):
        raise NoImageError("its methods are interpreted")
    call = _call(entry, method, arguments[:count], container)
    stamp = Stamp.of(container)
    known = _known(image)
    if known is None or known.stamp != stamp:
        known = KeptImage(stamp, definition.name.rpartition(".")[2], _is_training(root), {})
    before = known.methods.get(name, KeptMethod(own.name, parameters, {})).calls
    calls = {**before, describe(spec_of(arguments[:count])): call}
    newest = dict(list(calls.items())[-MOST_CALLS:])
    image.keep(known._replace(methods={**known.methods, name: KeptMethod(own.name, parameters, newest)}).written())


_REACHED_OTHERWISE: Final = frozenset(("train", "eval"))
"""Names that modules have methods of without a program."""


def _known(image: CacheEntry) -> KeptImage | None:
    record = image.read()
    try:
        return None if record is None else KeptImage.read(record)
    except RecordError:
        return None


def _parameters(schema: FunctionSchema) -> tuple[KeptParameter, ...]:
    """The parameters of a method behind its object."""
    kept = []
    for a in schema.arguments[1:]:
        if not is_simple(a.type) or a.broadcast is not None or (a.has_default and not is_number(a.default)):
            raise NoImageError(f"parameter {a.name} is a {a.type}")
        kept.append(KeptParameter(a.name, a.type, a.kwarg_only, (a.default,) if a.has_default else ()))
    return tuple(kept)


def _call(entry: CacheEntry, method: PromotedMethod, arguments: Sequence[Any], container: Container) -> KeptCall:
    """What calls with such arguments run, of an object as the archive gives it."""
    seen = method._found()
    promotion = method.promotion
    if seen.native is None or seen.cells or promotion is None:
        raise NoImageError("the method assigns, or needs its object")
    whole = plan_entry(seen.native.script_function, spec_of((*arguments, *seen.hidden)), OPTIONS)
    if whole is None or whole.key != entry.key:
        raise NoImageError("the module was changed since it was loaded")
    asks = any(isinstance(value, Tensor) and value.requires_grad for value in seen.taken)
    modes: tuple[bool, ...] = (False,) if asks else (False, True)
    if any(path[-1] == GRAD_MODE for path in promotion.paths):
        modes = tuple([mode for mode in modes if mode is is_grad_enabled()])
    if not modes:
        raise NoImageError("it was called while gradients are recorded")
    start = address_of(np.frombuffer(container.memory, np.uint8))
    stamp = Stamp.of(container)
    return KeptCall(entry.key, modes, tuple([_hidden(value, start, stamp) for value in seen.hidden]))


def _hidden(value: Any, start: int, stamp: Stamp) -> Any:
    """What is kept of an argument behind those of calls: of a tensor where in the file, which begins at `start`, it
    lies."""
    if is_number(value):
        return [value]
    if not isinstance(value, Tensor) or not is_readable(value):
        raise NoImageError(f"the plan is given a {type(value).__name__} of the object")
    array = value._array
    begin = address_of(array) - start if array.size else 0
    length = sum([(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]) + array.itemsize
    if array.size and not any(first <= begin and begin + length <= end for first, end, _ in stamp.tensors):
        raise NoImageError("a tensor does not lie in the file")
    return tuple(StoredTensor(begin, array.dtype.str, array.shape, array.strides))


def _is_training(root: ScriptObject) -> bool | None:
    """Whether a module and all below it are in training; None where they differ, or do not say."""
    modules = [root]
    for module in modules:
        values = [v for v in module.values if isinstance(v, ScriptObject) and v.type.definition.is_module]
        modules += [v for v in values if all(v is not known for known in modules)]
    flags = {module.get(TRAINING) if module.has(TRAINING) else None for module in modules}
    return flags.pop() if len(flags) == 1 else None
