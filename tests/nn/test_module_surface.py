"""What users do with modules in Python: hooks, conversions, containers, state, copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn


class Doubler(nn.Module):
    def forward(self, x: Tensor, plus: int = 0) -> Tensor:
        return x * 2 + plus


# -- hooks ------------------------------------------------------------------------------------------------------------


def test_hooks_run_in_order_and_may_replace() -> None:
    module, seen = Doubler(), []
    module.register_forward_pre_hook(lambda m, args: seen.append(("pre", args[0].item())))
    second = module.register_forward_pre_hook(lambda m, args: args[0] + 1)
    module.register_forward_hook(lambda m, args, result: seen.append(("post", result.item())))
    module.register_forward_hook(lambda m, args, result: result * 10)
    assert module(flambeau.tensor(3)).item() == 80
    assert seen == [("pre", 3), ("post", 8)]
    assert module.forward(flambeau.tensor(3)).item() == 6
    second.remove()
    second.remove()
    assert module(flambeau.tensor(3)).item() == 60


def test_hooks_may_be_put_first_and_see_keywords() -> None:
    module, order = Doubler(), []
    module.register_forward_pre_hook(lambda m, args: order.append("b"))
    with module.register_forward_pre_hook(lambda m, args: order.append("a"), prepend=True):
        module(flambeau.tensor(1))
    assert order == ["a", "b"]
    module.register_forward_pre_hook(lambda m, args, kw: (args, {"plus": kw["plus"] + 1}), with_kwargs=True)
    module.register_forward_hook(lambda m, args, kw, result: result + kw["plus"], with_kwargs=True)
    assert module(flambeau.tensor(1), plus=5).item() == 2 + 6 + 6
    module.register_forward_pre_hook(lambda m, args, kw: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="a tuple of new arguments and new keyword"):
        module(flambeau.tensor(1), plus=5)


def test_a_hook_that_always_runs_sees_failures() -> None:
    class Fails(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise ValueError("no")

    module, seen = Fails(), []
    module.register_forward_hook(lambda m, args, result: seen.append(result), always_call=True)
    module.register_forward_hook(lambda m, args, result: seen.append("not called"))
    with pytest.raises(ValueError, match="no"):
        module(flambeau.tensor(1))
    assert seen == [None]


def test_tables_of_hooks_belong_to_instances() -> None:
    a, b = Doubler(), Doubler()
    a.register_forward_hook(lambda m, args, result: result + 1)
    assert (a(flambeau.tensor(1)).item(), b(flambeau.tensor(1)).item()) == (3, 2)
    assert copy.deepcopy(a)(flambeau.tensor(1)).item() == 3


# -- conversions ------------------------------------------------------------------------------------------------------


def test_conversions_keep_parameters_who_they_are() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    model[0].register_buffer("count", flambeau.zeros(1, dtype=flambeau.int64))
    model[0].register_buffer("mean", flambeau.zeros(1))
    weight = model[0].weight
    assert model.double() is model
    assert model[0].weight is model[1].weight is weight
    assert {p.dtype for p in model.parameters()} == {flambeau.float64}
    assert (model[0].count.dtype, model[0].mean.dtype) == (flambeau.int64, flambeau.float64)
    assert model.half()[0].weight.dtype == flambeau.float16
    assert model.to(flambeau.ones(1))[0].weight.dtype == flambeau.float32
    assert model.bfloat16().float().cpu().to("cpu", flambeau.float64)[0].bias.dtype == flambeau.float64
    assert all(p.requires_grad for p in model.parameters())
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        model.to(flambeau.int32)
    with pytest.raises(TypeError, match="to\\(\\) takes a dtype, a device"):
        model.to([])
    model[0].weight.data = flambeau.zeros(3, 3)
    assert model[1].weight.shape == (3, 3)


def test_gradients_are_asked_for_and_forgotten() -> None:
    model = nn.Linear(2, 2).requires_grad_(False)
    assert not any(p.requires_grad for p in model.parameters())
    model.weight.grad = flambeau.ones(2, 2)
    model.zero_grad(set_to_none=False)
    assert model.weight.grad.sum().item() == 0
    model.zero_grad()
    assert model.weight.grad is None


def test_apply_goes_inside_first() -> None:
    names: list[str] = []
    model = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU()))
    assert model.apply(lambda m: names.append(type(m).__name__)) is model
    assert names == ["Linear", "ReLU", "Sequential", "Sequential"]


def test_train_reaches_modules_that_have_their_own() -> None:
    class Frozen(nn.Module):
        def train(self, mode: bool = True) -> Any:
            return super().train(False)

    model = nn.Sequential(Frozen(), nn.ReLU()).train()
    assert [m.training for m in model] == [False, True]
    with pytest.raises(ValueError, match="expected to be boolean"):
        model.train("yes")


# -- names ------------------------------------------------------------------------------------------------------------


def test_what_dotted_names_lead_to() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(1, 2)))
    model[0].register_buffer("b", flambeau.zeros(1))
    assert model.get_submodule("0.0") is model[0][0]
    assert model.get_submodule("") is model
    assert model.get_parameter("0.0.weight") is model[0][0].weight
    assert model.get_buffer("0.b") is model[0].b
    for call, text in [
        (lambda: model.get_submodule("0.9"), "Sequential has no attribute `9`"),
        (lambda: model.get_submodule("0.0.weight"), "`weight` is not an nn.Module"),
        (lambda: model.get_parameter("0.0.absent"), "Linear has no attribute `absent`"),
        (lambda: model.get_parameter("0.b"), "`b` is not an nn.Parameter"),
        (lambda: model.get_buffer("0.0.weight"), "`weight` is not a buffer"),
    ]:
        with pytest.raises(AttributeError, match=text):
            call()


def test_shared_and_nested_modules_are_listed_once_or_as_often_as_they_are_there() -> None:
    model = nn.Sequential(nn.Linear(1, 1))
    model.add_module("again", model[0])
    assert [n for n, _ in model.named_modules()] == ["", "0"]
    assert [n for n, _ in model.named_modules(remove_duplicate=False)] == ["", "0", "again"]
    assert [n for n, _ in model.named_parameters(remove_duplicate=False)] == [
        "0.weight", "0.bias", "again.weight", "again.bias",
    ]  # fmt: skip
    assert [n for n, _ in model.named_parameters(prefix="m", recurse=True)] == ["m.0.weight", "m.0.bias"]
    assert len(list(model.children())) == 1
    model.register_module("self", model)
    assert [n for n, _ in model.named_modules(prefix="x")] == ["x", "x.0"]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("weight", 1.0, "cannot assign 'float' as parameter 'weight'"),
        ("inner", 1, "cannot assign 'int' as child module 'inner'"),
        ("mean", [1], "cannot assign 'list' as buffer 'mean'"),
    ],
)
def test_what_is_registered_keeps_its_kind(name: str, value: Any, text: str) -> None:
    module = nn.Linear(1, 1)
    module.inner = nn.ReLU()
    module.register_buffer("mean", flambeau.zeros(1))
    with pytest.raises(TypeError, match=text):
        setattr(module, name, value)
    setattr(module, name, None)
    assert getattr(module, name) is None
    delattr(module, name)
    assert not hasattr(module, name)


def test_names_that_cannot_be() -> None:
    module = nn.Linear(1, 1)
    for name, text in [("a.b", r"can.*t contain"), ("", r"can.*t be empty"), ("training", "already exists")]:
        with pytest.raises(KeyError, match=text):
            module.register_buffer(name, flambeau.zeros(1))
    with pytest.raises(TypeError, match="should be a string"):
        module.add_module(3, nn.ReLU())  # type: ignore[arg-type]


# -- containers -------------------------------------------------------------------------------------------------------


def test_lists_of_modules_change_like_lists() -> None:
    layers = nn.ModuleList([nn.ReLU()])
    layers += [nn.Tanh(), nn.Sigmoid()]
    layers.append(nn.GELU()).insert(0, nn.Linear(1, 1))
    assert [type(m).__name__ for m in layers] == ["Linear", "ReLU", "Tanh", "Sigmoid", "GELU"]
    assert list(layers._modules) == ["0", "1", "2", "3", "4"]
    del layers[1:3]
    assert isinstance(layers.pop(), nn.GELU)
    layers[-1] = nn.Softplus()
    assert [type(m).__name__ for m in layers + nn.ModuleList([nn.ReLU()])] == ["Linear", "Softplus", "ReLU"]
    assert isinstance(layers[0:1], nn.ModuleList)
    with pytest.raises(TypeError, match="ModuleList: int is not a Module subclass"):
        layers.append(3)  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="index 2 is out of range"):
        del layers[2]


def test_sequences_with_names() -> None:
    model = nn.Sequential({"up": nn.Linear(1, 3), "act": nn.ReLU()})
    assert [n for n, _ in model.named_children()] == ["up", "act"]
    assert model.up is model[0]
    assert model(flambeau.ones(2, 1)).shape == (2, 3)
    model[1] = nn.Tanh()
    assert isinstance(model.act, nn.Tanh)


def test_dicts_of_modules() -> None:
    table = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
    table["c"] = nn.Tanh()
    table.update([("a", nn.GELU())])
    assert (list(table), len(table), "b" in table, "x" in table) == (["a", "b", "c"], 3, True, False)
    assert [k for k, _ in table.items()] == list(table.keys())
    assert isinstance(table.pop("c"), nn.Tanh)
    assert [type(m).__name__ for m in table.values()] == ["GELU", "Linear"]
    assert sorted(table.state_dict()) == ["b.bias", "b.weight"]
    with pytest.raises(KeyError):
        table["c"]
    table.clear()
    assert len(table) == 0


def test_lists_and_dicts_of_parameters() -> None:
    many = nn.ParameterList([flambeau.ones(2), nn.Parameter(flambeau.zeros(3)), "a remark"])
    many += [flambeau.ones(1)]
    assert [n for n, _ in many.named_parameters()] == ["0", "1", "3"]
    assert (len(many), many[2], many[-1].shape, len(many[:2])) == (4, "a remark", (1,), 2)
    many[0] = flambeau.zeros(5)
    assert sorted(many.state_dict()) == ["0", "1", "3"]
    assert "(0): Parameter containing: [float32 of size 5]" in repr(many).replace("torch.", "").replace("flambeau.", "")
    with pytest.raises(IndexError, match="index 4 is out of range"):
        many[4]
    with pytest.raises(TypeError, match="should be called with an iterable"):
        many.extend(flambeau.ones(2))
    named = nn.ParameterDict({"w": flambeau.ones(2)})
    named["b"] = flambeau.zeros(1)
    assert (list(named), named.get("x"), "w" in named) == (["w", "b"], None, True)
    assert [n for n, _ in named.named_parameters()] == ["w", "b"]
    assert named.pop("w").shape == (2,)
    assert named.keys() == ["b"]
    with pytest.raises(KeyError):
        named["w"]


# -- state ------------------------------------------------------------------------------------------------------------


def test_loading_says_which_names_differ() -> None:
    model = nn.Linear(1, 1)
    assert repr(model.load_state_dict(model.state_dict())) == "<All keys matched successfully>"
    found = model.load_state_dict({"weight": flambeau.ones(1, 1), "x": flambeau.ones(1)}, strict=False)
    assert (found.missing_keys, found.unexpected_keys) == (["bias"], ["x"])
    assert model.weight.item() == 1
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "bias"'):
        model.load_state_dict({"weight": flambeau.ones(1, 1)})
    with pytest.raises(RuntimeError, match='named "bias", expected'):
        model.load_state_dict({"weight": flambeau.ones(1, 1), "bias": 3})
    with pytest.raises(TypeError, match="dict-like"):
        model.load_state_dict([])  # type: ignore[arg-type]


def test_tensors_can_be_taken_instead_of_copied() -> None:
    model, state = nn.Linear(1, 1), {"weight": flambeau.full([1, 1], 7.0), "bias": flambeau.ones(1)}
    model.load_state_dict(state, assign=True)
    state["weight"].fill_(8.0)
    assert model.weight.item() == 8.0
    assert isinstance(model.weight, nn.Parameter)
    assert model.state_dict(keep_vars=True)["weight"] is model.weight
    assert list(model.state_dict(prefix="m.")) == ["m.weight", "m.bias"]


class OwnState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.note = "fresh"
        self.inner = nn.Linear(1, 1)

    def get_extra_state(self) -> Any:
        return self.note

    def set_extra_state(self, state: Any) -> None:
        self.note = state


class OwnWay(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("b", flambeau.zeros(1))

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "marked"] = flambeau.ones(1)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        assert state_dict.pop(prefix + "marked").item() == 1
        super()._load_from_state_dict(state_dict, prefix, *rest)


def test_modules_with_state_of_their_own_kind() -> None:
    a, b = nn.Sequential(OwnState(), OwnWay()), nn.Sequential(OwnState(), OwnWay())
    a[0].note, _ = "used", a[1].b.fill_(5.0)
    state = a.state_dict()
    assert {"0._extra_state", "1.marked"} <= state.keys()
    b.load_state_dict(state)
    assert (b[0].note, b[1].b.item()) == ("used", 5.0)
    del state["0._extra_state"]
    with pytest.raises(RuntimeError, match=r"0\._extra_state"):
        b.load_state_dict(state)
    with pytest.raises(RuntimeError, match="has no extra state"):
        nn.ReLU().get_extra_state()


def test_hooks_of_state() -> None:
    model = nn.Linear(1, 1)
    seen: list[Any] = []
    model._register_state_dict_hook(lambda m, state, prefix, meta: state.pop(prefix + "bias") and None)
    assert list(nn.Sequential(model).state_dict()) == ["0.weight"]
    model._register_load_state_dict_pre_hook(lambda state, prefix, *rest: state.setdefault(prefix + "bias", model.bias))
    model.register_load_state_dict_post_hook(lambda m, keys: seen.append((m is model, keys.missing_keys)))
    nn.Sequential(model).load_state_dict({"0.weight": flambeau.full([1, 1], 2.0)})
    assert model.weight.item() == 2.0
    assert seen == [(True, [])]


def test_copies_and_pickles() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    for made in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert isinstance(made[0].weight, nn.Parameter)
        assert made[0].weight.requires_grad
        assert made[0].weight.tolist() == model[0].weight.tolist()
        made[0].weight.detach().zero_()
    assert model[0].weight.detach().abs().sum().item() > 0


# -- what else modules can do -----------------------------------------------------------------------------------------


def test_modules_are_put_at_dotted_names() -> None:
    model = nn.Sequential(nn.Sequential(nn.ReLU()))
    model.set_submodule("0.0", nn.Tanh())
    model.set_submodule("0.new", nn.ReLU())
    assert [type(m).__name__ for m in model[0]] == ["Tanh", "ReLU"]
    for call, error, text in [
        (lambda: model.set_submodule("", nn.ReLU()), ValueError, "without a target name"),
        (lambda: model.set_submodule("0", 3), ValueError, "`module` is not an nn.Module, found <class 'int'>"),
        (lambda: model.set_submodule("9", nn.ReLU(), strict=True), AttributeError, "has no attribute `9`"),
        (lambda: model.set_submodule("a.b", nn.ReLU()), AttributeError, "has no attribute `a`"),
        (lambda: model.set_submodule("training", nn.ReLU()), AttributeError, "`training` is not an nn.Module"),
    ]:
        with pytest.raises(error, match=text):
            call()


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda: nn.Module(3), TypeError, "Module.__init__ takes no arguments, but Module gave it 3"),
        (lambda: nn.ModuleList()(1), NotImplementedError, 'is missing the required "forward" function'),
        (lambda: nn.Linear(1, 1).cuda(), RuntimeError, "no tensor can be put on device 'cuda' here"),
        (lambda: nn.Parameter(3), TypeError, r"Parameter expects a Tensor, not int: write Parameter\("),
        (lambda: nn.Sequential() * 0, ValueError, "multiplied by a positive int, not by 0"),
        (lambda: nn.Sequential() * "a", TypeError, "multiplied by an int, not by str"),
        (lambda: nn.ModuleList().insert(3, nn.ReLU()), IndexError, "index 3 is out of range"),
        (lambda: nn.ParameterDict({3: flambeau.ones(1)}), TypeError, "has strings for keys, not int"),
        (lambda: nn.ParameterDict().popitem(), KeyError, "the ParameterDict is empty"),
    ],
)
def test_refused(run: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run()


def test_arguments_go_on_to_other_bases_if_wanted() -> None:
    class Other:
        def __init__(self, number: int) -> None:
            self.number = number

    class Both(nn.Module, Other):
        call_super_init = True

    assert Both(3).number == 3


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kept = nn.Buffer(flambeau.ones(2))
        self.passing = nn.Buffer(flambeau.ones(2), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.kept + self.passing


def test_buffers_register_themselves() -> None:
    module = Counts()
    assert list(module.state_dict()) == ["kept"]
    assert [name for name, _ in module.named_buffers()] == ["kept", "passing"]
    module.kept = flambeau.zeros(2)
    for run in (module, flambeau.script(module), flambeau.trace(module, flambeau.ones(2))):
        assert run(flambeau.ones(2)).tolist() == [2.0, 2.0]
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert (type(made.passing), made.passing.persistent) == (nn.Buffer, False)


def test_memory_that_nothing_was_written_to() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    weight, place = model[0].weight, model[0].weight.data_ptr()
    assert model.to_empty(device="cpu")[0].weight is weight
    assert weight.requires_grad
    assert weight.data_ptr() != place
    place = weight.data_ptr()
    assert model.to_empty(device=None, recurse=False)[0].weight.data_ptr() == place


def test_public_hooks_of_state() -> None:
    model, seen = nn.Sequential(nn.Linear(1, 1)), []
    model.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((m is model, prefix, keep)))
    model.register_state_dict_post_hook(lambda m, state, prefix, meta: seen.append(sorted(state)))
    model.register_load_state_dict_pre_hook(lambda m, state, *rest: seen.append(m is model))
    state = model.state_dict()
    model.load_state_dict(state)
    assert seen == [(True, "", False), ["0.bias", "0.weight"], True]
    model.register_state_dict_post_hook(lambda m, state, prefix, meta: state)
    with pytest.raises(RuntimeError, match="post-hook must return None"):
        model.state_dict()


def test_sequences_are_multiplied() -> None:
    model = nn.Sequential(nn.ReLU())
    assert (len(model * 2), len(3 * model)) == (2, 3)
    model *= 4
    assert len(model) == 4


def test_dicts_of_parameters_are_dicts() -> None:
    table = nn.ParameterDict({"a": flambeau.ones(1)}) | {"b": flambeau.ones(2)}
    assert list(reversed(table)) == ["b", "a"]
    assert table.popitem()[0] == "b"
    assert table.setdefault("c", 3) == table.setdefault("c", 4) == 3
    table |= {"d": 1}
    assert (table.copy().keys(), ({"z": 1} | table).keys()) == (["a", "c", "d"], ["z", "a", "c", "d"])
    assert table.fromkeys(["x"], 2).items() == [("x", 2)]
    assert repr(table).splitlines()[1].startswith("    (a): Parameter containing: [torch.FloatTensor of size 1]")
    table.clear()
    assert len(table) == 0
    assert not list(table.parameters())


class Renamed(nn.Module):
    """Its buffer had another name, and half the size, in version 1."""

    _version = 2

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("new", flambeau.zeros(1))

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        if version is None or version < 2:
            state_dict[prefix + "new"] = state_dict.pop(prefix + "old") * 2
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def test_states_know_their_versions() -> None:
    model = nn.Sequential(Renamed(), nn.BatchNorm1d(1))
    state = model.state_dict()
    assert state._metadata == {"": {"version": 1}, "0": {"version": 2}, "1": {"version": 2}}
    for again in (state, copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        again["0.new"].fill_(3.0)
        model.load_state_dict(again)
        assert model[0].new.item() == 3.0
    older = {("0.old" if name == "0.new" else name): value for name, value in state.items()}
    model.load_state_dict(older)
    assert model[0].new.item() == 6.0
