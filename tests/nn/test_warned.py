"""What functions of networks warn of, in Python and not in programs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import nn

F = nn.functional
WARNED: dict[str, tuple[Callable[[], Any], str]] = {
    "mse": (lambda: F.mse_loss(flambeau.ones(3), flambeau.ones(3, 1)), "target size .* different to the input size"),
    "l1": (lambda: F.l1_loss(flambeau.ones(3), flambeau.ones(3, 1)), "target size"),
    "smooth l1": (lambda: F.smooth_l1_loss(flambeau.ones(3), flambeau.ones(3, 1)), "target size"),
    "huber": (lambda: nn.HuberLoss()(flambeau.ones(3), flambeau.ones(3, 1)), "target size"),
    "softmax": (lambda: nn.Softmax()(flambeau.ones(2, 2)), "Implicit dimension choice for softmax .* dim=1"),
    "log softmax": (lambda: F.log_softmax(flambeau.ones(3, 2, 2)), "choice for log_softmax .* dim=0"),
    "size_average": (lambda: nn.MSELoss(size_average=False), "reduction='sum'"),
    "reduce": (lambda: F.l1_loss(flambeau.ones(2), flambeau.ones(2), reduce=False), "reduction='none'"),
    "kl": (lambda: F.kl_div(flambeau.zeros(2), flambeau.ones(2)), "batchmean"),
    "grid": (lambda: F.grid_sample(flambeau.ones(1, 1, 2, 2), flambeau.zeros(1, 1, 1, 2)), "align_corners"),
    "affine": (lambda: F.affine_grid(flambeau.ones(1, 2, 3), [1, 1, 2, 2]), "align_corners"),
    "upsample": (lambda: F.upsample(flambeau.ones(1, 1, 2), scale_factor=2), "interpolate"),
    "empty": (lambda: nn.init.kaiming_uniform_(flambeau.ones(0, 3)), "no-op"),
}


@pytest.mark.parametrize("name", WARNED)
def test_warned_of_at_the_users_line(name: str) -> None:
    call, text = WARNED[name]
    with pytest.warns(UserWarning, match=text) as seen:
        call()
    assert [w.filename for w in seen] == [__file__]


@flambeau.script
def compared(x: flambeau.Tensor, y: flambeau.Tensor) -> flambeau.Tensor:
    return F.softmax(x) + F.mse_loss(x, y, size_average=False)


def test_programs_warn_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compared(flambeau.ones(2, 2), flambeau.ones(2)).shape == (2, 2)
    assert "::warn" not in str(compared.inlined_graph)


def test_lists_of_modules_show_those_alike_once() -> None:
    layers = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Sequential(nn.Tanh())])
    assert repr(layers) == ("ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Sequential(\n    (0): Tanh()\n  )\n)")
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_part_of_a_sequential_keeps_names() -> None:
    net = nn.Sequential(nn.ReLU(), nn.Linear(1, 1), nn.Tanh())
    assert list(net[1:].state_dict()) == ["1.weight", "1.bias"]
    with pytest.raises(ValueError, match="added to another one"):
        net.__add__([nn.ReLU()])


def test_hooks_when_members_are_registered() -> None:
    from flambeau.nn.modules import module as everywhere

    names: list[str] = []
    handles = [
        register(lambda owner, name, value: names.append(name))
        for register in (
            everywhere.register_module_parameter_registration_hook,
            everywhere.register_module_buffer_registration_hook,
            everywhere.register_module_module_registration_hook,
        )
    ]
    nn.Sequential(nn.BatchNorm1d(1))
    for handle in handles:
        handle.remove()
    nn.Linear(1, 1)
    assert names == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked", "0"]


def test_hooks_of_gradients_by_one_name() -> None:
    layer = nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda *grads: None)
    with pytest.raises(RuntimeError, match="Cannot use both"):
        layer.register_backward_hook(lambda *grads: None)


def test_hooks_behind_loading_decide_about_names() -> None:
    layer = nn.Linear(1, 1)
    handle = layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    assert repr(layer.load_state_dict({"weight": flambeau.ones(1, 1)})) == "<All keys matched successfully>"
    handle.remove()
    with pytest.raises(RuntimeError, match='Missing key\\(s\\) in state_dict: "bias"'):
        layer.load_state_dict({"weight": flambeau.ones(1, 1)})


def test_state_dicts_are_ordered_and_take_a_destination() -> None:
    layer, destination = nn.Linear(1, 1), dict[str, Any]()
    assert type(layer.state_dict()).__name__ == "OrderedDict"
    assert layer.state_dict(destination, "x.") is destination
    assert list(destination) == ["x.weight", "x.bias"]


@pytest.mark.parametrize("holder", [nn.ParameterList([flambeau.ones(1)]), nn.ParameterDict({"a": flambeau.ones(1)})])
def test_parameters_alone_are_not_called(holder: nn.Module) -> None:
    with pytest.raises(RuntimeError, match="should not be called"):
        holder(1)


def test_names_of_parameters_have_no_dots() -> None:
    with pytest.raises(KeyError, match=r"parameter.*s name"):
        nn.ParameterDict()["x.y"] = flambeau.ones(1)


def test_pruning_methods_for_one_parameter() -> None:
    from flambeau.nn.utils import prune

    first, other = prune.L1Unstructured(1), prune.L1Unstructured(1)
    first._tensor_name, other._tensor_name = "weight", "bias"
    container = prune.PruningContainer(first)
    assert (len(container), container[0], list(container)) == (1, first, [first])
    with pytest.raises(ValueError, match="named 'weight'"):
        container.add_pruning_method(other)
    with pytest.raises(TypeError, match="not a BasePruningMethod"):
        container.add_pruning_method(3)  # type: ignore[arg-type]


def test_refusals_of_attention_and_pooling() -> None:
    attention, x = nn.MultiheadAttention(4, 2), flambeau.ones(3, 1, 4)
    with pytest.raises(RuntimeError, match="a row for each element of the batch"):
        attention(x, x, x, key_padding_mask=flambeau.ones(2, 2))
    with pytest.raises(RuntimeError, match="one int or 2"):
        F.adaptive_avg_pool2d(flambeau.ones(1, 1, 2, 2), (1, 1, 1))
    with pytest.raises(RuntimeError, match="one int or 3"):
        F.adaptive_avg_pool3d(flambeau.ones(1, 1, 2, 2, 2), (1, 1, 1, 1))


PROBABILITIES = flambeau.full((2, 3), 1 / 3)


def with_an_ignored_class(x: flambeau.Tensor, y: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.nn.functional.cross_entropy(x, y, ignore_index=1)


@pytest.mark.parametrize("run", [with_an_ignored_class, flambeau.script(with_an_ignored_class)])
def test_probabilities_leave_out_no_class(run: Callable[..., Any]) -> None:
    with pytest.raises(RuntimeError, match="ignore_index is not supported for floating point target"):
        run(flambeau.ones(2, 3), PROBABILITIES)
    run(flambeau.ones(2, 3), flambeau.tensor([0, 1]))


def test_batches_of_a_transformer() -> None:
    net = nn.Transformer(4, 2, 1, 1, 8)
    with pytest.raises(RuntimeError, match="the batch number of src and tgt must be equal, got 1 and 2"):
        net(flambeau.ones(2, 1, 4), flambeau.ones(3, 2, 4))


def test_older_name_of_clipping() -> None:
    p = nn.Parameter(flambeau.zeros(2))
    p.grad = flambeau.tensor([3.0, 4.0])
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        assert nn.utils.clip_grad_norm([p], 1.0).item() == 5.0


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "dots": (lambda: nn.Linear(1, 1).register_buffer("a.b", None), KeyError, r"buffer name can.*t contain"),
    "no name": (lambda: nn.Linear(1, 1).add_module("", None), KeyError, r"module name can.*t be empty"),
    "number": (lambda: nn.Linear(1, 1).register_parameter(3, None), TypeError, "parameter name should be a string"),  # type: ignore[arg-type]
    "list": (lambda: nn.ModuleList(nn.ReLU()), TypeError, "ModuleList.extend .* iterable, but got ReLU"),  # type: ignore[arg-type]
    "dict": (lambda: nn.ModuleDict().update(3), TypeError, "ModuleDict.update .* pairs, but got int"),  # type: ignore[arg-type]
    "parameters": (lambda: nn.ParameterDict().update(3), TypeError, "ParameterDict.update .* but got int"),  # type: ignore[arg-type]
    "sizes": (lambda: nn.Unflatten(1, 3), TypeError, "must be a tuple of ints, but found type int"),  # type: ignore[arg-type]
    "memory": (
        lambda: nn.LSTM(2, 3)(flambeau.ones(4, 1, 2), (flambeau.ones(1, 1, 3), flambeau.ones(1, 1, 2))),
        RuntimeError, r"Expected hidden\[1\] size \(1, 1, 3\), got \[1, 1, 2\]",
    ),
    "state": (
        lambda: nn.GRU(2, 3)(flambeau.ones(4, 1, 2), flambeau.ones(1, 2, 3)),
        RuntimeError, r"Expected hidden size \(1, 1, 3\), got \[1, 2, 3\]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()
