"""How near a text lies to the documents of a concept, against the same worked out word by word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from erukg.backends import OnnxBackend
from erukg.collection import Collection, DocumentRecord, EncodedDocument, Tag, Writer
from erukg.collection.analysis import analyse, terms_of
from erukg.core.generator import Generator
from erukg.subjects import Suggester, Vocabulary
from erukg.subjects.centres import Centres
from erukg.subjects.evidence import LABELS, VOTES

WORDS = "peer network protocol node storage sea ice satellite radar temperature document query index engine".split()
TAGS = ("net", "ice", "find", "rest")
CONCEPTS = ("net", "ice", "rest", "never")
NOTHING = EncodedDocument(np.empty(0, np.int32), np.empty(0, np.float32), ())


@dataclass(frozen=True)
class Doc:
    id: str
    text: str
    tags: tuple[str, ...]


def _drawn(count: int, seed: int) -> list[Doc]:
    rng = np.random.default_rng(seed)
    out = []
    for number in range(count):
        # Some words stand there twice, which changes nothing, and some documents have no tag.
        words = rng.choice(WORDS, rng.integers(3, 9)).tolist()
        tags = tuple(tag for tag in TAGS if rng.random() < 0.4)
        out.append(Doc(f"d{number}", f"{' '.join(words)} number{number}", tags))
    return out


def _collection(
    folder: Path, encoder: OnnxBackend, parts: Sequence[Sequence[Doc]], removed: Sequence[str]
) -> Collection:
    with Writer.create(folder, fingerprint=encoder.term_space, vocab_size=encoder.vocab_size) as writer:
        for part in parts:
            for doc in part:
                writer.add(DocumentRecord(doc.id, doc.text, "", "", tuple(Tag(t, t) for t in doc.tags)), NOTHING)
            writer.commit()
        writer.remove(removed)
        writer.commit()
    return Collection.open(folder)


def _concept(uri: str, label: str) -> int:
    """`find` means the same as `net`."""
    name = "net" if uri == "find" else uri
    return CONCEPTS.index(name) if name in CONCEPTS else -1


def _expected(docs: Sequence[Doc], text: str, concept: str, without: set[str]) -> float:
    words = [set(terms_of(doc.text).tolist()) for doc in docs]
    n = len(docs)

    def direction(terms: set[int]) -> dict[int, float]:
        held = {term: sum(term in each for each in words) for term in terms}
        weights = {t: math.log1p((n - df + 0.5) / (df + 0.5)) for t, df in held.items() if df}
        length = math.sqrt(sum(w * w for w in weights.values()))
        return {t: w / length for t, w in weights.items()}

    centre: dict[int, float] = {}
    for doc, terms in zip(docs, words, strict=True):
        if doc.id not in without and any(_concept(tag, tag) == CONCEPTS.index(concept) for tag in doc.tags):
            for term, weight in direction(terms).items():
                centre[term] = centre.get(term, 0.0) + weight
    if not centre:
        return 0.0
    own = direction(set(terms_of(text).tolist()))
    length = math.sqrt(sum(w * w for w in centre.values()))
    return sum(weight * centre.get(term, 0.0) for term, weight in own.items()) / length


@pytest.mark.parametrize("seed", range(3))
def test_nearness_is_the_cosine_to_the_centre(tiny_encoder: OnnxBackend, tmp_path: Path, seed: int) -> None:
    """Over several segments, without removed documents, and never to the text itself."""
    docs = _drawn(40, seed)
    collection = _collection(tmp_path / "c", tiny_encoder, (docs[:15], docs[15:16], docs[16:]), ("d3", "d20"))
    live = [doc for doc in docs if doc.id not in ("d3", "d20")]
    centres = Centres(collection, _concept, len(CONCEPTS))
    for text, id, without in (
        ("Radar sees ice and the sea; radar again", None, set[str]()),
        (live[5].text.upper(), None, {live[5].id}),
        (live[30].text, live[30].id, {live[30].id}),
        (docs[3].text, None, set[str]()),
    ):
        found = centres.nearness(analyse(text), id, np.arange(len(CONCEPTS)))
        expected = [_expected(live, text, concept, without) for concept in CONCEPTS]
        assert found == pytest.approx(expected, abs=1e-6)
        assert found[CONCEPTS.index("never")] == 0
    assert centres.nearness(analyse("nobody wrote this"), None, np.arange(len(CONCEPTS))).tolist() == [0] * 4


def test_a_concept_of_the_text_alone_has_no_centre(tiny_encoder: OnnxBackend, tmp_path: Path) -> None:
    docs = [Doc("a", "sea ice radar", ("ice",)), Doc("b", "peer network node", ("net",)), Doc("c", "sea peer", ())]
    centres = Centres(_collection(tmp_path / "c", tiny_encoder, (docs,), ()), _concept, len(CONCEPTS))
    ice = np.array([CONCEPTS.index("ice")])
    assert centres.nearness(analyse("sea ice radar"), None, ice) == 0
    assert centres.nearness(analyse("sea ice radars now"), "a", ice)[0] == pytest.approx(0, abs=1e-9)
    assert centres.nearness(analyse("sea ice radars now"), "b", ice)[0] > 0.9


def test_concepts_of_other_matters_are_less_likely(tiny_encoder: OnnxBackend, tmp_path: Path) -> None:
    """The nearest documents have both tags; the others of one are on the text's matter, those of the other are not."""
    both = [Doc(f"b{i}", f"radar sees sea ice today{i}", ("polar", "graph")) for i in range(6)]
    far = [Doc(f"i{i}", f"satellite ice radar temperature other{i}", ("polar",)) for i in range(30)]
    far += [Doc(f"n{i}", f"peer protocol node storage index other{i}", ("graph",)) for i in range(30)]
    collection = _collection(tmp_path / "c", tiny_encoder, (both, far), ())
    suggester = Suggester(Generator(tiny_encoder), Vocabulary.of(["polar", "graph"]), collection)
    evidence = suggester.evidence("radar sees sea today")
    polar, graph = (evidence.concepts.tolist().index(suggester.vocabulary.find(tag)) for tag in ("polar", "graph"))
    near = evidence.column("near")
    assert near[polar] == 0
    assert -2 <= near[graph] < -0.3
    features = evidence.features.copy()
    features[:, (*LABELS, *VOTES).index("near")] = 0
    as_near = suggester.confidence(replace(evidence, features=features))
    assert suggester.confidence(evidence)[graph] < as_near[graph]
    assert suggester.confidence(evidence)[polar] == as_near[polar]


def test_a_name_in_the_text_is_not_outweighed_by_documents_that_are_not_there(
    tiny_encoder: OnnxBackend, tmp_path: Path
) -> None:
    docs = [Doc(f"d{i}", f"radar sees sea ice today{i}", ("polar",)) for i in range(20)]
    collection = _collection(tmp_path / "c", tiny_encoder, (docs,), ())
    suggester = Suggester(Generator(tiny_encoder), Vocabulary.of(["polar", "unused"]), collection)
    evidence = suggester.evidence("radar sees unused sea today")
    unused = evidence.concepts.tolist().index(suggester.vocabulary.find("unused"))
    features = evidence.features.copy()
    column = features[:, (*LABELS, *VOTES).index("near")]
    assert column[unused] == -2
    column[unused] = -1
    as_usual = suggester.confidence(replace(evidence, features=features))[unused]
    assert suggester.confidence(evidence)[unused] == as_usual
    column[unused] = 0
    assert suggester.confidence(replace(evidence, features=features))[unused] > as_usual
