"""Functions whose work on a device, there and back, is captured once and replayed in each call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.autograd.backward import grad
from flambeau.autograd.function import Function
from flambeau.cuda.devices import synchronize
from flambeau.cuda.graphs import CUDAGraph, PoolOf, graph, graph_pool_handle
from flambeau.cuda.streams import Stream, current_stream, stream
from flambeau.tensor.grad_mode import enable_grad, no_grad
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import GRAPHED_CALLABLES

TENSORS_ONLY: Final = (
    "make_graphed_callables: {what} must be tensors on a CUDA device, got {got}. Numbers become part of the graph: "
    "write a function that has them inside"
)
OTHER_SHAPE: Final = (
    "this call was captured for a {number}. argument of shape {expected} and dtype {dtype}, and got {got} of "
    "{got_dtype}: a graph has the sizes of its sample_args"
)


class _Captured:
    """One function: its arguments, results and gradients stay where the graphs have them."""

    def __init__(self, function: Callable[..., Any], sample: Sequence[Any]) -> None:
        for argument in sample:
            if not isinstance(argument, Tensor) or argument.device.type != "cuda":
                got = f"one on {argument.device}" if isinstance(argument, Tensor) else repr(argument)
                raise TypeError(TENSORS_ONLY.format(what="sample_args", got=got))
        self.function = function
        self.arguments = tuple(sample)
        parameters = getattr(function, "parameters", None)
        self.inputs = (*sample, *(parameters() if parameters is not None else ()))
        self.asking = [i for i in self.inputs if i.requires_grad]
        self.there, self.back = CUDAGraph(), CUDAGraph()
        self.results: tuple[Tensor, ...] = ()
        self.is_single = False
        self.gradients_in: tuple[Tensor | None, ...] = ()
        self.gradients_out: dict[int, Tensor] = {}

    def run(self) -> tuple[Tensor, ...]:
        """Call the function; its results as a tuple."""
        with enable_grad():
            result = self.function(*self.arguments)
        self.is_single = isinstance(result, Tensor)
        results = (result,) if self.is_single else tuple(result)
        for output in results:
            if not isinstance(output, Tensor) or output.device.type != "cuda":
                got = f"one on {output.device}" if isinstance(output, Tensor) else repr(output)
                raise TypeError(TENSORS_ONLY.format(what="results", got=got))
        return results

    def gradients(self, results: Sequence[Tensor], seeds: Sequence[Tensor | None], unused: bool) -> list[Tensor | None]:
        """The gradients of the inputs that ask for them."""
        pairs = [(r, g) for r, g in zip(results, seeds, strict=True) if g is not None]
        if not pairs or not self.asking:
            return []
        outputs, grad_outputs = zip(*pairs, strict=True)
        gradients: Any = grad(outputs, self.asking, grad_outputs=grad_outputs, allow_unused=unused)
        return list(gradients)

    def warm_up(self, times: int, unused: bool) -> None:
        """Run it, so that what first calls compile is there."""
        for _ in range(times):
            results = self.run()
            self.gradients(results, [_ones_like(r) for r in results], unused)

    def capture_there(self, pool: PoolOf) -> None:
        with graph(self.there, pool):
            self.results = self.run()

    def capture_back(self, pool: PoolOf, unused: bool) -> None:
        self.gradients_in = tuple(_ones_like(r) for r in self.results)
        if not self.asking or not any(g is not None for g in self.gradients_in):
            return
        with graph(self.back, pool):
            gradients = self.gradients(self.results, self.gradients_in, unused)
        self.gradients_out = {id(i): g for i, g in zip(self.asking, gradients, strict=True) if g is not None}

    def replayed(self) -> Callable[..., Any]:
        """A function that replays the graphs, recorded on the tape as one node."""
        captured = self

        class Graphed(Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Any) -> Any:
                captured.fill(inputs)
                captured.there.replay()
                return tuple(r.detach() for r in captured.results)

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                for kept, arriving in zip(captured.gradients_in, gradients, strict=True):
                    if kept is not None and kept.data_ptr() != arriving.data_ptr():
                        kept.copy_(arriving)
                captured.back.replay()
                results = [captured.gradients_out.get(id(i)) for i in captured.inputs]
                return tuple(g if g is None else g.detach() for g in results)

        @functools.wraps(self.function, assigned=("__name__", "__doc__"), updated=())
        def call(*arguments: Any) -> Any:
            results = Graphed.apply(*arguments, *captured.inputs[len(captured.arguments) :])
            return results[0] if captured.is_single else results

        return call

    def fill(self, inputs: Sequence[Any]) -> None:
        """Copy the arguments of a call to where the graph reads them. Raises for those of other shapes."""
        with no_grad():
            for number, (kept, argument) in enumerate(zip(self.arguments, inputs, strict=False), 1):
                if kept.shape != argument.shape or kept.dtype != argument.dtype:
                    raise RuntimeError(
                        OTHER_SHAPE.format(
                            number=number, expected=list(kept.shape), dtype=kept.dtype, got=list(argument.shape),
                            got_dtype=argument.dtype,
                        )
                    )  # fmt: skip
                if kept.data_ptr() != argument.data_ptr():
                    kept.detach().copy_(argument.detach())


def _ones_like(result: Tensor) -> Tensor | None:
    if not result.requires_grad:
        return None
    ones: Tensor = result.detach().clone()
    return ones.fill_(1)


@GRAPHED_CALLABLES.provide
def graphed_callables(
    callables: Any, sample_args: Sequence[Any], num_warmup_iters: int, allow_unused_input: bool, pool: PoolOf
) -> Any:
    """See `flambeau.cuda.make_graphed_callables`."""
    is_one = not isinstance(callables, tuple)
    functions = (callables,) if is_one else callables
    samples = (sample_args,) if is_one else sample_args
    if len(functions) != len(samples):
        raise ValueError(
            f"make_graphed_callables: {len(functions)} callables, but {len(samples)} tuples of sample_args"
        )
    captured = [_Captured(f, s) for f, s in zip(functions, samples, strict=True)]
    pool = graph_pool_handle() if pool is None else pool
    synchronize()
    side = Stream()
    side.wait_stream(current_stream())
    with stream(side):
        for one in captured:
            one.warm_up(num_warmup_iters, allow_unused_input)
    current_stream().wait_stream(side)
    for one in captured:
        one.capture_there(pool)
    for one in reversed(captured):
        one.capture_back(pool, allow_unused_input)
    replayed = [_in_place_of(one) for one in captured]
    return replayed[0] if is_one else tuple(replayed)


def _in_place_of(one: _Captured) -> Any:
    """The function that replays; a module keeps its place, and runs as before in another mode than it was captured."""
    call = one.replayed()
    module: Any = one.function
    if not hasattr(module, "forward") or not hasattr(module, "parameters"):
        return call
    mode, forward = module.training, module.forward

    def chosen(*arguments: Any) -> Any:
        return call(*arguments) if module.training == mode else forward(*arguments)

    module.forward = chosen
    return module
