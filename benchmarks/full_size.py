"""How fast models of the sizes that people run are: ours beside torch.jit's and ONNX Runtime's, as `benchmarks.models`.

    python -m benchmarks.full_size                          all models, with random weights
    python -m benchmarks.full_size --only 'resnet.*'        some of them
    FLAMBEAU_CPU=x86-64-v3 python -m benchmarks.full_size   ours as on a machine with AVX2 and no AVX-512

The models are traced into a temporary folder (or `--folder`, where they stay). Other options are those of
`benchmarks.models`. Needs torch; ONNX Runtime's column needs `onnx` and `onnxruntime`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import models


def write(folder: Path, only: str) -> list[str]:
    """Trace the models whose names match into a folder, each with the call that is measured; their names."""
    import torch

    from benchmarks.full_size_models import CASES

    names = [name for name in CASES if re.fullmatch(only or ".*", name)]
    for name in names:
        make, shape = CASES[name]
        torch.manual_seed(0)
        module, x = make().eval(), torch.randn(shape)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tracing is what saved models are made by, whatever it is told of
            torch.jit.trace(module, x, check_trace=False).save(str(folder / f"{name}.pt"))
        said = {"t": "tensor", "a": "x", "dtype": "float32", "shape": list(shape), "stride": list(x.stride())}
        calls = json.dumps([{"method": "forward", "args": [said], "kwargs": {}}])
        np.savez(folder / f"{name}.inputs.npz", spec=np.array(calls), x=x.numpy())
    return names


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the models, measure them, print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.full_size", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="regular expression that the name must match in full")
    parser.add_argument("--folder", type=Path, help="where the models are written and stay")
    own, others = parser.parse_known_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = own.folder or Path(temporary)
        names = write(folder, own.only)
        return models.main([str(folder), "--only", "|".join(names), *others])


if __name__ == "__main__":
    sys.exit(main())
