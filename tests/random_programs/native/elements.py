"""Places in tensors and lists, as text: indexes that are in range by construction, and risky ones."""

from __future__ import annotations

from tests.random_programs.native.scope import Name, Scope


def small_int(scope: Scope) -> str:
    """An int that indexes and bounds are made of."""
    found = [n.text for n in scope.all("int") if n.below] + ["n"]
    return scope.draw.choice(found) if scope.chance(0.7) else str(scope.draw.randint(-2, 3))


def axis_index(scope: Scope, tensor: Name, axis: int, *, risky: bool) -> str | None:
    """An index along one axis; None if none is known to be in range."""
    draw, symbol = scope.draw, tensor.axes[axis]
    known = [n.text for n in scope.all("int") if n.below == symbol]
    if known and not (risky and scope.chance(0.2)):
        i = draw.choice(known)
        size = f"{tensor.text}.shape[{axis}]"
        return draw.choice([i, i, i, i, f"-1 - {i}", f"{size} - 1 - {i}"])
    if not risky:
        return None
    size = draw.choice([f"{tensor.text}.shape[{axis}]", f"{tensor.text}.size({axis})"])
    i = small_int(scope)
    return draw.choice([
        str(draw.choice([0, 0, 0, 1, -1, -2])), "0", "-1", i, f"{i} + 1", f"{i} % {size}", f"{i} % {size}", f"{size} - 1", "1",
    ])  # fmt: skip


def place(scope: Scope, tensor: Name, *, risky: bool, rank: int | None = None) -> str | None:
    """`a[i, j]` down to one element, or along the first `rank` axes; None if no index is known to be in range."""
    count = len(tensor.axes) if rank is None else rank
    if not count:
        return tensor.text
    indexes = [axis_index(scope, tensor, axis, risky=risky) for axis in range(count)]
    known = [i for i in indexes if i is not None]
    if len(known) < count:
        return None
    if count > 1 and scope.chance(0.15):
        return tensor.text + "".join(f"[{i}]" for i in known)
    return f"{tensor.text}[{', '.join(known)}]"


def element(scope: Scope, *, risky: bool, families: tuple[str, ...], written: bool = False) -> tuple[str, Name] | None:
    """One element of some tensor, and the tensor."""
    found = [n for n in scope.all("tensor") if n.family in families and (n.is_written or not written)]
    scope.draw.shuffle(found)
    for tensor in found:
        text = place(scope, tensor, risky=risky)
        if text is not None:
            return text, tensor
    return None


def list_index(scope: Scope, name: str) -> str:
    """An index into a list, which may be out of range."""
    i = small_int(scope)
    return scope.draw.choice(["0", "-1", i, f"{i} % len({name})", f"len({name}) - 1"])
