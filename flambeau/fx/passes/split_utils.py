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


def getattr_recursive(obj: Any, name: str) -> Any:
    """An attribute by its qualified name; None where there is none on the way.

    Args:
        obj: where the way begins.
        name: names with dots; numbers stand for items of lists.

    >>> from flambeau import nn
    >>> getattr_recursive(nn.Sequential(nn.Linear(2, 3)), "0.out_features")
    3
    """
    for part in name.split("."):
        if isinstance(obj, list):
            obj = obj[int(part)]
        elif hasattr(obj, part):
            obj = getattr(obj, part)
        else:
            return None
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Set an attribute by its qualified name.

    Args:
        obj: where the way begins.
        attr: names with dots.
        value: what it is then.

    Raises AttributeError where there is nothing on the way.

    >>> from flambeau import nn
    >>> net = nn.Sequential(nn.Dropout(0.5))
    >>> setattr_recursive(net, "0.p", 0.1)
    >>> net[0].p
    0.1
    """
    *path, name = attr.split(".")
    for part in path:
        obj = getattr(obj, part)
    setattr(obj, name, value)
