"""One level of x86-64 for everybody: the settings by which each library uses no instruction beyond it.

Every one is read when its library is imported, or first compiles. numexpr has no code of its own for a level.
"""

from __future__ import annotations

from flambeau.codegen.llvm.host import processor_of

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
_OPENBLAS = {"x86-64-v2": "Nehalem", "x86-64-v3": "Haswell", "x86-64-v4": "SkylakeX"}
_ATEN = {"x86-64-v2": "default", "x86-64-v3": "avx2", "x86-64-v4": "avx512"}
_ONEDNN = {"x86-64-v2": "SSE41", "x86-64-v3": "AVX2", "x86-64-v4": "AVX512_CORE"}
_MKL = {"x86-64-v2": "SSE4_2", "x86-64-v3": "AVX2", "x86-64-v4": "AVX512"}
_XLA = {"x86-64-v2": "SSE4_2", "x86-64-v3": "AVX2", "x86-64-v4": "AVX512"}
_NUMPY = ("X86_V3", "X86_V4", "AVX512_ICL", "AVX512_SPR")
"""What NumPy has code for beyond the level that it demands, in order."""
_NUMPY_HAS = {"x86-64-v2": 0, "x86-64-v3": 1, "x86-64-v4": 2}


def settings(level: str) -> dict[str, str]:
    """The environment of a process in which every peer, and we, keep to a level. Raises ProcessorError."""
    if level not in LEVELS:
        raise ValueError(f"--cpu {level}: expected one of {', '.join(LEVELS)}")
    processor = processor_of(level)
    return {
        "FLAMBEAU_CPU": level,
        "NPY_DISABLE_CPU_FEATURES": " ".join(_NUMPY[_NUMPY_HAS[level] :]),
        "OPENBLAS_CORETYPE": _OPENBLAS[level],
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": processor.features,
        "ATEN_CPU_CAPABILITY": _ATEN[level],
        "TORCHINDUCTOR_CPP_MARCH": level,
        "ONEDNN_MAX_CPU_ISA": _ONEDNN[level],
        "MKL_ENABLE_INSTRUCTIONS": _MKL[level],
        "XLA_FLAGS": f"--xla_cpu_max_isa={_XLA[level]}",
    }
