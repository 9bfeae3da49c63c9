"""Programs of several classes, as people write them: a calculator, a filter, bodies in motion, a cache."""

# ruff: noqa

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Dict, Final, List, Optional, Tuple


class TokenKind(enum.Enum):
    NUM = 0
    OP = 1
    PAREN = 2
    END = 3

@dataclass
class Token:
    kind: TokenKind
    text: str
    value: float = 0.0

@dataclass
class Lexer:
    text: str
    pos: int = 0
    tokens: List[Token] = field(default_factory=list)
    def peek(self) -> str:
        if self.pos < len(self.text):
            return self.text[self.pos]
        return ""
    def number(self) -> Token:
        start = self.pos
        while self.peek().isdigit() or self.peek() == ".":
            self.pos += 1
        part = self.text[start:self.pos]
        return Token(TokenKind.NUM, part, float(part))
    def run(self) -> List[Token]:
        while self.pos < len(self.text):
            c = self.peek()
            if c == " ":
                self.pos += 1
                continue
            if c.isdigit():
                self.tokens.append(self.number())
            elif c in "+-*/":
                self.tokens.append(Token(TokenKind.OP, c))
                self.pos += 1
            else:
                assert c in "()", f"bad character {c}"
                self.tokens.append(Token(TokenKind.PAREN, c))
                self.pos += 1
        self.tokens.append(Token(TokenKind.END, ""))
        return self.tokens

class Calc:
    PREC: Final[int] = 2
    def __init__(self, tokens: List[Token]):
        self.tokens = tokens
        self.values: List[float] = []
        self.ops: List[str] = []
    def prec(self, op: str) -> int:
        return self.PREC if op in ("*", "/") else (1 if op in ("+", "-") else 0)
    def apply(self):
        op = self.ops.pop()
        b, a = self.values.pop(), self.values.pop()
        if op == "+": self.values.append(a + b)
        elif op == "-": self.values.append(a - b)
        elif op == "*": self.values.append(a * b)
        else: self.values.append(a / b)
    def run(self) -> float:
        for t in self.tokens:
            if t.kind is TokenKind.NUM:
                self.values.append(t.value)
            elif t.kind is TokenKind.OP:
                while len(self.ops) > 0 and self.prec(self.ops[-1]) >= self.prec(t.text):
                    self.apply()
                self.ops.append(t.text)
            elif t.text == "(":
                self.ops.append("(")
            elif t.text == ")":
                while self.ops[-1] != "(":
                    self.apply()
                self.ops.pop()
        while self.ops:
            self.apply()
        return self.values[-1]

def calc(text: str):
    tokens = Lexer(text).run()
    return Calc(tokens).run(), len(tokens), tokens[0]

class Kalman:
    def __init__(self, q: float, r: float):
        self.x, self.p = 0.0, 1.0
        self.q = q
        self.r = r
        self.history: List[Tuple[float, float]] = []
    def __call__(self, z: float) -> float:
        self.p += self.q
        k = self.p / (self.p + self.r)
        self.x += k * (z - self.x)
        self.p *= 1 - k
        self.history.append((self.x, self.p))
        return self.x
def kalman(f: Kalman, zs: List[float]):
    return [f(z) for z in zs], f.history[-1]

class Vec3:
    def __init__(self, x: float, y: float, z: float):
        self.x = x; self.y = y; self.z = z
    def __add__(self, o: Vec3) -> Vec3: return Vec3(self.x + o.x, self.y + o.y, self.z + o.z)
    def __sub__(self, o: Vec3) -> Vec3: return Vec3(self.x - o.x, self.y - o.y, self.z - o.z)
    def __mul__(self, k: float) -> Vec3: return Vec3(self.x * k, self.y * k, self.z * k)
    def __rmul__(self, k: float) -> Vec3: return self * k
    def dot(self, o: Vec3) -> float: return self.x * o.x + self.y * o.y + self.z * o.z
    @property
    def norm(self) -> float: return math.sqrt(self.dot(self))
class Body:
    def __init__(self, pos: Vec3, vel: Vec3, mass: float):
        self.pos = pos; self.vel = vel; self.mass = mass
class System:
    def __init__(self, bodies: List[Body]): self.bodies = bodies
    def step(self, dt: float):
        for i, a in enumerate(self.bodies):
            acc = Vec3(0., 0., 0.)
            for j, b in enumerate(self.bodies):
                if i != j:
                    d = b.pos - a.pos
                    acc = acc + d * (b.mass / (d.norm ** 3 + 1e-3))
            a.vel = a.vel + dt * acc
        for a in self.bodies:
            a.pos = a.pos + a.vel * dt
    def energy(self) -> float:
        return sum([0.5 * b.mass * b.vel.dot(b.vel) for b in self.bodies])
def nbody(s: System, n: int):
    for _ in range(n): s.step(0.01)
    return s.energy(), s.bodies[0].pos.x

class LRU:
    def __init__(self, cap: int):
        self.cap = cap
        self.data: Dict[str, int] = {}
        self.order: List[str] = []
        self.hits = 0
    def get(self, k: str) -> Optional[int]:
        if k in self.data:
            self.hits += 1
            self.order.remove(k)
            self.order.append(k)
            return self.data[k]
        return None
    def put(self, k: str, v: int) -> None:
        if k in self.data: self.order.remove(k)
        elif len(self.order) >= self.cap:
            old = self.order.pop(0)
            del self.data[old]
        self.data[k] = v
        self.order.append(k)
    def __len__(self): return len(self.data)
    def __contains__(self, k: str): return k in self.data
    def __getitem__(self, k: str) -> int: return self.data[k]
    def __setitem__(self, k: str, v: int): self.put(k, v)
def lru(n: int):
    c = LRU(3)
    for i in range(n):
        c[chr(97 + i % 5)] = i
        v = c.get("a")
        if v is not None and "b" in c: c.hits += v
    return c.hits, len(c), c.order, c.data


CASES: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (calc, lambda: ("2 * (3 + 4.5) - 6 / 4",)),
    (kalman, lambda: (Kalman(0.1, 0.5), [1.0, 2.0, 1.5, 3.0])),
    (nbody, lambda: (System([Body(Vec3(float(i), 0.0, 1.0), Vec3(0.0, 1.0, 0.0), 1.0 + i) for i in range(3)]), 5)),
    (lru, lambda: (23,)),
]
