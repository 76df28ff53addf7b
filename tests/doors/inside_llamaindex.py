"""The LlamaIndex extractor, with LlamaIndex itself: run by `test_pipelines.py` in an environment that has it."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import pytest
from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import MetadataMode, TextNode

from doors.mistakes import MISTAKES, refused
from erukg import KeyphraseGenerator
from erukg.errors import ErukgError
from erukg.integrations.llamaindex import KeyphraseExtractor

TEXT = "Rare files are hard to find in unstructured peer-to-peer networks, as flooding does not reach far."


def test_nodes_get_the_phrases_of_the_generator() -> None:
    found = KeyphraseGenerator.from_pretrained("tiny").generate(TEXT, 5)
    assert found.absent
    expected = {
        "keyphrases": ", ".join(k.phrase for k in found.present),
        "absent_keyphrases": ", ".join(k.phrase for k in found.absent),
    }
    extractor = KeyphraseExtractor(model="tiny", top_k=5)
    empty = {"keyphrases": "", "absent_keyphrases": ""}
    nodes = [TextNode(text=TEXT, metadata={"machine learning": "deep neural networks"}), TextNode(text="")]
    assert extractor.extract(nodes) == [expected, empty]
    assert asyncio.run(extractor.aextract(nodes)) == [expected, empty]
    (first, _) = extractor(nodes)
    assert first.metadata == {"machine learning": "deep neural networks", **expected}
    assert first.text_template == TextNode(text="").text_template
    assert expected["keyphrases"] in first.get_content(metadata_mode=MetadataMode.EMBED)


def test_in_an_ingestion_pipeline_that_remembers(tmp_path: Path) -> None:
    def pipeline() -> IngestionPipeline:
        return IngestionPipeline(transformations=[KeyphraseExtractor(model="tiny", absent=False, top_k=2)])

    first = pipeline()
    (node,) = first.run(documents=[Document(text=TEXT, doc_id="a")])
    assert node.metadata["keyphrases"].count(",") == 1
    first.persist(str(tmp_path))
    second = pipeline()
    second.load(str(tmp_path))
    (again,) = second.run(documents=[Document(text=TEXT, doc_id="a")])
    assert again.metadata == node.metadata
    assert asyncio.run(pipeline().arun(documents=[Document(text=TEXT)]))[0].metadata == node.metadata


def test_it_is_written_and_read() -> None:
    extractor = KeyphraseExtractor(model="tiny", absent=False, settings={"style": "short"}, threads=1, num_workers=2)
    assert extractor.to_dict()["class_name"] == "ErukgKeyphraseExtractor"
    assert KeyphraseExtractor.from_dict(extractor.to_dict()) == extractor
    assert KeyphraseExtractor.from_json(extractor.to_json()) == extractor
    assert pickle.loads(pickle.dumps(extractor)) == extractor


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str) -> None:
    extractor, value = KeyphraseExtractor(model="tiny", absent=False), MISTAKES[mistake]()
    for call in (extractor, extractor.extract):
        if mistake == "an empty list":
            assert call(value) == []
        else:
            assert "TextNode(text=text)" in refused(call, value)


def test_mistakes_in_the_options() -> None:
    for options in ({"top_k": "many"}, {"topk": 3}, {"model": 3}, {"settings": {"alfa": 1}}):
        with pytest.raises(ErukgError) as caught:
            KeyphraseExtractor(**options)
        assert "\n" not in str(caught.value)
