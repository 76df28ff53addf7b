"""A ranking learned from a tagged archive: it knows which labels to trust, and is the same every time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.cli import app
from erukg.collection import Collection, DocumentRecord, EncodedDocument, Tag, Writer
from erukg.core.document import Document
from erukg.errors import InputError, ModelError, TrainingError
from erukg.subjects import SubjectRanking, Suggester, Vocabulary, vocabulary_of_tags
from erukg.subjects.evidence import Evidence, Gatherer
from erukg.subjects.phrase_statistics import PhraseStatistics
from erukg.training.suggest import kept
from erukg.training.suggest.fitting import SubjectFit, fit_archive
from erukg.training.suggest.run import SuggestOptions, train_suggest
from erukg.training.suggest.samples import Lesson, read_lessons, tagged_texts
from erukg.training.suggest.titles import TitledText, fit_labels, read_titles

pytest.importorskip("lightgbm")

TOPICS = {
    "peer network": "peer node protocol storage",
    "cryosphere": "sea ice satellite radar temperature",
    "retrieval": "document query index engine",
}
FIT = SubjectFit(trees=20, leaves=7, least=5, width=16)


def _rows(count: int) -> list[dict[str, object]]:
    rng = np.random.default_rng(3)
    rows: list[dict[str, object]] = []
    for number in range(count):
        tag = list(TOPICS)[number % 3]
        words = rng.choice(TOPICS[tag].split(), 3, replace=False)
        # "model" stands everywhere and is never a subject here; "fast" is one whenever it is named.
        more = " , fast" if number % 4 == 0 else ""
        abstract = f"We show {words[0]} with {words[1]} and {words[2]} in model {number}{more}."
        tags = [tag, *(["fast"] if number % 4 == 0 else [])]
        rows.append({"id": f"d{number}", "title": f"{words[0]} of {words[1]}", "abstract": abstract, "tags": tags})
    return rows


@pytest.fixture(scope="module")
def archive(tiny_encoder: OnnxBackend, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("archive")
    nothing = EncodedDocument(np.empty(0, np.int32), np.empty(0, np.float32), ())
    collection = folder / "tagged"
    with Writer.create(collection, fingerprint=tiny_encoder.term_space, vocab_size=tiny_encoder.vocab_size) as writer:
        for row in _rows(150):
            tags = tuple(Tag(tag, tag) for tag in (*row["tags"], *(["model"] if row["id"] == "d0" else [])))  # type: ignore[misc]
            writer.add(DocumentRecord(str(row["id"]), f"{row['title']}\n{row['abstract']}", "", "", tags), nothing)
        writer.commit()
    documents = folder / "documents.jsonl"
    documents.write_text("".join(json.dumps(row) + "\n" for row in _rows(150)) + "{broken\n")
    return collection, documents


@pytest.fixture(scope="module")
def lessons(archive: tuple[Path, Path], tiny_encoder: OnnxBackend) -> tuple[Suggester, list[Lesson]]:
    from erukg.io import read_documents

    tagged = Collection.open(archive[0])
    suggester = Suggester(KeyphraseGenerator(tiny_encoder), None, tagged)
    from erukg.subjects.votes import TaggedDocuments

    known = TaggedDocuments(tagged, suggester.vocabulary)
    texts, bad = tagged_texts(read_documents([archive[1]]), tagged, known, 0)
    assert bad == 1
    assert len(texts) == 150
    return suggester, list(read_lessons(suggester, texts, 120, 1))


def test_the_archive_teaches_which_labels_to_trust(lessons: tuple[Suggester, list[Lesson]], tmp_path: Path) -> None:
    suggester, found = lessons
    vocabulary = suggester.vocabulary
    assert sum(lesson.features is not None for lesson in found) == 120
    ranking = fit_archive(found, vocabulary.fingerprint, len(vocabulary), FIT)
    assert ranking.archive is not None
    known = ranking.archive.statistics
    fast, model = vocabulary.find("fast"), vocabulary.find("model")
    assert known.right[fast] == known.occurs[fast] == known.used[fast]
    assert known.occurs[model] == 150
    learned = Suggester(suggester.generator, vocabulary, suggester.tagged, ranking)
    given = {each.uri: each.confidence for each in learned.suggest("A new text\nradar and sea in model 7 , fast .", 5)}
    assert given["fast"] > 0.5
    assert given["cryosphere"] > 0.5
    assert given.get("model", 0) < 0.2
    ranking.save(tmp_path)
    again = SubjectRanking.load(tmp_path)
    text = "satellite and sea ice in model 9"
    loaded = Suggester(suggester.generator, vocabulary, suggester.tagged, again)
    assert loaded.suggest(text, 5) == learned.suggest(text, 5)
    with pytest.raises(InputError, match="another vocabulary"):
        Suggester(suggester.generator, Vocabulary.of(["fast"]), suggester.tagged, again)


def test_a_damaged_profile_is_refused(lessons: tuple[Suggester, list[Lesson]], tmp_path: Path) -> None:
    suggester, found = lessons
    ranking = fit_archive(found, "x", len(suggester.vocabulary), FIT)
    assert ranking.archive is not None
    profiles = replace(ranking.archive.profiles, rarity=ranking.archive.profiles.rarity[1:])
    replace(ranking, archive=ranking.archive._replace(profiles=profiles)).save(tmp_path)
    with pytest.raises(ModelError, match="do not belong together"):
        SubjectRanking.load(tmp_path)


def test_too_few_documents_teach_nothing(lessons: tuple[Suggester, list[Lesson]]) -> None:
    with pytest.raises(TrainingError, match="at least 50"):
        fit_archive(lessons[1][:10], "x", 10, FIT)


def test_hidden_titles_teach_labels_without_any_tag(lessons: tuple[Suggester, list[Lesson]]) -> None:
    vocabulary = Vocabulary.of(["radar", "sea ice", "model"])
    rng = np.random.default_rng(5)
    texts = []
    for number in range(400):
        title = ("radar", "sea ice")[number % 2]
        other = "sea ice" if title == "radar" else "radar"
        words = ["model"] * 2 + [title] * 3 + ([other] if rng.random() < 0.5 else [])
        texts.append(TitledText(f"t{number}", "We show " + " and then ".join(words) + " .", f"On {title}"))
    taught = read_titles(texts, vocabulary, Gatherer(vocabulary, PhraseStatistics(None, vocabulary), None))
    assert taught.documents == 400
    assert taught.right.sum() == 400
    ranking = fit_labels([taught, taught], "titles")
    assert ranking.archive is None
    assert ranking.facts == {"learned_from": "titles", "documents": 800}
    assert not {"title", "title_alone"} & set(ranking.features)
    ranking.check("any", 1)
    gather = Gatherer(vocabulary, PhraseStatistics(None, vocabulary), None)
    evidence = gather(Document.parse("We show model and sea ice , sea ice , sea ice , radar and model ."), None)
    odds = dict(zip((vocabulary.uri(c) for c in evidence.concepts.tolist()), ranking.log_odds(evidence), strict=True))
    assert odds["sea ice"] > odds["radar"]
    assert odds["sea ice"] > odds["model"]


def test_training_goes_on_where_it_was_killed(
    archive: tuple[Path, Path], tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection, documents = archive
    monkeypatch.setattr(kept, "_PART", 40)
    read = 0

    class Killed(BaseException):
        pass

    def counted(done: int, of: int) -> None:
        nonlocal read
        read = done
        if done == 100 and stop:
            raise Killed

    def train(out: Path) -> bytes:
        options = SuggestOptions(fit=SubjectFit(trees=5))
        train_suggest(
            [documents], out, collection=collection, model=tiny_model, options=options, threads=1, on_progress=counted
        )
        return (out / "ranking.safetensors").read_bytes()

    stop = True
    with pytest.raises(Killed):
        train(tmp_path / "one")
    parts = sorted((tmp_path / ".one.lessons").iterdir())
    assert len(parts) == 2
    # The last part was being written when the machine went down.
    parts[1].write_bytes(parts[1].read_bytes()[:-50])
    asked: list[str] = []
    evidence = Suggester.evidence

    def counting(self: Suggester, item: Any) -> Evidence:
        asked.append(item[0])
        return evidence(self, item)

    monkeypatch.setattr(Suggester, "evidence", counting)
    stop = False
    first = train(tmp_path / "one")
    assert read == 150
    assert len(asked) == 110
    assert not (tmp_path / ".one.lessons").exists()
    assert train(tmp_path / "two") == first


def test_train_suggest(archive: tuple[Path, Path], tiny_model: Path, tiny_encoder: OnnxBackend, tmp_path: Path) -> None:
    collection, documents = archive
    out = tmp_path / "ranking"
    options = ["--collection", str(collection), "--model", str(tiny_model), "--trees", "5", "--threads", "1"]
    result = CliRunner().invoke(app, ["train", "suggest", str(documents), "-o", str(out), *options])
    assert result.exit_code == 3, result.output
    assert "150 tagged documents taught" in result.output
    vocabulary = vocabulary_of_tags(Collection.open(collection))
    assert SubjectRanking.load(out).vocabulary == vocabulary.fingerprint
    again = tmp_path / "again"
    report = train_suggest(
        [documents], again, collection=collection, model=tiny_model, options=SuggestOptions(fit=SubjectFit(trees=5))
    )
    assert (report.documents, report.bad) == (150, 1)
    assert (again / "ranking.safetensors").read_bytes() == (out / "ranking.safetensors").read_bytes()
    with pytest.raises(InputError, match="exists already"):
        train_suggest([documents], again, collection=collection, model=tiny_model)
    stranger = tmp_path / "other.jsonl"
    stranger.write_text(json.dumps({"id": "z", "text": "Nothing."}) + "\n")
    with pytest.raises(InputError, match="nothing to learn from"):
        train_suggest([stranger], tmp_path / "none", collection=collection, model=tiny_model)
