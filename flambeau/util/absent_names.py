"""Names of PyTorch that people look for and that are not here, each with what to write in its place.

>>> import flambeau
>>> flambeau.sparse_coo_tensor
Traceback (most recent call last):
    ...
AttributeError: flambeau has no sparse tensors: keep the values beside their indices (x.index_add(0, rows, values), \
scatter_add, embedding_bag), or compute with scipy.sparse outside of programs

The import of a module of such a name says the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from typing import Any, Final, NoReturn

_SPARSE: Final = (
    "flambeau has no sparse tensors: keep the values beside their indices (x.index_add(0, rows, values), scatter_add, "
    "embedding_bag), or compute with scipy.sparse outside of programs"
)
_QUANTIZATION: Final = (
    "flambeau chooses no scales for a model: quantise it with PyTorch, and load the archive (flambeau.jit.load): "
    "quantised tensors and layers are here"
)
_BYTECODE: Final = (
    "flambeau follows no Python bytecode: flambeau.script(f) compiles what a function says, flambeau.trace(f, x) what "
    "it did with an example, and script(f).explain() tells what became native"
)
_PROCESSES: Final = (
    "flambeau computes in one process: utils.data.DistributedSampler shares batches out, and what processes exchange "
    "are NumPy arrays, x.numpy(), by mpi4py or another library"
)
_EIGHT_BITS: Final = (
    "flambeau has no floats of 8 bits: keep such weights as float16 or bfloat16, or quantise them "
    "(quantize_per_channel)"
)
_SAFE: Final = (
    "flambeau.load makes no objects of classes, so that none has to be allowed: save the state of an object, a dict of "
    "tensors and numbers, and make the object of it"
)
_ENDS: Final = "flambeau.save writes elements with their low bytes first, and load reads both orders"
_KERNELS: Final = (
    "flambeau has one kernel of attention, and chooses nothing: nn.attention.sdpa_kernel(...) is accepted around calls"
)
_PIPES: Final = (
    "flambeau has no data pipes, which PyTorch gave up: write a Dataset or an IterableDataset, with generators for "
    "steps"
)
_NO_DOWNLOADS: Final = (
    "flambeau downloads nothing: fetch the file, then flambeau.load(path), or utils.safetensors.load_file"
)
_MARKS: Final = "flambeau marks nothing for NVIDIA's tools: profiler.profile shows what runs"

ABSENT: Final[dict[str, str]] = {
    **dict.fromkeys(("sparse", "sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor",
                     "sparse_bsc_tensor", "sparse_compressed_tensor"), _SPARSE),
    **dict.fromkeys(("quantization", "ao", "nn.quantized", "nn.intrinsic", "nn.qat", "nn.quantizable"), _QUANTIZATION),
    **dict.fromkeys(("compile", "export", "_dynamo", "_inductor", "compiler.compile", "compiler.reset"), _BYTECODE),
    **dict.fromkeys(("distributed", "nn.parallel.DistributedDataParallel", "nn.parallel.distributed"), _PROCESSES),
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
                     "float4_e2m1fn_x2"), _EIGHT_BITS),
    **dict.fromkeys(("serialization.add_safe_globals", "serialization.clear_safe_globals",
                     "serialization.get_safe_globals", "serialization.safe_globals",
                     "serialization.get_unsafe_globals_in_checkpoint"), _SAFE),
    **dict.fromkeys(("serialization.LoadEndianness", "serialization.get_default_load_endianness",
                     "serialization.set_default_load_endianness"), _ENDS),
    **dict.fromkeys(("backends.cuda.sdp_kernel", "backends.cuda.enable_flash_sdp", "backends.cuda.flash_sdp_enabled",
                     "backends.cuda.enable_math_sdp", "backends.cuda.math_sdp_enabled",
                     "backends.cuda.enable_mem_efficient_sdp", "backends.cuda.mem_efficient_sdp_enabled",
                     "backends.cuda.enable_cudnn_sdp", "backends.cuda.cudnn_sdp_enabled"), _KERNELS),
    **dict.fromkeys(("utils.data.IterDataPipe", "utils.data.MapDataPipe", "utils.data.DFIterDataPipe",
                     "utils.data.datapipes", "utils.data.functional_datapipe", "utils.data.graph"), _PIPES),
    **dict.fromkeys(("hub", "utils.model_zoo"), _NO_DOWNLOADS),
    **dict.fromkeys(("cuda.nvtx", "autograd.profiler.emit_nvtx", "autograd.profiler.emit_itt"), _MARKS),
    "cuda.jiterator": "flambeau compiles no C++: flambeau.script(f) of a pointwise f is one kernel on the device",
    "func.debug_unwrap": "print(x) within a transform shows the tensor, with what the transform adds to it",
    "func.rearrange": "flambeau reads no patterns of axes: write x.permute(...).reshape(...), or einops.rearrange",
    "lobpcg": "flambeau computes all eigenvalues: linalg.eigh(A), in whose results the largest k are the last",
    "monitor": "flambeau sends no events anywhere: FLAMBEAU_LOG says what is compiled, profiler.profile what runs",
    "nested": "flambeau has no nested tensors: pad them (nn.utils.rnn.pad_sequence) beside their lengths, or pack them "
    "(pack_padded_sequence)",
    "nn.attention.bias": "write scaled_dot_product_attention(q, k, v, is_causal=True), or pass a mask as attn_mask",
    "nn.attention.flex_attention": "write scaled_dot_product_attention with a mask or numbers to add as attn_mask; "
    "flambeau.script makes one function of that and what computes them",
    "onnx": "flambeau writes no ONNX files: fn.save(path) writes an archive, which torch.jit.load reads and "
    "torch.onnx.export makes a file of",
    "optim.SparseAdam": "module 'flambeau.optim' has no attribute 'SparseAdam': flambeau has no sparse tensors, and "
    "gradients of embeddings are dense. Write optim.Adam, whose step is one kernel",
    "package": "flambeau writes no packages of source: flambeau.jit.save(script(model), path) keeps code and values",
    "serialization.register_package": "tensors are put on a device by flambeau.load(path, map_location=device)",
    "serialization.skip_data": "make tensors without data on the device 'meta', and save their sizes",
    "utils.bundled_inputs": "flambeau keeps no examples in archives: flambeau.save([inputs], path) writes them beside",
    "utils.collect_env": "flambeau.__version__ and FLAMBEAU_LOG say what runs; python -m pip list tells the rest",
    "utils.cpp_extension": "flambeau compiles no C++: write the kernel as flambeau.script(f) or flambeau.te, or call a "
    "C library by ctypes within a library.custom_op",
    "utils.mobile_optimizer": "fn.save(path) writes an archive, of which PyTorch makes one for phones",
    "utils.tensorboard": "flambeau writes no event files: tensorboardX, or another library, takes numbers and arrays",
}  # fmt: skip
"""By what comes behind `flambeau.`, what to do."""


def reason(module: str, name: str) -> str:
    """Why a module has no attribute of a name.

    >>> reason("flambeau.utils", "nothing")
    "module 'flambeau.utils' has no attribute 'nothing'"
    """
    text = ABSENT.get(f"{module}.{name}".partition(".")[2])
    return text or f"module '{module}' has no attribute '{name}'"


def refuse(module: str) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module that has no other: it says why there is nothing of a name, and what to write.

    >>> refuse("flambeau.utils")("cpp_extension")
    Traceback (most recent call last):
        ...
    AttributeError: flambeau compiles no C++: write the kernel as flambeau.script(f) or flambeau.te, or call a C \
library by ctypes within a library.custom_op
    """

    def refusal(name: str) -> NoReturn:
        raise AttributeError(reason(module, name))

    return refusal


class _Refusing(MetaPathFinder):
    """Says of modules that are imported and are not here what to do; it is asked when nobody else found them."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        package, _, rest = fullname.partition(".")
        if package == "flambeau" and rest in ABSENT:
            raise ModuleNotFoundError(f"No module named '{fullname}': {ABSENT[rest]}", name=fullname)


sys.meta_path.append(_Refusing())
