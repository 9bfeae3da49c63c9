"""`repr` and the text programs print, against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as fb
from flambeau.ops.language.text import value_text
from flambeau.tensor.script_format import script_text


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (lambda: fb.tensor([[1.0, 2.0], [3.0, 4.5]]), "tensor([[1.0000, 2.0000],\n        [3.0000, 4.5000]])"),
        (lambda: fb.tensor([1.0, -2.0]), "tensor([ 1., -2.])"),
        (lambda: fb.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
        (lambda: fb.tensor([float("nan"), 1.0]), "tensor([nan, 1.])"),
        (lambda: fb.tensor(3), "tensor(3)"),
        (lambda: fb.tensor([True, False]), "tensor([ True, False])"),
        (lambda: fb.tensor([1 + 2j]), "tensor([1.+2.j])"),
        (lambda: fb.empty(0, 3), "tensor([], size=(0, 3))"),
        (lambda: fb.empty(0, dtype=fb.int64), "tensor([], dtype=flambeau.int64)"),
        (lambda: fb.ones(1, dtype=fb.float64), "tensor([1.], dtype=flambeau.float64)"),
        (lambda: fb.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: fb.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    ],
)
def test_repr(tensor, text) -> None:
    assert repr(tensor()) == text


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (lambda: fb.arange(3), " 0\n 1\n 2\n[ CPULongType{3} ]"),
        (lambda: fb.tensor(2.5), "2.5\n[ CPUFloatType{} ]"),
        (lambda: fb.ones(2, 3), " 1  1  1\n 1  1  1\n[ CPUFloatType{2,3} ]"),
        (lambda: fb.empty(0, 3), "[ CPUFloatType{0,3} ]"),
        (lambda: fb.tensor([123456.7]), "100000 *\n 1.2346\n[ CPUFloatType{1} ]"),
        (lambda: fb.tensor([1e-5, 1.0]), " 1.0000e-05\n 1.0000e+00\n[ CPUFloatType{2} ]"),
        (lambda: fb.ones(2, 2, 2), "(1,.,.) = \n 1  1\n  1  1\n\n(2,.,.) = \n 1  1\n  1  1\n[ CPUFloatType{2,2,2} ]"),
        (lambda: fb.tensor([True]), " 1\n[ CPUBoolType{1} ]"),
    ],
)
def test_text_of_programs(tensor, text) -> None:
    assert script_text(tensor()) == text


def _random_array(rng: np.random.Generator, trial: int) -> np.ndarray:
    shape = tuple(rng.integers(0 if trial % 7 == 0 else 1, [5, 30, 4, 3][: rng.integers(0, 5)]))
    values = np.asarray(rng.standard_normal(shape))
    match trial % 6:
        case 1:
            values = values * 10.0 ** rng.integers(-12, 12)
        case 2:
            values = np.round(values * 10.0 ** rng.integers(0, 11))
        case 3:
            values = values * 10.0 ** rng.integers(-4, 5, shape)
        case 4:
            values = np.where(rng.random(shape) < 0.2, rng.choice([np.nan, np.inf, -np.inf]), values)
        case 5:
            values = np.where(rng.random(shape) < 0.4, 0, np.round(values * 5))
    dtype = rng.choice([np.float32, np.float64, np.float16, np.int64, np.bool_, np.complex64])
    with np.errstate(all="ignore"):
        if dtype in (np.int64, np.bool_):
            values = np.nan_to_num(values, posinf=1e9, neginf=-1e9)
        return np.asarray(values.astype(dtype))


def test_random_tensors_read_as_in_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    rng = np.random.default_rng(0)
    program = torch.jit.CompilationUnit('def f(x):\n    return "{}".format(x)\n').f
    for trial in range(250):
        array = _random_array(rng, trial)
        theirs, ours = torch.from_numpy(array), fb.from_numpy(array)
        flat = repr(theirs).replace("torch.", "flambeau.")
        assert " ".join(repr(ours).split()) == " ".join(flat.split())
        if array.dtype != np.complex64:
            assert script_text(ours) == program(theirs)


def test_print_options() -> None:
    try:
        fb.set_printoptions(precision=2, threshold=4, edgeitems=1, linewidth=40)
        assert repr(fb.tensor([1.5, 2.25, 3.0, 4.0, 5.0])) == "tensor([1.50,  ..., 5.00])"
        fb.set_printoptions(sci_mode=True)
        assert "e+00" in repr(fb.tensor([1.5]))
        fb.set_printoptions(profile="full")
        assert "..." not in repr(fb.arange(2000))
        fb.set_printoptions(profile="short", precision=3)
        assert repr(fb.arange(2000.0)) == "tensor([0.000e+00, 1.000e+00,  ..., 1.998e+03, 1.999e+03])"
        with pytest.raises(ValueError, match="expected a profile of default, short, full, got 'long'"):
            fb.set_printoptions(profile="long")
    finally:
        fb.set_printoptions(profile="default")
    assert repr(fb.arange(2000)).endswith("1997, 1998, 1999])")


def test_programs_show_tensors_in_columns() -> None:
    assert value_text(fb.arange(2)) == " 0\n 1\n[ CPULongType{2} ]"
    assert value_text([fb.tensor(2.5)]) == "[2.5\n[ CPUFloatType{} ]]"


def test_numbers_in_f_strings_are_plain() -> None:
    loss = fb.tensor(0.5, requires_grad=True)
    shown = [f"{loss}", f"{loss * 2:.1f}", f"{fb.tensor(3)}", f"{fb.tensor(True)}", f"{fb.tensor(1 + 2j)}"]
    assert shown == ["0.5", "1.0", "3", "True", "(1+2j)"]
    assert f"{fb.tensor(3):>4}|{fb.tensor(1.5, dtype=fb.bfloat16)}" == "   3|1.5"
    assert f"{fb.ones(1)} {fb.tensor(1.0, device='meta')}" == "tensor([1.]) tensor(..., device='meta', size=())"
    assert f"{fb.nn.Parameter(fb.tensor(2.0))}".startswith("Parameter containing:")


def test_printing_in_a_trace_fixes_nothing() -> None:
    def printed(x: fb.Tensor) -> fb.Tensor:
        assert f"{x.sum()}" != ""
        return x + 1

    traced = fb.trace(printed, (fb.ones(2),), check_trace=False)
    assert traced.baked == []
    assert traced(fb.zeros(3)).tolist() == [1.0, 1.0, 1.0]
