"""The reference of operators: a page for each topic, made from the declarations.

Of each operator that Python can call there is what it does, how it is called, its forms, dtypes, an example that was
run while the page was made, and whether it is native. What a declaration does not say is left out.
"""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import flambeau
from flambeau import Tensor
from flambeau.ops import describe
from flambeau.ops.call_examples import LONGEST, by_types, examples, public_paths
from flambeau.passes.fusible import has_kernel_form
from flambeau.schema import registry
from flambeau.schema.dtype import float32, int64
from flambeau.schema.opdef import Effect, OpDef
from flambeau.tools.docs import FORMS
from website.stage import Pages
from website.topics import LANGUAGE, TOPICS, topic_of

INTRODUCTION = """# Operators

Made from the declarations in `flambeau/ops`, by topic. A function of the package is `flambeau.NAME`, a method `x.NAME`;
those of `linalg`, `fft`, `special` and `nn.functional` are in these modules. *Native* operators become part of kernels
where dtype and device allow; the others run one by one. *In place* is `x.NAME_()`, *out* a tensor for the result.
`help(flambeau.relu)` says the same in a shell.

{count} operators in {overloads} overloads, {native} of them native.

| topic | operators | native |
|---|---|---|
"""
MOST_LINES = 10


def pages(_: Path) -> Pages:
    """`reference/operators/index.md`, and a page for each topic."""
    found: dict[str, list[str]] = {topic: [] for topic in TOPICS}
    for name in registry.names():
        main = main_overloads(name)
        if main:
            found[topic_of([d for d in main if d.schema.concerns_tensors] or main)].append(name)
    names = [name for listed in found.values() for name in listed]
    text = INTRODUCTION.format(
        count=len(names), overloads=sum(len(registry.overloads(n)) for n in registry.names()),
        native=sum(map(is_native, names)),
    )  # fmt: skip
    result: Pages = {}
    for topic, listed in found.items():
        path = re.sub(r"\W+", "-", topic.lower()).strip("-")
        text += f"| [{topic}]({path}.md) | {len(listed)} | {sum(map(is_native, listed)) or ''} |\n"
        make = _language_page if topic == LANGUAGE else _page
        in_order = sorted(listed, key=lambda n: (short(n).startswith("_"), short(n)))
        result[f"reference/operators/{path}.md"] = make(topic, in_order)
    return {"reference/operators/index.md": text, **result}


def main_overloads(name: str) -> list[OpDef]:
    """The overloads of an operator that are no forms of others; of none but such forms, nothing."""
    return [d for d in registry.overloads(name) if d.family not in FORMS]


def is_native(name: str) -> bool:
    """Whether an overload can become part of a kernel."""
    return any(map(has_kernel_form, main_overloads(name)))


def short(name: str) -> str:
    """How a reader knows it: `relu`, `prim::shape`."""
    return name.removeprefix("aten::")


def _page(topic: str, names: Sequence[str]) -> str:
    return f"# {topic}\n" + "".join(map(_entry, names))


def _entry(name: str) -> str:
    main = main_overloads(name)
    shown = public_paths(main)
    heading = short(name).replace("_", "\\_")
    anchor = re.sub(r"\W+", "-", short(name))
    if anchor.startswith("_"):  # Markdown takes what stands between underscores for words to stress
        anchor = re.sub("_+$", lambda last: "-" * len(last[0]), anchor)
    text = f"\n## {heading} {{#{anchor}}}\n\n"
    facts = ['<span class="badge native">native</span>'] if is_native(name) else []
    shown = [p for p in shown if p != "flambeau.trace"]  # the compiler's
    facts += [f"<code>{html.escape(where)}</code>" for where in shown]
    facts += ["in place"] if registry.overloads(name + "_") else []
    facts += ["<code>out=</code>"] if any(d.family == "out" for d in registry.overloads(name)) else []
    facts += ["random"] if any(d.effect is Effect.RANDOM for d in main) else []
    text += f'<p class="facts">{" · ".join(facts)}</p>\n\n' if facts else ""
    text += "".join(f"{plain(d.doc)}\n\n" for d in main if d.doc)
    text += "```python\n" + "\n".join(dict.fromkeys(describe.signature(d.schema) for d in main)) + "\n```\n\n"
    dtypes = describe.dtypes(main)
    text += "".join(f"- {given} give {result}\n" for result, given in dtypes.items()) + ("\n" if dtypes else "")
    return text + example(main)


def plain(text: str) -> str:
    """A docstring as Markdown that shows it as it is."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    parts[::2] = [re.sub(r"([*_\[\]<>#|])", r"\\\1", p) for p in parts[::2]]
    return "".join(parts)


MORE: Final = [
    {float32: ["flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])"] * 4, int64: ["flambeau.tensor([[1, 2], [3, 4]])"] * 4},
    *({float32: [f"flambeau.ones({sizes})"] * 4} for sizes in ("1, 2, 4", "1, 1, 4, 4", "1, 1, 4, 4, 4")),
]
"""Further tensors for calls by types alone: matrices, batches of sequences, of pictures, of volumes."""


def example(definitions: Sequence[OpDef]) -> str:
    """A call with what it gives, as a session; nothing where no call is known that works."""
    is_random = any(d.effect is not Effect.NONE for d in definitions)
    for call in calls(definitions):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = eval(call, {"flambeau": flambeau})
            except Exception:
                continue  # the types alone do not say which sizes go together
        result = repr(value)
        if is_random:
            return f"```pycon\n>>> {call}\n```\n"
        if isinstance(value, Tensor) and (result.count("\n") > MOST_LINES or "..." in result):
            call, result = f"{call}.shape", repr(value.shape)
        if result.count("\n") <= MOST_LINES and " at 0x" not in result and "nan" not in result:
            return f"```pycon\n>>> {call}\n{result}\n```\n"
    return ""


def calls(definitions: Sequence[OpDef]) -> Iterator[str]:
    """Calls that may work, the best first."""
    yield from examples(definitions, LONGEST)
    for path in public_paths(definitions)[:1]:
        for values in MORE:
            for definition in definitions:
                yield from by_types(definition, path, values)


def _language_page(topic: str, names: Sequence[str]) -> str:
    text = f"# {topic}\n\nWhat programs do with numbers, texts, containers and objects, as graphs show it.\n\n"
    text += "| operator | signatures | native | |\n|---|---|---|---|\n"
    for name in names:
        main = main_overloads(name)
        calls = "<br>".join(f"<code>{cell(describe.signature(d.schema))}</code>" for d in main[:4])
        calls += f"<br>and {len(main) - 4} more" if len(main) > 4 else ""
        doc = next((d.doc for d in main if d.doc), "")
        text += f"| `{short(name)}` | {calls} | {'yes' if is_native(name) else ''} | {plain(doc)} |\n"
    return text


def cell(text: str) -> str:
    """Text as HTML in a cell of a table."""
    escaped = html.escape(text, quote=False).replace("|", "&#124;")
    return escaped.replace("*", "&#42;").replace("_", "&#95;").replace("[", "&#91;")

