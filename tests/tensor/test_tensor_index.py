"""Index expressions: values, strides and sharing against PyTorch, and every refusal."""

from __future__ import annotations

import random

import numpy as np
import pytest

import flambeau as fb


def _pair(torch, shape, order):
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape).transpose(order)
    return torch.from_numpy(array.copy(order="K")), fb.from_numpy(array.copy(order="K"))


def _random_key(rng: random.Random, shape: tuple[int, ...]) -> tuple[list[str], int]:
    """Index items as source text, with `T` for the tensor constructor."""
    items: list[str] = []
    dim = 0
    has_ellipsis = False
    while dim < len(shape) and rng.random() < 0.85:
        size = shape[dim]
        kind = rng.randrange(9)
        if kind == 0:
            items.append(str(rng.randrange(-size, size)))
            dim += 1
        elif kind in (1, 2):
            parts = [rng.choice(["", str(rng.randrange(-size - 1, size + 2))]) for _ in range(2)]
            items.append(f"{parts[0]}:{parts[1]}:{rng.choice(['', '1', '2'])}")
            dim += 1
        elif kind == 3:
            items.append("None")
        elif kind == 4 and not has_ellipsis:
            items.append("...")
            has_ellipsis = True
            break
        elif kind == 5:
            items.append(str([rng.randrange(-size, size) for _ in range(2)]))
            dim += 1
        elif kind == 6:
            items.append(f"T({[rng.random() < 0.5 for _ in range(size)]})")
            dim += 1
        elif kind == 7:
            items.append(f"T({rng.randrange(size)})")
            dim += 1
        else:
            items.append(rng.choice(["True", f"T({[[rng.randrange(size)], [rng.randrange(size)]]})"]))
            dim += items[-1] != "True"
    return items, dim


def test_reading_as_in_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    rng = random.Random(0)
    for _ in range(600):
        shape = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randrange(1, 4)))
        order = rng.sample(range(len(shape)), len(shape))
        theirs, ours = _pair(torch, shape, order)
        items, _ = _random_key(rng, tuple(theirs.shape))
        text = f"x[{', '.join(items) or '()'}]"
        try:
            expected = eval(text, {"x": theirs, "T": torch.tensor})
        except IndexError as refused:
            words = str(refused)
            with pytest.raises(IndexError) as caught:
                eval(text, {"x": ours, "T": fb.tensor})
            assert str(caught.value) == words, text
            continue
        result = eval(text, {"x": ours, "T": fb.tensor})
        assert result.shape == tuple(expected.shape), text
        assert result.tolist() == expected.tolist(), text
        shares = theirs.untyped_storage().data_ptr() == expected.untyped_storage().data_ptr() and expected.numel() > 0
        if expected.numel():
            assert result.shares_storage(ours) == shares, text
        if shares:
            assert result.stride() == expected.stride(), text


def test_writing_as_in_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    rng = random.Random(1)
    for _ in range(400):
        shape = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randrange(1, 4)))
        order = rng.sample(range(len(shape)), len(shape))
        theirs, ours = _pair(torch, shape, order)
        items, _ = _random_key(rng, tuple(theirs.shape))
        key = ", ".join(items) or "..."
        try:
            target = tuple(eval(f"x[{key}]", {"x": theirs, "T": torch.tensor}).shape)
        except IndexError:
            continue
        value = rng.choice(["7", "2.5", f"T({np.arange(int(np.prod(target))).reshape(target).tolist()}, dtype=F)"])
        if value.startswith("T(") and 0 in target:
            value = "7"
        statement = f"x[{key}] = {value}"
        exec(statement, {"x": theirs, "T": torch.tensor, "F": torch.float32})
        exec(statement, {"x": ours, "T": fb.tensor, "F": fb.float32})
        assert ours.tolist() == theirs.tolist(), statement


def _grid() -> fb.Tensor:
    return fb.from_numpy(np.arange(24, dtype=np.float32).reshape(2, 3, 4))


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        ((slice(None), 5), IndexError, "index 5 is out of bounds for dimension 1 with size 3"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        (
            1.5,
            IndexError,
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indi",
        ),
        ({}, IndexError, "are valid indices (got dict)"),
        ("a", TypeError, "new(): invalid data type 'str'"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (slice(0, 10, 0), ValueError, "slice step cannot be zero"),
        (slice(0.0, 1), TypeError, "slice indices must be integers or None or have an __index__ method"),
        (([0, None],), IndexError, "a list used as an index holds numbers only"),
        ([0.5], IndexError, "valid indices"),
    ],
)
def test_wrong_keys(key, error, message) -> None:
    with pytest.raises(error) as caught:
        _grid()[key]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (lambda: fb.tensor([5]), "index 5 is out of bounds for dimension 0 with size 2"),
        (lambda: fb.tensor([1.0]), "tensors used as indices must be long, int, byte or bool tensors"),
        (lambda: fb.tensor(1.0), "tensors used as indices must be long, int, byte or bool tensors"),
        (lambda: fb.tensor([1], dtype=fb.int16), "tensors used as indices must be long, int, byte or bool tensors"),
        (
            lambda: fb.tensor([True, False, True]),
            "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [2, 3, 4] at index 0",
        ),
        (
            lambda: (fb.tensor([0, 1]), fb.tensor([0, 1, 2])),
            "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]",
        ),
    ],
)
def test_wrong_index_tensors(key, message) -> None:
    with pytest.raises(IndexError) as caught:
        _grid()[key()]
    assert message in str(caught.value)


def test_numbers_have_no_places() -> None:
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        fb.tensor(3.0)[0]
    with pytest.raises(IndexError, match=r"slice\(\) cannot be applied to a 0-dim tensor."):
        fb.tensor(3.0)[:]
    assert fb.tensor(3.0)[None].shape == (1,)
    assert fb.tensor(3.0)[...].shape == ()
    assert fb.tensor(3.0)[True].shape == (1,)


@pytest.mark.parametrize(
    ("key", "value", "error", "message"),
    [
        (0, lambda: fb.ones(3), RuntimeError, "The expanded size of the tensor (4) must match the existing size (3)"),
        ([0, 1], lambda: fb.ones(3), RuntimeError, "shape mismatch: value tensor of shape [3] cannot be broadcast to"),
        (
            [0, 1],
            lambda: fb.ones(4, dtype=fb.int64),
            RuntimeError,
            "Index put requires the source and destination dtypes match, got Float for the destination and Long",
        ),
        (0, lambda: "a", TypeError, "can't assign a str to a torch.FloatTensor"),
        (0, lambda: [1, 2], TypeError, "can't assign a list to a torch.FloatTensor"),
        (0, lambda: None, TypeError, "can't assign a NoneType to a torch.FloatTensor"),
    ],
)
def test_wrong_values(key, value, error, message) -> None:
    with pytest.raises(error) as caught:
        _grid()[key] = value()
    assert message in str(caught.value)


def test_assignment_converts_and_counts() -> None:
    x = fb.ones(2, dtype=fb.int64)
    x[0] = 2.7
    assert x.tolist() == [2, 1]
    x[1] = np.float32(5)
    x[:1] = np.array([8])
    assert x.tolist() == [8, 5]
    assert x._version == 3


def test_assignment_to_overlapping_memory() -> None:
    x = fb.arange(4.0)
    with pytest.raises(
        RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single"
    ):
        x[1:] = x[:-1]
    y = fb.ones(1).expand(3)
    y[0] = 5
    assert y.tolist() == [5.0, 5.0, 5.0]


def test_lists_for_several_dimensions_are_read_as_tuples() -> None:
    x = fb.arange(24.0).view(2, 3, 4)
    for key in ([[0, 1]], [[0, 1], [1, 2]], [slice(None), 0], [fb.tensor(0), fb.tensor(1)], [0, None]):
        with pytest.warns(UserWarning, match=r"non-tuple sequence") as seen:
            got = x[key]
        assert seen[0].filename == __file__
        assert got.tolist() == x[tuple(key)].tolist()
    assert x[[0, 1]].shape == (2, 3, 4)
    assert x[[0] * 40].shape == (40, 3, 4)


def test_one_number_of_any_dtype_fills_a_mask() -> None:
    x = fb.arange(4.0)
    x[x > 1] = fb.tensor(7)
    assert x.tolist() == [0, 1, 7, 7]
    with pytest.raises(RuntimeError, match=r"dtypes match"):
        x[fb.tensor([0, 1])] = fb.tensor([7])
