"""Graphs of Python code: traced, built, changed, run, refused, compiled again, scripted, pickled."""

from __future__ import annotations

import copy
import functools
import operator
import pickle

import pytest

import flambeau as fb
from flambeau import Tensor, fx, nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.scale = nn.Parameter(fb.full((3,), 2.0))
        self.register_buffer("offset", fb.ones(3))

    def forward(self, x):
        return self.layers(self.first(x)) * self.scale + self.offset


def helper(x, n):
    return x * n if n > 1 else x


fx.wrap("helper")
fx.wrap("len")


def calls_wrapped(x):
    return helper(x, len(x))


def test_a_traced_module_gives_what_the_module_gives() -> None:
    net, x = Net(), fb.randn(4, 2)
    traced = fx.symbolic_trace(net)
    assert isinstance(traced, nn.Module)
    assert type(traced).__name__ == "Net"
    assert fb.equal(traced(x), net(x))
    assert traced.scale is net.scale
    assert {name for name, _ in traced.named_parameters()} == {name for name, _ in net.named_parameters()}
    traced(x).sum().backward()
    assert net.scale.grad is not None
    traced.graph.lint()


def test_calls_of_wrapped_functions_are_nodes() -> None:
    traced = fx.symbolic_trace(calls_wrapped)
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"] == [len, helper]
    assert traced(fb.ones(3)).tolist() == [3.0, 3.0, 3.0]
    assert calls_wrapped(fb.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: 1 if x else 2, "symbolically traced variables cannot be used as inputs to control flow"),
        (lambda x: [one + 1 for one in x], "Proxy object cannot be iterated"),
        (lambda x: dict(**x), "has no keys"),
        (lambda x: 3 in x, "Proxy object cannot be iterated.* Whether it contains something is not known"),
        (lambda *xs: [-x for x in xs], "Proxy object cannot be iterated"),
        (functools.partial(lambda n, *xs: xs[0], 1), "'xs' of partial cannot be traced as one value: only functions"),
    ],
)
def test_what_no_graph_says_is_refused(function, message) -> None:
    with pytest.raises(fx.TraceError, match=message):
        fx.symbolic_trace(function)


def test_more_refusals() -> None:
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        fx.wrap("print")
    with pytest.raises(RuntimeError, match="Unsupported type for global function"):
        fx.wrap(3)
    with pytest.raises(NotImplementedError, match="argument of type: <class 'object'>"):
        fx.symbolic_trace(lambda x: fb.add(x, object()))
    assert fb.nn.functional.relu.__name__ == "relu"


def test_concrete_arguments_decide() -> None:
    def f(x, flag, n=2):
        return x * n if flag else x

    traced = fx.symbolic_trace(f, concrete_args={"flag": True})
    assert traced.code.strip().splitlines()[0] == "def forward(self, x, flag_1, n = 2):"
    assert traced.code.strip().splitlines()[3] == "    mul = x * n;  x = n = None"
    assert traced(fb.ones(1), True, 5).tolist() == [5.0]
    with pytest.raises(AssertionError, match="flag has been specialized to have value True but got another value"):
        traced(fb.ones(1), False)
    assert not traced.graph.eliminate_dead_code()


def test_unknown_values_within_concrete_arguments() -> None:
    traced = fx.symbolic_trace(
        lambda d, rest: d["x"] * d["n"] + rest[1], concrete_args={"d": {"x": fx.PH, "n": 3}, "rest": [None, fx.PH]}
    )
    assert traced({"x": fb.ones(1), "n": 3}, [None, 2]).tolist() == [5.0]
    with pytest.raises(AssertionError, match=r"d\['n'\] has been specialized to have value 3"):
        traced({"x": fb.ones(1), "n": 4}, [None, 2])
    with pytest.warns(UserWarning, match="not checked for"):
        fx.symbolic_trace(lambda x, f: f(x), concrete_args={"f": fb.relu})


def test_leaves_of_containers_are_arguments_of_the_graph() -> None:
    def f(d, pair=(1, 2), *, last):
        return {"sum": d["x"] + pair[1], "all": [last, pair[0]]}

    known = {"d": {"x": fx.PH, "n": 3}, "pair": (5, fx.PH)}
    traced = fx.symbolic_trace(f, concrete_args=known)
    names = [node.name for node in traced.graph.find_nodes(op="placeholder")]
    assert names == ["d_1", "d_2", "pair_1", "pair_2", "last"]
    lines = traced.code.strip().splitlines()
    assert lines[0] == "def forward(self, d, pair = _default_pair, *, last):"
    assert lines[1].endswith("= fx_pytree.tree_flatten_spec([d, pair, last], self._in_spec)")
    assert lines[-1] == "    return pytree.tree_unflatten([add, last, 5], self._out_spec)"
    for module in (traced, copy.deepcopy(traced)):
        for x, last in ((2, "a"), (fb.ones(1), "b")):
            assert module({"x": x, "n": 3}, (5, 4), last=last) == {"sum": x + 4, "all": [last, 5]}
        with pytest.raises(AssertionError, match=r"pair\[0\] has been specialized to have value 5"):
            module({"x": 1, "n": 3}, last=1)
        with pytest.raises(ValueError, match=r"missing key\(s\): \['n'\]"):
            module({"x": 1}, (5, 4), last=1)
    with pytest.raises(NotImplementedError, match=r"\*rest cannot be traced beside an argument whose containers"):
        fx.symbolic_trace(lambda pair, *rest: pair, concrete_args={"pair": (fx.PH, 1)})


def _first_and_all(pair, b):
    return pair[0] + b


def test_containers_of_arguments_are_pickled_and_interpreted() -> None:
    traced = fx.symbolic_trace(_first_and_all, concrete_args={"pair": [fx.PH, 3]})
    again = pickle.loads(pickle.dumps(traced))
    for x in (2, fb.ones(2)):
        expected = x + 1
        for call in (traced, again, fx.Interpreter(again).run, fx.Transformer(traced).transform()):
            assert fb.equal(fb.as_tensor(call([x, 3], 1)), fb.as_tensor(expected))


def test_code_knows_that_it_is_traced() -> None:
    from flambeau.fx._compatibility import compatibility
    from flambeau.fx._symbolic_trace import is_fx_tracing

    seen = []

    @compatibility(is_backward_compatible=False)
    def f(x):
        seen.append(is_fx_tracing())
        return x

    for _ in range(2):
        f(fx.symbolic_trace(f)(1))
    assert seen == [True, False] * 2


def test_assertions_are_traced() -> None:
    def f(x):
        fb._assert(x.shape[0] == 2, "two rows")
        return x + 1

    traced = fx.symbolic_trace(f)
    assert traced(fb.ones(2)).tolist() == [2, 2]
    with pytest.raises(AssertionError, match="two rows"):
        traced(fb.ones(3))


def test_patterns_where_filters_let_them() -> None:
    from flambeau.fx.subgraph_rewriter import replace_pattern_with_filters

    traced = fx.symbolic_trace(lambda x: (x + 1).relu() + (x + 2).relu())
    places = replace_pattern_with_filters(
        traced,
        lambda x: (x + 5).relu(),
        lambda x: x * 3,
        [lambda match, *graphs: match.returning_nodes[0].args[0].args[1] == 2],
        ignore_literals=True,
    )
    assert [[node.name for node in place.replacements] for place in places] == [["mul"]]
    assert traced(fb.ones(1)).tolist() == [5.0]


def test_a_boxed_run_lets_go_of_its_arguments() -> None:
    args = [fb.ones(1)]
    assert fx.Interpreter(fx.symbolic_trace(lambda x: x + 1)).boxed_run(args).tolist() == [2]
    assert args == []


def test_one_argument_more() -> None:
    node = list(fx.symbolic_trace(lambda x: fb.sum(x)).graph.nodes)[1]
    node.insert_arg(1, 0)
    assert node.args[1] == 0
    node.stack_trace = "here"
    assert (node.stack_trace, node.meta) == ("here", {"stack_trace": "here"})
    with pytest.raises(IndexError, match="position 5"):
        node.insert_arg(5, 0)


def test_leaf_modules_are_for_the_tracer_to_say() -> None:
    class Deep(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    graph = Deep().trace(nn.Sequential(nn.ReLU()))
    assert all(node.op != "call_module" for node in graph.nodes)


def build() -> fx.GraphModule:
    graph = fx.Graph()
    x = graph.placeholder("x")
    total = graph.call_function(operator.add, (x, 1))
    graph.output(graph.call_method("relu", (total,)))
    return fx.GraphModule({}, graph)


def test_graphs_are_built_and_changed() -> None:
    module = build()
    assert module(fb.tensor([-3.0, 1.0])).tolist() == [0.0, 2.0]
    add, relu = list(module.graph.nodes)[1:3]
    assert (list(add.users), relu.all_input_nodes, add.next) == ([relu], [add], relu)
    with module.graph.inserting_after(relu):
        negative = module.graph.call_function(operator.neg, (relu,))
    relu.replace_all_uses_with(negative, lambda user: user is not negative)
    add.target = operator.sub
    module.recompile()
    assert module(fb.tensor([-3.0, 2.0])).tolist() == [0.0, -1.0]
    assert "sub" not in str(module.graph.nodes)
    module.graph.lint()


def test_changes_that_break_a_graph_are_refused() -> None:
    module = build()
    add = list(module.graph.nodes)[1]
    with pytest.raises(RuntimeError, match="Tried to erase Node add but it still had 1 users in the graph"):
        module.graph.erase_node(add)
    with pytest.raises(RuntimeError, match="does not belong to this Graph"):
        fx.Graph().call_function(operator.neg, (add,))
    with pytest.raises(ValueError, match="a node of a graph is one of"):
        module.graph.create_node("call", "x")
    graph = fx.Graph()
    graph.output(graph.get_attr("missing"))
    with pytest.raises(RuntimeError, match="Node missing referenced target missing but that target was not provided"):
        fx.GraphModule({}, graph)
    add.append(next(iter(module.graph.nodes)))
    with pytest.raises(RuntimeError, match="Argument 'x' of Node 'add' was used before it has been defined!"):
        module.graph.lint()


def test_dead_code_goes_and_effects_stay() -> None:
    def f(x):
        _ = x * 2
        x.add_(1)
        return x

    traced = fx.symbolic_trace(f)
    assert traced.graph.eliminate_dead_code()
    assert [n.target for n in traced.graph.nodes] == ["x", "add_", "output"]


def test_interpreters_see_each_value() -> None:
    class Shapes(fx.Interpreter):
        def run_node(self, n):
            value = super().run_node(n)
            n.meta["shape"] = tuple(value.shape)
            return value

    traced = fx.symbolic_trace(Net())
    Shapes(traced).run(fb.ones(4, 2))
    assert {n.name: n.meta["shape"] for n in traced.graph.nodes}["first"] == (4, 3)
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x, but one was not passed in!"):
        Shapes(traced).run()


def test_transformers_make_other_graphs() -> None:
    class Doubled(fx.Transformer):
        def call_module(self, target, args, kwargs):
            return super().call_module(target, args, kwargs) * 2

    net = Net()
    other = Doubled(fx.symbolic_trace(net)).transform()
    x = fb.ones(1, 2)
    hidden = (net.first(x) * 2 @ net.layers[0].weight.T + net.layers[0].bias) * 2
    assert fb.allclose(other(x), hidden.relu() * 2 * net.scale + net.offset)


def test_patterns_are_replaced_wherever_they_are() -> None:
    def f(x, y):
        return fb.relu(x + y) * fb.relu(y + 1)

    traced = fx.symbolic_trace(f)
    matches = fx.replace_pattern(traced, lambda a, b: fb.relu(a + b), lambda a, b: fb.sigmoid(a - b))
    assert len(matches) == 2
    x, y = fb.ones(2), fb.zeros(2)
    assert fb.allclose(traced(x, y), fb.sigmoid(x - y) * fb.sigmoid(y - 1))
    traced.graph.lint()


def test_what_others_use_is_not_replaced() -> None:
    def f(x):
        hidden = x + 1
        return fb.relu(hidden) * hidden

    traced = fx.symbolic_trace(f)
    assert fx.replace_pattern(traced, lambda a: fb.relu(a + 1), lambda a: a) == []
    with pytest.raises(ValueError, match="the pattern takes 1 arguments, its replacement 2"):
        fx.replace_pattern(traced, lambda a: fb.relu(a), lambda a, b: a + b)


def test_graph_modules_are_scripted_copied_and_pickled() -> None:
    net, x = Net(), fb.randn(4, 2)
    traced = fx.symbolic_trace(net)
    assert fb.allclose(fb.jit.script(traced)(x), net(x))
    for other in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        assert fb.equal(other(x), net(x))
        assert str(other.graph) == str(traced.graph)
        assert other.first.weight is not net.first.weight
    assert copy.copy(traced).first is net.first


def test_arguments_of_any_kind_are_pickled() -> None:
    def f(x: Tensor, n: int) -> dict[str, object]:
        pair = fb.cat([x, x.relu()], dim=1)[:, : n + 1]
        return {"pair": pair, "both": (x, [n])}

    traced = fx.symbolic_trace(f)
    loaded = pickle.loads(pickle.dumps(traced))
    assert str(loaded.graph) == str(traced.graph)
    x = fb.randn(2, 2)
    assert fb.equal(loaded(x, 2)["pair"], f(x, 2)["pair"])
    assert loaded(x, 2)["both"][1] == [2]


def test_submodules_come_and_go() -> None:
    traced = fx.symbolic_trace(Net())
    assert traced.add_submodule("more.inner", nn.ReLU())
    assert isinstance(traced.more.inner, nn.ReLU)
    traced.delete_all_unused_submodules()
    assert not hasattr(traced, "more")
    assert traced.delete_submodule("first")
    assert not traced.delete_submodule("first")


def test_tables_and_readable_code() -> None:
    table = build().graph.table().splitlines()
    assert table[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert table[2].split() == ["placeholder", "x", "x", "()", "{}"]
    text = build().print_readable(print_output=False)
    assert text.startswith("class GraphModule(flambeau.nn.Module):\n    def forward(self, x):\n")


def test_tracing_through_the_dispatcher() -> None:
    w = fb.full((2,), 3.0)

    def f(x):
        return fb.autograd.grad((x * w).sin().sum(), x)[0]

    x = fb.tensor([0.5, 1.0], requires_grad=True)
    traced = fx.make_fx(f)(x)
    assert fb.allclose(traced(x), (x * w).cos() * w)
    assert any(node.target is fb.ops.aten.cos.default for node in traced.graph.nodes)
    assert fb.equal(traced._tensor_constant0, w)
    other = fb.tensor([2.0, -1.0], requires_grad=True)
    assert fb.allclose(traced(other), (other * w).cos() * w)


def test_decompositions_and_tensors_without_data() -> None:
    def f(x):
        return fb.nn.functional.softmax(x, 1)

    softmax = fb.ops.aten.softmax.int
    table = {softmax: lambda x, dim: (x - x.amax(dim, True)).exp() / (x - x.amax(dim, True)).exp().sum(dim, True)}
    x = fb.randn(2, 3)
    traced = fx.make_fx(f, decomposition_table=table, tracing_mode="fake")(x)
    assert all(node.target is not softmax for node in traced.graph.nodes)
    assert fb.allclose(traced(x), f(x))
    with pytest.raises(ValueError, match="Unexpected tracing type: symbolic"):
        fx.make_fx(f, tracing_mode="symbolic")


def in_place(x):
    y = x * 2
    y[0].add_(1)
    z = y.t()
    z.mul_(3)
    x.add_(1)
    return y, z, x.sum()


def through_views(x):
    x[:, 1] = 5
    x.view(-1)[0] = 7
    x.permute(1, 0).unsqueeze(0).transpose(1, 2).sub_(1)
    fb.add(x, x, out=x)
    return x.diagonal().fill_(2)


def several(x):
    parts = x.clone()
    first, rest = parts[0], parts[1:]
    first.exp_()
    rest.zero_()
    return parts + first, rest.flatten()


@pytest.mark.parametrize("function", [in_place, through_views, several])
def test_graphs_without_mutation_do_the_same(function) -> None:
    start = fb.tensor([[1.0, 2.0], [3.0, 4.0]])
    ours, theirs = start.clone(), start.clone()
    traced = fx.functionalized(function)(start)
    assert fb.equal(start, fb.tensor([[1.0, 2.0], [3.0, 4.0]]))
    results, expected = traced(ours), function(theirs)
    for one, other in zip(results if isinstance(results, tuple) else [results],
                          expected if isinstance(expected, tuple) else [expected], strict=True):  # fmt: skip
        assert fb.equal(one, other)
    assert fb.equal(ours, theirs)
    writes = [n for n in traced.graph.nodes if n.op == "call_function" and n.target._schema.is_mutable]
    assert {n.target for n in writes} <= {fb.ops.aten.copy_.default}


def test_writes_that_have_no_other_form_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="what was written through aten::expand cannot be put back"):
        fx.functionalized(lambda x: x.clone().expand(1, 2)[0].add_(1))(fb.ones(2))
    assert fx.functionalize(lambda x: x.clone().mul_(3))(fb.ones(1)).tolist() == [3.0]


def test_all_further_arguments_are_one_value() -> None:
    class Rest(nn.Module):
        def forward(self, x: Tensor, *args: Tensor, k: int = 2, **named: Tensor) -> Tensor:
            return x * args[0] + args[1] + named["shift"] * k

    traced = fx.symbolic_trace(Rest())
    one, two, three = fb.tensor(1.0), fb.tensor(2.0), fb.tensor(3.0)
    assert traced(three, two, one, shift=one) == Rest()(three, two, one, shift=one) == 9
    assert traced(three, two, one, shift=one, k=3) == 10
    placeholders = [(node.name, node.target) for node in traced.graph.nodes if node.op == "placeholder"]
    assert placeholders == [("x", "x"), ("_args", "*args"), ("k", "k"), ("_named", "**named")]
    total = fx.symbolic_trace(lambda *xs, **named: fb.stack(xs).sum())
    assert fx.Interpreter(total).run(one, two, three) == total(one, two, three) == 6


def test_errors_of_an_interpreter_name_the_node() -> None:
    class Recording(fx.Tracer):
        record_stack_traces = True

    def f(x):
        return fb.cat([x, x.neg()], dim=3)

    with pytest.raises(IndexError, match=r"(?s)Dimension out of range.*While executing %cat : .*target=flambeau\.cat"):
        fx.Interpreter(fx.symbolic_trace(f)).run(fb.ones(2))
    recorded = fx.GraphModule({}, Recording().trace(f))
    with pytest.raises(IndexError, match=r"(?s)While executing.*Original traceback:.*dim=3\)$"):
        fx.Interpreter(recorded).run(fb.ones(2))
    with pytest.raises(KeyError, match=r"^'missing'$"):
        fx.Interpreter(fx.symbolic_trace(lambda x: x["missing"])).run({})
