"""What tells the sources of a package from what they were before they were edited."""

from __future__ import annotations

import os
import time
import zipfile
from pathlib import Path

import pytest

from flambeau.util import process_start, source_stamps
from flambeau.util.source_files import GONE, Listing, listed, sizes_and_ages
from flambeau.util.source_stamps import SourceStamps

OLD = process_start.BEGIN - 10**12
"""An age before this process began."""


def write(path: Path, text: str = "x = 1\n", age: int = OLD) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(age, age))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name in ("a.py", "room/b.py", "room/inner/c.py", "roomy/d.py", "room/note.txt", "room/__pycache__/b.py"):
        write(tmp_path / "house" / name)
    return tmp_path / "house"


def stamp(package: Path, room: str = "") -> str:
    return SourceStamps(str(package)).of(room)


def test_a_listing_has_every_python_file_in_order(package: Path) -> None:
    files = listed(str(package))
    assert files.paths() == [b"a.py", b"room/b.py", b"room/inner/c.py", b"roomy/d.py"]
    assert Listing.read(files.written()) == files
    assert sorted(path for path, _ in files.folders) == ["", "room", "room/inner", "roomy"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{\n", b"[1]\nx", b'[["a"]]\n', b'[["a", "b"]]\n', b"null\n"])
def test_bytes_that_are_no_listing_are_none(content: bytes) -> None:
    assert Listing.read(content) is None


def test_a_listing_is_current_until_a_file_or_folder_comes_or_goes(package: Path) -> None:
    def changes() -> list[bool]:
        """Whether the listing of before is current after each change, and a new one then."""
        answers = []
        for change in (
            lambda: write(package / "room" / "new.py"),
            lambda: (package / "room" / "new.py").unlink(),
            lambda: (package / "roomy" / "d.py").rename(package / "roomy" / "e.py"),
            lambda: write(package / "room" / "inner" / "further" / "f.py"),
        ):
            before = listed(str(package))
            assert before.is_current(str(package))
            time.sleep(0.02)  # the tick of the file system's clock
            change()
            answers.append(before.is_current(str(package)))
        return answers

    assert changes() == [False] * 4
    kept = listed(str(package))
    write(package / "a.py", "x = 22\n")
    write(package / "room" / "__pycache__" / "b.cpython.pyc")
    assert kept.is_current(str(package))  # files are edited without their folders: their ages are asked for each time
    assert not kept.is_settled()  # changed a moment ago, and could change again without another age
    assert not kept.is_current(str(package.parent / "nowhere"))


def test_what_nobody_can_read_is_looked_at_again(package: Path) -> None:
    for path in (package / "nowhere", package / "a.py"):
        files = listed(str(path))
        assert files.folders == (("", GONE),)
        assert not files.is_current(str(path))


def test_each_edit_gives_another_stamp(package: Path) -> None:
    stamps = [stamp(package)]
    write(package / "a.py", "x = 22\n")  # another size, of the same age
    stamps.append(stamp(package))
    write(package / "a.py", "x = 33\n", OLD + 1)  # another age, of the same size
    stamps.append(stamp(package))
    write(package / "room" / "new.py")
    stamps.append(stamp(package))
    (package / "room" / "new.py").rename(package / "room" / "other.py")
    stamps.append(stamp(package))
    (package / "roomy" / "d.py").unlink()
    stamps.append(stamp(package))
    assert len(set(stamps)) == len(stamps)
    assert stamp(package) == stamps[-1]


def test_a_room_has_a_stamp_of_its_own(package: Path) -> None:
    before = stamp(package, "room"), stamp(package, "roomy"), stamp(package)
    write(package / "room" / "inner" / "c.py", "x = 22\n")
    after = stamp(package, "room"), stamp(package, "roomy"), stamp(package)
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True, False]
    assert stamp(package, "nowhere") != stamp(package, "room")


def test_a_file_that_went_after_it_was_listed_is_gone(package: Path) -> None:
    files = listed(str(package))
    (package / "room" / "b.py").unlink()
    assert sizes_and_ages(str(package), files.names, 4).tolist() == [6, OLD, GONE, GONE, 6, OLD, 6, OLD]


def test_edits_since_the_process_began_make_a_stamp_that_no_other_process_has(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = process_start.BEGIN + 10**9
    write(package / "a.py", age=now)
    own = stamp(package)
    assert str(os.getpid()) in own
    assert own == stamp(package)
    assert own != stamp(package, "room")
    assert str(os.getpid()) in stamp(package, "room")  # what was imported of one room may be made by another
    monkeypatch.setattr(source_stamps, "BEGIN", now + 10**9)  # as a process has it that begins later
    assert stamp(package) == own.partition(" ")[0]


def test_the_record_of_an_installer_speaks_for_all_files(package: Path) -> None:
    record = package.parent / "house-1.0.dist-info" / "RECORD"
    write(record, "house/room/b.py,,\n")
    before = stamp(package)
    assert before.startswith("house-1.0.dist-info ")
    assert stamp(package, "room") == before
    write(package / "a.py", "x = 22\n")
    assert stamp(package) == before
    write(record, "house/room/b.py,,\n", OLD + 1)
    assert stamp(package) != before  # another installation, of the same version too
    write(record, age=process_start.BEGIN + 10**9)
    assert str(os.getpid()) in stamp(package)  # installed while this process runs
    write(package.parent / "house-2.0.dist-info" / "RECORD", "")
    of_files = stamp(package)  # which of them holds, nobody knows
    write(package / "a.py", "x = 333\n")
    assert stamp(package) != of_files


def test_a_package_in_an_archive_has_the_stamp_of_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "all.zip"

    def packed(text: str) -> str:
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("house/a.py", text)
        os.utime(archive, ns=(OLD, OLD))
        return stamp(archive / "house")

    assert packed("x = 1\n") == packed("x = 2\n")  # of the same size and age
    assert packed("x = 1\n") != packed("x = 22\n")
