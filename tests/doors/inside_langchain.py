"""The LangChain transformer, with LangChain itself: run by `test_pipelines.py` in an environment that has it."""

from __future__ import annotations

import asyncio
import pickle

import pytest
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.load import dumpd, load

from doors.mistakes import MISTAKES, refused
from erukg import KeyphraseGenerator
from erukg.errors import ErukgError
from erukg.integrations.langchain import KeyphraseTransformer

TEXT = "Rare files are hard to find in unstructured peer-to-peer networks, as flooding does not reach far."


def test_documents_get_the_phrases_of_the_generator() -> None:
    given = [Document(page_content=TEXT, metadata={"source": "notes"}, id="7"), Document(page_content="")]
    found = KeyphraseGenerator.from_pretrained("tiny").generate(TEXT, 5)
    assert found.absent
    transformer = KeyphraseTransformer(model="tiny", top_k=5)
    assert isinstance(transformer, BaseDocumentTransformer)
    first, second = transformer.transform_documents(given)
    assert first.metadata == {
        "source": "notes",
        "keyphrases": [k.phrase for k in found.present],
        "absent_keyphrases": [k.phrase for k in found.absent],
    }
    assert (first.id, first.page_content) == ("7", TEXT)
    assert given[0].metadata == {"source": "notes"}
    assert second.metadata == {"keyphrases": [], "absent_keyphrases": []}
    assert asyncio.run(transformer.atransform_documents(given)) == [first, second]


def test_it_is_written_and_read() -> None:
    transformer = KeyphraseTransformer(model="tiny", absent=False, settings={"style": "short"}, threads=1)
    stored = dumpd(transformer)
    assert stored["type"] == "constructor"
    assert load(stored, allowed_objects=[KeyphraseTransformer], valid_namespaces=["erukg"]) == transformer
    assert pickle.loads(pickle.dumps(transformer)) == transformer


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str) -> None:
    transformer, value = KeyphraseTransformer(model="tiny", absent=False), MISTAKES[mistake]()
    if mistake == "an empty list":
        assert transformer.transform_documents(value) == []
    else:
        assert "Document(page_content=text)" in refused(transformer.transform_documents, value)


def test_mistakes_in_the_options() -> None:
    for options in ({"top_k": "many"}, {"topk": 3}, {"model": 3}, {"settings": {"alfa": 1}}):
        with pytest.raises(ErukgError) as caught:
            KeyphraseTransformer(**options)
        assert "\n" not in str(caught.value)
