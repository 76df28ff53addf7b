"""The spaCy component, with spaCy itself: run by `test_pipelines.py` in an environment that has it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from doors.mistakes import MISTAKES, refused
from erukg import KeyphraseGenerator
from erukg.errors import ErukgError

TEXT = "Rare files are hard to find in unstructured peer-to-peer networks, as flooding does not reach far."
TEXTS = [TEXT, "", "Passive microwave radiometers see sea ice through clouds.", "ice"]


def pipeline(**config: Any) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("erukg", config={"model": "tiny", "absent": False, **config})
    return nlp


def phrases(doc: Doc) -> list[str]:
    return [keyphrase.phrase for keyphrase in doc._.keyphrases]


def test_phrases_and_places_are_those_of_the_generator() -> None:
    doc = pipeline(absent=True, top_k=5)(TEXT)
    found = KeyphraseGenerator.from_pretrained("tiny").generate(TEXT, 5)
    assert found.absent
    assert phrases(doc) == [k.phrase for k in found]
    assert [k.present for k in doc._.keyphrases] == [True] * len(found.present) + [False] * len(found.absent)
    for ours, theirs in zip(found, doc._.keyphrases, strict=True):
        assert (theirs.score, theirs.confidence, theirs.variants) == (ours.score, ours.confidence, ours.variants)
        assert [(span.start_char, span.end_char) for span in theirs.spans] == list(ours.spans)
        assert all(span.label_ == "KEYPHRASE" for span in theirs.spans)
    group = doc.spans["keyphrases"]
    assert {(s.start, s.end) for s in group} == {(s.start, s.end) for k in doc._.keyphrases for s in k.spans}
    assert [s.start for s in group] == sorted(s.start for s in group)


@pytest.mark.parametrize(("alignment", "spans"), [("expand", ["(rare files)"]), ("contract", []), ("strict", [])])
def test_phrases_that_do_not_end_where_a_token_does(alignment: str, spans: list[str]) -> None:
    nlp = pipeline(alignment=alignment, top_k=1)
    nlp.tokenizer = lambda text: Doc(nlp.vocab, words=["(rare files)", "are", "hard"])
    doc = nlp("anything")
    assert phrases(doc) == ["rare files"]
    assert [span.text for span in doc.spans["keyphrases"]] == spans


def test_batches_processes_and_single_docs_agree() -> None:
    nlp = pipeline()
    one_by_one = [phrases(nlp(text)) for text in TEXTS]
    assert [phrases(doc) for doc in nlp.pipe(TEXTS, batch_size=2)] == one_by_one
    assert [phrases(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=1)] == one_by_one


def test_the_pipeline_is_written_and_read(tmp_path: Path) -> None:
    nlp = pipeline(top_k=2, settings={"diversity": 0.3}, spans_key=None)
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    assert loaded.get_pipe("erukg").to_dict() == nlp.get_pipe("erukg").to_dict()
    assert phrases(loaded(TEXT)) == phrases(nlp(TEXT))
    assert "keyphrases" not in loaded(TEXT).spans
    other = pipeline()
    other.from_bytes(nlp.to_bytes())
    assert other.get_pipe("erukg").to_dict() == nlp.get_pipe("erukg").to_dict()
    component = nlp.get_pipe("erukg")
    for damaged in (b"", b"[]", b"7", b'{"topk": 3}', b'{"top_k": "3"}'):
        assert refused(component.from_bytes, damaged)
    assert pickle.loads(pickle.dumps(component.config)) == component.config


def test_docs_are_written_and_read() -> None:
    nlp = pipeline()
    doc = nlp(TEXT)
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert [(k.phrase, [s.text for s in k.spans]) for k in again._.keyphrases] == [
        (k.phrase, [s.text for s in k.spans]) for k in doc._.keyphrases
    ]
    (stored,) = DocBin(store_user_data=True, docs=[doc]).get_docs(nlp.vocab)
    assert phrases(stored) == phrases(doc)
    assert nlp.make_doc(TEXT)._.keyphrases == ()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_at_the_component(mistake: str) -> None:
    component = pipeline().get_pipe("erukg")
    assert "The component takes a Doc" in refused(component, MISTAKES[mistake]())
    assert "The component takes a Doc" in refused(lambda value: list(component.pipe([value])), MISTAKES[mistake]())
    assert list(component.pipe([])) == []


@pytest.mark.parametrize(
    "config",
    [{"top_k": "many"}, {"alignment": "about"}, {"spans_key": 3}, {"settings": {"alfa": 1}}, {"collection": True}],
)
def test_mistakes_in_the_configuration(config: dict[str, Any]) -> None:
    with pytest.raises(ErukgError) as caught:
        pipeline(**config)
    assert "\n" not in str(caught.value)


def test_a_handler_of_errors_is_asked() -> None:
    nlp = pipeline(model="there is none")
    with pytest.raises(ErukgError, match="there is none"):
        list(nlp.pipe(TEXTS))
    seen: list[int] = []
    nlp.set_error_handler(lambda name, component, docs, error: seen.append(len(docs)))
    assert list(nlp.pipe(TEXTS, batch_size=3)) == []
    assert sum(seen) == len(TEXTS)
