"""Archives that PyTorch wrote do here what they did there."""

from __future__ import annotations

from pathlib import Path

import pytest

import flambeau
from flambeau.testing import archives

DATA = Path(__file__).parent.parent / "data"
QUANTISED = ("quant_test_conv2d_graph_scripted", "quant_test_linear_scripted")


@pytest.mark.parametrize("folder", ["archives", "archives_old"])
@pytest.mark.filterwarnings("ignore")
def test_recorded_calls_agree(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert archives.main([str(DATA / folder)]) == 0
    refused = [line.partition(" ")[0] for line in capsys.readouterr().out.splitlines() if " is refused: " in line]
    assert refused == ([] if folder == "archives" else list(QUANTISED))


def test_what_is_missing_is_listed_at_once() -> None:
    with pytest.raises(flambeau.jit.ArchiveError) as caught:
        flambeau.jit.load(DATA / "archives_old" / f"{QUANTISED[0]}.pt")
    text = str(caught.value)
    for part in (
        "it needs what Flambeau does not have: ",
        "aten::quantize_per_tensor (code/__torch__/torch/nn/modules/container/___torch_mangle_48.py, line 8)",
        "quantized::conv2d (",
        "torch.classes.quantized.Conv2dPackedParamsBase (",
    ):
        assert part in text, text


def test_differences_are_found() -> None:
    from flambeau.testing.archives import differences

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
        assert text in "; ".join(differences(found, expected))
    assert not list(differences((one, {"a": float("nan")}), [one, {"a": float("nan")}]))
