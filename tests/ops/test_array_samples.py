"""Every declared sample of reductions, products, joins, rows and layers: rules, references, PyTorch; every declared
refusal.
"""

from __future__ import annotations

import pytest

from flambeau.schema.opdef import ErrorSample, OpDef, Sample
from tests.ops import peer
from tests.together import together

FOUND = peer.definitions()


@together(("definition", "sample"), peer.cases(FOUND))
def test_rules_and_reference(definition: OpDef, sample: Sample) -> None:
    peer.check_sample(definition, sample)


@together(("definition", "sample"), peer.cases(FOUND))
def test_same_as_torch(definition: OpDef, sample: Sample) -> None:
    peer.check_peer(definition, sample)


@together(("definition", "sample"), peer.refusals(FOUND))
def test_refused(definition: OpDef, sample: ErrorSample) -> None:
    peer.check_refusal(definition, sample)


def test_schemas_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    theirs = {str(s) for s in torch._C._jit_get_all_schemas()}
    ours = [d.schema for d in FOUND]
    assert [str(s) for s in ours if str(s) not in theirs] == []
