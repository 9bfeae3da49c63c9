"""The texts of an archive's code records, read once and counted before anything looks into them."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from flambeau.serialize.archive_format import CODE
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.limits import exceeded

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")


def code_texts(container: Container) -> dict[str, str]:
    """The text of each code record, by its name. Raises ArchiveError for one that is broken, and for too much code."""
    records = [name for name in container.names() if name.startswith(CODE) and name.endswith(".py")]
    limits = container.limits
    if sum(map(container.size, records)) > limits.code_bytes:
        raise container.error(f"its code has {exceeded(limits, 'code_bytes')}")
    texts = {record: container.text(record) for record in records}
    if sum(text.count("\n") for text in texts.values()) > limits.lines:
        raise container.error(f"its code has {exceeded(limits, 'lines')}")
    if sum(map(len, texts.values())) > limits.tokens:  # else there cannot be more tokens, and nothing is to be counted
        tokens = (token for text in texts.values() for token in _TOKEN.finditer(text))
        if next(islice(tokens, limits.tokens, None), None) is not None:
            raise container.error(f"its code has {exceeded(limits, 'tokens')}")
    return texts
