"""`heapq`: lists of which no item is smaller than its parent, item i // 2 of those counted from one.

Items lie exactly as `heapq` leaves them: an item that goes down first takes the place of a leaf, and rises from there
(Knuth, The Art of Computer Programming 3, 5.2.3, exercise 18).
"""

from __future__ import annotations

from typing import Any


def heappush(heap: Any, item: Any) -> None:
    """Add an item."""
    heap.append(item)
    rise(heap, 0, len(heap) - 1)


def heappop(heap: Any) -> Any:
    """Take the smallest item. Raises IndexError for an empty heap."""
    if len(heap) == 0:
        raise IndexError("index out of range")
    last = heap.pop()
    if len(heap) == 0:
        return last
    smallest = heap[0]
    heap[0] = last
    sink(heap, 0)
    return smallest


def heapify(heap: Any) -> None:
    """Make a heap of a list."""
    for at in range(len(heap) // 2 - 1, -1, -1):
        sink(heap, at)


def heapreplace(heap: Any, item: Any) -> Any:
    """Take the smallest item, then add one. Raises IndexError for an empty heap."""
    if len(heap) == 0:
        raise IndexError("index out of range")
    smallest = heap[0]
    heap[0] = item
    sink(heap, 0)
    return smallest


def heappushpop(heap: Any, item: Any) -> Any:
    """Add an item, then take the smallest."""
    if len(heap) == 0 or not heap[0] < item:
        return item
    smallest = heap[0]
    heap[0] = item
    sink(heap, 0)
    return smallest


def nsmallest(n: int, items: Any, key: Any = None) -> Any:
    """The smallest items, in order."""
    return sorted(items, key=key)[: max(n, 0)]


def nlargest(n: int, items: Any, key: Any = None) -> Any:
    """The largest items, the largest first."""
    return sorted(items, key=key, reverse=True)[: max(n, 0)]


def rise(heap: Any, top: int, at: int) -> None:
    """Move an item up to where its parent is not larger, and not above `top`."""
    item = heap[at]
    while at > top:
        parent = (at - 1) // 2
        if not item < heap[parent]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = item


def sink(heap: Any, top: int) -> None:
    """Move an item down to where its children are not smaller."""
    item = heap[top]
    size = len(heap)
    at = top
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item
    rise(heap, top, at)
