"""Compiled objects on disk: what is read back, what is refused, and that nothing the disk does is an error."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.codegen.llvm.object_cache import (
    COUNTS,
    MAGIC,
    SUFFIX,
    ObjectCache,
    default_bound,
    default_directory,
    key_of,
    object_cache,
)
from flambeau.util import log

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes of files are POSIX's")
KEY = key_of("test")
LEVEL = "x86-64-v3"


@pytest.fixture
def entries(tmp_path: Path) -> ObjectCache:
    return ObjectCache(str(tmp_path / "objects"))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv(log.VARIABLE, "cache")
    log.reread()
    yield lambda: capsys.readouterr().err
    monkeypatch.undo()
    log.reread()


def test_what_is_stored_is_loaded(entries: ObjectCache) -> None:
    assert entries.load(KEY, LEVEL) is None
    entries.store(KEY, b"code", LEVEL)
    assert entries.load(KEY, LEVEL) == b"code"
    assert ObjectCache(entries.path).load(KEY, LEVEL) == b"code"
    assert entries.load(key_of("another"), LEVEL) is None
    info = entries.info()
    assert (info.files, info.hits, info.misses) == (1, 1, 2)
    assert [p.suffix for p in Path(entries.path).iterdir()] == [SUFFIX]


def test_c00_an_entry_for_another_processor_is_ignored(entries: ObjectCache, told) -> None:
    """Also one that somebody put under the key of this one's code."""
    entries.store(KEY, b"code", "x86-64-v4")
    assert entries.load(KEY, LEVEL) is None
    assert "not made for x86-64-v3" in told()
    assert entries.info().processors == {"x86-64-v4": 1}
    other = key_of("test", "x86-64-v3")
    (Path(entries.path) / (KEY + SUFFIX)).rename(Path(entries.path) / (other + SUFFIX))
    assert entries.load(other, LEVEL) is None
    entries.store(KEY, b"code", LEVEL)
    assert entries.load(KEY, LEVEL) == b"code"
    place = Path(entries.path) / (KEY + SUFFIX)
    place.write_bytes(place.read_bytes().replace(b"x86-64-v3", b"x86-64-v2"))
    assert entries.load(KEY, "x86-64-v2") is None  # the checksum is of the name too


def test_keys_tell_parts_apart() -> None:
    assert len({key_of("a", "b"), key_of("ab"), key_of("b", "a"), key_of("", "ab"), key_of("ab", "")}) == 5


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:-1],
        lambda whole: whole + b"x",
        lambda whole: whole[:10],
        lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]),
        lambda whole: whole.replace(MAGIC, b"flambeau object 0\n"),
        lambda whole: b"\x7fELF and not a word of ours",
        lambda whole: whole.replace(bytes.fromhex(KEY), bytes.fromhex(key_of("another"))),
    ],
)
def test_a_corrupt_or_foreign_file_is_ignored_and_written_anew(entries: ObjectCache, damage, told) -> None:
    entries.store(KEY, b"some code", LEVEL)
    place = Path(entries.path) / (KEY + SUFFIX)
    place.write_bytes(damage(place.read_bytes()))
    assert entries.load(KEY, LEVEL) is None
    assert "is ignored: it is damaged, no file of this cache, or not made for x86-64-v3" in told()
    entries.store(KEY, b"some code", LEVEL)
    assert entries.load(KEY, LEVEL) == b"some code"


@posix
def test_files_that_others_may_write_are_not_executed(entries: ObjectCache, told) -> None:
    entries.store(KEY, b"code", LEVEL)
    place = Path(entries.path) / (KEY + SUFFIX)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(os.stat(entries.path).st_mode) == 0o700
    place.chmod(0o622)
    assert entries.load(KEY, LEVEL) is None
    assert "it is not this user's own, or others may write to it" in told()
    place.unlink()
    elsewhere = Path(entries.path).parent / "elsewhere"
    elsewhere.write_bytes(b"")
    place.symlink_to(elsewhere)
    assert entries.load(KEY, LEVEL) is None


@posix
def test_files_of_another_user_are_not_executed(entries: ObjectCache, monkeypatch: pytest.MonkeyPatch) -> None:
    entries.store(KEY, b"code", LEVEL)
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(entries.path).st_uid + 1)
    assert entries.load(KEY, LEVEL) is None
    assert ObjectCache(entries.path).load(KEY, LEVEL) is None


@posix
def test_a_directory_that_others_may_write_to_is_not_used(tmp_path: Path, told) -> None:
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(0o777)
    entries = ObjectCache(str(path))
    entries.store(KEY, b"code", LEVEL)
    assert entries.load(KEY, LEVEL) is None
    assert list(path.iterdir()) == []
    assert "it is no directory that only this user may write to" in told()


def test_no_failure_of_the_disk_is_an_error(tmp_path: Path, told) -> None:
    (tmp_path / "file").write_text("")
    entries = ObjectCache(str(tmp_path / "file" / "objects"))
    entries.store(KEY, b"code", LEVEL)
    assert entries.load(KEY, LEVEL) is None
    entries.count()
    assert entries.clear() == 0
    assert entries.info().files == 0
    assert "was not written" in told()


def test_a_full_disk_leaves_nothing_behind(entries: ObjectCache, monkeypatch: pytest.MonkeyPatch, told) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    entries.store(KEY, b"code", LEVEL)
    assert entries.load(KEY, LEVEL) is None
    assert list(Path(entries.path).iterdir()) == []
    assert "No space left on device" in told()


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    entries = ObjectCache(str(tmp_path / "objects"), bound=10_000)
    for k in range(6):
        entries.store(key_of(str(k)), bytes(1500), LEVEL)
        os.utime(Path(entries.path) / (key_of(str(k)) + SUFFIX), (k, k))
    assert entries.load(key_of("0"), LEVEL) is not None  # now it is the youngest
    entries.store(key_of("new"), bytes(1500), LEVEL)
    found = {k for k in ("0", "1", "2", "3", "4", "5", "new") if entries.load(key_of(k), LEVEL) is not None}
    assert found == {"0", "3", "4", "5", "new"}
    assert entries.info().bytes <= 10_000
    entries.store(key_of("huge"), bytes(20_000), LEVEL)
    assert entries.load(key_of("huge"), LEVEL) is None


def test_a_process_that_wrote_little_makes_room_when_it_ends(tmp_path: Path) -> None:
    path = str(tmp_path / "objects")
    large = ObjectCache(path, bound=1 << 20)
    for k in range(4):
        large.store(key_of(str(k)), bytes(50_000), LEVEL)
        os.utime(Path(path) / (key_of(str(k)) + SUFFIX), (k, k))
    little = ObjectCache(path, bound=120_000)
    little.store(KEY, b"code", LEVEL)
    assert little.info().files == 5  # nobody looked yet
    little.end()
    found = {k for k in range(4) if little.load(key_of(str(k)), LEVEL) is not None}
    assert (found, little.load(KEY, LEVEL)) == ({2, 3}, b"code")
    assert little.info().bytes <= 120_000
    much = ObjectCache(path, bound=60_000)
    much.store(key_of("a"), bytes(900), LEVEL)
    assert much.info().bytes <= 60_000  # more than a small part of the bound: it looked at once


def test_clear_deletes_entries_and_counts(entries: ObjectCache) -> None:
    entries.store(KEY, b"code", LEVEL)
    entries.load(KEY, LEVEL)
    entries.count()
    (Path(entries.path) / "unrelated").write_text("stays")
    assert entries.clear() == 1
    info = entries.info()
    assert (info.files, info.bytes, info.hits) == (0, 0, 0)
    assert [p.name for p in Path(entries.path).iterdir()] == ["unrelated"]


def test_directories_follow_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))
    assert default_directory() == str(tmp_path)
    monkeypatch.setenv("FLAMBEAU_CACHE", "off")
    assert default_directory() is None
    assert object_cache() is None
    monkeypatch.delenv("FLAMBEAU_CACHE")
    monkeypatch.delenv("FLAMBEAU_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_directory() == str(tmp_path / ".cache" / "flambeau")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert default_directory() == str(tmp_path / "x" / "flambeau")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_directory() == str(tmp_path / "Library" / "Caches" / "flambeau")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert default_directory() == str(tmp_path / "local" / "flambeau" / "cache")
    monkeypatch.delenv("LOCALAPPDATA")
    assert default_directory() is None
    monkeypatch.setenv("FLAMBEAU_CACHE_MB", "3")
    assert default_bound() == 3 << 20
    monkeypatch.setenv("FLAMBEAU_CACHE_MB", "much")
    assert default_bound() == 256 << 20


WRITER = """
import sys
from flambeau.codegen.llvm.object_cache import ObjectCache, key_of
entries = ObjectCache(sys.argv[1], bound=200_000)
for iteration in range(3):
    for k in range(60):
        key, content = key_of(str(k)), bytes([k]) * 4000
        found = entries.load(key, "x86-64-v3")
        assert found in (None, content), (k, found[:10])
        entries.store(key, content, "x86-64-v3")
"""


def test_two_processes_write_the_same_cache(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "objects")]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
    entries = ObjectCache(str(tmp_path / "objects"))
    assert entries.info().bytes < 250_000
    assert all(p.suffix == SUFFIX for p in Path(entries.path).iterdir())
    assert any(entries.load(key_of(str(k)), LEVEL) == bytes([k]) * 4000 for k in range(60))


@posix
@pytest.mark.parametrize("name", [KEY + SUFFIX, COUNTS])
def test_c03_a_pipe_or_a_directory_in_place_of_a_file_is_no_entry(entries: ObjectCache, name: str, told) -> None:
    """A pipe has nobody at its other end: whoever opens it to read or to write waits for ever."""
    entries.store(KEY, b"code", LEVEL)
    place = Path(entries.path) / name
    for make in (os.mkfifo, os.mkdir, lambda p: os.symlink("nowhere", p), lambda p: os.symlink(p, p)):
        if place.is_dir() and not place.is_symlink():
            place.rmdir()
        else:
            place.unlink(missing_ok=True)
        make(place)
        assert entries.load(KEY, LEVEL) == (None if name.endswith(SUFFIX) else b"code")
        entries.count()
        assert entries.info().path == entries.path
    if name.endswith(SUFFIX):
        assert "it is no plain file" in told()
        entries.store(KEY, b"code", LEVEL)  # takes the place of whatever was there
        assert entries.load(KEY, LEVEL) == b"code"


@posix
def test_c03_a_process_with_pipes_in_its_cache_compiles_all_the_same(tmp_path: Path) -> None:
    program = (
        "import flambeau\n@flambeau.script\ndef f(x: flambeau.Tensor):\n    return x * 2 + 1\n"
        "print(f(flambeau.ones(3)).sum().item())"
    )
    script = tmp_path / "program.py"
    script.write_text(program)
    environment = {**os.environ, "FLAMBEAU_CACHE_DIR": str(tmp_path / "cache"), "FLAMBEAU_CACHE": "on"}

    def run() -> str:
        command = [sys.executable, str(script)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True).stdout

    assert run() == "9.0\n"
    files = [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert files
    for file in files:
        file.unlink()
        os.mkfifo(file)
    assert run() == "9.0\n"
