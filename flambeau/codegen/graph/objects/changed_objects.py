"""What a call of native code did to the objects among its arguments, done to the objects themselves."""

from __future__ import annotations

from flambeau.codegen.graph.entry.marshalling import dict_of
from flambeau.codegen.graph.entry.shown_tensors import item_words, words_at
from flambeau.codegen.graph.objects.object_arguments import ArgumentObjects, Container
from flambeau.codegen.graph.objects.object_words import Read
from flambeau.codegen.graph.representation import Listed, word_count
from flambeau.codegen.layouts import LIST
from flambeau.program import instances


def write_back(objects: ArgumentObjects, read: Read) -> None:
    """Assign the attributes that were assigned, and have lists and dicts hold what they came to hold."""
    for one, before in objects.stand_ins:
        after = one.bytes()
        if after == before:
            continue
        for name, rep, start, end in one.record.fields:
            if before[start:end] != after[start:end]:
                words = words_at(one.address + start, word_count(rep))
                instances.writer(name)(one.value, read(rep, words))
    for container in objects.containers:
        if container.bytes() != container.before:
            _refill(container, read)


def _refill(container: Container, read: Read) -> None:
    value, rep = container.value, container.rep
    if isinstance(rep, Listed):
        words = item_words(rep, container.block)
        value[:] = [read(rep.item, words) for _ in range(LIST.read(container.block, "length"))]
        return
    new = dict_of(rep, container.block, read)
    value.clear()
    value.update(new)
