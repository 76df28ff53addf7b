"""The Haystack component, with Haystack itself: run by `test_pipelines.py` in an environment that has it."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import haystack
import pytest
from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from doors.mistakes import MISTAKES, refused
from erukg import KeyphraseGenerator
from erukg.errors import ErukgError
from erukg.integrations.haystack import KeyphraseExtractor

TEXT = "Rare files are hard to find in unstructured peer-to-peer networks, as flooding does not reach far."


def pipeline(extractor: KeyphraseExtractor) -> Any:
    # Haystack 3 has one class for both ways to run, Haystack 2 one for each.
    made = getattr(haystack, "AsyncPipeline", Pipeline)()
    made.add_component("keyphrases", extractor)
    return made


def documents() -> list[Document]:
    return [Document(content=TEXT, meta={"page": 3}), Document(content=None), Document(content="")]


def test_documents_get_the_phrases_of_the_generator() -> None:
    given = documents()
    found = KeyphraseGenerator.from_pretrained("tiny").generate(TEXT, 5)
    assert found.absent
    first, second, third = KeyphraseExtractor(model="tiny", top_k=5).run(given)["documents"]
    assert first.meta == {
        "page": 3,
        "keyphrases": [k.phrase for k in found.present],
        "absent_keyphrases": [k.phrase for k in found.absent],
    }
    assert first.id == given[0].id
    assert given[0].meta == {"page": 3}
    assert second.meta == {}
    assert third.meta == {"keyphrases": [], "absent_keyphrases": []}


def test_in_an_indexing_pipeline() -> None:
    store = InMemoryDocumentStore()
    indexing = Pipeline()
    indexing.add_component("keyphrases", KeyphraseExtractor(model="tiny", absent=False, top_k=2))
    indexing.add_component("writer", DocumentWriter(store))
    indexing.connect("keyphrases.documents", "writer.documents")
    indexing.run({"keyphrases": {"documents": [Document(content=TEXT)]}})
    (stored,) = store.filter_documents()
    assert len(stored.meta["keyphrases"]) == 2


def test_a_pipeline_is_written_and_read_and_runs_asynchronously() -> None:
    extractor = KeyphraseExtractor("tiny", False, top_k=2, settings={"style": "short"}, threads=1)
    assert KeyphraseExtractor.from_dict(extractor.to_dict()).config == extractor.config
    before = pipeline(extractor)
    guarded = "allowed_modules" in inspect.signature(Pipeline.loads).parameters
    allowed = {"allowed_modules": ["erukg.integrations.haystack"]} if guarded else {}
    after = type(before).loads(before.dumps(), **allowed)
    expected = {"keyphrases": extractor.run(documents())}
    assert before.run({"keyphrases": {"documents": documents()}}) == expected
    assert asyncio.run(after.run_async({"keyphrases": {"documents": documents()}})) == expected


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str) -> None:
    extractor, value = KeyphraseExtractor("tiny", False), MISTAKES[mistake]()
    if mistake == "an empty list":
        assert extractor.run(value) == {"documents": []}
    else:
        assert "Document(content=text)" in refused(extractor.run, value)


def test_mistakes_in_the_options() -> None:
    for options in ({"top_k": "many"}, {"model": 3}, {"settings": {"alfa": 1}}):
        with pytest.raises(ErukgError) as caught:
            KeyphraseExtractor(**options)
        assert "\n" not in str(caught.value)
    with pytest.raises(ErukgError, match="there is none"):
        KeyphraseExtractor("there is none").warm_up()
