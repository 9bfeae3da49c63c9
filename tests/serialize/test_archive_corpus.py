"""Archives that PyTorch wrote do here what they did there."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau.codegen.llvm.host import this_host
from flambeau.testing import archives

DATA = Path(__file__).parent.parent / "data"
QUANTISED = (
    "quant_test_conv2d_graph_scripted", "quant_test_linear_scripted", "quant_test_conv2d_graph_v3_scripted",
    "quant_test_lstm_scripted", "quant_test_conv2d_nobias_scripted",
)  # fmt: skip


MORE = Path(os.environ.get("FLAMBEAU_ARCHIVES", DATA.parents[2] / "shared" / "data"))
"""Where more archives may lie: folders of the same names as here, which are no part of the repository."""
LETTERS = 20_000
"""How long the programs of an archive may be; those of longer ones run with FLAMBEAU_ARCHIVES alone."""
DRAWS = ("test_interpreter_async", "test_versioned_random")
"""What draws random numbers gives others than were recorded."""
RANDOM = "test_interpreter_async:"
STEPS = "getstate_script:"
"""Its `__setstate__` counts how often it was loaded."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("again", [False, True])
def test_recorded_calls_agree(again: bool, capsys: pytest.CaptureFixture[str]) -> None:
    archives.main([str(DATA / "archives"), str(DATA / "archives_old")], optimized=False, again=again)
    *lines, last = capsys.readouterr().out.splitlines()
    others = [line for line in lines if not line.startswith((RANDOM, STEPS) if again else RANDOM)]
    assert others == []
    assert last.startswith("55 archives loaded, 0 refused; ")


def elsewhere() -> list[Path]:
    """The archives that lie elsewhere and not here too."""
    found = [p for folder in ("archives", "archives_old") for p in sorted((MORE / folder).glob("*.pt"))]
    return [p for p in found if not (DATA / p.parent.name / p.name).exists()]


def letters_of(archive: Path) -> int:
    with zipfile.ZipFile(archive) as opened:
        return sum(record.file_size for record in opened.infolist() if record.filename.endswith(".py"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_archives_that_lie_elsewhere_are_saved_again_and_agree(part: int) -> None:
    archives_of_part = elsewhere()[part::4]
    if not archives_of_part:
        pytest.skip("there are none: FLAMBEAU_ARCHIVES names the folder")
    is_complete = "FLAMBEAU_ARCHIVES" in os.environ
    wrong = []
    for archive in archives_of_part:
        if is_complete or letters_of(archive) <= LETTERS:
            report = archives.check(archive, optimized=False, again=True)
            differences = [] if report.name.startswith(DRAWS) else report.differences
            wrong += [f"{report.name}: {text}" for text in (*differences, report.refused) if text]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["lstmcell_trace", "sieve_script", "classes_script", "frozen_unet"])
def test_machine_code_agrees(name: str) -> None:
    report = archives.check(DATA / "archives" / f"{name}.pt")
    assert not report.refused
    assert not report.differences


def test_what_is_missing_is_listed_at_once(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pt"
    with zipfile.ZipFile(DATA / "archives_old" / f"{QUANTISED[0]}.pt") as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(".py"):
                data = data.replace(b"torch.dequantize", b"torch.unquantize")
                data = data.replace(b"quantized.conv2d", b"odd.conv2d")
            new.writestr(name, data)
    with pytest.raises(flambeau.jit.ArchiveError) as caught:
        flambeau.jit.load(broken)
    text = str(caught.value)
    for part in (
        "it needs what Flambeau does not have: ",
        "odd::conv2d (code/__torch__/torch/nn/modules/container/___torch_mangle_48.py, line 10)",
        "aten::unquantize (",
    ):
        assert part in text, text


@pytest.mark.parametrize("name", QUANTISED)
def test_quantised_archives_are_saved_again(name: str) -> None:
    first = flambeau.jit.load(DATA / "archives_old" / f"{name}.pt")
    saved = first.save_to_buffer()
    again = flambeau.jit.load(io.BytesIO(saved))
    with np.load(DATA / "archives_old" / f"{name}.inputs.npz") as inputs:
        for call in json.loads(str(inputs["spec"])):
            args = [archives.decoded(v, inputs) for v in call["args"]]
            assert list(archives.differences(again(*args), first(*args))) == []
            try:
                import torch
            except ImportError:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loaded = torch.jit.load(io.BytesIO(saved))
            if "lstm" in name and not this_host().has("avx512vnni"):
                continue  # PyTorch adds pairs of products of int8 in 16 bits there, where they saturate
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = loaded(*[torch.from_numpy(a.numpy()) for a in args])
            expected = theirs[0] if isinstance(theirs, tuple) else theirs
            mine = first(*args)
            np.testing.assert_allclose((mine[0] if isinstance(mine, tuple) else mine).numpy(), expected, atol=1e-4)


def test_quantised_tensors_need_data() -> None:
    with pytest.raises(flambeau.jit.ArchiveError, match="is not there without data"):
        flambeau.jit.load(DATA / "archives_old" / f"{QUANTISED[0]}.pt", map_location="meta")


def test_broken_packed_weights_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pt"
    with zipfile.ZipFile(DATA / "archives_old" / f"{QUANTISED[2]}.pt") as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(b"per_tensor_affine", b"per_nobody_affine") if "data.pkl" in name else data)
    with pytest.raises(flambeau.jit.ArchiveError, match=r"it names torch\.per_nobody_affine"):
        flambeau.jit.load(broken)


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
    large = flambeau.tensor([1000.0, 0.0])
    assert not list(archives.differences(large + 1e-3, large)), "rounding is told by the largest element"
    assert list(archives.differences(large + 1.0, large))
    assert not list(archives.differences((one, {"a": float("nan")}), [one, {"a": float("nan")}]))
