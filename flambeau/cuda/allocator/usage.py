"""How much memory is in use, was at most, and was ever taken."""

from __future__ import annotations

from typing import Final


class Tally:
    """Bytes and number of something that comes and goes."""

    __slots__ = (
        "asked", "bytes", "count", "peak_asked", "peak_bytes", "peak_count", "total_asked", "total_bytes", "total_count"
    )  # fmt: skip

    def __init__(self) -> None:
        self.bytes = self.count = self.asked = 0
        self.peak_bytes = self.peak_count = self.peak_asked = 0
        self.total_bytes = self.total_count = self.total_asked = 0

    def add(self, nbytes: int, asked: int = 0) -> None:
        self.bytes = now = self.bytes + nbytes
        if now > self.peak_bytes:
            self.peak_bytes = now
        self.count = number = self.count + 1
        if number > self.peak_count:
            self.peak_count = number
        self.asked = wanted = self.asked + asked
        if wanted > self.peak_asked:
            self.peak_asked = wanted
        self.total_bytes += nbytes
        self.total_count += 1
        self.total_asked += asked

    def remove(self, nbytes: int, asked: int = 0) -> None:
        self.bytes -= nbytes
        self.count -= 1
        self.asked -= asked

    def reset_peaks(self) -> None:
        self.peak_bytes, self.peak_count, self.peak_asked = self.bytes, self.count, self.asked

    def reset_totals(self) -> None:
        """Count what is in use as all that ever was."""
        self.total_bytes, self.total_count, self.total_asked = self.bytes, self.count, self.asked


KINDS: Final = ("small_pool", "large_pool")


class Usage:
    """Tallies of a device."""

    def __init__(self) -> None:
        self.allocated, self.reserved = Tally(), Tally()
        """What tensors and others have; what the device gave."""
        self.allocated_by_kind = (Tally(), Tally())
        self.reserved_by_kind = (Tally(), Tally())
        self.waiting = Tally()
        """What was given back while other streams use it."""
        self.peak_active = 0
        self.retries = self.shortages = self.device_allocations = self.device_frees = self.waits = 0

    def reset_peaks(self) -> None:
        for tally in self._tallies():
            tally.reset_peaks()
        self.peak_active = self.allocated.bytes + self.waiting.bytes

    def reset_totals(self) -> None:
        for tally in self._tallies():
            tally.reset_totals()
        self.retries = self.shortages = self.device_allocations = self.device_frees = self.waits = 0

    def _tallies(self) -> tuple[Tally, ...]:
        return (self.allocated, self.reserved, self.waiting, *self.allocated_by_kind, *self.reserved_by_kind)

    def table(self) -> dict[str, int]:
        """Figures by name, as PyTorch's `memory_stats` has them."""
        rows: dict[str, int] = {}
        active = Tally()
        active.bytes = self.allocated.bytes + self.waiting.bytes
        active.peak_bytes = max(self.peak_active, self.allocated.peak_bytes)
        active.total_bytes = self.allocated.total_bytes
        active.count = self.allocated.count + self.waiting.count
        active.peak_count, active.total_count = max(active.count, self.allocated.peak_count), self.allocated.total_count
        for label, whole, parts in (
            ("allocat", self.allocated, self.allocated_by_kind),
            ("reserv", self.reserved, self.reserved_by_kind),
            ("act", active, ()),
        ):
            names = {"allocat": ("allocated_bytes", "allocation"), "reserv": ("reserved_bytes", "segment")}
            in_bytes, in_number = names.get(label, ("active_bytes", "active"))
            for kind, tally in zip(("all", *KINDS), (whole, *parts), strict=False):
                rows |= _figures(f"{in_bytes}.{kind}", tally.bytes, tally.peak_bytes, tally.total_bytes)
                rows |= _figures(f"{in_number}.{kind}", tally.count, tally.peak_count, tally.total_count)
                if label == "allocat":
                    rows |= _figures(f"requested_bytes.{kind}", tally.asked, tally.peak_asked, tally.total_asked)
        return rows | {
            "num_alloc_retries": self.retries, "num_ooms": self.shortages, "num_device_alloc": self.device_allocations,
            "num_device_free": self.device_frees, "num_sync_all_streams": self.waits,
        }  # fmt: skip


def _figures(name: str, now: int, peak: int, total: int) -> dict[str, int]:
    return {
        f"{name}.current": now, f"{name}.peak": peak, f"{name}.allocated": total, f"{name}.freed": total - now
    }  # fmt: skip
