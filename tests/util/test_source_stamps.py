"""What tells the sources of a package from what they were before they were edited."""

from __future__ import annotations

import os
from pathlib import Path

from flambeau.util.source_stamps import source_stamps


def test_stamps_name_every_python_file_and_tell_edits(tmp_path: Path) -> None:
    (tmp_path / "room" / "inner").mkdir(parents=True)
    (tmp_path / "roomy").mkdir()
    for place in ("a.py", "room/b.py", "room/inner/c.py", "roomy/d.py", "room/note.txt"):
        (tmp_path / place).write_text("x = 1\n")
    before = source_stamps(str(tmp_path))
    names = [line.split(" ")[0].replace(os.sep, "/") for line in before.split("\n")]
    assert sorted(names) == ["/a.py", "/room/b.py", "/room/inner/c.py", "/roomy/d.py"]
    within = [line.split(" ")[0].replace(os.sep, "/") for line in source_stamps(str(tmp_path), "room").split("\n")]
    assert within == ["/room/b.py", "/room/inner/c.py"]
    os.utime(tmp_path / "room" / "b.py", (1, 1))
    source_stamps.cache_clear()
    assert source_stamps(str(tmp_path)) != before


def test_the_record_of_an_installer_speaks_for_all_files(tmp_path: Path) -> None:
    package, room = tmp_path / "house", tmp_path / "house" / "room"
    room.mkdir(parents=True)
    (room / "b.py").write_text("x = 1\n")
    record = tmp_path / "house-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("house/room/b.py,,\n")
    before = source_stamps(str(package))
    assert before.startswith("house-1.0.dist-info ")
    assert "b.py" not in before
    assert source_stamps(str(package), "room") == before
    os.utime(record, (1, 1))
    source_stamps.cache_clear()
    assert source_stamps(str(package)) != before  # another installation, of the same version too
    (tmp_path / "house-2.0.dist-info").mkdir()
    (tmp_path / "house-2.0.dist-info" / "RECORD").write_text("")
    source_stamps.cache_clear()
    assert source_stamps(str(package)).startswith(f"{os.sep}room{os.sep}b.py ")  # which of them holds, nobody knows
