"""Broken and hostile files end in one kind of error, which says what is wrong, and nothing in them runs."""

from __future__ import annotations

import io
import os
import pickle
import random
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import flambeau
from flambeau.jit import ArchiveError
from tests.serialize.handmade import EMPTY_TUPLE, archive, instance, load, module, pickled, tensor, text, zipped
from tests.serialize.mutations import mutated

DATA = Path(__file__).parent.parent / "data" / "archives"
CODE = module("def forward(self: __torch__.M) -> int:\n  return 1")
TENSOR = module("def forward(self: __torch__.M) -> Tensor:\n  return self.a", attributes="a : Tensor")
GOOD = archive(CODE)
RAN: list[str] = []


def changed(data: bytes, old: bytes, new: bytes, count: int = -1) -> bytes:
    assert old in data
    return data.replace(old, new, count)


def encrypted() -> bytes:
    data = bytearray(GOOD)
    at = data.rfind(b"PK\1\2")
    data[at + 8] |= 1
    return bytes(data)


def method_99() -> bytes:
    data = bytearray(GOOD)
    at = data.find(b"PK\1\2")
    data[at + 10] = 99
    return bytes(data)


def bomb() -> bytes:
    """A small file that declares a record of 2.2 GB."""
    data = bytearray(zipped({"m/version": "\0" * 3000}, zipfile.ZIP_DEFLATED))
    at = data.find(b"PK\1\2")
    data[at + 24 : at + 28] = struct.pack("<I", 2_200_000_000)
    return bytes(data)


def impossible() -> bytes:
    """A record that declares more than its bytes can be inflated to."""
    data = bytearray(zipped({"m/version": random.Random(1).randbytes(9970)}, zipfile.ZIP_DEFLATED))
    at = data.find(b"PK\1\2")
    data[at + 24 : at + 28] = struct.pack("<I", 100_000_000)
    return bytes(data)


CONTAINERS: dict[str, Callable[[], bytes]] = {
    "the file is empty": lambda: b"",
    "this is something else": lambda: b"hello" * 100,
    "this is a pickle": lambda: pickle.dumps({"a": 1}, 2),
    "a file that torch.save wrote before 1.6": lambda: b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.",
    "an archive in TorchScript's own format of before 1.0": lambda: b"PYTORCH1" + bytes(50),
    "compressed by gzip": lambda: b"\x1f\x8b" + bytes(50),
    "the file is cut off": lambda: GOOD[:-30],
    "its directory of": lambda: GOOD[: GOOD.find(b"PK\1\2")] + GOOD[GOOD.rfind(b"PK\5\6") :],
    "its bytes do not have the checksum": lambda: changed(GOOD, b"return 1", b"return 2"),
    "is encrypted": encrypted,
    "got compression method 99": method_99,
    "its deflated records have more than 134,217,728 bytes when inflated": bomb,
    "deflated bytes cannot be the 100000000 bytes declared": impossible,
    "its first record is 'version', and should be in a directory": lambda: zipped({"version": "3\n"}),
    "record 'm/../x' would lie outside": lambda: zipped({"m/version": "3\n", "m/../x": "1"}),
    "there is no record 'version': it is no TorchScript archive": lambda: zipped({"m/data.pkl": EMPTY_TUPLE}),
    "PyTorch 1.3 or older wrote it": lambda: zipped({"m/model.json": "{}"}),
    "expected a number, got 'three'": lambda: archive(CODE, version="three\n"),
    "maximum supported version for reading is 10": lambda: archive(CODE, version="11\n"),
    "the oldest version that can be read is 1": lambda: archive(CODE, version="0\n"),
    "expected the archive of a module, got no TorchScript archive": lambda: zipped({"m/version": "3\n"}),
    "expected the archive of a module, got a file of values": lambda: archive(CODE, constants__dot__pkl=None),
    "expected UTF-8 text": lambda: archive(CODE, code__slash____torch____dot__py=b"\xff\xfe"),
}


@pytest.mark.parametrize("message", CONTAINERS)
def test_containers(message: str) -> None:
    with pytest.raises(ArchiveError) as caught:
        load(CONTAINERS[message]())
    assert message in str(caught.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_records_of_one_name() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("m/version", "3\n")
        made.writestr("m/version", "4\n")
    with pytest.raises(ArchiveError, match="there are two records 'version'"):
        load(file.getvalue())


def test_plain_zips_and_zip64_are_read() -> None:
    assert load(GOOD)() == 1
    with zipfile.ZipFile(io.BytesIO(GOOD)) as good:
        records = {name: good.read(name) for name in good.namelist()}
    assert load(zipped(records, zipfile.ZIP_DEFLATED))() == 1
    big = io.BytesIO()
    with zipfile.ZipFile(big, "w") as made:
        for name, data in records.items():
            with made.open(name, "w", force_zip64=True) as one:
                one.write(data)
    assert load(big.getvalue())() == 1
    lying = bytearray(GOOD)
    at = lying.find(b"PK\1\2")
    lying[at + 24 : at + 28] = b"\xff" * 4
    with pytest.raises(ArchiveError, match="zip64 field that is not there"):
        load(bytes(lying))


def ran(word: str) -> str:
    RAN.append(word)
    return word


class Hostile:
    def __reduce__(self) -> tuple[Callable[[str], str], tuple[str]]:
        return ran, ("pickle",)


def with_a(value: bytes, **records: bytes) -> bytes:
    return archive(TENSOR, {"a": value}, **records)


FOUR = {"data__slash__0": b"\0" * 16}
PICKLES: dict[str, bytes] = {
    "it names os.system, which is neither a tensor nor a plain value": b"cos\nsystem\n" + text("true") + b"\x85R",
    "it names torch.jit.load": b"ctorch.jit\nload\n",
    "expected an instruction that archives use, got b'\\x93'": b"\x93",
    "expected 4 more bytes, got 3": b"J",
    "expected 200 more bytes, got": b"X\xc8\0\0\0abc",
    "takes more from its stack": b"(" + b"\x85",
    "there is no mark to go back to": b"t",
    "nothing was remembered as number 7": b"h\7",
    "expected a dict to set items of, got list": b"]" + text("a") + b"K\1s",
    "expected a list to append to, got dict": b"}K\1a",
    "unhashable type": b"}]K\1s",
    "a key of a dict has no value": b"}(K\1u",
    "expected one value at the end, got 8": b"K\1K\2K\3.",
    "a text is not UTF-8": b"X\1\0\0\0\xff",
    "expected a storage outside of the pickle": b"K\1Q",
    "a tensor is made of something that is no storage": (
        b"ctorch._utils\n_rebuild_tensor_v2\n" + pickled((1, 0, (), (), False, None)) + b"R"
    ),
    "_rebuild_tensor_v2 does not take 1 arguments": b"ctorch._utils\n_rebuild_tensor_v2\nK\1\x85R",
    "does not fit into storage '0' of 4 elements": tensor("0", 4, (2, 3), (3, 1)),
    "expected 20 bytes for 5 elements of float32, got 16": tensor("0", 5, (2,), (1,)),
    "storage '0' cannot have -1 elements": tensor("0", -1, (2,), (1,)),
    "expected sizes and strides of a tensor as tuples of numbers from 0 on": tensor("0", 4, (2,), (-1,)),
    "a tensor of int64 cannot have gradients": tensor("0", 2, (2,), (1,), kind="LongStorage", grad=True),
    "(QInt8Storage): its elements stand for numbers by a scale": tensor("0", 16, (2,), (1,), kind="QInt8Storage"),
    "(QUInt4x2Storage): its elements share bytes": tensor("0", 16, (2,), (1,), kind="QUInt4x2Storage"),
    "_rebuild_qtensor does not take 0 arguments": b"ctorch._utils\n_rebuild_qtensor\n)R",
    "it is a sparse tensor": b"ctorch._utils\n_rebuild_sparse_tensor\n)R",
    "there is no record 'data/nope'": tensor("nope", 4, (2,), (1,)),
    "a device cannot be": b"ctorch\ndevice\nK\1\x85R",
    "Expected one of cpu, cuda": b"ctorch\ndevice\n" + text("toaster") + b"\x85R",
    "there is no class __torch__.torch.classes.my.Own: it is a class of PyTorch's own C++": instance(
        "__torch__.torch.classes.my.Own", {}
    ),
    "expected a class of the archive's code": b"ctorch\ndevice\n)\x81",
    "expected an object of the archive's code": b"K\1}b",
    "expected a list of int, got str in it": b"ctorch.jit._pickle\nbuild_intlist\n" + pickled((["a"],)) + b"R",
    "expected attribute 'a' of __torch__.M to be of type Tensor, got int": b"K\1",
}


@pytest.mark.parametrize("message", PICKLES)
def test_pickles(message: str) -> None:
    with pytest.raises(ArchiveError) as caught:
        load(with_a(PICKLES[message], **FOUR))
    assert message in str(caught.value)
    assert "record '" in str(caught.value) or "there is no" in str(caught.value)


def test_roots_and_constants() -> None:
    cases = {
        "expected a module, got int": archive(CODE, b"K\1"),
        "expected a tuple of constants, got int": archive(CODE, constants__dot__pkl=b"\x80\x02K\1."),
        "expected a pickle of protocol 2, got protocol 4": archive(CODE, constants__dot__pkl=b"\x80\x04)."),
        "bytes, got": archive(CODE, constants__dot__pkl=EMPTY_TUPLE + b"more"),
        f"it names {__name__}.ran": archive(CODE, constants__dot__pkl=pickle.dumps(Hostile(), 2)),
    }
    for message, data in cases.items():
        with pytest.raises(ArchiveError) as caught:
            load(data)
        assert message in str(caught.value)
    assert RAN == []
    state = module(
        "def __getstate__(self: __torch__.M) -> int:\n  return 1",
        'def __setstate__(self: __torch__.M, n: int) -> NoneType:\n  ops.prim.RaiseException("no")\n  return None',
    )
    with pytest.raises(ArchiveError, match=r"(?s)__setstate__ of __torch__.M failed: .*RuntimeError: no"):
        load(archive(state, b"c__torch__\nM\n)\x81K\1b"))


def test_deep_and_cyclic_values_do_not_break_the_reader() -> None:
    deep = b"]" * 100_000 + b"a" * 99_999
    with pytest.raises(ArchiveError, match="to be of type Tensor, got list"):
        load(with_a(deep))
    code = module("def forward(self: __torch__.M) -> int:\n  return 1", attributes="a : List[Any]")
    assert load(archive(code, {"a": b"]q\0h\0a"}))() == 1


SEEDS = ("classes_script", "containers_script", "enums_script", "getstate_script", "hooks_script", "lstmcell_trace")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SEEDS)
def test_c03_mutated_files_end_in_one_kind_of_error(name: str) -> None:
    rng, refused = random.Random(name), 0
    for number in range(70):
        data = mutated(DATA / f"{name}.pt", rng)
        start = time.process_time()
        try:
            loaded = load(data)
        except ArchiveError as error:
            refused += bool(str(error))
            continue
        finally:
            assert time.process_time() - start < 10, number
        for method in loaded.script_object.type.definition.methods.values():
            try:
                method.graph  # noqa: B018
            except (ArchiveError, flambeau.jit.CompileError) as error:
                refused += bool(str(error))
    assert refused > 30


def test_nothing_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        with pytest.raises(ArchiveError):
            flambeau.jit.load(__file__)
        flambeau.jit.load(DATA / "hooks_script.pt")
    after = len(os.listdir("/proc/self/fd")) if before else 0
    assert after <= before
    assert zlib.crc32(b"") == 0


def test_archives_without_the_weights_of_their_convolutions_say_so() -> None:
    body = "def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  "
    code = "w = ops.prim.ConstantMKLDNNTensor()\n  return ops.prim.mkldnn_convolution(x, w)"
    with pytest.raises(ArchiveError, match="The weights of its convolutions are not in the archive: who wrote"):
        load(archive(module(body + code)))
