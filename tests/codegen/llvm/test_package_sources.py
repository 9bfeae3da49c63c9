"""Stamps of sources by machine code and by listings in the cache say what the disk says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flambeau.codegen.llvm import file_statuses, package_sources
from flambeau.codegen.llvm.compiler import Compiler
from flambeau.codegen.llvm.host import chosen_processor
from flambeau.codegen.llvm.loader import is_supported
from flambeau.codegen.llvm.object_cache import ObjectCache, key_of, object_cache
from flambeau.util import log
from flambeau.util.source_files import Look, listed, sizes_and_ages
from flambeau.util.source_stamps import SourceStamps


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectCache]:
    """An empty cache of this test's own."""
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("FLAMBEAU_CACHE", raising=False)
    file_statuses._loaded.cache_clear()
    opened = object_cache()
    assert opened is not None
    yield opened
    file_statuses._loaded.cache_clear()


@pytest.fixture
def look(cache: ObjectCache) -> Look:
    """The machine code, made for this test."""
    if not is_supported():
        pytest.skip("our linker does not know this system")
    assert file_statuses.native_look() is None  # nothing is there yet, and nobody loads LLVM for it
    file_statuses._loaded.cache_clear()
    processor = chosen_processor()
    file_statuses.keep(cache, processor, Compiler(processor))
    native = file_statuses.native_look()
    assert native is not None
    return native


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name in ("a.py", "b é\n.py", "room/" + "long" * 50 + ".py", "room/z.py"):
        path = tmp_path / "house" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n" * len(name))
    os.utime(tmp_path / "house" / "a.py", ns=(-7, -7))  # before 1970
    os.utime(tmp_path / "house" / "room" / "z.py", ns=(1, 4_102_444_800_999_999_999))  # in 2100
    return tmp_path / "house"


def test_machine_code_sees_what_python_sees(look: Look, package: Path) -> None:
    names = listed(str(package)).names
    seen = look(str(package), names, 4)
    assert seen == sizes_and_ages(str(package), names, 4)
    assert seen is not None
    assert seen[1] == -7
    (package / "room" / "z.py").write_text("y = 22\n")
    seen_later = look(str(package), names, 4)
    assert seen_later == sizes_and_ages(str(package), names, 4) != seen
    empty = look(str(package), b"", 0)
    assert empty is not None
    assert not len(empty)


def test_where_a_file_or_the_folder_is_gone_python_looks(look: Look, package: Path) -> None:
    files = listed(str(package))
    (package / "a.py").unlink()
    assert look(str(package), files.names, 4) is None
    assert look(str(package / "nowhere"), files.names, 4) is None
    by_code, by_python = SourceStamps(str(package), lambda _: files, look), SourceStamps(str(package), lambda _: files)
    assert by_code.of("room") == by_python.of("room")


def test_code_that_is_there_is_not_made_again(
    look: Look, cache: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = Compiler(chosen_processor())
    monkeypatch.delattr(Compiler, "compile")
    file_statuses.keep(cache, chosen_processor(), compiler)


def test_a_listing_is_kept_as_long_as_it_holds(cache: ObjectCache, package: Path) -> None:
    folders = [package, package / "room"]
    key = key_of("files", os.fsencode(package).hex())
    assert package_sources.kept_listing(str(package)) == listed(str(package))
    assert not cache.has(key)  # the folders changed a moment ago
    for folder in folders:
        os.utime(folder, ns=(10**18, 10**18))
    kept = package_sources.kept_listing(str(package))
    assert cache.has(key)
    assert package_sources.kept_listing(str(package)) == kept == listed(str(package))
    (package / "room" / "new.py").write_text("x = 1\n")
    assert b"room/new.py" in package_sources.kept_listing(str(package)).paths()
    cache.store(key, b"no listing", package_sources.ANY_PROCESSOR)
    assert package_sources.kept_listing(str(package)) == listed(str(package))


def test_the_stamp_of_this_package_is_that_of_its_files() -> None:
    whole, room = package_sources.package_stamp(), package_sources.package_stamp("codegen")
    stamps = SourceStamps(package_sources.PACKAGE)
    assert (whole, room) == (stamps.of(), stamps.of("codegen"))
    assert whole != room


def test_who_asks_is_told_that_sources_were_edited_meanwhile(
    package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(package_sources, "PACKAGE", str(package))  # one of its files is of the year 2100
    monkeypatch.setenv(log.VARIABLE, "cache")
    log.reread()
    package_sources._stamps.cache_clear()
    try:
        own = package_sources.package_stamp()
        assert package_sources.EDITED in capsys.readouterr().err
    finally:
        monkeypatch.undo()
        log.reread()
        package_sources._stamps.cache_clear()
    assert str(os.getpid()) in own
