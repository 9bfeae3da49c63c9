"""What TorchScript's users reach below a scripted module: `module._c`, and types that are not shared."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.jit import _recursive

X = flambeau.tensor([2.0])


class Inner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


class Net(nn.Module):
    def __init__(self, tensor: str = "parameter") -> None:
        super().__init__()
        self.sub, self.n = Inner(), 3
        if tensor == "parameter":
            self.w = nn.Parameter(flambeau.ones(1))
        elif tensor == "buffer":
            self.register_buffer("w", flambeau.ones(1))
        else:
            self.w = flambeau.ones(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.sub(x) * self.n

    @flambeau.jit.export
    def other(self) -> int:
        return self.n


def test_attributes() -> None:
    module = flambeau.script(Net())
    c = module._c
    assert c.getattr("n") == 3
    assert c.getattr("sub") == module.sub._c
    assert c.getattr("w") is module.w
    assert c.hasattr("n")
    assert not c.hasattr("nothing")
    c.setattr("n", 8)
    with pytest.raises(RuntimeError, match="does not have an attribute with name 'other'; what a module has is fixed"):
        c.setattr("other", 8)
    assert module.n == module.other() == 8
    with pytest.raises(AttributeError, match="does not have a field with name 'nothing'"):
        c.getattr("nothing")


def test_methods() -> None:
    c = flambeau.script(Net())._c
    assert sorted(c._method_names()) == ["forward", "other"]
    assert c._has_method("forward")
    assert not c._has_method("nothing")
    assert c._get_method("forward")(flambeau.ones(1)).item() == 3
    assert c._get_method("forward").name == "forward"
    with pytest.raises(RuntimeError, match="Method 'nothing' is not defined"):
        c._get_method("nothing")


def test_type() -> None:
    first, second = flambeau.script(Net()), flambeau.script(Net())
    assert first._c._type() == second._c._type() != flambeau.script(Inner())._c._type()
    assert first._c._type().name() == "Net"
    assert first._c.qualified_name == first._c._type().qualified_name()
    assert str(first._c).startswith("ScriptObject")
    assert "Net" in str(first._c)
    assert first._c == first._c != second._c
    assert len({first._c, first._c}) == 1


def test_text() -> None:
    text = flambeau.script(Net())._c.dump_to_str(True, True, True)
    assert all(part in text for part in ("module ", "n = 3", "method forward", "prim::GetAttr", "submodules", "w = "))
    assert "method" not in flambeau.script(Net())._c.dump_to_str(False, False, False).replace("methods", "")


@pytest.mark.filterwarnings("ignore:.*torch.jit.*is deprecated")
def test_walks() -> None:
    found = flambeau._C._jit_debug_module_iterators(flambeau.script(Net())._c)
    assert [n for n, _ in found["named_modules"]] == ["", "sub"]
    assert [n for n, _ in found["named_children"]] == ["sub"]
    assert [n for n, _ in found["named_parameters_r"]] == ["w"]
    assert not found["buffers"]
    names = [n for n, _ in found["named_attributes_r"]]
    assert {"training", "_is_full_backward_hook", "n", "sub", "sub.training"} <= set(names)
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    peer = torch._C._jit_debug_module_iterators(torch.jit.script(torch.nn.Linear(1, 1))._c)
    assert found.keys() == peer.keys()


def test_traced_inputs() -> None:
    x = flambeau.ones(2)
    assert flambeau.trace(Net(), x)._c._retrieve_traced_inputs()["forward"][0] is x
    assert not flambeau.trace(Net(), x, _store_inputs=False)._c._retrieve_traced_inputs()
    both = flambeau.jit.trace_module(Net(), {"forward": x})
    assert [len(v) for v in both._c._retrieve_traced_inputs().values()] == [1]
    assert flambeau.script(Net())._c._retrieve_traced_inputs() == {}


def test_freezing_a_handle() -> None:
    c = flambeau.script(Net())._c
    assert not flambeau._C._freeze_module(c).hasattr("w")
    assert flambeau._C._freeze_module(c, ["n"]).getattr("n") == 3
    module = flambeau.script(nn.Linear(2, 1).eval())
    assert flambeau._C._freeze_module(module._c, preserveParameters=True).hasattr("weight")
    assert not flambeau._C._freeze_module(module._c, freezeInterfaces=False).hasattr("weight")
    norm = flambeau.script(nn.Sequential(nn.BatchNorm1d(2)).eval())
    kept = _recursive.wrap_cpp_module(flambeau._C._freeze_module(norm._c, preserveParameters=True))
    assert list(kept.state_dict()) == list(norm.state_dict())


@flambeau.jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Twice(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Outer(nn.Module):
    class Inner(nn.Module):
        step: Step

        def __init__(self) -> None:
            super().__init__()
            self.step = Twice()

        def forward(self, x: Tensor) -> Tensor:
            return self.step.forward(x)

    def __init__(self) -> None:
        super().__init__()
        self.inner = self.Inner()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def test_freezing_with_interfaces() -> None:
    c = flambeau.script(Outer())._c
    assert not flambeau._C._freeze_module(c).hasattr("inner")
    message = r"attempted to freeze a module that uses interface attributes: 'inner\.step' of Inner.*preservedAttrs"
    with pytest.raises(RuntimeError, match=message):
        flambeau._C._freeze_module(c, freezeInterfaces=False)
    kept = flambeau._C._freeze_module(c, ["inner.step"], freezeInterfaces=False)
    assert kept.getattr("inner").hasattr("step")
    assert _recursive.wrap_cpp_module(kept)(flambeau.ones(1)).tolist() == [2.0]


def test_another_module_is_taken_over() -> None:
    first, second = flambeau.script(Net()), flambeau.script(Net())
    second.n = 5
    first._reconstruct(second._c)
    assert first.n == 5
    assert first._c == second._c
    assert _recursive.wrap_cpp_module(second._c) is second


def test_types_that_are_not_shared() -> None:
    made = [_recursive.create_script_module(Net(), share_types=False) for _ in range(2)]
    assert made[0]._c._type() != made[1]._c._type()
    assert _recursive.create_script_module(Net())._c._type() == flambeau.script(Net())._c._type()
    assert sorted(_recursive.infer_methods_to_compile(Net())) == ["forward", "other"]


def test_parameters_buffers_and_tensors_are_told_apart() -> None:
    types = [flambeau.script(Net(kind))._c._type() for kind in ("parameter", "buffer", "tensor", "parameter")]
    assert len({t.qualified_name() for t in types}) == 3
    assert types[0] == types[3]


def test_methods_and_submodules_are_attributes() -> None:
    module = flambeau.script(Net())
    c = module._c
    assert c.sub == module.sub._c
    assert c.sub.forward(X).tolist() == [2.0]
    assert c.other() == c.n == 3
    c.n = 5
    assert (module.n, c.other()) == (5, 5)
    assert {"forward", "other", "sub", "n", "getattr"} <= set(dir(c))
    seen: list[str] = []
    c.apply(lambda one: seen.append(one.name))
    assert seen == ["Inner", "Net"]
    assert c.children() == [c.sub]
    assert "def forward" in c.code
    with pytest.raises(AttributeError, match="does not have a field with name 'nothing'"):
        _ = c.nothing


def test_handle_can_be_set() -> None:
    module, other = flambeau.script(Net()), flambeau.script(Net())
    other.n = 7
    module._c = other._c
    assert module.n == module.other() == 7
    assert module._c == other._c


def test_tables_of_attributes() -> None:
    c = flambeau.script(Net())._c
    assert [name for name, _ in flambeau._C.ModuleDict(c).items()] == ["sub"]
    parameters = flambeau._C.ParameterDict(c)
    assert [name for name, _ in parameters.items()] == ["w"]
    assert parameters.contains("w")
    parameters.setattr("w", flambeau.nn.Parameter(flambeau.zeros(1)))
    assert parameters.getattr("w").tolist() == [0.0]
    assert flambeau._C.BufferDict(flambeau.script(Net("buffer"))._c).contains("w")
    assert flambeau._C.BufferDict(c).items() == []


def test_hooks_and_code_with_constants() -> None:
    def before(self: Any, inputs: tuple[Tensor]) -> tuple[Tensor]:
        return (inputs[0] * 2,)

    def after(self: Any, inputs: tuple[Tensor], result: Tensor) -> Tensor:
        return result + 1

    module = nn.ReLU()
    module.register_forward_pre_hook(before)
    module.register_forward_hook(after)
    scripted = flambeau.script(module)
    assert [h.name for h in scripted._c._get_forward_hooks()] == ["after"]
    assert [h.name for h in scripted._c._get_forward_pre_hooks()] == ["before"]
    assert flambeau.script(nn.ReLU())._c._get_forward_hooks() == []
    code, constants = scripted.code_with_constants
    assert (code, vars(constants)) == (scripted.code, vars(scripted._c.code_with_constants[1]))


def test_constants_of_code_are_there_by_name_and_all_at_once() -> None:
    class Shifted(nn.Module):
        def __init__(self, n: int) -> None:
            super().__init__()
            self.c = flambeau.arange(float(n))

        def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
            return x + self.c

    for n in (3, 4):
        frozen = flambeau.jit.freeze(flambeau.script(Shifted(n).eval()))
        code, constants = frozen.code_with_constants
        assert "CONSTANTS.c0" in code
        assert list(constants.const_mapping) == ["c0"]
        assert constants.const_mapping["c0"] is constants.c0
        assert constants.c0.tolist() == list(range(n))
        assert "c0" in dir(constants)
        with pytest.raises(AttributeError, match="there is no constant 'c1'; there are c0"):
            constants.c1  # noqa: B018
