"""What a build may be told: how many phrases and weights are kept, which ones, and what a copy leaves out."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from collection.samples import PlainCollection, WordAnalyser, make_collection, make_records, make_text, write_jsonl
from erukg import Collection, KeyphraseGenerator, Settings
from erukg.backends import OnnxBackend
from erukg.cli import app
from erukg.collection import EncodedDocument, Writer, info, slim, verify
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.analysis import stems
from erukg.collection.build import add, build
from erukg.collection.encoded import BY_SIZE, glossary_threshold
from erukg.collection.manifest import read_manifest
from erukg.core.candidates import find_candidates
from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.errors import CollectionError, ErukgWarning, InputError

RECORDS = make_records(120, seed=11)
QUERIES = [make_text(random.Random(50 + i), 25) for i in range(5)]
Build = Callable[..., str]


@pytest.fixture
def run(tiny_model: Path) -> Build:
    def call(command: str, *arguments: object, code: int = 0) -> str:
        parts = ["collection", command, *arguments]
        if command in ("build", "add"):
            parts += ["--model", tiny_model, "--device", "cpu"]
        result = CliRunner().invoke(app, list(map(str, parts)))
        assert result.exit_code == code, result.output
        return result.output

    return call


def phrases_of(folder: Path) -> list[str]:
    glossary = Collection.open(folder).glossary
    return glossary.phrases(np.arange(len(glossary)))


@pytest.mark.parametrize("least", [1, 2, 6])
def test_a_phrase_is_in_the_glossary_when_enough_documents_have_it(tmp_path: Path, least: int) -> None:
    source = write_jsonl(tmp_path / "a.jsonl", RECORDS)
    build(tmp_path / "c", [source], WordAnalyser(), glossary_documents=least, part_documents=50)
    collection, plain = Collection.open(tmp_path / "c"), PlainCollection(RECORDS, least)
    counts = collection.glossary.counts(np.arange(len(collection.glossary)))
    assert sorted(counts.tolist()) == sorted(plain.glossary.values())
    assert read_manifest(tmp_path / "c").glossary_documents == least


def test_the_command_builds_what_the_options_say(
    run: Build, tiny_encoder: OnnxBackend, tiny_corpus: Path, tmp_path: Path
) -> None:
    options = ("--phrases", 4, "--glossary-documents", 2, "--terms", 8, "--no-titles", "--style", "long")
    run("build", tmp_path / "ours", tiny_corpus, *options, "--max-words", 2)
    analyser = ModelAnalyser(tiny_encoder, phrases=4, settings=Settings.styled("long", max_words=2))
    build(tmp_path / "same", [tiny_corpus], analyser, glossary_documents=2, most_terms=8, titles=False)
    files = [sorted(path.read_bytes() for path in (tmp_path / name).glob("*.bin")) for name in ("ours", "same")]
    assert files[0] == files[1]
    build(tmp_path / "plain", [tiny_corpus], ModelAnalyser(tiny_encoder))
    assert phrases_of(tmp_path / "ours") != phrases_of(tmp_path / "plain")
    assert max(len(phrase.split()) for phrase in phrases_of(tmp_path / "ours")) == 2
    run("build", tmp_path / "default", tiny_corpus)
    files = [sorted(path.read_bytes() for path in (tmp_path / name).glob("*.bin")) for name in ("default", "plain")]
    assert files[0] == files[1]
    assert '"title": ' in run("search", tmp_path / "default", "sea ice radar")
    assert '"title": ' not in run("search", tmp_path / "ours", "sea ice radar")
    for name, value, code in (
        ("phrases", 0, 2),
        ("glossary-documents", 0, 2),
        ("terms", 256, 2),
        ("phraseness", 11, 1),
    ):
        assert "Traceback" not in run("build", tmp_path / "none", tiny_corpus, f"--{name}", value, code=code)


def test_the_papers_collection(run: Build, tiny_encoder: OnnxBackend, tiny_corpus: Path, tmp_path: Path) -> None:
    """Top_10(C_x', f) of every document, those that three have, computed here as Eq. 3 and Eq. 9 read."""
    run("build", tmp_path / "c", tiny_corpus, "--paper")
    collection = Collection.open(tmp_path / "c")
    texts = [json.loads(line) for line in tiny_corpus.read_text().splitlines()]
    weighed = ModelAnalyser(tiny_encoder)
    kept: dict[str, list[str]] = {}
    for row in texts:
        document = Document.parse(f"{row['title']}\n{row['abstract']}")
        encoded = next(weighed.encode([document.text])).unwrap()
        weights = dict(zip(encoded.term_ids.tolist(), encoded.term_weights.tolist(), strict=True))
        tags = tiny_encoder.encode(tiny_encoder.pieces(document.words), np.empty(0, np.int32)).tags
        found = find_candidates(document, tags, whole=False)
        terms = [tiny_encoder.phrase_terms([each.form]).ids.tolist() for each in found]
        f = [sum(weights.get(t, 0.0) for t in ids) / (len(ids) + 0.25) for ids in terms]
        best = sorted((i for i in range(len(f)) if f[i] > 0), key=lambda i: -f[i])[:10]
        kept[row["id"]] = [found[i].fold for i in best]
    counts = Counter(phrase for phrases in kept.values() for phrase in phrases)
    glossary = {phrase for phrase, count in counts.items() if count >= 3}
    assert sorted(map(fold, phrases_of(tmp_path / "c"))) == sorted(glossary)
    for number, id in enumerate(collection.ids(np.arange(len(collection)))):
        stored = collection.glossary.phrases(collection.phrases_of(number))
        assert sorted(map(fold, stored)) == sorted(set(kept[id]) & glossary)
    assert read_manifest(tmp_path / "c").paper
    assert '"paper": true' in run("info", tmp_path / "c", "--json")
    # A copy that finds the same documents is still the paper's, one with fewer words is not.
    slim(tmp_path / "c", tmp_path / "same")
    slim(tmp_path / "c", tmp_path / "fewer", words=5)
    assert read_manifest(tmp_path / "same").paper
    assert not read_manifest(tmp_path / "fewer").paper


def test_what_does_not_go_with_the_papers_collection(run: Build, tiny_corpus: Path, tmp_path: Path) -> None:
    for other in (("--phrases", 9), ("--terms", 127), ("--glossary-documents", 2), ("--position", 1), ("--merge",)):
        said = run("build", tmp_path / "none", tiny_corpus, "--paper", *other, code=2)
        assert f"with {other[0]};" in " ".join(said.replace("│", " ").split())
    assert not (tmp_path / "none").exists()
    same = ("--phrases", 10, "--terms", 128, "--glossary-documents", 3, "--position", 0, "--no-merge")
    run("build", tmp_path / "c", tiny_corpus, "--style", "paper", *same)
    assert read_manifest(tmp_path / "c").paper
    (tmp_path / "more.jsonl").write_text(json.dumps({"id": "new", "text": "Radar images of sea ice."}))
    assert "add them with --paper too" in run("add", tmp_path / "c", tmp_path / "more.jsonl", code=1)
    run("add", tmp_path / "c", tmp_path / "more.jsonl", "--paper")
    assert read_manifest(tmp_path / "c").paper
    run("build", tmp_path / "ours", tiny_corpus)
    assert "was not built with --paper" in run("add", tmp_path / "ours", tmp_path / "more.jsonl", "--paper", code=1)


class Stops(ModelAnalyser):
    """Is interrupted after some texts, as by Ctrl-C."""

    left = 30

    def analyse(self, text: str) -> EncodedDocument:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return super().analyse(text)


@pytest.mark.parametrize(
    "other",
    [
        ("--glossary-documents", 4),
        ("--phrases", 9),
        ("--terms", 127),
        ("--no-titles",),
        ("--position", 1.5),
        ("--style", "long"),
        ("--no-merge",),
    ],
)
def test_a_build_goes_on_only_with_the_same_options(
    run: Build, tiny_encoder: OnnxBackend, tiny_corpus: Path, tmp_path: Path, other: tuple[object, ...]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "c", [tiny_corpus], Stops(tiny_encoder))
    with pytest.warns(ErukgWarning, match="unfinished"):
        assert len(Collection.open(tmp_path / "c")) == 29
    said = run("build", tmp_path / "c", tiny_corpus, *other, code=1)
    assert "holds an unfinished build or addition of other or changed sources, or with other options;" in said
    assert "Went on after 29 rows" in run("build", tmp_path / "c", tiny_corpus)


def test_restart_takes_other_options(run: Build, tiny_encoder: OnnxBackend, tiny_corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "c", [tiny_corpus], Stops(tiny_encoder))
    run("build", tmp_path / "c", tiny_corpus, "--restart", "--glossary-documents", 5)
    assert read_manifest(tmp_path / "c").glossary_documents == 5
    analyser = ModelAnalyser(tiny_encoder)
    build(tmp_path / "same", [tiny_corpus], analyser, glossary_documents=5)
    assert phrases_of(tmp_path / "c") == phrases_of(tmp_path / "same")


def test_without_term_weights(tiny_encoder: OnnxBackend, tiny_corpus: Path, tmp_path: Path) -> None:
    """Neighbours then weigh nothing, and all else is as with them."""
    analyser = ModelAnalyser(tiny_encoder)
    build(tmp_path / "none", [tiny_corpus], analyser, most_terms=0, part_documents=50)
    build(tmp_path / "some", [tiny_corpus], analyser)
    assert verify(tmp_path / "none") == []
    assert info(tmp_path / "none").bytes < info(tmp_path / "some").bytes
    slim(tmp_path / "none", tmp_path / "slim")
    none, some = (KeyphraseGenerator(tiny_encoder, Collection.open(tmp_path / name)) for name in ("slim", "some"))
    mixed = Settings.paper(alpha=0.5, absent_alpha=0.5)
    rows = [json.loads(line) for line in tiny_corpus.read_text().splitlines()[:8]]
    for row in rows:
        text = row["abstract"]
        assert none.generate(text) == some.generate(text)
        found = none.generate(text, 20, mixed, explain=True)
        assert found.absent
        for phrase in found:
            assert phrase.explanation is not None
            for term in phrase.explanation.terms:
                assert term.neighbours == 0
                assert term.weight == pytest.approx(term.document / 2)
        assert none.rank(text, ["sea ice", "deep forest"], Settings(alpha=0.5))


def test_a_copy_without_rare_words(run: Build, tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", RECORDS, part=50)
    run("slim", folder, tmp_path / "all")
    run("slim", folder, tmp_path / "few", "--rare", 4)
    assert verify(tmp_path / "few") == []
    assert info(tmp_path / "few").bytes < info(tmp_path / "all").bytes
    frequencies = Counter(term for record in RECORDS for term in set(stems(record.text)))
    copies = [Collection.open(tmp_path / name) for name in ("all", "few")]
    kept = [sum(len(segment.vocabulary) for segment, _ in copy.live_rows()) for copy in copies]
    assert kept == [len(frequencies), sum(count >= 4 for count in frequencies.values())]
    assert kept[1] < kept[0]
    # Of a query of words that are not rare, nothing changes.
    common = [" ".join(w for w in text.split() if frequencies[stems(w)[0]] >= 4) for text in QUERIES]
    answers: list[list[Any]] = []
    for copy in copies:
        found = [copy.search(text, 20) for text in common]
        answers.append([(copy.ids(hits.documents), hits.scores.tolist()) for hits in found])
    assert answers[0] == answers[1]
    rare = next(term for term, count in frequencies.items() if count == 1)
    assert [len(copy.search(rare, 5).documents) for copy in copies] == [1, 0]
    with pytest.raises(InputError, match="at least 1 document"):
        slim(folder, tmp_path / "wrong", rare=0)
    with pytest.raises(CollectionError, match="already holds a collection"):
        slim(folder, tmp_path / "few", rare=4)


@pytest.mark.parametrize(("documents", "least"), [(1, 1), (20_000, 1), (20_001, 2), (100_000, 2), (100_001, 3)])
def test_how_many_documents_must_have_a_phrase_follows_from_their_number(documents: int, least: int) -> None:
    assert glossary_threshold(documents) == least


def test_the_glossary_follows_the_size_of_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("erukg.collection.encoded._ONE", 40)
    monkeypatch.setattr("erukg.collection.encoded._TWO", 80)
    first = write_jsonl(tmp_path / "a.jsonl", RECORDS[:40])
    build(tmp_path / "c", [first], WordAnalyser())
    assert read_manifest(tmp_path / "c").glossary_documents == BY_SIZE
    for count, least in ((40, 1), (60, 2), (120, 3)):
        if count > 40:
            before = len(Collection.open(tmp_path / "c"))
            add(tmp_path / "c", [write_jsonl(tmp_path / f"{count}.jsonl", RECORDS[before:count])], WordAnalyser())
        found, plain = Collection.open(tmp_path / "c").glossary, PlainCollection(RECORDS[:count], least).glossary
        assert sorted(found.counts(np.arange(len(found))).tolist()) == sorted(plain.values())
        assert verify(tmp_path / "c") == []
    slim(tmp_path / "c", tmp_path / "s")
    assert verify(tmp_path / "s") == []
    build(tmp_path / "given", [first], WordAnalyser(), glossary_documents=2)
    add(tmp_path / "given", [write_jsonl(tmp_path / "more.jsonl", RECORDS[40:])], WordAnalyser())
    glossary = Collection.open(tmp_path / "given").glossary
    assert len(glossary) == len(PlainCollection(RECORDS, 2).glossary)


def test_a_finished_collection_is_taken_only_for_its_own_sources(tmp_path: Path) -> None:
    source, other = write_jsonl(tmp_path / "a.jsonl", RECORDS[:30]), write_jsonl(tmp_path / "b.jsonl", RECORDS[:40])
    assert build(tmp_path / "c", [source], WordAnalyser(), reuse=True).added == 30
    made = read_manifest(tmp_path / "c")
    assert made.source is not None
    assert build(tmp_path / "c", [source], WordAnalyser(), reuse=True).added == 0
    assert read_manifest(tmp_path / "c") == made
    with pytest.raises(CollectionError, match="of other or changed sources"):
        build(tmp_path / "c", [other], WordAnalyser(), reuse=True)
    with pytest.raises(CollectionError, match="or one made with other options"):
        build(tmp_path / "c", [source], WordAnalyser(), reuse=True, most_terms=3)
    with pytest.raises(CollectionError, match="already holds a collection"):
        build(tmp_path / "c", [source], WordAnalyser())
    with Writer.open(tmp_path / "c") as writer:
        writer.merge()
        assert writer.manifest.source == made.source
        writer.remove([RECORDS[0].id])
    assert read_manifest(tmp_path / "c").source is None
    with pytest.raises(CollectionError, match="of other or changed sources"):
        build(tmp_path / "c", [source], WordAnalyser(), reuse=True)


def test_without_term_weights_the_phrases_are_the_same(tiny_encoder: OnnxBackend, tiny_corpus: Path) -> None:
    rows = [json.loads(line) for line in tiny_corpus.read_text().splitlines()[:20]]
    texts = ["\n".join(row[name] for name in ("title", "abstract", "text") if name in row) for row in rows]
    analysers = [ModelAnalyser(tiny_encoder, term_weights=kept) for kept in (True, False)]
    for whole, bare in zip(*(analyser.encode(texts) for analyser in analysers), strict=True):
        assert whole.unwrap().phrases == bare.unwrap().phrases
        assert len(whole.unwrap().term_ids) > 0
        assert len(bare.unwrap().term_ids) == 0
