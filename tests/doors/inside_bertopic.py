"""The BERTopic representation, with BERTopic itself: run by `test_pipelines.py` in an environment that has it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from bertopic import BERTopic
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer

from doors.mistakes import MISTAKES, refused
from erukg import KeyphraseGenerator
from erukg.integrations.bertopic import KeyphraseRepresentation

TEXTS = ["Drift of sea ice", "Sea ice seen by radar", "Files in peer-to-peer networks", "Peer-to-peer networks"] * 5


@pytest.fixture(scope="module")
def generator() -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained("tiny", False)


def fitted(representation: Any) -> BERTopic:
    vectors = TfidfVectorizer().fit_transform(TEXTS).toarray()
    parts = {"embedding_model": None, "umap_model": PCA(2), "hdbscan_model": KMeans(2, random_state=1)}
    return BERTopic(representation_model=representation, **parts).fit(TEXTS, embeddings=vectors)


def names(model: BERTopic) -> list[list[str]]:
    return sorted([phrase for phrase, _ in words] for words in model.get_topics().values())


def test_topics_are_named_by_phrases_that_others_lack(generator: KeyphraseGenerator) -> None:
    model = fitted(KeyphraseRepresentation(2, kind="present", generator=generator))
    first, second = names(model)
    assert "peer-to-peer networks" in " ".join(first).lower()
    assert "sea ice" in " ".join(second).lower()
    assert all(len(topic) <= 2 for topic in (first, second))
    weights = [weight for words in model.get_topics().values() for _, weight in words]
    assert all(weight > 0 for weight in weights)
    without = fitted(KeyphraseRepresentation(3, generator=generator, exclude=["ice"]))
    assert not any("ice" in phrase.lower().split() for topic in names(without) for phrase in topic)


def test_beside_other_representations_and_written(generator: KeyphraseGenerator, tmp_path: Path) -> None:
    model = fitted({"Main": KeyphraseRepresentation(3, generator=generator), "Plain": []})
    model.save(tmp_path / "model", serialization="pickle")
    assert names(BERTopic.load(tmp_path / "model")) == names(model)
    again = pickle.loads(pickle.dumps(KeyphraseRepresentation(3, generator=generator)))
    assert names(fitted(again)) == names(model)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str) -> None:
    value = MISTAKES[mistake]()
    if mistake == "an int id":
        assert KeyphraseRepresentation(value).top_n_words == 7
    else:
        assert "top_n_words must be a whole number" in refused(KeyphraseRepresentation, value)
    if mistake != "None":
        assert "generator must be" in refused(lambda given: KeyphraseRepresentation(generator=given), value)
    assert "kind must be" in refused(lambda given: KeyphraseRepresentation(kind=given), value)
