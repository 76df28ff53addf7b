"""BM25 on a device, with torch on the CPU in its place, against the search of the collection itself."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from erukg.backends import OnnxBackend  # noqa: E402
from erukg.collection import Collection, DocumentRecord, EncodedDocument, Hits, Writer  # noqa: E402
from erukg.collection.analyser import ModelAnalyser  # noqa: E402
from erukg.collection.analysis import analyse  # noqa: E402
from erukg.collection.build import build  # noqa: E402
from erukg.core.runner import Request  # noqa: E402
from erukg.core.settings import Settings  # noqa: E402
from erukg.errors import CollectionError  # noqa: E402
from erukg.gpu import search as module  # noqa: E402
from erukg.gpu.jobs import KeyphraseJob  # noqa: E402
from erukg.gpu.queries import SPARE, Index, Lists, SearchPlan  # noqa: E402
from erukg.gpu.search import DeviceSearch  # noqa: E402
from tiny import write_corpus  # noqa: E402

torch.set_num_threads(1)
CPU = torch.device("cpu")
NOTHING = EncodedDocument(np.empty(0, np.int64), np.empty(0), [])


def make_text(rng: random.Random, words: int) -> str:
    """Words with very unequal frequencies: w1 is nearly everywhere, w300 hardly anywhere."""
    return " ".join(f"w{min(int(rng.paretovariate(0.6)), 300)}" for _ in range(words))


def make(folder: Path, documents: int, part: int, seed: int = 0) -> Path:
    rng = random.Random(seed)
    texts = [make_text(rng, rng.randint(3, 60)) for _ in range(documents)]
    texts[1] = texts[0] + " !"  # the same to BM25
    texts[2] = "loud " * 30 + texts[2]  # of a frequency that is stored in another way
    with Writer.create(folder, fingerprint="words", vocab_size=100) as writer:
        writer.part_documents = part
        for i, text in enumerate(texts):
            if writer.add(DocumentRecord(f"d{i}", text), NOTHING):
                writer.commit()
        writer.commit()
    return folder


def text_of(documents: int, number: int, seed: int = 0) -> str:
    rng = random.Random(seed)
    return [make_text(rng, rng.randint(3, 60)) for _ in range(documents)][number]


def find(
    folder: Path, texts: list[str], n: int, ids: list[str | None] | None = None, spare: int = SPARE, **plan: int
) -> list[Hits | None]:
    number = Collection.open(folder).manifest.number
    device = DeviceSearch.open(SearchPlan(folder, number, n + spare, **plan), CPU)
    assert device is not None
    index = Index(folder, number)
    queries = [analyse(text) for text in texts]
    halves = [index.lists_of(queries[:3]), index.lists_of(queries[3:])]
    return index.choose(queries, *device.search(Lists.join(halves)), n, ids or [None] * len(texts))


def same(found: Hits | None, expected: Hits) -> None:
    assert found is not None
    np.testing.assert_allclose(found.scores, expected.scores, rtol=2e-6)
    swapped = np.flatnonzero(found.documents != expected.documents)
    # Rounding may swap documents that are as good as equal, and nothing else.
    for i in swapped.tolist():
        near = expected.scores[max(0, i - 1) : i + 2]
        assert np.ptp(near) <= 4e-6 * near.max()
        assert len(near) > 1
    assert found.documents.dtype == expected.documents.dtype
    assert found.scores.dtype == expected.scores.dtype


@pytest.mark.parametrize("part", [10**9, 70])
@pytest.mark.parametrize("dense", [0, 64, 4, 10**9])
def test_hits_are_those_of_the_collection(
    tmp_path: Path, part: int, dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_POSTINGS", 700)  # several steps, and lists that come in several goes
    folder = make(tmp_path / "c", 250, part)
    with Writer.open(folder) as writer:
        writer.remove([f"d{i}" for i in range(3, 250, 5)])
    collection = Collection.open(folder)
    texts = [make_text(random.Random(seed), 40) for seed in range(8)]
    texts += [text_of(250, i) for i in (0, 1, 2, 8, 200)]
    texts += ["", "the of and", "unknown words only", "loud w2 unknown", "w1"]
    for n in (1, 10, 400):
        hits = find(folder, texts, n, dense=dense)
        for text, found in zip(texts, hits, strict=True):
            if found is not None:
                same(found, collection.search(text, n))
        assert sum(found is None for found in hits) <= 1
    names = [None, *(collection.ids(collection.search(text, 1).documents)[0] for text in texts[1:8])]
    for text, name, found in zip(texts, names, find(folder, texts[:8], 10, names, dense=dense), strict=False):
        same(found, collection.search(text, 10, exclude=name))


def test_names_of_all_lengths(tmp_path: Path) -> None:
    folder = make(tmp_path / "c", 40, 15)
    collection = Collection.open(folder)
    texts = [text_of(40, 20)] * 6
    names: list[str | None] = ["d1", "d11", "", None, "a name that is longer than any", "d3"]
    for text, name, found in zip(texts, names, find(folder, texts, 40, names), strict=True):
        same(found, collection.search(text, 40, exclude=name))


def test_what_is_left_may_be_better(tmp_path: Path) -> None:
    """Copies of the text, and ties with what was not found, leave the search to the collection."""
    folder = tmp_path / "c"
    with Writer.create(folder, fingerprint="words", vocab_size=100) as writer:
        for i in range(30):
            text = "red green" if i < 12 else "red blue" if i < 20 else f"red x{i} {'y ' * i}"
            writer.add(DocumentRecord(f"d{i}", text), NOTHING)
        writer.commit()
    collection = Collection.open(folder)
    # Twelve copies: with eight to spare, only five others would be among thirteen.
    assert find(folder, ["red green"] * 4, 5) == [None] * 4
    same(find(folder, ["red green"] * 4, 5, spare=16)[0], collection.search("red green", 5))
    # Eight that are equal, of which three are asked for and five are seen.
    assert find(folder, ["blue"] * 4, 3, spare=2) == [None] * 4
    same(find(folder, ["blue"] * 4, 3, spare=6)[0], collection.search("blue", 3))


def test_little_memory(tmp_path: Path) -> None:
    folder = make(tmp_path / "c", 100, 10**9)
    number = Collection.open(folder).manifest.number
    assert DeviceSearch.open(SearchPlan(folder, number, 10, memory=1000), CPU) is None
    texts = [make_text(random.Random(seed), 30) for seed in range(6)]
    expected = [Collection.open(folder).search(text, 10) for text in texts]
    # Enough for the postings and few queries at a time, whether or not some lists are dense.
    postings = int(Index(folder, number).states[0].frequencies.sum()) * 8 + module._POSTINGS * 48
    for more in (5_000, 10_000, 100_000):
        for found, wanted in zip(find(folder, texts, 10, memory=postings + more), expected, strict=True):
            same(found, wanted)


def test_a_collection_that_has_changed_or_has_nothing(tmp_path: Path) -> None:
    folder = make(tmp_path / "c", 10, 10**9)
    with pytest.raises(CollectionError, match="has changed"):
        Index(folder, 99)
    with Writer.open(folder) as writer:
        writer.remove([f"d{i}" for i in range(10)])
    number = Collection.open(folder).manifest.number
    assert DeviceSearch.open(SearchPlan(folder, number, 10), CPU) is None


def test_no_queries(tmp_path: Path) -> None:
    folder = make(tmp_path / "c", 10, 10**9)
    number = Collection.open(folder).manifest.number
    device, index = DeviceSearch.open(SearchPlan(folder, number, 5), CPU), Index(folder, number)
    assert device is not None
    documents, scores = device.search(index.lists_of([]))
    assert documents.shape == scores.shape == (0, 5)
    assert index.choose([], documents, scores, 3, []) == []
    documents, scores = device.search(index.lists_of([analyse("")] * 2))
    assert [
        hits is not None and len(hits.documents)
        for hits in index.choose([analyse("")] * 2, documents, scores, 3, [None, "a"])
    ] == [0, 0]


def test_what_a_worker_chooses_says_how_much_each_text_is_like_the_collection(
    tiny_model: Path, tiny_encoder: OnnxBackend, tmp_path: Path
) -> None:
    corpus, folder = write_corpus(tmp_path / "corpus.jsonl", documents=260), tmp_path / "c"
    build(folder, [corpus], ModelAnalyser(tiny_encoder))
    collection = Collection.open(folder)
    assert collection.manifest.likeness is not None
    number, settings = collection.manifest.number, Settings()
    task = KeyphraseJob(tiny_model, folder, number, Request(10, settings, False)).open()
    texts = ["sparse graph and sea ice", "We propose neural networks for the passive radar of our library.", "zzz", ""]
    texts.append(" ".join(texts + [json.loads(line)["abstract"] for line in corpus.read_text().splitlines()[:40]]))
    assert len(analyse(texts[-1]).terms) > settings.search_words > 0
    items = [(None, text) for text in texts]
    planned = task.plan_search(items)
    assert planned is not None
    kept, lists = planned
    device = DeviceSearch.open(SearchPlan(folder, number, settings.neighbours + SPARE), CPU)
    assert device is not None
    chosen = task.choose_hits(items, kept, *device.search(lists))
    for text, hits in zip(texts, chosen, strict=True):
        near = collection.neighbourhood(text, settings.neighbours, words=settings.search_words)
        expected = near.fit
        assert hits is not None
        assert expected is not None
        assert hits.fit == pytest.approx(expected, rel=1e-4)
        assert collection.gather(hits).fit == hits.fit
        np.testing.assert_allclose(np.sort(collection.gather(hits).shares), np.sort(near.shares), rtol=1e-4)
