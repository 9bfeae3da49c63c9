"""`flambeau.serialization`: what says whether a file is a container of archives."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import flambeau
from flambeau import serialization


def test_containers_are_told_from_other_files(tmp_path: Path) -> None:
    assert (serialization.load, serialization.save) == (flambeau.load, flambeau.save)
    path = tmp_path / "values.pt"
    flambeau.save({"a": flambeau.ones(1)}, path)
    with path.open("rb") as file:
        assert serialization._is_zipfile(file)
        assert file.tell() == 0
    for other in (b"", b"PK", b"text", b"\x80\x02"):
        assert not serialization._is_zipfile(io.BytesIO(other))
    behind = io.BytesIO(b"xx" + path.read_bytes())
    behind.seek(2)
    assert serialization._is_zipfile(behind)
    assert behind.tell() == 2


def test_how_pytorch_would_write_is_accepted() -> None:
    file = io.BytesIO()
    flambeau.save([1], file, pickle_protocol=4)
    assert flambeau.load(io.BytesIO(file.getvalue())) == [1]
    older = io.BytesIO()
    with pytest.warns(UserWarning, match="writes a ZIP file, as PyTorch does since 1.6"):
        flambeau.save([2], older, _use_new_zipfile_serialization=False)
    assert flambeau.load(io.BytesIO(older.getvalue())) == [2]
