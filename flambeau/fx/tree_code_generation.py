"""The function around a graph whose arguments are containers, of which the graph has one placeholder for each leaf.

    def forward(self, d, n):
        d_1, d_2, n_1, = fx_pytree.tree_flatten_spec([d, n], self._in_spec)
        ...
        return pytree.tree_unflatten([mul], self._out_spec)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from flambeau.fx.code_generation import CodeGen
from flambeau.util.trees import Structure, flatten


class PyTreeInfo(NamedTuple):
    """How the arguments and the result of a graph lie in containers."""

    orig_args: list[str]
    """The names of the arguments, as calls give them."""
    in_spec: Structure
    """A tuple of what each argument is."""
    out_spec: Structure | None
    """What the result is; None while the graph is traced."""
    signature: tuple[str, ...]
    """The arguments as the function declares them, defaults included."""
    defaults: dict[str, Any]
    """Defaults by the names that the signature has for them."""


class PyTreeCodeGen(CodeGen):
    """Writes a function that takes arguments apart, and puts results together.

    >>> from flambeau import fx
    >>> traced = fx.symbolic_trace(lambda pair: {"sum": pair[0] + pair[1]}, concrete_args={"pair": (fx.PH, fx.PH)})
    >>> [node.name for node in traced.graph.nodes], traced((2, 3))
    (['pair_1', 'pair_2', 'add', 'output'], {'sum': 5})
    """

    def __init__(self, pytree_info: PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function, and one that takes its arguments apart."""
        head = super().gen_fn_def([*self.pytree_info.signature], maybe_return_annotation)
        if not free_vars:
            return head
        names = [one.split(" ", 1)[0] for one in free_vars]
        taken = ", ".join(self.pytree_info.orig_args)
        return f"{head}\n    {', '.join(names)}, = fx_pytree.tree_flatten_spec([{taken}], self._in_spec)"

    def generate_output(self, output_args: Any) -> str:
        """The line that puts the result together."""
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args)
        return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"

    def process_inputs(self, *args: Any) -> Any:
        """The leaves of the arguments of a call."""
        return tree_flatten_spec(args, self.pytree_info.in_spec)

    def process_outputs(self, outputs: Any) -> Any:
        """What a call gives, from the leaves that the graph gives."""
        spec = self.pytree_info.out_spec
        if spec is None:
            return outputs
        return tree_unflatten(outputs if isinstance(outputs, list | tuple) else [outputs], spec)

    def additional_globals(self) -> Sequence[tuple[str, Any]]:
        """What takes apart and puts together, and defaults."""
        here = sys.modules[__name__]
        return [("fx_pytree", here), ("pytree", here), *self.pytree_info.defaults.items()]


def tree_flatten_spec(args: Sequence[Any], spec: Structure) -> list[Any]:
    """The leaves of arguments. Raises ValueError where they have other containers than were traced.

    >>> tree_flatten_spec([[2, 3], 4], flatten(([0, 0], 0))[1])
    [2, 3, 4]
    """
    pairs = zip(spec.children, args, strict=True)
    return [leaf for child, value in pairs for leaf in child.flatten_up_to(value)]


def tree_unflatten(leaves: Sequence[Any], spec: Structure) -> Any:
    """The containers with these leaves.

    >>> tree_unflatten([2, 3], flatten([0, 0])[1])
    [2, 3]
    """
    return spec.unflatten(leaves)


def has_containers(values: Sequence[Any]) -> bool:
    """Whether some arguments are containers."""
    return any(not child.is_leaf() for child in flatten(tuple(values))[1].children)
