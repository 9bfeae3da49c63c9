"""Flambeau compiles numerical Python to a typed SSA graph and runs it.

What a program may use is here: tensors, their dtypes, and a function for every operator. The functions are derived from
the operators' declarations; `help(flambeau.gelu)` shows what an operator does and how it is called.

>>> import flambeau
>>> flambeau.add(flambeau.tensor([1.0, 2.0]), 1).tolist()
[2.0, 3.0]
"""

# ruff: noqa: E402  (what is imported stays, so no collection goes over it; and methods of tensors come before the rest)
from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import Any as _Any

from flambeau.util import process_start as _process_start  # before any source but this is read
from flambeau.util.end_of_process import shorten as _shorten_end
from flambeau.util.no_collection import no_collection as _no_collection

_shorten_end()
_importing = _no_collection()
_importing.__enter__()  # what is imported stays; where this module is not completed, its end is that of the block

from flambeau import ops as _ops
from flambeau.ops import foreach as _foreach
from flambeau.ops import surface as _surface
from flambeau.ops.linear_algebra.low_rank import pca_lowrank, svd_lowrank
from flambeau.ops.parts_into import split_copy, split_with_sizes_copy, unbind_copy
from flambeau.ops.point_histograms import histogramdd
from flambeau.ops.python_forms import (
    block_diag,
    broadcast_shapes,
    broadcast_tensors,
    cartesian_prod,
    cdist,
    chain_matmul,
    einsum,
    lu,
    meshgrid,
    norm,
    result_type,
    tensordot,
    unique,
    unique_consecutive,
    unravel_index,
)
from flambeau.ops.segments import segment_reduce
from flambeau.schema.device import Device
from flambeau.schema.dtype import (
    DType,
    bfloat16,
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
from flambeau.schema.dtype import bool_ as bool
from flambeau.schema.dtype import complex32 as chalf
from flambeau.schema.dtype import complex64 as cfloat
from flambeau.schema.dtype import complex128 as cdouble
from flambeau.schema.dtype import float16 as half
from flambeau.schema.dtype import float32 as float
from flambeau.schema.dtype import float64 as double
from flambeau.schema.dtype import int16 as short
from flambeau.schema.dtype import int32 as int
from flambeau.schema.dtype import int64 as long
from flambeau.schema.dtype_limits import finfo, iinfo
from flambeau.schema.symbolic import SymbolicFloat as SymFloat
from flambeau.schema.symbolic import SymbolicInt as SymInt
from flambeau.schema.tags import Tag
from flambeau.tensor import element_calls as _element_calls
from flambeau.tensor import function_calls as _function_calls
from flambeau.tensor import order_of_axes as _order_of_axes
from flambeau.tensor import protocol as _protocol
from flambeau.tensor import random
from flambeau.tensor import subclass_methods as _subclass_methods
from flambeau.tensor.assertion import _assert
from flambeau.tensor.autocast import (
    autocast,
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_cpu_dtype,
    set_autocast_cpu_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from flambeau.tensor.bridge import from_dlpack, from_numpy, frombuffer, to_dlpack
from flambeau.tensor.conditions import (
    _check,
    _check_index,
    _check_is_size,
    _check_not_implemented,
    _check_tensor_all,
    _check_tensor_all_with,
    _check_type,
    _check_value,
    _check_with,
)
from flambeau.tensor.create import as_tensor, asarray, tensor
from flambeau.tensor.default_device import get_default_device, set_default_device
from flambeau.tensor.defaults import get_default_dtype, set_default_dtype
from flambeau.tensor.formats import Layout, MemoryFormat, QScheme
from flambeau.tensor.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from flambeau.tensor.grad_scaler import GradScaler
from flambeau.tensor.modes import DispatchMode, FunctionMode
from flambeau.tensor.python_forms import can_cast, is_tensor, nonzero, promote_types, typename
from flambeau.tensor.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from flambeau.tensor.removed_calls import eig, lstsq, matrix_rank, solve, symeig
from flambeau.tensor.size import Size
from flambeau.tensor.size_arithmetic import sym_float, sym_int, sym_ite, sym_max, sym_min, sym_not, sym_sqrt, sym_sum
from flambeau.tensor.storage import Storage as UntypedStorage
from flambeau.tensor.storage_classes import (
    BFloat16Storage,
    BoolStorage,
    ByteStorage,
    CharStorage,
    ComplexDoubleStorage,
    ComplexFloatStorage,
    DoubleStorage,
    FloatStorage,
    HalfStorage,
    IntStorage,
    LongStorage,
    ShortStorage,
)
from flambeau.tensor.storage_classes import _LegacyStorage as _LegacyStorage
from flambeau.tensor.tensor import Tensor
from flambeau.tensor.text_form import set_printoptions
from flambeau.tensor.typed import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
    set_default_tensor_type,
)
from flambeau.tensor.typed_storage import TypedStorage, is_storage
from flambeau.util.absent_names import ABSENT as _ABSENT
from flambeau.util.errors import GuardError, PerformanceWarning
from flambeau.util.import_paths import also as _also
from flambeau.util.import_paths import path_of as _path_of
from flambeau.util.import_paths import provide as _provide
from flambeau.util.inversions import PACKAGE
from flambeau.util.late_signals import late_signals as _late_signals
from flambeau.util.torch_version import TorchVersion as _TorchVersion
from flambeau.util.version import __version__ as _version

__version__ = _TorchVersion(_version)
dtype, device, layout, memory_format = DType, Device, Layout, MemoryFormat
strided = layout.strided
sparse_coo, sparse_csr, sparse_csc = layout.sparse_coo, layout.sparse_csr, layout.sparse_csc
sparse_bsr, sparse_bsc, jagged = layout.sparse_bsr, layout.sparse_bsc, layout.jagged
newaxis = None
contiguous_format = memory_format.contiguous_format
preserve_format = memory_format.preserve_format
channels_last = memory_format.channels_last
channels_last_3d = memory_format.channels_last_3d
qscheme = QScheme
per_tensor_affine, per_tensor_symmetric = qscheme.per_tensor_affine, qscheme.per_tensor_symmetric
per_channel_affine, per_channel_symmetric = qscheme.per_channel_affine, qscheme.per_channel_symmetric
per_channel_affine_float_qparams = qscheme.per_channel_affine_float_qparams
_surface.install()

from flambeau import (
    accelerator,
    amp,
    autograd,
    backends,
    compiler,
    cpu,
    cuda,
    fft,
    func,
    fx,
    linalg,
    nn,
    return_types,
    special,
    types,
)
from flambeau.autograd import profiler
from flambeau.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from flambeau.backends.absent import absent_device as _absent_device
from flambeau.backends.reproducibility import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    use_deterministic_algorithms,
)
from flambeau.backends.warnings_once import is_warn_always_enabled, set_warn_always
from flambeau.cuda import OutOfMemoryError
from flambeau.func import (
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
    vmap,
)
from flambeau.func.control_flow import cond

mps, mtia, xpu = map(_absent_device, ("mps", "mtia", "xpu"))
_provide(
    __name__,
    {
        "functional": "istft atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors "
        "cartesian_prod cdist chain_matmul einsum lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique "
        "unique_consecutive unravel_index"
    },
)
_provide(__name__, {"storage": "TypedStorage UntypedStorage _LegacyStorage"})
_provide(
    __name__,
    {
        "_jit_internal": "Any BroadcastingList1 BroadcastingList2 BroadcastingList3 BroadcastingList4 "
        "BroadcastingList5 BroadcastingList6 Dict Final Future List Optional Tuple Union _IgnoreContextManager _drop "
        "_isinstance _overload _overload_method _qualified_name boolean_dispatch "
        "createResolutionCallbackFromClosure createResolutionCallbackFromFrame export "
        "get_callable_argument_names ignore is_dict is_final is_future is_ignored_fn is_list is_optional "
        "is_scripting is_tuple is_union should_drop unused"
    },
    "flambeau.jit.internal_names",
)
_provide(__name__, {"overrides": _function_calls.NAMES}, "flambeau.tensor.function_calls")
_provide(
    __name__,
    {
        "__future__": "get_overwrite_module_params_on_conversion get_swap_module_params_on_conversion "
        "set_overwrite_module_params_on_conversion set_swap_module_params_on_conversion"
    },
    "flambeau.nn.swapped_parameters",
)
_provide(__name__, {"torch_version": "TorchVersion"}, "flambeau.util.torch_version")
_provide(__name__, {"version": "__version__ cuda debug git_version hip"}, "flambeau.util.version")
_also(f"{__name__}.futures", f"{__name__}.jit.futures")
_also(f"{__name__}._higher_order_ops", f"{__name__}.func.control_flow")
_also(f"{__name__}._C", f"{__name__}.jit.torch_names")
for _name in ("profiler", "random"):
    _sys.modules[f"{__name__}.{_name}"] = globals()[_name]  # for `import flambeau.profiler`
PACKAGE.provide(_sys.modules[__name__])
del PACKAGE
_importing.__exit__(None, None, None)


_LATER = ("distributions", "masked", "multiprocessing", "signal", "te", "testing", "utils")
"""Packages that are imported when they are first asked for, and by no star."""
_COMPILER = ("ir", "jit", "library", "optim", "serialization")
"""Modules of the compiler, or over it, which are imported when one of their names is first asked for."""
_ROOMS = (
    "analysis", "autodiff", "codegen", "executor", "frontend", "interpreter", "passes", "program", "serialize",
    "specialise",
)  # fmt: skip
"""What the compiler consists of."""
_FROM_COMPILER = {
    "CompilationUnit": "jit.compilation_unit:CompilationUnit",
    "_C": "jit.torch_names",
    "disabled": "jit.disabled:disabled",
    "futures": "jit.futures",
    "get_num_interop_threads": "interpreter.tasks:get_num_interop_threads",
    "get_num_threads": "codegen.threads:get_num_threads",
    "interface": "jit.classes.interfaces:interface",
    "load": "jit.loading.load:load_values",
    "prange": "program.prange:prange",
    "save": "serialize.archive_writer.values_file:save",
    "script": "jit.script:script",
    "set_num_interop_threads": "interpreter.tasks:set_num_interop_threads",
    "set_num_threads": "codegen.threads:set_num_threads",
    "trace": "jit.tracing.trace:trace",
    "vectorize": "jit.vectorize:vectorize",
}
"""Modules of the compiler that have another name here, and what others have: `module:name`."""
__all__ = [  # what a star imports: operators are asked for one by one
    _name for _name in (*globals(), *_COMPILER, *_ROOMS, *_FROM_COMPILER) if not _name.startswith("_")
]


def __getattr__(name: str) -> _Any:
    """The function of an operator, made when it is first asked for; what is not imported before."""
    if name in _LATER:
        return _import_module(f"flambeau.{name}")
    if name in _COMPILER or name in _ROOMS or name in _FROM_COMPILER:
        value = globals()[name] = _of_compiler(name)
        return value
    if (path := _path_of(__name__, name)) is not None:
        return path
    if name in _ABSENT:
        raise AttributeError(_ABSENT[name])
    if name.startswith(_foreach.PREFIX) and (over_lists := _foreach.function(name)) is not None:
        return over_lists
    operator = globals()[name] = _surface.function(name)
    return operator


def _of_compiler(name: str) -> _Any:
    """A module of the compiler, or what one has. All of it is imported first, by the same module in all threads: what
    two threads import by different ones, each may wait for the other. Nobody could import again what is left half
    imported, with rules that are registered."""
    with _no_collection(), _late_signals():
        _import_module("flambeau.jit")
        path, _, theirs = _FROM_COMPILER.get(name, name).partition(":")
        module = _import_module(f"flambeau.{path}")
        return getattr(module, theirs) if theirs else module


def __dir__() -> list[str]:
    return sorted({*globals(), *_COMPILER, *_ROOMS, *_FROM_COMPILER, *_surface.function_names()})
