"""AutoKeyGen and UOKG: phrase bank, vectors, labels and references, and both trained and used on a tiny corpus."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from erukg.core.word_classes import ADJECTIVE, NOUN, OTHER
from erukg.errors import ModelError, TrainingError
from erukg.research.baselines.autokeygen import AutoKeyGen
from erukg.research.baselines.banked import BankedModel
from erukg.research.baselines.latent import LatentVectors
from erukg.research.baselines.neural.vocabulary import END, words
from erukg.research.baselines.phrase_bank import PhraseBank, stemmed
from erukg.research.baselines.references import References, with_references
from erukg.research.baselines.relevance import Relevance, TextStems
from erukg.research.baselines.tagged import Reader, TaggedText
from erukg.research.baselines.uokg import Uokg, UokgModel, _Guide
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.systems import make_system
from erukg.training.baselines.autokeygen import absent_labels, best_apart, present_labels
from erukg.training.baselines.corpus_phrases import PhrasedDocument, corpus_texts
from erukg.training.baselines.quick_tags import QuickTagger
from erukg.training.baselines.run import train_baseline
from erukg.training.baselines.uokg import corrupted
from tiny_copy import TINY

TOPICS = (
    ("sea ice", "radar image", "ice drift", "satellite radar", "polar sea", "ice thickness"),
    ("search engine", "query log", "query expansion", "web search", "search index", "index term"),
)


def papers(count: int = 40) -> list[dict[str, str]]:
    """Abstracts of two kinds, each about phrases of one topic."""
    random = Random(0)
    out = []
    for number in range(count):
        a, b, c, d = random.sample(TOPICS[number % 2], 4)
        abstract = f"We study the {a} and the {b}. The {c} is measured. It shows that the {d} of the {a} is large. "
        out.append({"id": str(number), "title": f"The {a} and the {b}", "abstract": abstract * 2})
    return out


def bank() -> PhraseBank:
    counts = {("sea", "ice"): 9, ("radar", "images"): 4, ("radar", "image"): 7, ("ice", "drift"): 3, ("rare",): 1}
    return PhraseBank.of(counts, 100)


def test_a_bank_knows_phrases_by_their_stems(tmp_path: Path) -> None:
    made = bank()
    assert made.phrases == (("sea", "ice"), ("radar", "image"), ("ice", "drift"))
    assert made.number(stemmed(("radar", "images"))) == 1
    assert made.number(("rare",)) == -1
    assert [made.phrases[n] for n in made.matching(stemmed(words("Drifting ice in radar data of the seas")))] == [
        ("sea", "ice"),
        ("ice", "drift"),
    ]
    assert made.matching([]).tolist() == []
    made.save(tmp_path / "bank.tsv")
    loaded = PhraseBank.load(tmp_path / "bank.tsv")
    assert loaded.phrases == made.phrases
    assert loaded.counts.tolist() == made.counts.tolist()
    assert loaded.total == 100


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a phrase bank"),
        (b"erukg-phrase-bank\t-3\n", "not a phrase bank"),
        (b"erukg-phrase-bank\t9\n3\tsea ice\nx\tsea\n", "line 3"),
        (b"erukg-phrase-bank\t9\n3\ta b c d e f\n", "line 2"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_damaged_bank_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "bank.tsv").write_bytes(content)
    with pytest.raises(ModelError, match=message):
        PhraseBank.load(tmp_path / "bank.tsv")
    with pytest.raises(ModelError, match="cannot be read"):
        PhraseBank.load(tmp_path / "none.tsv")


def vectors() -> LatentVectors:
    return LatentVectors.learn([stemmed(words(paper["abstract"])) for paper in papers()], dimensions=4)


def test_words_of_one_topic_are_near(tmp_path: Path) -> None:
    made = vectors()
    ice, radar, query = made.embed([stemmed(w.split()) for w in ("sea ice", "satellite radar", "query logs")])
    assert ice @ radar > 0.5 > ice @ query
    assert np.allclose(np.linalg.norm(ice), 1)
    assert not made.embed([("unheard",)]).any()
    made.save(tmp_path / "vectors.npz")
    loaded = LatentVectors.load(tmp_path / "vectors.npz")
    assert loaded.words == made.words
    assert np.allclose(loaded.vectors, made.vectors, atol=1e-2)


def test_damaged_vectors_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "vectors.npz"
    with pytest.raises(ModelError, match="cannot be read"):
        LatentVectors.load(file)
    file.write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(ModelError, match="damaged"):
        LatentVectors.load(file)
    names = np.frombuffer(b"sea\nice", np.uint8)
    np.savez(file, words=names, vectors=np.zeros((3, 2), np.float16))
    with pytest.raises(ModelError, match="one vector for each word"):
        LatentVectors.load(file)
    np.savez(file, words=names, vectors=np.full((2, 2), np.nan, np.float16))
    with pytest.raises(ModelError, match="no numbers"):
        LatentVectors.load(file)


def test_relevance_is_weight_and_nearness() -> None:
    text = TextStems(stemmed(words("Sea ice. The sea ice drift and a radar of the sea. Query logs.")))
    assert text.count(("sea", "ice")) == 2
    assert text.count(("ice", "sea")) == 0
    phrases = [stemmed(p.split()) for p in ("sea ice", "ice drift", "radar sea", "query log")]
    scores = Relevance(bank(), vectors()).scores(text, phrases)
    assert scores[0] > scores[1] > scores[3]  # oftener in the text; nearer to it
    assert scores[2] > 0  # its words are there
    assert Relevance(bank(), vectors()).scores(text, []).tolist() == []


def test_labels_are_phrases_of_the_text_and_of_the_bank() -> None:
    text = "Radar images of the drift of ice. Ice in the sea."
    document = PhrasedDocument.of(text, (("radar", "images"), ("ice",), ("sea",)))
    relevance = Relevance(bank(), vectors())
    assert set(present_labels(document, relevance)) == {("radar", "images"), ("ice",), ("sea",)}
    assert set(absent_labels(document, relevance)) == {("sea", "ice"), ("ice", "drift")}
    assert len(absent_labels(document, relevance, 1)) == 1
    ranked = [("sea", "ice"), ("ice",), ("polar", "sea", "ice"), ("radar",), ("drift",)]
    assert best_apart(ranked, 2) == [("sea", "ice"), ("radar",)]


def test_phrases_are_taken_out_of_texts() -> None:
    assert corrupted("Sea-Ice, sea ice and sea iced", [("sea", "ice")]) == ",  and sea iced"


def test_quick_tags_follow_the_tagger() -> None:
    reader = QuickTagger({}, {}, {})
    tags = {"we": OTHER, "the": OTHER, "study": OTHER, "polar": ADJECTIVE, "sea": NOUN}
    read = [reader.read(t).document for t in ("We study the polar sea", "We study the sea", "We study the study")]
    last = [[*(tags[w.lower()] for w in d.words[:-1]), NOUN] for d in read]
    tagged = [TaggedText(d, np.array(t, np.int8)) for d, t in zip(read, last, strict=True)]
    # "study" is no noun mostly, and what follows "the" was seen too seldom; "molar" ends like "polar".
    seen = QuickTagger.learn(tagged * 2).read("We study the study of the Molar xyz")
    assert seen.classes.tolist() == [OTHER, OTHER, OTHER, OTHER, NOUN, OTHER, ADJECTIVE, NOUN]
    after = TaggedText(reader.read("polar study").document, np.array([ADJECTIVE, NOUN], np.int8))
    for times, tag in ((2, OTHER), (3, NOUN)):
        assert QuickTagger.learn([*tagged * 2, *[after] * times]).classes(after.document)[1] == tag


def test_references_are_at_home_where_their_documents_are(tmp_path: Path) -> None:
    made = bank()
    found = References.of(made, [[0, 1], [0], [2, -1], [0]], np.eye(4, dtype=np.float32), least=4)
    assert len(found.homes) == 2
    assert found.nearest(np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], np.float32), 5, 0.1) == [[1, 0], [0], []]
    assert found.nearest(np.array([[1, 0, 0, 0]], np.float32), 1, 0.1) == [[1]]
    found.save(tmp_path / "r.npz")
    assert np.allclose(References.load(tmp_path / "r.npz", made).homes, found.homes, atol=1e-3)
    np.savez(tmp_path / "r.npz", homes=np.zeros((9, 4), np.float16))
    with pytest.raises(ModelError, match="does not fit"):
        References.load(tmp_path / "r.npz", made)
    with pytest.raises(ModelError, match="cannot be read"):
        References.load(tmp_path / "none.npz", made)
    assert with_references("Sea ice", [("polar", "sea"), ("drift",)]) == "Sea ice | polar sea | drift"
    assert len(words(with_references("word " * 300, []))) == 201


def test_texts_of_a_corpus_are_drawn(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    rows = [{"id": str(n), "title": f"T{n}", "abstract": "word " * (39 + n % 2)} for n in range(20)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    texts = corpus_texts([file])
    assert len(texts) == 10
    assert texts != sorted(texts)
    assert len(corpus_texts([file], most=4)) == 4
    file.write_text(json.dumps(rows[0]) + "\n")
    with pytest.raises(TrainingError, match="forty words"):
        corpus_texts([file])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("silver") / "corpus.jsonl"
    file.write_text("".join(json.dumps(paper) + "\n" for paper in papers()))
    return file


OPTIONS = replace(TINY, steps=40, vocabulary=60, most_words=256, longest=5)


@pytest.fixture(scope="module")
def autokeygen(corpus: Path) -> Path:
    folder = corpus.parent / "autokeygen"
    train_baseline("autokeygen", [corpus], folder, OPTIONS)
    return folder


@pytest.fixture(scope="module")
def uokg(corpus: Path) -> Path:
    folder = corpus.parent / "uokg"
    train_baseline("uokg", [corpus], folder, OPTIONS)
    return folder


TEXT = "The sea ice in a radar image\nWe look at the drift of the ice by satellite radar. The sea ice is thick."


def test_autokeygen_is_trained_and_ranks_all_candidates(autokeygen: Path) -> None:
    assert sorted(file.name for file in autokeygen.iterdir()) == [
        "config.json",
        "model.safetensors",
        "phrases.tsv",
        "vectors.npz",
        "vocabulary.txt",
    ]
    assert [path.name for path in autokeygen.parent.iterdir() if path.name.startswith(".")] == []
    model = BankedModel.load(autokeygen)
    joint = AutoKeyGen(model, Reader(), width=10, joint=True)
    present, absent = joint.phrases(TEXT)
    assert "sea ice" in present[:3]
    assert "ice drift" in absent
    assert all(phrase in TEXT.lower() for phrase in present)
    alone = AutoKeyGen(model, width=10)
    assert joint.phrases_of([TEXT, ""])[1] == alone.phrases("") == ([], [])
    assert not {"radar image", "satellite radar"} & set(alone.phrases(TEXT)[1])


def test_autokeygen_prefers_what_the_bank_knows(autokeygen: Path) -> None:
    baseline = AutoKeyGen(BankedModel.load(autokeygen))
    found = [("ice ice", -0.1), ("sea ice", -1.0), ("sea", -0.9), ("drift ice", -2.0), ("ice drift", -3.0)]
    assert baseline._ranked(TEXT, found) == ["sea ice", "sea", "ice drift", "drift ice"]
    assert replace(baseline, known=1.0)._ranked(TEXT, found) == ["sea ice", "sea", "drift ice", "ice drift"]


def test_uokg_is_trained_and_steered(uokg: Path) -> None:
    model = UokgModel.load(uokg)
    baseline = Uokg(model, width=10)
    present, absent = baseline.phrases(TEXT)
    assert "sea ice" in present
    assert not any("query" in phrase or "search" in phrase for phrase in [*present, *absent][:5])
    assert baseline.phrases_of([TEXT, "Web search"])[0] == (present, absent)
    assert baseline.phrases("") is not None


def test_the_guide_prefers_words_of_the_topic_and_none_twice(uokg: Path) -> None:
    model = UokgModel.load(uokg)
    network = model.banked.network
    document = network.document(f"{TEXT} strangeword")
    vector = model.banked.vectors.embed([stemmed(words(TEXT))])
    rows = _Guide(model, [document], vector, 0.5)(0, [(), ("sea",), ("sea", "strangeword")])
    assert rows.shape == (3, len(document))
    ice, query, sea = (network.vocabulary.number(word) for word in ("ice", "query", "sea"))
    assert rows[0, ice] > rows[0, query]
    assert rows[1, sea] == rows[2, sea] == rows[2, -1] == -1e4
    assert rows[1, END] > rows[0, END]
    assert rows[0, network.vocabulary.number("the")] == rows[0].min()  # as little as anything
    # The log of what sums to 1, scaled by one over the balance.
    assert np.isclose(np.exp(rows[0].astype(np.float64) * 0.5).sum(), 1, atol=1e-3)


def test_a_strict_beam_drops_what_is_better_gone_on_with(uokg: Path) -> None:
    network = BankedModel.load(uokg).network
    [loose], [strict] = (network.generate([TEXT], 5, 3, strict=strict) for strict in (False, True))
    assert 0 < len(strict) < len(loose)
    assert set(strict) < set(loose)


def test_both_are_systems_to_evaluate(autokeygen: Path, uokg: Path) -> None:
    record = Record("1", "The sea ice", "Radar images of the sea ice.", ("sea ice",))
    for spec in (f"autokeygen:{autokeygen},width=5", f"uokg:{uokg},width=5,balance=0.75,length=1,references=3"):
        system = make_system(spec)
        assert system.describe()["model"]["sha256"]
        [(present, _)] = system.predict([record])
        assert present
    (uokg / "references.npz").unlink()
    with pytest.raises(ModelError, match=r"references\.npz cannot be read"):
        make_system(f"uokg:{uokg}")
