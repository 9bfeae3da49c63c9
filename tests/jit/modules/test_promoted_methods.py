"""Methods that run natively without their object: what was assigned since the last call is seen, wherever it was."""

from __future__ import annotations

import copy
import enum
import threading
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import available
from flambeau.executor.parameter_promotion import MAX_VARIANTS, MAX_WITH_NUMBERS, promotion_of
from flambeau.jit.arguments import ArgumentError
from flambeau.jit.modules import promoted_method
from flambeau.jit.modules.promoted_method import PromotedMethod
from tests.jit.modules.module_support import same

pytestmark = pytest.mark.skipif(not available(), reason="needs native code")
X = flambeau.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2, bias=False)
        self.register_buffer("shift", flambeau.zeros(2))
        self.scale = 2.0
        self.count = 3
        self.kind = "plain"

    def forward(self, x: Tensor, times: int = 1) -> Tensor:
        x = self.second(flambeau.relu(self.first(x))) * self.scale + self.shift
        if self.training:
            x = x + 100
        if self.kind == "odd":
            x = -x
        for _ in range(self.count * times):
            x = x * 1.5
        return x


def pair() -> tuple[Any, Any]:
    flambeau.manual_seed(3)
    eager = Net()
    return eager, flambeau.script(copy.deepcopy(eager), verify=True)


def agree(eager: Any, scripted: Any, *args: Any, **kwargs: Any) -> None:
    for _ in range(4):
        assert same(eager(X, *args, **kwargs), scripted(X, *args, **kwargs))


def test_a_method_is_native_from_end_to_end() -> None:
    eager, scripted = pair()
    agree(eager, scripted)
    assert isinstance(scripted.forward, PromotedMethod)
    assert "native from end to end" in str(scripted.explain())
    assert "GetAttr" not in str(scripted.graph_for(X))
    assert "GetAttr" in str(scripted.graph)
    assert scripted.forward._seen.native is not None


def test_whatever_is_assigned_is_seen() -> None:
    eager, scripted = pair()
    agree(eager, scripted)
    for name, value in [("scale", 0.5), ("count", 1), ("kind", "odd"), ("shift", flambeau.ones(2)), ("kind", "plain")]:
        setattr(eager, name, value)
        setattr(scripted, name, value)
        agree(eager, scripted)
    for module in (eager, scripted):
        module.eval()
    agree(eager, scripted)
    for module in (eager, scripted):
        module.first.weight = nn.Parameter(flambeau.full([4, 3], 0.25))
    agree(eager, scripted)
    for module in (eager, scripted):
        module.second.weight.detach().mul_(3)
        module.shift.add_(1)
    agree(eager, scripted)
    for module in (eager, scripted):
        module.first.bias.data = flambeau.ones(4)
    agree(eager, scripted)
    for module in (eager, scripted):
        module.load_state_dict({n: t * 2 for n, t in module.state_dict().items()})
    agree(eager, scripted)
    for module in (eager, scripted):
        module.double()
    assert same(eager(X.double()), scripted(X.double()))


def test_arguments_by_name_defaults_and_mistakes() -> None:
    eager, scripted = pair()
    agree(eager, scripted, 2)
    agree(eager, scripted, times=2)
    with pytest.raises(ArgumentError, match=r"forward\(\) is missing value for argument 'x'"):
        scripted()
    with pytest.raises(ArgumentError, match=r"forward\(\) expected at most 2 argument\(s\) but received 3"):
        scripted(X, 1, 2)
    with pytest.raises(ArgumentError, match=r"Expected a value of type 'int' for argument 'times'"):
        scripted(X, "a")
    with pytest.raises(ArgumentError, match=r"Declaration: forward\(__torch__.*Net self, Tensor x, int times=1\)"):
        scripted(X, [1])


def test_instances_share_functions_and_keep_their_own_values() -> None:
    (a, one), (_, two) = pair(), pair()
    two.shift = flambeau.ones(2) * 7
    agree(a, one)
    assert not same(one(X), two(X))
    assert one.forward.promotion is two.forward.promotion
    assert one.forward._seen.native.script_function is two.forward._seen.native.script_function
    deep = copy.deepcopy(two)
    two.first.weight.detach().zero_()
    assert not same(deep(X), two(X))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = self.a
        self.c = nn.Linear(3, 3)
        self.c.weight = self.a.weight

    def forward(self, x: Tensor) -> Tensor:
        self.a.weight.detach().add_(0.125)
        return self.c(self.b(self.a(x)))


def test_what_is_shared_stays_shared() -> None:
    flambeau.manual_seed(1)
    eager = Tied()
    scripted = flambeau.script(copy.deepcopy(eager), verify=True)
    for _ in range(4):
        assert same(eager(X), scripted(X))
    assert same(eager.c.weight, scripted.c.weight)


class Writes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        return flambeau.dropout(x, 0.0, True) * self.n


class GivesAway(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(flambeau.ones(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x * self.w, self.w


class ReadsTexts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sizes = ["1", "2"]

    def forward(self, x: Tensor) -> Tensor:
        return x * int(self.sizes[0])


class Records(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(flambeau.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        with flambeau.enable_grad():
            y = x * self.w
            if y.requires_grad:
                y = y + 10
        return y


@pytest.mark.parametrize("kind", [Writes, GivesAway, ReadsTexts, Records])
def test_what_needs_the_object_keeps_it(kind: Any) -> None:
    eager, scripted = kind(), flambeau.script(kind(), verify=True)
    for _ in range(3):
        assert same(eager(X), scripted(X))
    assert scripted.forward._seen.native is None
    assert promotion_of(scripted.forward.script_function) is None


def test_a_parameter_that_is_given_away_is_the_parameter() -> None:
    scripted = flambeau.script(GivesAway())
    for _ in range(4):
        assert scripted(X)[1] is scripted.w


class Texts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kind = "0"

    def forward(self, x: Tensor) -> Tensor:
        return x * float(self.kind)


def test_few_functions_are_made_for_texts() -> None:
    scripted = flambeau.script(Texts())
    for number in range(2 * MAX_VARIANTS):
        scripted.kind = str(number)
        assert same(scripted(X), X * number)
    assert len(scripted.forward.promotion.variants_cache) == MAX_VARIANTS


def test_several_threads_and_changes_between() -> None:
    _, scripted = pair()
    scripted.eval()
    expected = {}
    for scale in (1.0, 2.0):
        scripted.scale = scale
        expected[scale] = scripted(X).tolist()
    wrong: list[Any] = []

    def call() -> None:
        for _ in range(300):
            found = scripted(X).tolist()
            if found not in expected.values():
                wrong.append(found)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for k in range(300):
        scripted.scale = 1.0 + k % 2
    for thread in threads:
        thread.join()
    assert not wrong


def test_traces_see_the_method() -> None:
    eager, scripted = pair()

    class Around(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = scripted

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x) + 1

    scripted(X)
    traced = flambeau.trace(Around(), X)
    assert same(traced(X), eager(X) + 1)
    assert 'prim::CallMethod[name="forward"]' in str(traced.graph)


def test_idle_dropouts_are_not_in_the_way() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.GELU()).eval()
    scripted = flambeau.script(model, verify=True)
    for _ in range(4):
        assert same(scripted(X), model(X))
    assert scripted.explain(measure=False).is_native
    assert "aten::rand" in str(scripted.train().graph_for(X))
    assert len({tuple(scripted(flambeau.ones(1, 3)).flatten().tolist()) for _ in range(20)}) > 1
    assert "aten::rand" not in str(scripted.eval().graph_for(X))


def test_a_dropout_that_would_fail_fails() -> None:
    unit = flambeau.CompilationUnit("def f(x: Tensor): return flambeau.dropout(x, 1.5, False) * 2")
    with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1"):
        unit.f(X)


def test_what_is_known_of_a_function_goes_with_it() -> None:
    unit = flambeau.CompilationUnit("def f(x: int) -> int:\n    return x\n")
    function = unit.f.script_function
    assert promotion_of(function) is None
    scripted = flambeau.script(Net())
    scripted(X)
    method = scripted.forward.script_function
    assert promotion_of(method) is scripted.forward.promotion
    assert not any(held is method for held in vars(scripted.forward.promotion).values())


@pytest.mark.parametrize("kind", [Net, Writes])
def test_methods_are_profiled_and_shown(kind: Any) -> None:
    scripted = flambeau.script(kind())
    for _ in range(3):
        scripted(X)
    found = scripted.forward.profile(X)
    assert same(found.result, scripted(X)) or kind is Writes
    assert "forward" in str(found)
    assert ".entry" in scripted.forward.ptx(X)
    assert scripted.forward.passes(X) is not None
    assert scripted.forward.llvm_ir


class Listed(nn.Module):
    tensors: list[Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.tensors = [flambeau.ones(3), flambeau.full((3,), 2.0)]

    def forward(self, x: Tensor) -> Tensor:
        for tensor in self.tensors:
            x = x * tensor
        return x + len(self.tensors)


def test_lists_of_tensors_are_taken_apart() -> None:
    """What is in a list when a method is called counts: replaced, added, taken out, or changed in place."""
    scripted = flambeau.script(Listed())
    for _ in range(4):
        assert same(scripted(X), X * 2 + 2)
    assert "native from end to end" in str(scripted.explain())
    tensors = scripted.tensors
    tensors[1] = flambeau.full((3,), 5.0)
    assert same(scripted(X), X * 5 + 2)
    tensors[0].mul_(2)
    assert same(scripted(X), X * 10 + 2)
    tensors.append(flambeau.full((3,), 0.5))
    assert same(scripted(X), X * 5 + 3)
    del tensors[0]
    assert same(scripted(X), X * 2.5 + 2)
    tensors.clear()
    assert same(scripted(X), X)
    scripted.tensors = [flambeau.full((3,), 3.0)]
    assert same(scripted(X), X * 3 + 1)


class Appends(Listed):
    def forward(self, x: Tensor) -> Tensor:
        self.tensors.append(x)
        return x + len(self.tensors)


class GivesList(Listed):
    def forward(self, x: Tensor) -> list[Tensor]:
        return self.tensors


class Hands(Listed):
    def forward(self, x: Tensor) -> Tensor:
        held = [self.tensors]
        held[0].append(x)
        return x + len(self.tensors)


@pytest.mark.parametrize("kind", [Appends, GivesList, Hands])
def test_lists_that_change_or_leave_stay_the_objects(kind: Any) -> None:
    eager, scripted = kind(), flambeau.script(kind())
    for _ in range(4):
        assert same(eager(X), scripted(X))
    assert same(eager.tensors, scripted.tensors)
    assert promotion_of(scripted.forward.script_function) is None


class Numbers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sizes, self.factors = [1, 2], [0.5]

    def forward(self, x: Tensor) -> Tensor:
        for n in self.sizes:
            x = x * n
        return x * self.factors[0] + len(self.factors)


def test_lists_of_numbers_are_taken_apart() -> None:
    scripted = flambeau.script(Numbers())
    for _ in range(4):
        assert same(scripted(X), X + 1)
    assert "native from end to end" in str(scripted.explain())
    scripted.sizes.append(7)
    scripted.factors[0] = 2.0
    assert same(scripted(X), X * 28 + 1)
    scripted.factors.clear()
    with pytest.raises(RuntimeError, match="list index out of range"):
        scripted(X)


def test_recurrent_layers_do_without_their_object() -> None:
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        eager = kind(3, 4, 2)
        scripted = flambeau.script(eager)
        for _ in range(4):
            assert same(eager(X[None]), scripted(X[None]))
        with flambeau.no_grad():
            eager.weight_hh_l1.mul_(2)
        assert same(eager(X[None]), scripted(X[None]))
        assert promotion_of(scripted.forward.script_function) is not None


def test_packed_sequences_from_python() -> None:
    packed = nn.utils.rnn.pack_padded_sequence(flambeau.ones(5, 2, 3), flambeau.tensor([5, 3]))
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        eager = kind(3, 4)
        scripted = flambeau.script(eager)
        for _ in range(3):
            assert same(eager(packed)[0].data, scripted(packed)[0].data)
        with pytest.raises(ArgumentError, match="for argument 'input'"):
            scripted("text")


def test_programs_on_shared_lists_say_why_they_are_interpreted() -> None:
    def grows(held: list[int], x: Tensor) -> Tensor:
        held.append(1)
        return x * len(held)

    shared, scripted = flambeau.script([1, 2]), flambeau.script(grows)
    for _ in range(4):
        scripted(shared, X)
    assert len(shared) == 6
    reasons = {one.reason for one in next(iter(scripted.explain().compilations)).interpreted}
    assert reasons == {"it works on a list or dict shared with Python, of which native code would have a copy"}


class Format(enum.Enum):
    FIRST = "first"
    LAST = "last"


class Asks(nn.Module):
    """Looks at the need of gradients: of a parameter, of one that is not there, of what it computes; and at an enum."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(flambeau.ones(3))
        self.form = Format.LAST
        self.register_parameter("bias", None)

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.w
        if y.requires_grad:
            y = y + 10
        if self.w.requires_grad:
            y = y + 100
        if self.bias is not None and self.bias.requires_grad:
            y = y + 10000
        return y if self.form == Format.FIRST else -y


class AsksOfEither(Asks):
    """Asks a tensor that may be a parameter or not, and a view of one."""

    def forward(self, x: Tensor) -> Tensor:
        one = self.w if bool(x.sum() > 0) else x
        if self.w.view(3).requires_grad:
            x = x + 1000
        return x + 1 if one.requires_grad else x


@pytest.mark.parametrize(("kind", "is_promoted"), [(Asks, True), (AsksOfEither, False), (Records, False)])
def test_need_of_gradients_is_told_to_methods_without_their_object(kind: Any, is_promoted: bool) -> None:
    eager, scripted = kind(), flambeau.script(kind(), verify=True)
    for asks in (True, False, True):
        eager.w.requires_grad_(asks)
        scripted.w.requires_grad_(asks)
        for context in (flambeau.enable_grad, flambeau.no_grad):
            with context():
                expected, result = eager(X), scripted(X)
                assert same(expected, result)
                assert expected.requires_grad == result.requires_grad
    with flambeau.no_grad():
        assert same(eager(-X), scripted(-X))
    assert (promotion_of(scripted.forward.script_function) is not None) == is_promoted


class Switches(nn.Module):
    """Turns the recording of gradients on and off in statements of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(flambeau.ones(3))

    def forward(self, x: Tensor, on: bool) -> tuple[Tensor, Tensor]:
        flambeau.set_grad_enabled(on)
        first = x * self.w
        flambeau.set_grad_enabled(not on)
        return first, x * self.w


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("starts", [True, False])
def test_set_grad_enabled_holds_from_its_statement_on(on: bool, starts: bool) -> None:
    seen = []
    for module in (Switches(), flambeau.script(Switches())):
        for _ in range(3):
            with flambeau.set_grad_enabled(starts):
                results = module(X, on)
                seen.append(([r.requires_grad for r in results], flambeau.is_grad_enabled()))
    assert seen == [([on, not on], not on)] * 6


class Deciding(nn.Module):
    """A number of heads that decides which way is taken, and one that is only computed with."""

    def __init__(self) -> None:
        super().__init__()
        self.heads, self.width = 3, 3
        self.scale = nn.Parameter(flambeau.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        if self.heads % 2 == 1:
            x = x + self.heads
        if x.shape[1] != self.width:
            raise RuntimeError("another width")
        if flambeau.is_grad_enabled() and (x.requires_grad or self.scale.requires_grad):
            x = x * 10
        return x * self.scale


def test_ints_that_decide_are_written_in_until_there_are_too_many() -> None:
    eager, scripted = Deciding(), flambeau.script(Deciding(), verify=True)
    with flambeau.no_grad():
        for heads in (3, 4, 3, 5, 6, 7, 8, 9, 10, 3):
            eager.heads = scripted.heads = heads
            agree(eager, scripted)
            assert scripted.forward._seen.native is not None
    cache = scripted.forward.promotion.variants_cache
    assert len(cache) == MAX_WITH_NUMBERS + 1, "the last takes any number of heads"
    names = [[a.name for a in variant.schema.arguments] for variant in cache.values]
    assert [("heads" in n, "width" in n) for n in names] == [(False, True)] * MAX_WITH_NUMBERS + [(True, True)]


class Dropping(nn.Module):
    """Draws only where there is something to drop."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        rate = self.rate if self.training else 0.0
        if rate > 0.0:
            x = nn.functional.dropout(x, rate)
        return x * 2.0


def test_floats_that_decide_are_written_in() -> None:
    scripted = flambeau.script(Dropping(0.0), verify=True)
    with flambeau.no_grad():
        for rate in (0.0, -0.0, 0.0):
            scripted.rate = rate
            for _ in range(4):
                assert same(scripted(X), X * 2)
            assert scripted.forward.explain(measure=False).is_native
        scripted.rate = 1.0
        assert same(scripted(X), X * 0)


def test_whether_gradients_are_recorded_is_asked_at_each_call() -> None:
    eager, scripted = Deciding(), flambeau.script(Deciding(), verify=True)
    for _ in range(3):
        with flambeau.no_grad():
            assert same(eager(X), scripted(X))
        assert same(eager(X), scripted(X))
        assert scripted(X).requires_grad
        scripted(X).sum().backward()
    assert same(scripted.scale.grad, 30 * (X + 3).sum(0))
    with flambeau.no_grad():
        assert "is_grad_enabled" not in str(scripted.graph_for(X))
        assert scripted.graph_for(X).find("prim::If") is not None, "the width is compared still"
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(scripted(X)))  # a thread of its own records
    with flambeau.no_grad():
        scripted(X)
        thread.start()
        thread.join()
    assert same(found[0], eager(X))


class AsksWithin(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with flambeau.no_grad():
            if flambeau.is_grad_enabled():
                x = x + 1
        if flambeau.is_grad_enabled():
            x = x + 10
        return x


def test_a_method_that_changes_the_mode_asks_itself() -> None:
    eager, scripted = AsksWithin(), flambeau.script(AsksWithin(), verify=True)
    for _ in range(3):
        assert same(eager(X), scripted(X))
        with flambeau.no_grad():
            assert same(eager(X), scripted(X))


class AsksOfComputed(nn.Module):
    """As attention does, it asks of what it computed together with its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(flambeau.ones(3)), nn.Parameter(flambeau.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.weight
        if flambeau.is_grad_enabled() and any(t.requires_grad for t in (y, self.weight, self.bias)):
            return y * 10 + self.bias
        return y + self.bias


@pytest.mark.parametrize("asking", ["both", "bias", "none"])
def test_a_weight_that_asks_answers_for_what_is_computed(asking: str) -> None:
    eager = AsksOfComputed()
    eager.weight.requires_grad_(asking == "both")
    eager.bias.requires_grad_(asking != "none")
    scripted = flambeau.script(copy.deepcopy(eager), verify=True)
    for given in (X, X, X.clone().requires_grad_(), X):
        results = [module(given) for module in (eager, scripted)]
        assert same(*results)
        assert results[0].requires_grad == results[1].requires_grad
        if results[0].requires_grad:
            gradients = [flambeau.autograd.grad(r.sum(), [p for p in m.parameters() if p.requires_grad] or [given])
                         for r, m in zip(results, (eager, scripted), strict=True)]  # fmt: skip
            assert all(map(same, *gradients))
    with flambeau.no_grad():
        assert same(eager(X), scripted(X))
    if asking != "none":
        node = scripted(X).grad_fn
        assert node is not None
        assert node.name() == "CompiledCallBackward", "one node for the call"


def test_what_was_assigned_is_seen_by_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promoted_method, "OFTEN", 3)
    eager, scripted = pair()
    changes: list[Any] = [
        lambda m: setattr(m, "scale", -0.5), lambda m: setattr(m, "kind", "odd"), lambda m: m.eval(),
        lambda m: setattr(m, "count", 5), lambda m: setattr(m.first.bias, "data", flambeau.ones(4)),
        lambda m: setattr(m, "shift", flambeau.tensor([1.0, 2.0])), lambda m: m.shift.fill_(7.0),
        lambda m: setattr(m.second, "weight", nn.Parameter(flambeau.ones(2, 4))), lambda m: m.train(),
    ]  # fmt: skip
    with flambeau.no_grad():
        for change in changes:
            agree(eager, scripted)
            scripted(X)
            assert scripted.forward._seen.look is not None
            change(eager)
            change(scripted)
            agree(eager, scripted)


class Scales(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.scales: list[float] = [1.0 / (k + 1) for k in range(count)]

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scales[2] + float(len(self.scales))


@pytest.mark.parametrize("count", [3, 300, 1000])
def test_long_lists_are_not_looked_at_anew_in_each_call(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promoted_method, "OFTEN", 6)
    eager, scripted = Scales(count), flambeau.script(Scales(count))
    for _ in range(3):
        agree(eager, scripted)
        seen = scripted.forward._seen
        agree(eager, scripted)
        assert scripted.forward._seen is seen
        for module in (eager, scripted):
            module.scales.append(0.25)
            module.scales[2] = float(len(module.scales))
