"""What reader and writer of TorchScript archives agree on: names of records, storages, pickle globals, versions.

An archive is a ZIP file with one top directory. In it `data.pkl` holds the module's object, `data/<key>` the memory of
its tensors, `code/__torch__/a/b.py` the classes and functions whose qualified names begin with `__torch__.a.b`,
`constants.pkl` what that code reads as `CONSTANTS.c0`, and `version` the number of the format.

>>> code_record("__torch__.net.layers.Linear")
'code/__torch__/net/layers.py'
"""

from __future__ import annotations

from typing import Final

from flambeau.schema import registry
from flambeau.schema.dtype import (
    DType,
    bfloat16,
    bool_,
    complex32,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    qint8,
    qint32,
    quint8,
    uint8,
    uint16,
    uint32,
    uint64,
)
from flambeau.util.names import in_root

AUTOCAST_CLASS: Final = in_root("torch.amp.autocast_mode.autocast")
"""The class of the objects that blocks in mixed precision are in archives; runners know it by its name."""

# -- records -----------------------------------------------------------------------------------------------------------

DATA: Final = "data"
"""The pickle of the module, `data.pkl`, and the folder of its storages."""
CONSTANTS: Final = "constants"
"""The pickle of the constants of code, `constants.pkl`, and the folder of their storages."""
TRACED_INPUTS: Final = "traced_inputs"
"""The pickle of the example inputs of traced methods; their storages are records without bytes."""
CODE: Final = "code/"
EXTRA: Final = "extra/"
"""The folder of the files that users put in."""
VERSION_RECORDS: Final = (".data/version", "version")
"""Where the number of the format is, the one that wins first. Formats from 6 on are written to the first."""
BYTE_ORDER: Final = "byteorder"
SERIALIZATION_ID: Final = ".data/serialization_id"
DEBUG_SUFFIX: Final = ".debug_pkl"
"""Behind the name of a code record: where its text came from."""
DEBUG_FORMAT: Final = "FORMAT_WITH_STRING_TABLE"
"""The first item of such a record."""
ALIGNMENT: Final = 64
"""Records' bytes begin at multiples of it."""
STREAM_NAME: Final = "archive"
"""The top directory of what is written to a stream; of a file it is the file's name without its ending."""
DEFLATED_ABOVE: Final = 200
"""Code records longer than this are deflated; all others are stored."""

# -- names -------------------------------------------------------------------------------------------------------------

PLACEHOLDER: Final = in_root("PlaceholderModule")
"""The class of the module that stands for a function: its `forward` is the function."""


def code_record(name: str) -> str:
    """The record with the code of a class or function, by its qualified name."""
    return f"{CODE}{name.rpartition('.')[0].replace('.', '/')}.py"


def module_of(record: str) -> str:
    """The module whose code a record has.

    >>> module_of(code_record("__torch__.layers.Linear"))
    '__torch__.layers'
    """
    return record.removeprefix(CODE).removesuffix(".py").replace("/", ".")


# -- versions ----------------------------------------------------------------------------------------------------------

OLDEST_VERSION: Final = 1
NEWEST_VERSION: Final = 10
PLAIN_VERSION: Final = 3
"""What a program is written as if none of its operators ever changed its meaning."""


def version_since(operator: str) -> int:
    """The first version in which an operator means what it means today."""
    return max((d.traits.archive_version for d in registry.overloads(operator)), default=0) or PLAIN_VERSION


# -- pickles -----------------------------------------------------------------------------------------------------------

STORAGES: Final[dict[str, DType]] = {
    "FloatStorage": float32, "DoubleStorage": float64, "HalfStorage": float16, "BFloat16Storage": bfloat16,
    "LongStorage": int64, "IntStorage": int32, "ShortStorage": int16, "CharStorage": int8, "ByteStorage": uint8,
    "BoolStorage": bool_, "ComplexHalfStorage": complex32, "ComplexFloatStorage": complex64,
    "ComplexDoubleStorage": complex128, "QInt8Storage": qint8, "QUInt8Storage": quint8, "QInt32Storage": qint32,
    "UInt16Storage": uint16, "UInt32Storage": uint32, "UInt64Storage": uint64,
}  # fmt: skip
"""The elements of a storage by its name in the module `torch`."""
STORAGE_NAMES: Final[dict[DType, str]] = {dtype: name for name, dtype in STORAGES.items()}
QUANTIZED_STORAGES: Final = frozenset(("QUInt4x2Storage", "QUInt2x4Storage"))
"""Storages of tensors with several elements in a byte, which Flambeau does not have."""

QUANTIZED_GLOBAL: Final = ("torch._utils", "_rebuild_qtensor")
"""Applied to storage, offset, sizes, strides, the scheme with its scales and zero points, and as the one below."""
BYTES_GLOBAL: Final = ("torch._utils", "_rebuild_tensor_v3")
"""Applied to what the one below is, of a storage of bytes, and the dtype."""
TENSOR_GLOBAL: Final = ("torch._utils", "_rebuild_tensor_v2")
"""Applied to storage, offset, sizes, strides, requires_grad, an empty OrderedDict, and maybe a dict of flags."""
PICKLE_MODULE: Final = "torch.jit._pickle"
TAGGED_LISTS: Final[dict[str, str]] = {
    "build_intlist": "List[int]", "build_doublelist": "List[float]", "build_boollist": "List[bool]",
    "build_tensorlist": "List[Tensor]",
}  # fmt: skip
"""Functions of PICKLE_MODULE that are applied to one list, and the type of what they give."""
RESTORE_TYPE: Final = "restore_type_tag"
"""The function of PICKLE_MODULE that is applied to any other list or dict and the annotation of its type."""
PICKLE_PROTOCOL: Final = 2
