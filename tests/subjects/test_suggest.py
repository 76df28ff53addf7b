"""Suggestions: labels and tagged neighbours, confidence, votes, new terms; with the real model where words matter."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import erukg.subjects
from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.collection import Collection, DocumentRecord, EncodedDocument, Tag, Writer
from erukg.collection.analysis import terms_of
from erukg.errors import InputError, ModelError
from erukg.subjects import Concept, SubjectRanking, Suggester, Vocabulary, vocabulary_of_tags

STEMI = (
    "Primary percutaneous coronary intervention in patients with STEMI\n"
    "ST-segment elevation myocardial infarction (STEMI) is a leading cause of death. In 412 patients an intervention "
    "took place within twelve hours. Cardiogenic shock predicted mortality. Hospitals with a system in place for early "
    "activation had a lower mortality."
)
HEADINGS = [
    "stem",
    "staves",
    "Treaty of Stolbovo",
    "place",
    "Myocardial infarction",
    "Shock, Cardiogenic",
    "mortality",
    "fells (landforms)",
]
TAGS = {
    "network": "peer network protocol node storage",
    "ice": "sea ice satellite radar temperature",
    "search": "document retrieval query index engine",
}


@pytest.fixture(scope="module")
def generator() -> KeyphraseGenerator:
    """The model and the collection that come with the package."""
    return KeyphraseGenerator.from_pretrained(language="en")


@pytest.fixture(scope="module")
def tagged(tiny_encoder: OnnxBackend, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty documents, each with the words of one of three topics and its tag."""
    folder = tmp_path_factory.mktemp("tagged") / "collection"
    nothing = EncodedDocument(np.empty(0, np.int32), np.empty(0, np.float32), ())
    rng = np.random.default_rng(0)
    with Writer.create(folder, fingerprint=tiny_encoder.term_space, vocab_size=tiny_encoder.vocab_size) as writer:
        for number in range(60):
            tag = list(TAGS)[number % 3]
            words = rng.choice(TAGS[tag].split(), 4, replace=False)
            text = f"{' '.join(words)}\nWe show {words[0]} with {words[1]} in model {number}."
            tags = (Tag(f"t:{tag}", tag), Tag("t:all", "everything"))
            writer.add(DocumentRecord(f"d{number}", text, "", f"Title {number}", tags), nothing)
        writer.commit()
    return folder


def test_words_are_never_taken_for_pieces_of_others(generator: KeyphraseGenerator) -> None:
    found = generator.suggest(STEMI, HEADINGS, 30)
    labels = [each.label for each in found]
    assert labels[0] == "Myocardial infarction"
    assert set(labels) == {"Myocardial infarction", "Shock, Cardiogenic", "mortality"}
    for each in found:
        for match in each.matches:
            assert STEMI[match.start : match.end].lower() in {"myocardial infarction", "cardiogenic shock", "mortality"}


def test_rank_puts_what_is_in_the_text_first(generator: KeyphraseGenerator) -> None:
    ranked = generator.rank(STEMI, HEADINGS)
    assert {each.phrase for each in ranked[:3]} == {"Myocardial infarction", "Shock, Cardiogenic", "mortality"}
    assert all(each.score == 0 for each in ranked if each.phrase in ("stem", "staves", "Treaty of Stolbovo"))


def test_rank_puts_whole_matches_before_parts(generator: KeyphraseGenerator) -> None:
    """Each of the others shares words with the text, some of them heavy ones, and none stands there as a whole."""
    whole = ["mortality", "Myocardial infarction", "Shock, Cardiogenic"]
    parts = ["Myocardial ischaemia", "Shock, Septic", "infarction of the brain", "mortality tables"]
    ranked = [each.phrase for each in generator.rank(STEMI, [*parts, *whole])]
    assert sorted(ranked[:3]) == sorted(whole)
    assert {each.label for each in generator.suggest(STEMI, [*parts, *whole], 30)} == set(whole)


def test_the_text_is_read_and_searched_once_for_new_terms(
    generator: KeyphraseGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    background = generator.background
    assert background is not None
    suggester = generator.suggester(HEADINGS)
    plain = suggester.suggest(STEMI, 5)
    counted: list[str] = []
    encode, search = type(generator.backend).encode, Collection.neighbourhood

    def counting(name: str, function: Any) -> Any:
        def call(*given: Any, **options: Any) -> Any:
            counted.append(name)
            return function(*given, **options)

        return call

    monkeypatch.setattr(type(generator.backend), "encode", counting("encode", encode))
    monkeypatch.setattr(Collection, "neighbourhood", counting("search", search))
    found = suggester.suggest(STEMI, 5, new_terms=3)
    assert sorted(counted) == ["encode", "search"]
    assert found.suggestions == plain.suggestions
    assert len(found.new_terms) == 3
    assert list(found.new_terms) == list(suggester.suggest(STEMI, 5, new_terms=10).new_terms)[:3]


def test_documents_that_name_a_concept_are_asked_apart_from_those_that_do_not(
    tiny_encoder: OnnxBackend, tmp_path: Path
) -> None:
    """All documents are alike; whoever names radar is given it, and all are given what none of them names."""
    nothing = EncodedDocument(np.empty(0, np.int32), np.empty(0, np.float32), ())
    with Writer.create(
        tmp_path / "c", fingerprint=tiny_encoder.term_space, vocab_size=tiny_encoder.vocab_size
    ) as writer:
        for number in range(40):
            named = number % 4 == 0
            tags = (Tag("ice", "ice"), *((Tag("radar", "radar"),) if named else ()))
            text = f"Sea temperature {number}\nWe see the sea with a {'radar' if named else 'ship'} and model {number}."
            writer.add(DocumentRecord(f"d{number}", text, "", "", tags), nothing)
        writer.commit()
    collection = Collection.open(tmp_path / "c")
    suggester = Suggester(KeyphraseGenerator(tiny_encoder), Vocabulary.of(["ice", "radar"]), collection)
    share = {}
    for word in ("radar", "ship"):
        evidence = suggester.evidence(f"Sea temperature\nWe see the sea with a {word} and model .")
        share[word] = dict(zip(evidence.concepts.tolist(), evidence.column("likewise").tolist(), strict=True))
    ice, radar = suggester.vocabulary.find("ice"), suggester.vocabulary.find("radar")
    assert share["radar"][radar] > 0.6
    assert share["ship"][radar] < 0.05
    assert share["ship"][ice] > 0.8
    assert share["radar"][ice] > 0.8
    terms = terms_of("radar sea nothing")
    held = collection.holding(collection.documents(), np.unique(terms))
    order = np.argsort(np.unique(terms, return_index=True)[1])
    assert held[order].sum(1).tolist() == [10, 40, 0]


def test_a_verb_is_no_noun(generator: KeyphraseGenerator) -> None:
    labels = [each.label for each in generator.suggest("Prices fell as the fells were crowded.", ["fells"], 5)]
    assert labels == ["fells"]
    assert not generator.suggest("Depression scores fell after eight weeks.", ["fells (landforms)"], 5).suggestions


def test_new_terms_are_what_the_vocabulary_lacks(generator: KeyphraseGenerator) -> None:
    text = "Twisted bilayer graphene\nWe study superconductivity in twisted bilayer graphene with flat bands."
    vocabulary = Vocabulary.of(["superconductivity", "properties of flat bands"])
    terms = [term.phrase.lower() for term in generator.suggest(text, vocabulary, 5, new_terms=5).new_terms]
    assert "twisted bilayer graphene" in terms
    assert "superconductivity" not in terms
    assert "flat bands" not in terms
    assert generator.suggest(text, vocabulary, 5).new_terms == ()


def test_neighbours_vote_for_their_tags(tiny_encoder: OnnxBackend, tagged: Path) -> None:
    suggester = Suggester(KeyphraseGenerator(tiny_encoder), None, Collection.open(tagged))
    found = suggester.suggest("Radar of the sea\nA satellite with radar sees the temperature of the sea.", 5)
    assert [each.uri for each in found][:2] in (["t:all", "t:ice"], ["t:ice", "t:all"])
    ice = next(each for each in found if each.uri == "t:ice")
    assert ice.label == "ice"
    assert ice.votes
    assert all(int(vote.id[1:]) % 3 == 1 for vote in ice.votes)
    assert ice.votes[0].title.startswith("Title ")
    assert ice.why["votes of similar documents"] > 0.5
    assert ice.why["how often it is used"] == 20
    assert ice.why["likeness to its documents"] == 1


def test_a_document_does_not_vote_for_itself(tiny_encoder: OnnxBackend, tagged: Path) -> None:
    suggester = Suggester(KeyphraseGenerator(tiny_encoder), None, Collection.open(tagged))
    text = "satellite sea"
    sources = {vote.id for each in suggester.suggest(text, 5) for vote in each.votes}
    nearest = next(iter(sources))
    again = {vote.id for each in suggester.suggest(text, 5, id=nearest) for vote in each.votes}
    assert nearest not in again


def test_a_tag_means_the_concept_of_its_uri_or_label(tiny_encoder: OnnxBackend, tagged: Path) -> None:
    vocabulary = Vocabulary.of([Concept("t:ice", "Frozen water"), Concept("x:search", "Search")])
    suggester = Suggester(KeyphraseGenerator(tiny_encoder), vocabulary, Collection.open(tagged))
    assert suggester.suggest("sea satellite radar", 1)[0].uri == "t:ice"
    assert suggester.suggest("document query index engine", 1)[0].uri == "x:search"


def test_a_small_archive_does_not_silence_labels(tiny_encoder: OnnxBackend, tagged: Path) -> None:
    generator = KeyphraseGenerator(tiny_encoder)
    vocabulary = Vocabulary.of(["file search", "t:ice"])
    text = "File search\nA file search is fast; our file search is exact."
    by_labels = generator.suggest(text, vocabulary, 3)[0]
    both = generator.suggest(text, vocabulary, 3, tagged=tagged)[0]
    assert by_labels.label == both.label == "file search"
    assert both.confidence > 0.8 * by_labels.confidence


def test_what_to_go_by_can_be_chosen(tiny_encoder: OnnxBackend, tagged: Path) -> None:
    generator, opened = KeyphraseGenerator(tiny_encoder), Collection.open(tagged)
    vocabulary = vocabulary_of_tags(opened)
    text = "The network\nA network of sea ice."
    by_votes = Suggester(generator, vocabulary, opened, uses="neighbours").suggest(text, 5)
    assert not any(each.matches for each in by_votes)
    by_labels = Suggester(generator, vocabulary, opened, uses="labels").suggest(text, 5)
    assert {each.uri for each in by_labels} == {"t:network", "t:ice"}
    assert not any(each.votes for each in by_labels)
    with pytest.raises(InputError, match="carry tags"):
        Suggester(generator, vocabulary, uses="neighbours")


def test_a_stream_answers_every_item(generator: KeyphraseGenerator) -> None:
    suggester = generator.suggester(HEADINGS)
    answers = list(suggester.stream([("a", STEMI), 7, {"id": "b", "title": "Mortality"}], 3))
    assert [answer.error is None for answer in answers] == [True, False, True]
    assert answers[0].unwrap() == suggester.suggest(("a", STEMI), 3)
    assert json.loads(answers[0].unwrap().to_json())["id"] == "a"
    assert generator.suggester(list(HEADINGS)) is suggester


@pytest.mark.parametrize("text", ["", "   ", "7", "???", "a", "\n\n", "word " * 3000])
def test_any_text_will_do(generator: KeyphraseGenerator, text: str) -> None:
    found = generator.suggest(text, HEADINGS, 5, new_terms=2)
    assert all(0 <= each.confidence <= 1 for each in found)


def test_confidence_can_be_asked_for(generator: KeyphraseGenerator) -> None:
    every = generator.suggest(STEMI, HEADINGS, 10)
    sure = generator.suggest(STEMI, HEADINGS, 10, min_confidence=0.5)
    assert list(sure) == [each for each in every if each.confidence >= 0.5]
    assert 0 < len(sure) < len(every)
    with pytest.raises(InputError, match="from 0 to 1"):
        generator.suggest(STEMI, HEADINGS, min_confidence=2)
    with pytest.raises(InputError, match="nothing to suggest from"):
        generator.suggest(STEMI)


def test_a_collection_without_tags_is_refused(tiny_encoder: OnnxBackend, tiny_collection: Path) -> None:
    with pytest.raises(InputError, match="carries a tag"):
        Suggester(KeyphraseGenerator(tiny_encoder), None, Collection.open(tiny_collection))


def test_a_damaged_ranking_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no learned ranking"):
        SubjectRanking.load(tmp_path)
    shipped = Path(erukg.subjects.__path__[0]).parent / "assets" / "subjects" / "labels"
    for name in ("ranking.json", "ranking.safetensors"):
        (tmp_path / name).write_bytes((shipped / name).read_bytes())
    loaded = SubjectRanking.load(tmp_path)
    assert loaded.fingerprint == SubjectRanking.load(shipped).fingerprint
    assert loaded.fingerprint != replace(loaded, vocabulary="another").fingerprint
    config = json.loads((tmp_path / "ranking.json").read_text())
    (tmp_path / "ranking.json").write_text(json.dumps({**config, "features": ["unheard"]}))
    with pytest.raises(ModelError, match="other evidence"):
        SubjectRanking.load(tmp_path)
    (tmp_path / "ranking.json").write_text(json.dumps({**config, "features": config["features"][:3]}))
    with pytest.raises(ModelError):
        SubjectRanking.load(tmp_path)
    (tmp_path / "ranking.safetensors").write_bytes(b"no")
    with pytest.raises(ModelError, match="cannot be read"):
        SubjectRanking.load(tmp_path)


def test_suggest_can_be_timed_beside_generate(tiny_encoder: OnnxBackend) -> None:
    from erukg.research.benchmark.suggest_timing import compare

    generator = KeyphraseGenerator(tiny_encoder)
    found = compare(generator, generator.suggester(["sea ice"]), ["Radar of sea ice.", "A file search engine."], 2)
    assert found["documents"] == 2
    assert found["ratio"] > 0
