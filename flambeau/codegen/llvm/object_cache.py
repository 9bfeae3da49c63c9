"""Compiled objects on disk, so that a program which was compiled once starts at once the next time.

Entries are files named by the hash of all that the code depends on. A file is written beside its place and moved there,
so that readers and other writers see the whole of it or nothing; it carries its key, a checksum, and the name of the
processor that it was made for: machines with different processors may share a directory. Only files that belong to the
user, and that nobody else could have written, are read: what is in them will be executed. No failure of the disk is an
error: a cache that cannot be used is one without entries. `FLAMBEAU_LOG=cache` tells what happens.

FLAMBEAU_CACHE_DIR=PATH     another directory
FLAMBEAU_CACHE_MB=100       how large it may become, 256 if nothing is said; what was not used for longest goes first
FLAMBEAU_CACHE=off          no cache
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import itertools
import os
import stat
import sys
from collections.abc import Iterator
from functools import cache

from flambeau.util import log
from flambeau.util.locks import Lock
from flambeau.util.record import dataclass
from flambeau.util.version import __version__

FORMAT = 2
"""Counts up when entries of before would be misunderstood."""
MAGIC = b"flambeau object %d\n" % FORMAT
DIGEST = 32
"""Bytes of a key, and of a checksum."""
MOST_NAME = 256
"""Bytes in which the name of a processor ends."""
SUFFIX = ".object"
COUNTS = f"counts-{__version__}"
"""A file of one line for each process of this version that used the cache: entries found, and entries missed."""
MAX_COUNTS = 1 << 20
"""Bytes from which counting starts anew."""
DEFAULT_MEGABYTES = 256
SMALL_PART = 64
"""Of the bound: what a process may write before it looks at what there is."""
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def default_directory() -> str | None:
    """Where entries are, by the custom of the system; None where no home is known or the cache is turned off."""
    if os.environ.get("FLAMBEAU_CACHE", "").lower() in ("off", "0", "no", "false"):
        return None
    setting = os.environ.get("FLAMBEAU_CACHE_DIR")
    if setting:
        return setting
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA")
        return os.path.join(root, "flambeau", "cache") if root else None
    home = os.path.expanduser("~")
    if home == "~":
        return None
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "flambeau")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "flambeau")


def default_bound() -> int:
    """How many bytes the entries may have together."""
    setting = os.environ.get("FLAMBEAU_CACHE_MB", "")
    return (int(setting) if setting.isdecimal() else DEFAULT_MEGABYTES) << 20


def key_of(*parts: str) -> str:
    """The name of an entry that depends on the parts.

    >>> key_of("a", "bc") == key_of("ab", "c")
    False
    """
    whole = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        whole.update(b"%d:" % len(encoded))
        whole.update(encoded)
    return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What is in a cache."""

    path: str
    files: int
    bytes: int
    bound: int
    hits: int
    """Hits of processes of this version since the cache was last cleared."""
    misses: int
    processors: dict[str, int]
    """Entries by the processor that they were made for."""


class ObjectCache:
    """The entries in one directory. Any number of processes and threads may use it at once."""

    def __init__(self, path: str, bound: int = DEFAULT_MEGABYTES << 20) -> None:
        self.path = path
        self.bound = bound
        self.hits = self.misses = 0
        self._lock = Lock()
        self._temporaries = itertools.count()
        self._bytes: int | None = None
        """What the entries have together, as far as this process knows; None before it looked."""
        self._unlooked = 0
        """Bytes that this process wrote before it looked: finding out what there is takes longer than writing."""
        self._is_ready: bool | None = None

    def load(self, key: str, processor: str) -> bytes | None:
        """The entry of a key, made for a processor; None where there is none, or none that can be trusted."""
        path = os.path.join(self.path, key + SUFFIX)
        try:
            content = _read_own(path) if self._is_trusted() else None
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                _tell(f"{path} is ignored: {error}")
            content = None
        if content is not None:
            content = _checked(content, key, processor)
            if content is None:
                _tell(f"{path} is ignored: it is damaged, no file of this cache, or not made for {processor}")
        if content is None:
            self.misses += 1
            return None
        self.hits += 1
        with contextlib.suppress(OSError):
            os.utime(path)
        _tell(f"read {len(content)} bytes from {path}")
        return content

    def has(self, key: str) -> bool:
        """Whether there is a file for a key."""
        return os.path.exists(os.path.join(self.path, key + SUFFIX))

    def store(self, key: str, content: bytes, processor: str) -> None:
        """Keep an entry that was made for a processor, and let others go where there are too many."""
        path = os.path.join(self.path, key + SUFFIX)
        temporary = os.path.join(self.path, f"{key}.{os.getpid()}.{next(self._temporaries)}.new")
        marked = processor.encode() + b"\n" + content
        whole = MAGIC + bytes.fromhex(key) + hashlib.sha256(marked).digest() + marked
        try:
            if len(whole) > self.bound or not self._make_ready():
                return
            try:
                handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with open(handle, "wb") as file:
                    file.write(whole)
                os.replace(temporary, path)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
            _tell(f"wrote {len(content)} bytes to {path}")
            self._make_room(len(whole))
        except OSError as error:
            _tell(f"{path} was not written: {error}")

    def _make_ready(self) -> bool:
        with self._lock:
            if not self._is_ready:
                os.makedirs(self.path, mode=0o700, exist_ok=True)
                self._is_ready = None
        return self._is_trusted()

    def _is_trusted(self) -> bool:
        """Whether nobody else may put files into the directory."""
        if self._is_ready is None:
            try:
                status = os.stat(self.path)
            except OSError:
                return False
            self._is_ready = stat.S_ISDIR(status.st_mode) and _is_own(status)
            if not self._is_ready:
                _tell(f"{self.path} is not used: it is no directory that only this user may write to")
        return self._is_ready

    def _make_room(self, written: int) -> None:
        """Let entries go where there are too many. Before a process has written much, it looks when it ends."""
        with self._lock:
            if self._bytes is None:
                self._unlooked += written
                is_due = self._unlooked > self.bound // SMALL_PART
            else:
                self._bytes += written
                is_due = self._bytes > self.bound
            if is_due:
                self._look()

    def _look(self) -> None:
        self._bytes, self._unlooked = self._shrink(), 0

    def end(self) -> None:
        """What is left to do where a process ends: let entries go where there are too many, and count."""
        with self._lock:
            if self._unlooked:
                self._look()
        self.count()

    def _shrink(self) -> int:
        """Delete what was used least recently until a tenth is free; the bytes that are left."""
        entries = sorted(self._entries(), key=lambda e: e[1].st_mtime_ns)
        total = sum(status.st_size for _, status in entries)
        if total <= self.bound:
            return total
        for path, status in entries:
            if total <= self.bound * 9 // 10:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                _tell(f"deleted {path}: the cache is full")
            total -= status.st_size
        return total

    def _entries(self) -> Iterator[tuple[str, os.stat_result]]:
        """Entries, and files that a process which was ended left half written."""
        with contextlib.suppress(OSError), os.scandir(self.path) as files:
            for file in files:
                if file.name.endswith((SUFFIX, ".new")):
                    with contextlib.suppress(OSError):
                        yield file.path, file.stat(follow_symlinks=False)

    def info(self) -> CacheInfo:
        """What is in it."""
        sizes: list[int] = []
        processors: dict[str, int] = {}
        for path, status in self._entries():
            sizes.append(status.st_size)
            name = _made_for(path)
            if name is not None:
                processors[name] = processors.get(name, 0) + 1
        hits, misses = self.hits, self.misses
        with contextlib.suppress(OSError, ValueError):
            for line in _read_own(os.path.join(self.path, COUNTS)).splitlines():
                hit, missed = map(int, line.split())
                hits, misses = hits + hit, misses + missed
        return CacheInfo(self.path, len(sizes), sum(sizes), self.bound, hits, misses, processors)

    def clear(self) -> int:
        """Delete all entries; how many there were."""
        count = 0
        for path, _ in self._entries():
            with contextlib.suppress(OSError):
                os.unlink(path)
                count += 1
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.path, COUNTS))
        with self._lock:
            self._bytes, self._unlooked, self.hits, self.misses = None, 0, 0, 0
        return count

    def count(self) -> None:
        """Add the hits and misses of this process to the counts."""
        if (self.hits or self.misses) and self._is_trusted():
            line = f"{self.hits} {self.misses}\n".encode()
            with contextlib.suppress(OSError):
                handle = _opened(os.path.join(self.path, COUNTS), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                with open(handle, "ab", buffering=0) as file:
                    if os.fstat(handle).st_size > MAX_COUNTS:
                        file.truncate(0)
                    file.write(line)


def _read_own(path: str) -> bytes:
    """A file's content. Raises OSError where it is not the user's own, or could be written by others."""
    with open(_opened(path, os.O_RDONLY), "rb", buffering=0) as file:
        return file.readall()


def _opened(path: str, flags: int) -> int:
    """A file descriptor. Raises OSError where the file is no plain file, or not the user's own.

    A pipe is opened without waiting for whoever is at its other end.
    """
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    handle = os.open(path, flags, 0o600)
    status = os.fstat(handle)
    is_plain = stat.S_ISREG(status.st_mode)
    if is_plain and _is_own(status):
        return handle
    os.close(handle)
    raise PermissionError("it is not this user's own, or others may write to it" if is_plain else "it is no plain file")


def _is_own(status: os.stat_result) -> bool:
    if sys.platform == "win32":
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & OTHERS_MAY_WRITE


def _checked(whole: bytes, key: str, processor: str) -> bytes | None:
    """What a file of the cache holds under a key; None if it is damaged, foreign, or made for another processor."""
    head = MAGIC + bytes.fromhex(key)
    if not whole.startswith(head):
        return None
    start = len(head) + DIGEST
    if hashlib.sha256(memoryview(whole)[start:]).digest() != whole[len(head) : start]:
        return None
    name = processor.encode() + b"\n"
    return whole[start + len(name) :] if whole.startswith(name, start) else None


def _made_for(path: str) -> str | None:
    """The processor that a file of the cache says it was made for; None for what is no such file."""
    start = len(MAGIC) + 2 * DIGEST
    try:
        with open(_opened(path, os.O_RDONLY), "rb") as file:
            head = file.read(start + MOST_NAME)
    except OSError:
        return None
    name, line, _ = head[start:].partition(b"\n")
    return name.decode(errors="replace") if head.startswith(MAGIC) and line else None


def _tell(text: str) -> None:
    if log.level("cache"):
        log.write("cache", text)


@cache
def _cache_at(path: str, bound: int) -> ObjectCache:
    opened = ObjectCache(os.path.join(path, f"objects-{FORMAT}"), bound)
    atexit.register(opened.end)
    return opened


def object_cache() -> ObjectCache | None:
    """The cache that the environment names; None where it is turned off."""
    path = default_directory()
    return None if path is None else _cache_at(path, default_bound())
