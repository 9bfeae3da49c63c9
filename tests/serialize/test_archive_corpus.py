"""Archives that PyTorch wrote do here what they did there."""

from __future__ import annotations

from pathlib import Path

import pytest

import flambeau
from flambeau.testing import archives

DATA = Path(__file__).parent.parent / "data"
QUANTISED = ("quant_test_conv2d_graph_scripted", "quant_test_linear_scripted")


@pytest.mark.filterwarnings("ignore")
def test_recorded_calls_agree(capsys: pytest.CaptureFixture[str]) -> None:
    archives.main([str(DATA / "archives"), str(DATA / "archives_old")], optimized=False)
    *lines, last = capsys.readouterr().out.splitlines()
    refused = [line.partition(" ")[0] for line in lines if " is refused: " in line]
    others = [line for line in lines if " is refused: " not in line and not line.startswith("test_interpreter_async:")]
    assert refused == list(QUANTISED)
    assert others == []
    assert last.startswith("48 archives loaded, 2 refused; ")


@pytest.mark.parametrize("name", ["lstmcell_trace", "sieve_script", "classes_script", "frozen_unet"])
def test_machine_code_agrees(name: str) -> None:
    report = archives.check(DATA / "archives" / f"{name}.pt")
    assert not report.refused
    assert not report.differences


def test_what_is_missing_is_listed_at_once() -> None:
    with pytest.raises(flambeau.jit.ArchiveError) as caught:
        flambeau.jit.load(DATA / "archives_old" / f"{QUANTISED[0]}.pt")
    text = str(caught.value)
    for part in (
        "it needs what Flambeau does not have: ",
        "aten::quantize_per_tensor (code/__torch__/torch/nn/modules/container/___torch_mangle_48.py, line 8)",
        "quantized::conv2d (",
        "aten::dequantize (",
    ):
        assert part in text, text


def test_differences_are_found() -> None:
    one = flambeau.ones(2)
    wrong = {
        "is int, expected a tensor": (1, one),
        "is flambeau.float32 flambeau.Size([3]), expected": (flambeau.ones(3), one),
        "the elements of the result[0] differ by up to 1": ([one + 1], [one]),
        "is 1, expected '1'": (1, "1"),
        "is [1], expected [1, 2]": ([1], [1, 2]),
        "['a'] is 1.0, expected 2.0": ({"a": 1.0}, {"a": 2.0}),
    }
    for text, (found, expected) in wrong.items():
        assert text in "; ".join(archives.differences(found, expected))
    assert not list(archives.differences((one, {"a": float("nan")}), [one, {"a": float("nan")}]))
