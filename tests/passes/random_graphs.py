"""Random graphs: numbers, tensors with views and writes, lists, tuples, branches, loops, prints of what happened.

Every program ends with a probe of everything it holds, so that a wrong transformation shows. Programs may fail; then
they must fail the same way after a pass that may not remove failures, and what they did to their arguments before
must be the same.
"""

from __future__ import annotations

import random

from flambeau.ir import Graph, insert_constant
from flambeau.ir.graph import Value
from flambeau.schema.types import BOOL, FLOAT, INT, TENSOR, ListType, TupleType, Type

INTS, TENSORS = ListType(INT), ListType(TENSOR)
PAIR = TupleType((TENSOR, INT))


class Builder:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)
        self.graph = Graph()
        self.scope: dict[Type, list[Value]] = {t: [] for t in (INT, BOOL, FLOAT, TENSOR, INTS, TENSORS, PAIR)}
        for type_ in (TENSOR, TENSOR, INT, INT, BOOL, INTS, TENSORS):
            self.scope[type_].append(self.graph.add_parameter(type_))

    def program(self, size: int) -> Graph:
        self.statements(size, 2)
        for type_ in (INT, BOOL, TENSOR, INTS, TENSORS, PAIR, FLOAT):
            for value in self.scope[type_][-6:]:
                self.graph.add_return(value)
        return self.graph

    def pick(self, type_: Type) -> Value:
        known = self.scope[type_]
        if not known or (type_ in (INT, FLOAT, BOOL) and self.choice.random() < 0.3):
            return self.constant(type_)
        return self.choice.choice(known[-3:] if self.choice.random() < 0.7 else known)

    def constant(self, type_: Type) -> Value:
        if type_ == TENSOR:
            return self.scope[TENSOR][0]
        if type_ == INTS:
            return self.emit("prim::ListConstruct", [self.pick(INT), self.pick(INT)], INTS)
        if type_ == TENSORS:
            return self.emit("prim::ListConstruct", [self.pick(TENSOR)], TENSORS)
        if type_ == PAIR:
            return self.emit("prim::TupleConstruct", [self.pick(TENSOR), self.pick(INT)], PAIR)
        values = {INT: [0, 1, 2, 3, -1], FLOAT: [0.0, -0.0, 1.0, 2.5], BOOL: [True, False]}[type_]
        return insert_constant(self.graph, self.choice.choice(values))

    def emit(self, kind: str, operands: list[Value], type_: Type) -> Value:
        value = self.graph.insert(kind, operands, [type_]).result()
        self.scope[type_].append(value)
        return value

    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            rules = [
                self.number,
                self.tensor,
                self.tensor,
                self.write,
                self.lists,
                self.view,
                self.tuples,
                self.compare,
                self.show,
                self.again,
                self.again,
            ]
            if depth:
                rules += [self.branch, self.loop]
            rule = self.choice.choice(rules)
            if rule in (self.branch, self.loop):
                rule(depth - 1)  # type: ignore[call-arg]
            else:
                rule()  # type: ignore[call-arg]

    def number(self) -> None:
        kind = self.choice.choice(["add", "sub", "mul", "floordiv", "neg", "float"])
        if kind == "neg":
            self.emit("aten::neg", [self.pick(INT)], INT)
        elif kind == "float":
            self.emit(f"aten::{self.choice.choice(['add', 'sub', 'mul'])}", [self.pick(FLOAT), self.pick(FLOAT)], FLOAT)
        else:
            self.emit(f"aten::{kind}", [self.pick(INT), self.pick(INT)], INT)

    def compare(self) -> None:
        kind = self.choice.choice(["lt", "eq", "ne", "ge", "not"])
        if kind == "not":
            self.emit("aten::__not__", [self.pick(BOOL)], BOOL)
        else:
            self.emit(f"aten::{kind}", [self.pick(INT), self.pick(INT)], BOOL)

    def tensor(self) -> None:
        kind = self.choice.choice(["add", "sub", "mul", "relu", "neg", "scalar", "dim", "sum"])
        one = insert_constant(self.graph, 1)
        if kind in ("add", "sub"):
            self.emit(f"aten::{kind}", [self.pick(TENSOR), self.pick(TENSOR), one], TENSOR)
        elif kind == "mul":
            self.emit("aten::mul", [self.pick(TENSOR), self.pick(TENSOR)], TENSOR)
        elif kind == "scalar":
            self.emit("aten::mul", [self.pick(TENSOR), self.pick(self.choice.choice([INT, FLOAT]))], TENSOR)
        elif kind == "dim":
            self.emit("aten::dim", [self.pick(TENSOR)], INT)
        elif kind == "sum":
            self.emit("aten::sum", [self.pick(TENSOR), insert_constant(self.graph, None)], TENSOR)
        else:
            self.emit(f"aten::{kind}", [self.pick(TENSOR)], TENSOR)

    def write(self) -> None:
        kind = self.choice.choice(["relu_", "neg_", "add_"])
        operands = [self.pick(TENSOR)]
        if kind == "add_":
            operands += [self.pick(INT), insert_constant(self.graph, 1)]
        self.emit(f"aten::{kind}", operands, TENSOR)

    def view(self) -> None:
        kind = self.choice.choice(["t", "unbind", "unsqueeze", "alias"])
        if kind == "t":
            self.emit("aten::t", [self.pick(TENSOR)], TENSOR)
        elif kind == "unbind":
            self.emit("aten::unbind", [self.pick(TENSOR), insert_constant(self.graph, 0)], TENSORS)
        elif kind == "unsqueeze":
            wide = self.graph.insert("aten::unsqueeze", [self.pick(TENSOR), insert_constant(self.graph, 0)], [TENSOR])
            self.emit("aten::squeeze", [wide.result(), insert_constant(self.graph, 0)], TENSOR)
        else:
            self.emit("aten::detach", [self.pick(TENSOR)], TENSOR)

    def again(self) -> None:
        """A second time what was done before, with the same operands: the same result, or not any more."""
        results = [v for known in self.scope.values() for v in known[-5:]]
        made = [
            v.defining_node
            for v in results
            if v.defining_node is not None
            and not v.defining_node.nested_blocks
            and v.defining_node.op != "prim::Constant"
        ]
        made = [n for n in made if len(n.results) == 1]
        if made:
            node = self.choice.choice(made)
            self.emit(node.op, list(node.operands), node.result().static_type)

    def show(self) -> None:
        self.graph.insert("prim::Print", [self.pick(INT), self.pick(BOOL)], [])

    def lists(self) -> None:
        kind = self.choice.choice(["make", "append", "get", "len", "tensors", "take", "put", "slice", "join", "pop"])
        if kind == "make" and self.choice.random() < 0.5:
            numbers = [insert_constant(self.graph, self.choice.randint(0, 3)) for _ in range(2)]
            self.emit("prim::ListConstruct", numbers, INTS)
        elif kind == "make":
            self.constant(INTS)
        elif kind == "append":
            self.emit("aten::append", [self.pick(INTS), self.pick(INT)], INTS)
        elif kind == "get":
            self.emit("aten::__getitem__", [self.pick(INTS), self.constant(INT)], INT)
        elif kind == "len":
            self.emit("aten::len", [self.pick(INTS)], INT)
        elif kind == "tensors":
            self.constant(TENSORS)
        elif kind == "slice":
            bounds = [insert_constant(self.graph, v) for v in (0, 5, 1)]
            type_ = self.choice.choice([INTS, TENSORS])
            self.emit("aten::slice", [self.pick(type_), *bounds], type_)
        elif kind == "join":
            type_ = self.choice.choice([INTS, TENSORS])
            self.emit("aten::add", [self.pick(type_), self.pick(type_)], type_)
        elif kind == "pop":
            self.emit("aten::pop", [self.pick(TENSORS), insert_constant(self.graph, -1)], TENSOR)
        elif kind == "take":
            self.emit("aten::__getitem__", [self.pick(TENSORS), insert_constant(self.graph, 0)], TENSOR)
        else:
            self.emit("aten::append", [self.pick(TENSORS), self.pick(TENSOR)], TENSORS)

    def tuples(self) -> None:
        if self.choice.random() < 0.5 or not self.scope[PAIR]:
            self.constant(PAIR)
            return
        node = self.graph.insert("prim::TupleUnpack", [self.pick(PAIR)], [TENSOR, INT])
        self.scope[TENSOR].append(node.result(0))
        self.scope[INT].append(node.result(1))

    def nested(self, block: object, types: list[Type], depth: int, count: int) -> list[Value]:
        before = {t: list(v) for t, v in self.scope.items()}
        with self.graph.inserting(block):  # type: ignore[arg-type]
            self.statements(count, depth)
            returned = [self.pick(t) for t in types]
        self.scope = before
        return returned

    def branch(self, depth: int) -> None:
        types = self.choice.sample([INT, TENSOR, PAIR, INTS, BOOL], 2)
        node = self.graph.insert("prim::If", [self.pick(BOOL)], types)
        for _ in range(2):
            block = node.add_block()
            for value in self.nested(block, types, depth, self.choice.randint(0, 4)):
                block.add_return(value)
        for value in node.results:
            self.scope[value.static_type].append(value)

    def loop(self, depth: int) -> None:
        types = self.choice.sample([INT, TENSOR, PAIR, INTS], 2)
        trips = insert_constant(self.graph, self.choice.choice([0, 1, 2, 3]))
        if self.choice.random() < 0.4:
            three = insert_constant(self.graph, 11)
            trips = self.graph.insert("prim::min", [self.pick(INT), three], [INT]).result()
        goes = insert_constant(self.graph, True)
        node = self.graph.insert("prim::Loop", [trips, goes, *(self.pick(t) for t in types)], types)
        block = node.add_block()
        before = {t: list(v) for t, v in self.scope.items()}
        self.scope[INT].append(block.add_parameter(INT))
        for type_ in types:
            self.scope[type_].append(block.add_parameter(type_))
        returned = self.nested(block, types, depth, self.choice.randint(1, 4))
        self.scope = before
        goes_on = self.pick(BOOL) if self.choice.random() < 0.2 and self.scope[BOOL] else goes
        for value in (
            goes_on if goes_on.defining_node is not None and goes_on.defining_node.is_before(node) else goes,
            *returned,
        ):
            block.add_return(value)
        for value in node.results:
            self.scope[value.static_type].append(value)
