"""Under which topic an operator is looked for: that of the module of `flambeau.ops` which declares it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import flambeau.ops
from flambeau.schema.opdef import OpDef

OPS: Final = Path(flambeau.ops.__file__).parent
LANGUAGE: Final = "Values of the language"
QUESTIONS: Final = "Questions about tensors"
OTHERS: Final = "Older forms and others"
TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "Creating tensors": ("creation", "ranges", "signal_windows", "language/tensors"),
    "Random numbers": ("random", "random_fill"),
    "Pointwise mathematics": ("unary", "arithmetic", "derived_math", "complex_numbers"),
    "Comparisons and logic": ("compare", "logic", "membership"),
    "Reductions, scans and statistics": (
        "reductions", "extremes", "spread", "scans", "statistics", "quantiles",
        "finite_differences",
    ),
    "Sorting and searching": ("sorting", "searching", "distinct"),
    "Shapes and views": ("views", "windows", "orders", "number_views", "splits", "rearranging", "copied_views"),
    "Joining": ("joining",),
    "Indexing": ("indexing", "gathering", "nonzero", "items", "index_writes", "scattering", "masks"),
    "Copies, dtypes and memory": ("copies", "conversions", "layout_changes", "autocast_casts"),
    "Products and matrices": (
        "products", "product_gradients", "contractions", "addmm", "einsum", "triangles", "neighbours",
        "distance_gradients",
    ),
    "Linear algebra": (
        "linalg_decompositions", "linalg_functions", "linalg_ldl", "linalg_lu", "linalg_norms", "linalg_solving",
        "linalg_spectra",
        "determinant_gradient",
    ),
    "Fourier transforms": ("fourier", "frequencies", "spectrograms"),
    "Special functions": ("orthogonal_polynomials", "special_functions"),
    "Networks: activations": ("activation", "gates", "softmax"),
    "Networks: convolution, padding, pooling": (
        "channels_last", "convolution", "convolution_gradients", "convolution_tbc", "padding", "native_windows",
        "pooling", "pooling_adaptive", "pooling_fractional", "pooling_gradients", "unpooling",
    ),
    "Networks: resampling": (
        "resampling", "resampling_cubic", "resampling_smooth", "grids", "grid_places", "weighted_reading",
        "reading_between",
    ),
    "Networks: normalisation": (
        "batch_norm", "batch_norm_gradients", "batch_norm_training", "layer_norm_gradients", "normalization",
        "instance_norm_alone",
    ),
    "Networks: losses": (
        "loss", "distances", "margin_losses", "classification", "class_losses", "ctc", "ctc_gradient",
    ),
    "Networks: sequences": (
        "embedding", "embedding_bags", "attention", "recorded_attention", "causal_softmax", "attention_layers",
        "recurrent", "recurrent_cells", "cell_gates", "recurrent_layers", "packing",
    ),
    "Quantised tensors": (
        "quantized_values", "quantized_arithmetic", "quantized_layers", "quantized_convolutions", "quantized_dynamic",
        "quantized_norms", "quantized_recurrent", "fake_quantize",
    ),
    QUESTIONS: ("queries",),
    OTHERS: ("older_forms", "python_forms"),
    LANGUAGE: ("language/*", "profiler"),
}  # fmt: skip
"""Topics in the order of the site; modules of `flambeau.ops`, `*` for all in a folder that no other topic has."""
OF_MODULE: Final = {module: topic for topic, modules in TOPICS.items() for module in modules}


def topic_of(definitions: Iterable[OpDef]) -> str:
    """The topic of an operator, by what its overloads are declared with."""
    listed = list(definitions)
    for definition in listed:
        module = declaring_module(definition)
        if module:
            return topic_of_module(module) or OTHERS
    return LANGUAGE if listed[0].family == "language" else QUESTIONS


def topic_of_module(module: str) -> str:
    """The topic of a module of `flambeau.ops`; nothing where none has it."""
    folder, _, name = module.rpartition("/")
    return OF_MODULE.get(module) or OF_MODULE.get(name) or OF_MODULE.get(f"{folder.partition('/')[0]}/*", "")


def declaring_module(definition: OpDef) -> str:
    """The module of `flambeau.ops`, `linalg_lu` say, in which a part of the declaration is written; or nothing."""
    parts = (definition.kernel, definition.scalar, definition.samples, definition.errors, definition.reference)
    for part in (*parts, definition.shape, definition.dtype, definition.compute):
        for file in files(part, set()):
            path = Path(file)
            if OPS in path.parents and "families" not in path.parts:
                return str(path.relative_to(OPS).with_suffix(""))
    return ""


def files(value: Any, seen: set[int], depth: int = 0) -> Iterator[str]:
    """The source files of a function and of the functions that it was made from."""
    if not callable(value) or isinstance(value, type) or id(value) in seen or depth > 5:
        return
    seen.add(id(value))
    code = getattr(value, "__code__", None)
    if code is not None:
        yield code.co_filename
    inner: list[Any] = [getattr(value, name, None) for name in ("__wrapped__", "__func__", "func")]
    for cell in getattr(value, "__closure__", None) or ():
        try:
            inner.append(cell.cell_contents)
        except ValueError:
            continue
    if code is None:
        inner += [getattr(value, name, None) for name in getattr(type(value), "__slots__", ())]
        inner += list(getattr(value, "__dict__", {}).values())
    for found in inner:
        yield from files(found, seen, depth + 1)
