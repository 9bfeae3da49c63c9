"""Small programs about gradients, written as PyTorch's users write them: each takes the package, and gives numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Program = Callable[[Any], Any]
PROGRAMS: list[Program] = []


def program(function: Program) -> Program:
    PROGRAMS.append(function)
    return function


def leaf(m: Any, *values: float, **options: Any) -> Any:
    return m.tensor([float(v) for v in values], requires_grad=True, **options)


def layer(m: Any, rows: int = 2, columns: int = 3) -> Any:
    made = m.nn.Linear(columns, rows)
    with m.no_grad():
        made.weight.copy_(m.arange(rows * columns).reshape(rows, columns) / 10.0)
        made.bias.fill_(0.5)
    return made


@program
def accumulation(m: Any) -> Any:
    net, x = layer(m), m.ones(4, 3)
    for part in x.split(2):
        (net(part).sum() / 2).backward()
    return net.weight.grad, net.bias.grad


@program
def zeroed_between_steps(m: Any) -> Any:
    w = leaf(m, 1, 2)
    for _ in range(3):
        w.grad = None
        (w * w).sum().backward()
        with m.no_grad():
            w -= 0.1 * w.grad
    return w, w.grad


@program
def zero_in_place(m: Any) -> Any:
    w = leaf(m, 1, 2)
    (w * 3).sum().backward()
    w.grad.zero_()
    (w * 2).sum().backward()
    return w.grad


@program
def frozen_layers(m: Any) -> Any:
    first, second = layer(m, 3, 3), layer(m)
    for p in first.parameters():
        p.requires_grad = False
    second(first(m.ones(1, 3))).sum().backward()
    return first.weight.grad is None, second.weight.grad


@program
def module_requires_grad(m: Any) -> Any:
    net = layer(m).requires_grad_(False)
    return [p.requires_grad for p in net.parameters()], net(m.ones(1, 3)).requires_grad


@program
def detached_target(m: Any) -> Any:
    w = leaf(m, 1, 2)
    target = (w * 2).detach()
    ((w * 3 - target) ** 2).sum().backward()
    return w.grad, target.requires_grad


@program
def straight_through(m: Any) -> Any:
    x = leaf(m, 0.3, 1.7)
    y = x + (x.round() - x).detach()
    (y * y).sum().backward()
    return y, x.grad


@program
def gradient_penalty(m: Any) -> Any:
    x, w = leaf(m, 1, 2), leaf(m, 3, 4)
    y = (w * x**2).sum()
    (g,) = m.autograd.grad(y, x, create_graph=True)
    ((g.norm() - 1) ** 2).backward()
    return w.grad, x.grad


@program
def hessian_vector(m: Any) -> Any:
    x = leaf(m, 1, 2, 3)
    (g,) = m.autograd.grad((x**3).sum() + x.prod(), x, create_graph=True)
    return m.autograd.grad(g, x, m.tensor([1.0, 0.0, -1.0]))[0]


@program
def hessian_by_rows(m: Any) -> Any:
    x = leaf(m, 1, 2)
    (g,) = m.autograd.grad((x[0] ** 2 * x[1]), x, create_graph=True)
    return [m.autograd.grad(g[i], x, retain_graph=True)[0] for i in range(2)]


@program
def jacobian_by_batches(m: Any) -> Any:
    x = leaf(m, 1, 2)
    y = m.stack([x[0] * x[1], x[0] + x[1], x[1] ** 2])
    return m.autograd.grad(y, x, m.eye(3), is_grads_batched=True)


@program
def clipped_by_hook(m: Any) -> Any:
    w = leaf(m, 1, 2)
    w.register_hook(lambda g: g.clamp(-1, 1))
    (w * m.tensor([5.0, -0.5])).sum().backward()
    return w.grad


@program
def reversed_gradient(m: Any) -> Any:
    x = leaf(m, 1, 2)
    y = x * 2
    y.register_hook(lambda g: -g)
    y.sum().backward()
    return x.grad


@program
def removed_hook(m: Any) -> Any:
    x = leaf(m, 1, 2)
    handle = x.register_hook(lambda g: g * 100)
    handle.remove()
    (x * 2).sum().backward()
    return x.grad


@program
def hooks_in_order(m: Any) -> Any:
    seen: list[str] = []
    x = leaf(m, 1)
    y = x * 2
    y.register_hook(lambda g: seen.append("first"))
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    y.backward()
    return seen, y.grad, x.grad


@program
def after_accumulation(m: Any) -> Any:
    w = leaf(m, 1, 2)

    def step(p: Any) -> None:
        with m.no_grad():
            p -= p.grad
        p.grad = None

    w.register_post_accumulate_grad_hook(step)
    (w * w).sum().backward()
    return w, w.grad is None


@program
def retained(m: Any) -> Any:
    x = leaf(m, 1, 2)
    y = x * 2
    y.retain_grad()
    (y**2).sum().backward()
    return y.grad, y.retains_grad, x.retains_grad


@program
def retained_graph(m: Any) -> Any:
    x = leaf(m, 1, 2)
    y = (x.exp()).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@program
def only_inputs(m: Any) -> Any:
    x, w = leaf(m, 1, 2), leaf(m, 3, 4)
    (x * w).sum().backward(inputs=[x])
    return x.grad, w.grad is None


@program
def several_roots(m: Any) -> Any:
    x = leaf(m, 1, 2)
    m.autograd.backward([(x * 2).sum(), x * 3], [None, m.tensor([1.0, 10.0])])
    return x.grad


@program
def unused(m: Any) -> Any:
    x, w = leaf(m, 1), leaf(m, 2)
    found = m.autograd.grad(x * 2, [x, w], allow_unused=True)
    zeros = m.autograd.grad(x * 2, [x, w], materialize_grads=True)
    return found[0], found[1] is None, zeros


@program
def by_intermediate(m: Any) -> Any:
    x = leaf(m, 1, 2)
    y = x * 3
    return m.autograd.grad((y * y).sum(), [y, x])


@program
def switched(m: Any) -> Any:
    w, flags = leaf(m, 1), []
    for train in (True, False):
        with m.set_grad_enabled(train):
            flags.append((w * 2).requires_grad)
    m.set_grad_enabled(False)
    flags.append((w * 2).requires_grad)
    m.set_grad_enabled(True)
    return flags, (w * 2).requires_grad


@program
def decorated(m: Any) -> Any:
    w = leaf(m, 1)

    @m.no_grad()
    def evaluate() -> Any:
        return w * 2

    @m.enable_grad()
    def train() -> Any:
        return w * 2

    with m.no_grad():
        inside = train().requires_grad
    return evaluate().requires_grad, inside


@program
def generator_without_grad(m: Any) -> Any:
    w = leaf(m, 1)

    @m.no_grad()
    def steps() -> Any:
        for _ in range(2):
            yield (w * 2).requires_grad

    flags = []
    for flag in steps():
        flags.append((flag, m.is_grad_enabled()))
    return flags


@program
def exponential_average(m: Any) -> Any:
    net = layer(m)
    kept = copy.deepcopy(net)
    with m.no_grad():
        for p, q in zip(net.parameters(), kept.parameters(), strict=True):
            p.mul_(0.5).add_(q, alpha=0.25)
    return list(net.parameters()), kept.weight


@program
def copied_leaf(m: Any) -> Any:
    w = leaf(m, 1, 2)
    (w * 2).sum().backward()
    other = copy.deepcopy(w)
    return other.grad, other.requires_grad, other.is_leaf


@program
def cloned(m: Any) -> Any:
    x = leaf(m, 1, 2)
    y = x.clone()
    y[0] = 5
    (y * y).sum().backward()
    return x.grad, y.is_leaf


@program
def data_is_not_recorded(m: Any) -> Any:
    w = leaf(m, 1, 2)
    w.data.mul_(2)
    w.data += 1
    return w, w.requires_grad, w.data.requires_grad


@program
def sum_of_losses(m: Any) -> Any:
    net, total = layer(m), 0
    for k in range(3):
        total = total + net(m.ones(1, 3) * k).pow(2).mean()
    total.backward()
    return net.weight.grad


@program
def masked(m: Any) -> Any:
    x = leaf(m, 1, -2, 3)
    x[x > 0].sum().backward()
    y = m.where(x > 0, x * 2, x * 0.1)
    y.sum().backward()
    return x.grad


@program
def gathered(m: Any) -> Any:
    x = leaf(m, 1, 2, 3)
    index = m.tensor([0, 0, 2])
    (x[index] * m.tensor([1.0, 2.0, 3.0])).sum().backward()
    x.gather(0, index).sum().backward()
    return x.grad


@program
def embedding(m: Any) -> Any:
    table = m.arange(6.0).reshape(3, 2).requires_grad_()
    (m.nn.functional.embedding(m.tensor([0, 2, 0]), table) ** 2).sum().backward()
    return table.grad


@program
def broadcast(m: Any) -> Any:
    a, b = m.ones(3, 1, requires_grad=True), m.ones(2, requires_grad=True)
    (a * b * 2).sum().backward()
    return a.grad, b.grad


@program
def expanded(m: Any) -> Any:
    a = leaf(m, 1, 2)
    a.expand(3, 2).sum().backward()
    a.repeat(2).sum().backward()
    return a.grad


@program
def split_and_joined(m: Any) -> Any:
    x = leaf(m, 1, 2, 3, 4)
    a, b = x.chunk(2)
    m.cat([a * 2, b * 3, a]).sum().backward()
    m.stack([a, b]).prod().backward()
    return x.grad


@program
def filled_buffer(m: Any) -> Any:
    w, out = leaf(m, 1, 2), m.zeros(3, 2)
    for k in range(3):
        out[k] = w**k
    out.sum().backward()
    return w.grad, out.requires_grad


@program
def in_place_chain(m: Any) -> Any:
    x = leaf(m, 1, 2)
    y = x * 2
    y.add_(1).mul_(3)
    y.relu_()
    y.sum().backward()
    return x.grad


@program
def in_place_on_view(m: Any) -> Any:
    x = leaf(m, 1, 2, 3)
    y = x.clone()
    y[1:].mul_(10)
    y.sum().backward()
    return x.grad


@program
def leaves_and_views(m: Any) -> Any:
    x = leaf(m, 1, 2, 3)
    y = x.view(3, 1)
    z = (x * 2)[1:]
    return x.is_leaf, y.is_leaf, y._is_view(), y._base is x, z._is_view(), x.detach().is_leaf, x._is_view()


@program
def names(m: Any) -> Any:
    x = leaf(m, 1, 2)
    made = [x * 2, x + 1, x.exp(), x.sum(), x.view(2, 1), x.t() if x.dim() > 1 else x.unsqueeze(0), x @ x, x.clone()]
    return [y.grad_fn.name() for y in made[:4]], [y.grad_fn.next_functions[0][1] for y in made]


@program
def integers_ask_for_nothing(m: Any) -> Any:
    x = leaf(m, 1, 2)
    return [y.requires_grad for y in (x.argmax(), x > 1, x.long(), x.max(0).indices, x.max(0).values)]


@program
def sorted_and_top(m: Any) -> Any:
    x = leaf(m, 3, 1, 2)
    (x.sort().values * m.tensor([1.0, 2.0, 3.0])).sum().backward()
    x.topk(2).values.sum().backward()
    x.max().backward()
    return x.grad


@program
def extremes_share(m: Any) -> Any:
    x = leaf(m, 2, 2, 1)
    x.max().backward()
    x.amax().backward()
    m.maximum(x, m.tensor([2.0, 1.0, 1.0])).sum().backward()
    return x.grad


@program
def kinks(m: Any) -> Any:
    x = leaf(m, -1, 0, 1)
    (x.relu() + x.abs() + x.clamp(0, 1) + x.sign()).sum().backward()
    return x.grad


@program
def norms_at_zero(m: Any) -> Any:
    x = leaf(m, 0, 0)
    x.norm().backward()
    return x.grad


@program
def square_roots_of_zero(m: Any) -> Any:
    x = leaf(m, 0, 4)
    x.sqrt().sum().backward()
    return x.grad


@program
def powers(m: Any) -> Any:
    x, n = leaf(m, 2, 3), leaf(m, 2, 0.5)
    (x**n + 2**x + x**0).sum().backward()
    return x.grad, n.grad


@program
def variances(m: Any) -> Any:
    x = leaf(m, 1, 2, 4)
    (x.var() + x.std() + x.mean() + x.logsumexp(0) + x.cumsum(0).prod()).backward()
    return x.grad


@program
def losses(m: Any) -> Any:
    f = m.nn.functional
    x = m.tensor([[1.0, 2.0, 0.5], [0.1, 0.2, 0.3]], requires_grad=True)
    total = f.cross_entropy(x, m.tensor([2, 0])) + f.mse_loss(x, m.ones(2, 3)) + f.smooth_l1_loss(x, m.zeros(2, 3))
    (total + f.binary_cross_entropy_with_logits(x, m.ones(2, 3)) + f.softmax(x, 1)[0, 0]).backward()
    return x.grad


@program
def normalised(m: Any) -> Any:
    f = m.nn.functional
    x = m.arange(6.0).reshape(2, 3).requires_grad_()
    w = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (f.layer_norm(x, [3], w) * m.arange(6.0).reshape(2, 3)).sum().backward()
    return x.grad, w.grad


@program
def convolution(m: Any) -> Any:
    x = m.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()
    w = m.ones(1, 1, 2, 2, requires_grad=True)
    m.nn.functional.max_pool2d(m.conv2d(x, w), 2).sum().backward()
    return x.grad, w.grad


@program
def shared_weights(m: Any) -> Any:
    w = m.eye(2, requires_grad=True)
    x = m.tensor([1.0, 2.0])
    (w @ (w @ x)).sum().backward()
    return w.grad


@program
def recurrent(m: Any) -> Any:
    w, h = leaf(m, 0.5), m.zeros(1)
    for k in range(5):
        h = m.tanh(w * h + k)
    h.backward()
    return w.grad


@program
def truncated(m: Any) -> Any:
    w, h = leaf(m, 0.5), m.ones(1)
    for _ in range(3):
        h = (w * h).detach() * w
    h.backward()
    return w.grad


@program
def branches(m: Any) -> Any:
    x = leaf(m, 2)
    y = x
    while y.item() < 50:
        y = y * x if y.item() < 10 else y + x
    y.backward()
    return x.grad


@program
def two_paths(m: Any) -> Any:
    x = leaf(m, 1, 2)
    a = x * 2
    (a * a + a.detach() * a).sum().backward()
    return x.grad


@program
def complex_numbers(m: Any) -> Any:
    z = m.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    z.abs().sum().backward()
    return m.view_as_real(z.grad)


@program
def other_dtypes(m: Any) -> Any:
    x = leaf(m, 1, 2)
    (x.double() * 2).sum().backward()
    (x.to(m.bfloat16) * 2).float().sum().backward()
    return x.grad, str(x.grad.dtype).split(".")[1]


@program
def custom_clamp(m: Any) -> Any:
    class Clamp(m.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any, low: float) -> Any:
            ctx.low = low
            ctx.save_for_backward(x)
            return x.clamp(min=low)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * (x > ctx.low), None

    x = leaf(m, -1, 2)
    Clamp.apply(x, 0.0).sum().backward()
    return x.grad


@program
def reversal_layer(m: Any) -> Any:
    class Reverse(m.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.neg() * 0.5

    x = leaf(m, 1, 2)
    (Reverse.apply(x) * 2).sum().backward()
    return x.grad


@program
def custom_twice(m: Any) -> Any:
    class Cube(m.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    x = leaf(m, 2)
    (g,) = m.autograd.grad(Cube.apply(x), x, create_graph=True)
    return g, m.autograd.grad(g, x)[0]


@program
def no_grad_inside_function(m: Any) -> Any:
    x = leaf(m, 1, 2)
    with m.no_grad():
        scale = x.norm()
    (x / scale).sum().backward()
    return x.grad, scale.requires_grad


@program
def parameters_of_a_list(m: Any) -> Any:
    ws = m.nn.ParameterList([m.nn.Parameter(m.ones(2) * k) for k in range(3)])
    sum((w**2).sum() for w in ws).backward()
    return [w.grad for w in ws]


@program
def clipped_norm(m: Any) -> Any:
    w = leaf(m, 3, 4)
    (w * w).sum().backward()
    norm = m.nn.utils.clip_grad_norm_([w], 1.0)
    return norm, w.grad


@program
def sgd_by_hand(m: Any) -> Any:
    net, x, y = layer(m), m.arange(6.0).reshape(2, 3) / 5, m.tensor([[1.0, 0.0], [0.0, 1.0]])
    for _ in range(5):
        net.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        with m.no_grad():
            for p in net.parameters():
                p.sub_(0.1 * p.grad)
    return list(net.parameters())


@program
def inner_loop(m: Any) -> Any:
    w = leaf(m, 1.0)
    fast = w
    for _ in range(3):
        (g,) = m.autograd.grad((fast**2).sum(), fast, create_graph=True)
        fast = fast - 0.1 * g
    fast.sum().backward()
    return w.grad


@program
def saved_inputs_of_nodes(m: Any) -> Any:
    x = leaf(m, 1, 2)
    y = x * m.tensor([3.0, 4.0])
    return y.grad_fn._saved_other, y.grad_fn._saved_self is None or True, x.exp().grad_fn._saved_result


@program
def assigned_gradient(m: Any) -> Any:
    w = leaf(m, 1, 2)
    w.grad = m.tensor([5.0, 6.0])
    (w * 2).sum().backward()
    del w.grad
    return w.grad is None


@program
def iteration_over_rows(m: Any) -> Any:
    x = m.arange(6.0).reshape(3, 2).requires_grad_()
    total = 0
    for k, row in enumerate(x):
        total = total + row.sum() * k
    total.backward()
    return x.grad


@program
def batches_of_products(m: Any) -> Any:
    a, b = m.ones(2, 2, 3, requires_grad=True), m.arange(12.0).reshape(2, 3, 2).requires_grad_()
    m.einsum("bij,bjk->ik", a, b).sum().backward()
    m.bmm(a, b).pow(2).sum().backward()
    return a.grad, b.grad


@program
def inverses(m: Any) -> Any:
    a = m.tensor([[4.0, 1.0], [1.0, 3.0]], requires_grad=True)
    (m.linalg.inv(a).sum() + m.linalg.det(a) + m.linalg.solve(a, m.ones(2)).sum()).backward()
    return a.grad


@program
def scattered(m: Any) -> Any:
    x = leaf(m, 1, 2, 3)
    m.zeros(2).index_add(0, m.tensor([0, 1, 0]), x).pow(2).sum().backward()
    m.zeros(4).scatter(0, m.tensor([3, 1, 0]), x * x).sum().backward()
    return x.grad


@program
def padded_and_rolled(m: Any) -> Any:
    x = leaf(m, 1, 2, 3)
    (m.nn.functional.pad(x, (1, 1)).roll(1) * m.arange(5.0)).sum().backward()
    (x.flip(0) * m.arange(3.0)).sum().backward()
    return x.grad


@program
def triangles_and_diagonals(m: Any) -> Any:
    x = m.arange(9.0).reshape(3, 3).requires_grad_()
    (x.tril().sum() + 2 * x.diagonal().sum() + x.t().triu(1).pow(2).sum()).backward()
    return x.grad
