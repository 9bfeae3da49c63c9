"""How many threads BLAS has: while operators call it, from several threads at once, and for everybody else."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.products import blas as native
from flambeau.util import blas, thread_count

pytestmark = pytest.mark.skipif(blas._control() is None, reason="BLAS's threads cannot be set here")


@pytest.fixture(autouse=True)
def _four_threads() -> Iterator[None]:
    put, get = _control()
    before, own = get(), flambeau.get_num_threads()
    put(4)
    flambeau.set_num_threads(3)
    blas._callers.clear()
    yield
    flambeau.set_num_threads(own)
    put(before)


def _control() -> tuple[blas.Callable[[int], None], blas.Callable[[], int]]:
    control = blas._control()
    assert control is not None
    return control


def _now() -> int:
    return _control()[1]()


def test_c18_large_products_have_as_many_threads_as_are_set() -> None:
    with blas.threads_for(blas.LARGE):
        assert _now() == 3
        with blas.threads_for(1):
            assert _now() == 1
    assert _now() == 4, "everybody else has what they had"
    flambeau.set_num_threads(8)
    with blas.threads_for(blas.LARGE):
        assert _now() == 4, "BLAS's own number is not exceeded"
    with blas.at_most(2), blas.threads_for(blas.LARGE):
        assert _now() == 2, "a function's own number"


def test_c18_several_python_threads_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "MOMENT", 60.0)  # however long a busy machine takes between the calls
    meeting = threading.Barrier(3)
    seen: list[int] = []

    def call() -> None:
        with blas.threads_for(1):
            meeting.wait(30)
        meeting.wait(30)
        with blas.threads_for(blas.LARGE):
            seen.append(_now())
            meeting.wait(30)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == [1, 1, 1]
    assert _now() == 4
    monkeypatch.setattr(blas, "MOMENT", 1e-9)
    with blas.threads_for(blas.LARGE):
        assert _now() == 3, "the others are gone"


def test_c18_the_number_comes_back_after_errors() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        blas.linalg.inv(np.zeros((200, 200)))
    assert _now() == 4


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_c18_functions_have_numbers_of_their_own(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    plain = np.linalg.cholesky

    def cholesky(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        seen.append(_now())
        return plain(x)

    monkeypatch.setattr(blas.linalg, "cholesky", staticmethod(blas._limited(cholesky)))
    monkeypatch.setattr(blas, "LARGE", 1 << 20)

    def f(x: Tensor) -> Tensor:
        return (flambeau.linalg.cholesky(x) @ x).relu()

    x = flambeau.eye(200)
    for wanted, count in ((None, 3), (2, 2), (1, 1)):
        function = flambeau.script(f, num_threads=wanted, backend=backend)
        for _ in range(4):
            np.testing.assert_array_equal(function(x).numpy(), x.numpy())
        assert seen == [count] * 4
        seen.clear()


@pytest.mark.parametrize(("wanted", "count"), [(thread_count.ANY, 3), (2, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_c18_native_code_asks_too(wanted: int, count: int, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    plain = blas.threads_for

    class Watched:
        def __init__(self, work: float) -> None:
            self.block = plain(work)

        def __enter__(self) -> None:
            self.block.__enter__()
            seen.append(_now())

        def __exit__(self, *error: object) -> None:
            self.block.__exit__(None, None, None)

    library = native.blas()
    if library is None:
        pytest.skip("BLAS is not found")
    monkeypatch.setattr(blas, "threads_for", Watched)
    monkeypatch.setattr(blas, "LARGE", 1)
    name = "sgemm" if dtype is np.float32 else "dgemm"
    call = native._counted(library.addresses[name], library.bits, name, wanted)
    rng = np.random.default_rng(0)
    a, b, c = rng.random((5, 7)).astype(dtype), rng.random((7, 3)).astype(dtype), np.empty((5, 3), dtype)
    call(101, 111, 111, 5, 3, 7, 1.0, a.ctypes.data, 7, b.ctypes.data, 3, 0.0, c.ctypes.data, 3)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert seen == [count]


def test_c18_where_the_library_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: str) -> object:
        raise OSError(path)

    monkeypatch.setattr(blas.ctypes, "CDLL", missing)
    assert blas.library.__wrapped__() is None
    monkeypatch.setattr(blas, "library", lambda: None)
    assert blas._control.__wrapped__() is None


def test_c18_operators_call_blas_by_this_module() -> None:
    root = Path(flambeau.__file__).parent
    names = {"cholesky", "det", "eig", "eigh", "eigvalsh", "inv", "lstsq", "multi_dot", "qr", "slogdet", "solve", "svd"}
    for path in [*root.glob("ops/**/*.py"), *root.glob("tensor/*.py")]:
        tree = ast.parse(path.read_text())
        keywords = [k for n in ast.walk(tree) if isinstance(n, ast.Call) for k in n.keywords]
        references = [k.value for k in keywords if k.arg == "reference"]
        skipped = {id(inner) for r in references for inner in ast.walk(r)}
        skipped |= {
            id(inner) for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and "reference" in n.name
            for inner in ast.walk(n)
        }  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and id(node) not in skipped:
                text = ast.unparse(node)
                is_direct = text in ("np.matmul", "np.dot", "np.einsum")
                is_direct |= text.startswith("np.linalg.") and node.attr in names
                assert not is_direct, f"{path.name}, line {node.lineno}: {text}: call it by util.blas"


@pytest.mark.parametrize(
    ("sizes", "asks"),
    [((64, 64, 64), False), ((64, 128, 64), True), ((1, 64, 128), False), ((4096, 1, 128), True), ((90, 90), False)],
)
def test_c18_small_matrices_whose_product_blas_would_share(
    sizes: tuple[int, ...], asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenBLAS has one thread of its own accord up to 2^18 multiplications, however few elements matrices have."""
    seen: list[float] = []
    plain = blas.threads_for
    monkeypatch.setattr(blas, "threads_for", lambda work: (seen.append(work), plain(work))[1])
    pairs = [sizes[:2], sizes[1:]]
    a, b = (np.random.default_rng(k).random(s).astype(np.float32) for k, s in enumerate(pairs))
    np.testing.assert_allclose(blas.matmul(a, b), a @ b, rtol=1e-5)
    assert bool(seen) is asks
    for _ in range(3):  # natively at some time, where nobody is asked
        product = flambeau.from_numpy(a) @ flambeau.from_numpy(b)
    np.testing.assert_allclose(product.numpy(), a @ b, rtol=1e-5)


def test_stacks_of_small_matrices_ask_for_one_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    plain = blas.threads_for
    monkeypatch.setattr(blas, "threads_for", lambda work: (asked.append(work), plain(work))[1])
    few, many = np.ones((1000, 8, 8)), np.ones((2, 300, 300))
    assert blas.matmul(few, few).shape == few.shape
    assert not asked
    assert blas.matmul(many, many).shape == many.shape
    assert len(asked) == 1
    blas._callers.clear()
    blas._callers.update(dict.fromkeys(range(blas.MANY + 1), 0.0))
    blas.matmul(many, many)
    assert len(blas._callers) == 1, "those that came long ago are forgotten"


def test_products_of_few_multiplications_have_one_thread_anyway() -> None:
    def are_small(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        return blas.is_small(np.zeros(a, np.float32), np.zeros(b, np.float32))

    assert are_small((8, 64), (64, 256)), "a large matrix by a small one"
    assert are_small((5, 8, 64), (5, 64, 256)), "pair by pair"
    assert not are_small((64, 64), (64, 65)), "more than BLAS multiplies by one thread"
    assert are_small((90, 90), (90, 1))
    assert not are_small((1, 64), (64, 256)), "a row is a vector"
    assert not are_small((256, 64), (64, 1))
    assert not are_small((256, 64), (64,))
