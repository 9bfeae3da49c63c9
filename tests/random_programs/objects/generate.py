"""Makes random programs over the classes of `prelude`: objects under several names, in containers, changed from afar."""

from __future__ import annotations

from tests.random_programs.expressions import Variable
from tests.random_programs.generate import HELPERS, PARAMETERS, RETURNS, Generator
from tests.random_programs.model import Compound, Node, Program, Statement
from tests.random_programs.objects.prelude import PRELUDE

SHADES = ("Shade.LIGHT", "Shade.DARK", "Shade.DEEP")


class ObjectGenerator(Generator):
    """One program from one seed."""

    def statement(self, depth: int) -> Node:
        """A statement about objects, or any other."""
        if self.draw.random() < 0.4:
            return super().statement(depth)
        makers = [self.make_counter] * 3 + [self.change_counter] * 4 + [self.pairs] * 3 + [self.boxes, self.shades]
        makers += [self.places, self.several, self.look] + ([self.guard, self.maybe_counter] if depth else [])
        return self.draw.choice(makers)(depth)

    def int_expression(self, depth: int = 2) -> str:
        """Often something of an object."""
        if self.draw.random() > 0.25:
            return super().int_expression(depth)
        choices = ["Counter.clip(n * 20)", "measure(Square(n))", "shade_of(n).value"]
        if (counter := self.some("counter")) is not None:
            c = counter.name
            choices += [f"{c}.count", f"{c}.last", f"len({c})", f"{c}[0]", f"{c}[-1]", f"{c}.child().count"]
        if (pair := self.some("pair")) is not None:
            p = pair.name
            choices += [f"{p}.total()", f"{p}.first.count", f"{p}.second.last", f"len({p}.second.log)"]
        if (box := self.some("box")) is not None:
            choices += [f"{box.name}.area()", f"{box.name}.width", f"len({box.name}.label)", f"measure({box.name}, True)"]
        if (shade := self.some("shade")) is not None:
            choices += [f"{shade.name}.value", f"len({shade.name}.name)"]
        if (place := self.some("place")) is not None:
            choices += [f"{place.name}.row", f"{place.name}.column", f"{place.name}[0]", f"len({place.name})"]
        return f"{self.draw.choice(choices)} % 89"

    def bool_expression(self, depth: int = 2) -> str:
        """Sometimes a question about objects."""
        if self.draw.random() > 0.2:
            return super().bool_expression(depth)
        choices = ["shade_of(n) == Shade.DARK"]
        if (a := self.some("counter")) is not None and (b := self.some("counter")) is not None:
            choices += [f"{a.name} == {b.name}", f"{a.name} < {b.name}", f"{a.name} is {b.name}", f"3 in {a.name}"]
            choices += [f"{a.name} != {b.name}", f"{a.name} is not {b.name}"]
        if (s := self.some("shade")) is not None:
            choices += [f"{s.name} == {self.draw.choice(SHADES)}", f"{s.name} != {self.draw.choice(SHADES)}"]
        if (p := self.some("place")) is not None:
            choices += [f"{p.name}.row < {p.name}.column", f"{p.name} == ({self.draw.randint(0, 4)}, 2)"]
        return f"({self.draw.choice(choices)})"

    # -- single objects -----------------------------------------------------------------------------------------------

    def counter_expression(self) -> str:
        """A new counter or an old one."""
        old, other = self.some("counter"), self.some("counter")
        choices = [f"Counter({self.int_expression(1)})"]
        if old is not None and other is not None:
            choices += [
                old.name, f"{old.name}.child()", f"({old.name} + {other.name})", f"bump({old.name}, {self.int_expression(0)})",
                f"({old.name} if {self.bool_expression(1)} else {other.name})",
            ]  # fmt: skip
        if (pair := self.some("pair")) is not None:
            choices += [f"{pair.name}.first", f"{pair.name}.second"]
        if (counters := self.some("counters")) is not None:
            choices += [f"{counters.name}[0]", f"{counters.name}[-1]"]
        return self.draw.choice(choices)

    def make_counter(self, depth: int) -> Node:
        """A name for a counter; sometimes an old name."""
        old = self.some("counter")
        if old is not None and self.draw.random() < 0.3:
            return Statement(f"{old.name} = {self.counter_expression()}")
        return self.define("counter", self.counter_expression())

    def change_counter(self, depth: int) -> Node:
        """A change that every name of the counter sees."""
        old = self.some("counter")
        if old is None:
            return self.make_counter(depth)
        c, value = old.name, self.int_expression(1)
        return Statement(self.draw.choice([
            f"{c}.add({value})", f"{c}.add({value}, times={self.draw.randint(0, 3)})", f"{c}.count = {value}",
            f"{c}.count += {value}", f"{c}.log[0] = {value}", f"{c}[-1] = {value}", f"{c}.weight *= 0.5",
            f"{c}.renew({self._named('ints', 'ints')})", f"{c}.log = [{value}, {self.int_expression(0)}]",
            f"bump({c}, {value}).count -= 1", f"{c}.log.append({value} % 7)\n".strip(),
        ]))  # fmt: skip

    def pairs(self, depth: int) -> Node:
        """Objects in objects."""
        pair = self.some("pair")
        if pair is None or self.draw.random() < 0.3:
            return self.define("pair", f"Pair({self.counter_expression()}, {self.counter_expression()})")
        p = pair.name
        return Statement(self.draw.choice([
            f"{p}.swap()", f"{p}.first = {self.counter_expression()}", f"{p}.keep({self.counter_expression()})",
            f"{p}.second.add({self.int_expression(1)})", f"{p}.first.log[-1] = {self.int_expression(0)}",
            f"{p}.spare = None", f"{p}.first.count += {self.int_expression(0)}",
        ]))  # fmt: skip

    def boxes(self, depth: int) -> Node:
        """Dataclasses."""
        box = self.some("box")
        if box is not None and self.draw.random() < 0.5:
            return Statement(self.draw.choice([
                f"{box.name}.width = {self.int_expression(1)}", f"{box.name}.height += 1",
                f"{box.name}.label = {self.str_expression(0)}",
            ]))  # fmt: skip
        form = self.draw.choice(["{0}", "{0}, {1}", "{0}, label='b'", "width={0}, height={1}", "{0}, {1}, 'wide'"])
        return self.define("box", f"Box({form.format(self.int_expression(1), self.int_expression(1))})")

    def shades(self, depth: int) -> Node:
        """Members of an enum."""
        a, b = self.draw.choice(SHADES), self.draw.choice(SHADES)
        text = self.draw.choice([a, f"({a} if {self.bool_expression(1)} else {b})", f"shade_of({self.int_expression(1)})"])
        old = self.some("shade")
        if old is not None and self.draw.random() < 0.4:
            return Statement(f"{old.name} = {text}")
        return self.define("shade", text)

    def places(self, depth: int) -> Node:
        """Named tuples."""
        old = self.some("place")
        if old is not None and self.draw.random() < 0.3:
            a, b = self.fresh("int"), self.fresh("int")
            self.scope += [a, b]
            return Statement(f"{a.name}, {b.name} = {old.name}")
        form = self.draw.choice(["{0}", "{0}, {1}", "row={0}", "column={0}, row={1}"])
        return self.define("place", f"Place({form.format(self.int_expression(1), self.int_expression(1))})")

    # -- several ------------------------------------------------------------------------------------------------------

    def several(self, depth: int) -> Node:
        """Counters in a list."""
        found = self.some("counters")
        if found is None or self.draw.random() < 0.3:
            return self.define("counters", f"[{self.counter_expression()}, {self.counter_expression()}]")
        name, item = found.name, self.fresh("counter")
        changes = [f"{name}[0].add(2)", f"{name}[-1] = {self.counter_expression()}", f"{name}.reverse()", f"{name}.sort()"]
        if self.draw.random() < 0.5:
            return Statement(self.draw.choice(changes))
        return Compound(f"for {item.name} in {name}:", [[Statement(f"{item.name}.add({self.int_expression(0)})")]])

    def look(self, depth: int) -> Node:
        """What a group of objects says, as numbers and text."""
        found = self.some("counters")
        choices = [("ints", "[shade.value for shade in Shade]"), ("int", "measure(Box(n, 2))")]
        if found is not None:
            choices += [("ints", f"[it.count for it in {found.name}]"), ("int", f"len({found.name}) + {found.name}[0].last")]
        if (box := self.some("box")) is not None:
            choices += [("str", f"{box.name}.label + str({box.name}.area())")]
        if (shade := self.some("shade")) is not None:
            choices += [("str", f"{shade.name}.name.lower()")]
        if (counter := self.some("counter")) is not None:
            choices += [("ints", f"{counter.name}.log"), ("float", f"{counter.name}.weight")]
        return self.define(*self.draw.choice(choices))

    def guard(self, depth: int) -> Node:
        """A block that is entered and left, however it is left."""
        log, seen = self._named("ints", "ints"), self.fresh("int")
        inner = self.body(depth, seen)
        return Compound(f"with Guard({log}, {self.draw.randint(1, 9)}) as {seen.name}:", [inner])

    def maybe_counter(self, depth: int) -> Node:
        """A counter that may not be there."""
        self.counter += 1
        name, known = f"m{self.counter}", Variable(f"m{self.counter}", "counter")
        before = (
            Statement(f"{name}: Optional[Counter] = None"),
            Statement(f"{name} = {self.counter_expression()} if {self.bool_expression(1)} else None"),
        )
        arm = [Statement(f"{name}.add({self.int_expression(0)})"), *self.body(depth, known)]
        return Compound(f"if {name} is not None:", [arm, self.body(depth)], ["else:"], before=before)

    def result(self) -> str:
        """A return of something of each kind, and of what became of the objects."""
        seen = [f"{v.name}.count" for v in self.scope if v.kind == "counter"][:3]
        seen += [f"{v.name}.total()" for v in self.scope if v.kind == "pair"][:2]
        if not seen:
            return super().result()
        return super().result().replace(".copy(), ", f".copy() + [{', '.join(seen)}], ", 1)


def generate(seed: int, size: int = 10) -> Program:
    """A program from a seed; the same one each time."""
    generator = ObjectGenerator(seed)
    body: list[Node] = [generator.statement(3) for _ in range(size)]
    body.append(Statement(generator.result()))
    return Program("main", PARAMETERS, RETURNS, body, HELPERS, PRELUDE)
