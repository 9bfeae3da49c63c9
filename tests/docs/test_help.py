"""`help()` of every public name tells what it is, its arguments and an example; a list says which do not yet."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from typing import Any

import pytest

import flambeau
from flambeau import fft, jit, linalg, nn, special
from flambeau.nn import functional

MODULES = {
    "flambeau": flambeau, "nn": nn, "nn.functional": functional, "jit": jit, "linalg": linalg, "fft": fft,
    "special": special,
}  # fmt: skip


def public(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Functions and classes of a module; errors say all there is to say in their first line."""
    for name in dir(module):
        found = getattr(module, name)
        is_error = isinstance(found, type) and issubclass(found, BaseException)
        is_typing = getattr(found, "__module__", "").startswith(("typing", "collections"))
        if not (name.startswith("_") or not callable(found) or is_error or is_typing):
            yield name, found


def lacks(name: str, found: Any) -> set[str]:
    """What the text of `help()` does not tell."""
    text = inspect.getdoc(found) or ""
    missing = set() if ">>>" in text or "Example:" in text else {"an example"}
    try:
        takes = [p for p in inspect.signature(found).parameters if p not in ("self", "given")]
    except (ValueError, TypeError):
        takes = []
    called = (name, getattr(found, "__name__", name), f"linalg_{name}", f"fft_{name}", f"special_{name}")
    if takes and "Args:" not in text and not any(f"{n}(" in text for n in called):
        missing.add("arguments")
    return missing if text else {"everything"}


def lacking() -> dict[str, set[str]]:
    """The names whose text lacks something, by what they lack."""
    found: dict[str, set[str]] = {}
    for path, module in MODULES.items():
        for name, value in public(module):
            for what in lacks(name, value):
                found.setdefault(what, set()).add(f"{path}.{name}".removeprefix("flambeau."))
    return found


MADE_ELSEWHERE = {
    "jit.TopLevelTracedModule", "jit.TracedModule",
    "DType", "Layout", "MemoryFormat", "dtype", "layout", "memory_format", "Tensor", "nn.functional.Tensor",
    "nn.Module", "jit.Future", "jit.RecursiveScriptModule", "jit.ScriptModule", "QScheme", "Tag",
}  # fmt: skip
"""Classes whose constructors are not called by users, or with what their subclasses say."""
WITHOUT_EXAMPLE = {
    "addmm", "addmm_", "affine_grid_generator", "aminmax", "bilinear", "binary_cross_entropy_with_logits",
    "cosine_embedding_loss", "detach_", "embedding_bag", "embedding_renorm_", "empty_permuted",
    "fake_quantize_per_channel_affine", "fft.ihfft2", "fft.ihfftn", "fft_ihfft2", "fft_ihfftn", "frexp", "gru",
    "gru_cell", "index_add", "index_put_", "index_reduce", "istft", "kthvalue",
    "linalg.householder_product", "linalg.ldl_solve", "linalg.lu_solve", "linalg.matmul", "linalg.matrix_power",
    "linalg.matrix_rank", "linalg_ldl_solve",
    "linalg.multi_dot", "linalg.solve_ex", "linalg.solve_triangular", "linalg.tensorinv", "linalg.tensorsolve",
    "linalg_householder_product", "linalg_lu_solve", "linalg_matmul", "linalg_matrix_power", "linalg_matrix_rank",
    "linalg_multi_dot", "linalg_solve_ex", "linalg_solve_triangular", "linalg_tensorinv", "linalg_tensorsolve",
    "linear", "lstm", "lstm_cell", "lu_solve", "margin_ranking_loss", "masked_scatter", "mm", "msort",
    "orgqr", "ormqr", "poisson_nll_loss", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points",
    "quantize_per_channel", "quantized_gru", "quantized_lstm", "resize_as_", "rnn_relu", "rnn_relu_cell", "rnn_tanh",
    "rnn_tanh_cell", "scatter_add", "scatter_reduce", "topk", "triplet_margin_loss",
}  # fmt: skip
"""Operators whose declarations have no sample that can be written in a line; and what is deprecated."""


def test_c08_help_tells_what_a_name_is() -> None:
    assert "everything" not in lacking()


def test_c08_help_tells_the_arguments() -> None:
    assert lacking()["arguments"] == MADE_ELSEWHERE | {"nn.NLLLoss2d"}


def test_c08_help_has_an_example() -> None:
    found = lacking()["an example"]
    assert found - WITHOUT_EXAMPLE == set(), "give their declarations samples, or their docstrings an example"
    assert WITHOUT_EXAMPLE - found == set(), "these have an example now: take them off the list"


def test_help_of_methods_says_what_they_take_or_where_that_is_said() -> None:
    for name in dir(flambeau.Tensor):
        text = inspect.getdoc(getattr(flambeau.Tensor, name)) or ""
        where = re.search(r"help\(flambeau\.(\w+)\) tells what it takes", text)
        if where is not None:
            assert f"{where[1]}(" in (inspect.getdoc(getattr(flambeau, where[1])) or ""), name
            assert text.splitlines()[0], f"{name} does not say what it does"
        elif "A method of tensors: " in text:
            assert f"    {name}(self: Tensor" in text


def test_help_calls_operators_as_python_does() -> None:
    assert "    linalg.solve(A: Tensor, B: Tensor" in (inspect.getdoc(flambeau.linalg.solve) or "")
    assert (inspect.getdoc(flambeau.relu_) or "").startswith("max(x, 0).\nThe result is written to the first argument")


def test_c08_help_of_a_layer() -> None:
    text = inspect.getdoc(nn.Conv2d) or ""
    parameters = [p for p in inspect.signature(nn.Conv2d).parameters if p != "self"]
    assert all(f"    {name}: " in text for name in parameters)
    for part in ("Args:", "Shape:", "(N, C, H, W)", ">>> flambeau.nn.Conv2d("):
        assert part in text


def layers() -> list[str]:
    """The layers: classes that have a `forward`."""
    return [n for n in nn.__all__ if n[0].isupper() and "forward" in dir(getattr(nn, n))]


@pytest.mark.parametrize("name", [n for n in layers() if n not in ("Module", "NLLLoss2d")])
def test_c08_help_of_every_layer_names_its_arguments_and_shapes(name: str) -> None:
    found = getattr(nn, name)
    text = inspect.getdoc(found) or ""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for parameter in inspect.signature(found).parameters.values():
        assert parameter.kind in kinds or f"{parameter.name}: " in text, f"{name}: {parameter.name} is not told"
    assert "Shape:" in text or not hasattr(found, "extra_repr") or name in CONTAINERS, f"{name}: no shapes"


CONTAINERS = {
    "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "RNNBase", "RNNCellBase",
    "DataParallel",
}  # fmt: skip
"""Their shapes are those of what they contain."""
