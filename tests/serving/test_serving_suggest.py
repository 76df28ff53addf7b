"""`/v1/suggest` answers what the suggester finds, for the vocabularies that the service was started with."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build
from erukg.errors import ErukgError
from erukg.serving.limits import ServiceLimits
from erukg.serving.logs import Log
from erukg.serving.subjects import SubjectsByName, load_subjects
from erukg.subjects import vocabulary
from serving.serving_tools import ask


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_one_document_and_many_give_what_the_suggester_gives(
    generator: KeyphraseGenerator, subjects: SubjectsByName, text: str
) -> None:
    suggester = subjects["engines"].suggester
    expected = plain(suggester.suggest(text, 3, new_terms=2).to_dict())
    assert [found["label"] for found in expected["suggestions"]]
    body = {"text": text, "top_k": 3, "new_terms": 2}
    one = ask(generator, "/v1/suggest", body, subjects=subjects).json()
    assert one["results"] == [expected]
    assert (one["vocabulary"], one["model"], one["collection"]) == ("engines", "tiny", {"documents": 120})
    other = ask(generator, "/v1/suggest", {**body, "vocabulary": "words"}, subjects=subjects).json()
    assert other["results"] == [plain(subjects["words"].suggester.suggest(text, 3, new_terms=2).to_dict())]
    assert other["results"] != one["results"]
    documents = [{"id": f"d{i}", "text": f"{text} {i} archive storage"} for i in range(5)] + [{"id": "bad", "txt": ""}]
    asked = {"documents": documents, "min_confidence": 0.01}
    *many, bad = ask(generator, "/v1/suggest", asked, subjects=subjects, threads=2).json()["results"]
    assert many == [
        plain(suggester.suggest(d["text"], min_confidence=0.01, id=d["id"]).to_dict()) for d in documents[:-1]
    ]
    sentence = "The document has no field \"txt\"; did you mean 'text'?"
    assert bad == {"id": "bad", "error": sentence, "code": "invalid_request"}


def test_spans_of_matches_count_code_points(generator: KeyphraseGenerator, subjects: SubjectsByName) -> None:
    text = "😀 and 😀, the search engines\r\n\r\nand 😀😀 graph data"
    (found,) = ask(generator, "/v1/suggest", {"text": text}, subjects=subjects).json()["results"]
    stand = {(one["label"], text[m["start"] : m["end"]]) for one in found["suggestions"] for m in one["matches"]}
    assert stand == {("Search engines", "search engines"), ("Graph data", "graph data")}


def test_what_is_wrong_is_said(generator: KeyphraseGenerator, subjects: SubjectsByName, text: str) -> None:
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"text": text, "vocabulary": "engine"}, 422, "'vocabulary' cannot be \"engine\"; did you mean 'engines'?"),
        ({"text": text, "min_confidence": 2}, 422, "'min_confidence' must be a number from 0 to 1, not 2."),
        ({"text": text, "new_terms": -1}, 422, "'new_terms' must be a whole number from 0 to 50, not -1."),
        ({"text": text, "top_k": 51}, 422, "'top_k' must be a whole number from 0 to 50, not 51."),
        ({"text": "x" * 1001}, 413, "'text' is longer than 1000 characters; shorten or split it."),
        ({}, 422, "The body must have either 'text' or 'documents'; give one of them."),
        ({"text": text, "settings": {}}, 422, 'The body has no field "settings"; '),
    ]
    for body, status, sentence in cases:
        limits = ServiceLimits(top_k=50, characters=1000)
        response = ask(generator, "/v1/suggest", body, subjects=subjects, limits=limits)
        assert response.status_code == status, response.text
        assert response.json()["detail"].startswith(sentence)
    without = ask(generator, "/v1/suggest", {"text": text})
    assert without.status_code == 404
    assert "start it with --vocabulary" in without.json()["detail"]


def test_info_lists_the_vocabularies(generator: KeyphraseGenerator, subjects: SubjectsByName) -> None:
    assert ask(generator, "/v1/info").json()["vocabularies"] == []
    listed = ask(generator, "/v1/info", subjects=subjects).json()["vocabularies"]
    about = {"languages": ["en"], "tagged": 0, "learned": False}
    assert listed == [{"name": "engines", "concepts": 4, **about}, {"name": "words", "concepts": 3, **about}]


def test_vocabularies_have_names(
    generator: KeyphraseGenerator, vocabulary_file: Path, tiny_collection: Path, tmp_path: Path
) -> None:
    file = tmp_path / "My words (2).tsv"
    file.write_text(vocabulary_file.read_text())
    assert list(load_subjects(generator, [str(file), f"b={file}"])) == ["My-words-2", "b"]
    for given, words in (
        (([f"a={file}", f"a={vocabulary_file}"],), "Two vocabularies are called 'a'"),
        (([f"a={tmp_path / 'none.tsv'}"],), "none.tsv"),
        (([str(file)], str(tmp_path)), "holds no collection"),
        (([str(file)], str(tiny_collection)), "with --tags FIELD"),
        (((), None, [str(tmp_path)]), "of no use alone"),
        (([f"abc={file}"], None, [f"abd={tmp_path}"]), "did you mean 'abc'"),
    ):
        with pytest.raises(ErukgError) as error:
            load_subjects(generator, *given)
        assert words in str(error.value)


@pytest.mark.filterwarnings("default::erukg.errors.ErukgWarning")
def test_a_vocabulary_that_takes_long_to_read_is_in_the_log(
    generator: KeyphraseGenerator,
    vocabulary_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(vocabulary, "_LONG", 0.0)
    with warnings.catch_warnings():
        log = Log()
        log.capture_warnings()
        load_subjects(generator, [f"a={vocabulary_file}"])
        log.close()
    (line,) = map(json.loads, capfd.readouterr().err.splitlines())
    assert line["event"] == "warning"
    assert f"build it once with 'erukg vocabulary build {vocabulary_file} -o FOLDER'" in line["message"]


@pytest.fixture(scope="module")
def tagged(tiny_encoder: OnnxBackend, tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus, its documents tagged by the first word of their titles."""
    folder = tmp_path_factory.mktemp("collections") / "tagged"
    rows = map(json.loads, tiny_corpus.read_text().splitlines())
    source = folder.with_suffix(".jsonl")
    source.write_text("".join(json.dumps({**row, "subjects": [row["title"].split()[0]]}) + "\n" for row in rows))
    build(folder, [source], ModelAnalyser(tiny_encoder), tags="subjects")
    return folder


def test_the_tags_of_a_collection_are_suggested(generator: KeyphraseGenerator, tagged: Path, text: str) -> None:
    subjects = load_subjects(generator, tagged=str(tagged))
    (about,) = ask(generator, "/v1/info", subjects=subjects).json()["vocabularies"]
    assert (about["name"], about["tagged"], about["learned"]) == ("tags", 120, False)
    (found,) = ask(generator, "/v1/suggest", {"text": text}, subjects=subjects).json()["results"]
    assert found["suggestions"]
    votes = [vote for one in found["suggestions"] for vote in one["votes"]]
    titles = {json.loads(line)["title"] for line in tagged.with_suffix(".jsonl").read_text().splitlines()}
    assert votes
    assert {vote["title"] for vote in votes} <= titles


def test_a_ranking_goes_with_its_vocabulary(
    generator: KeyphraseGenerator, tagged: Path, vocabulary_file: Path, tmp_path: Path
) -> None:
    own = load_subjects(generator, [str(vocabulary_file)], str(tagged))["vocabulary"].suggester.ranking
    assert own is not None
    (tmp_path / "ranking").mkdir()
    own.save(tmp_path / "ranking")
    given = [f"a={vocabulary_file}", f"b={vocabulary_file}"]
    for ranking, learned in ((f"a={tmp_path / 'ranking'}", [True, False]), (str(tmp_path / "ranking"), [True, True])):
        found = load_subjects(generator, given, str(tagged), [ranking])
        assert [each.learned for each in found.values()] == learned
