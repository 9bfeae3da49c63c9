"""A graph cut into submodules by the tags of its nodes.

>>> import flambeau
>>> from flambeau import fx
>>> traced = fx.symbolic_trace(lambda x: (x + 1).neg())
>>> _, add, neg, _ = traced.graph.nodes
>>> add.tag, neg.tag = "sums", "signs"
>>> parts = split_by_tags(traced, ["sums", "signs"])
>>> [name for name, _ in parts.named_children()], parts(flambeau.tensor(1))
(['sums', 'signs'], tensor(-2))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.passes.split_module import split

NO_TAG: Final = "split_by_tags: node {node} has the tag {tag!r}: set node.tag to one of {tags}"


def split_by_tags(gm: GraphModule, tags: Sequence[str], return_fqn_mapping: bool = False) -> Any:
    """Cut the graph of a module into submodules, one for each tag and called by it.

    Args:
        gm: the module; each call in its graph has one of the tags as `node.tag`.
        tags: names for submodules.
        return_fqn_mapping: whether a dict comes, too, from the names of submodules in the parts to those in `gm`.

    Raises RuntimeError for a call without a tag, and where parts need results of each other.
    """

    def tag_of(node: Node) -> str:
        tag: Any = getattr(node, "tag", None)
        if tag not in tags:
            raise RuntimeError(NO_TAG.format(node=node, tag=tag, tags=list(tags)))
        return str(tag)

    names: dict[str, str] = {}
    parts = split(gm, gm, tag_of, str, names)
    return (parts, names) if return_fqn_mapping else parts
