"""The prepared folder: what it holds, that it is the same every time, that it appears whole or not."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from erukg.core.document import Document
from erukg.errors import TrainingError
from erukg.training.folders import ArrayWriter
from erukg.training.pieces import PieceWriter, TokenizerPool, load_tokenizer
from erukg.training.references import CitationContexts, Plain, Queries, Reader, Titles
from erukg.training.triplets import Summary, prepare_triplets
from training.texts import PAPERS, write_rows, write_tokenizer

ARRAYS = {
    "documents.ids": "<u2",
    "documents.offsets": "<i8",
    "documents.titles": "<u2",
    "references.ids": "<u2",
    "references.offsets": "<i8",
    "triplets": "<i4",
    "types": "|u1",
}


def sources(folder: Path) -> list[Reader]:
    contexts = [
        {
            "context": "Gauges that float are used in small harbours.",
            "cited_id": "doi:10.1000/harbour.7",
            "section": "A",
        },
        {
            "context": "Tables of the tide are kept for a year.",
            "cited_id": "arxiv:2001.00001",
            "section": "B",
        },
    ]
    queries = [
        {"query": "what do crabs eat", "doc_id": "x:1", "doc_text": "Crabs eat algae."},
        {"query": "crab feeding", "doc_id": "https://openalex.org/W77"},
    ]
    own = [
        {
            "reference": "#tides",
            "document": "The tide was high today.",
            "type": "post",
            "negatives": ["Crabs eat algae."],
        },
        {"reference": "\u200b", "document": "Nothing refers to this.", "type": "post"},
    ]
    alias = {**PAPERS[0], "id": "x:alias"}
    return [
        Titles([write_rows(folder / "corpus.jsonl.xz", [*PAPERS, alias])]),
        CitationContexts([write_rows(folder / "contexts.jsonl", [{**c, "citing_id": "x:9"} for c in contexts])]),
        Queries([write_rows(folder / "queries.jsonl", queries)]),
        Plain([write_rows(folder / "own.jsonl.gz", own)]),
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    folder = tmp_path_factory.mktemp("triplets")
    return prepare_triplets(
        sources(folder), folder / "out", write_tokenizer(folder / "tokenizer.json"), seed=3, quiet=True
    )


def text_of(folder: Path, kind: str, number: int) -> str:
    offsets = np.load(folder / f"{kind}.offsets.npy")
    ids = np.load(folder / f"{kind}.ids.npy")[offsets[number] : offsets[number + 1]]
    tokenizer = load_tokenizer(folder)
    return " ".join(tokenizer.id_to_token(int(i)) for i in ids).replace(" ##", "")


def test_the_folder_holds_what_training_reads(made: Summary) -> None:
    arrays = {name: np.load(made.folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ARRAYS}
    assert {name: array.dtype.str for name, array in arrays.items()} == ARRAYS
    for kind in ("documents", "references"):
        offsets = arrays[f"{kind}.offsets"]
        assert offsets[0] == 0
        assert offsets[-1] == arrays[f"{kind}.ids"].size
        assert (np.diff(offsets) >= 0).all()
    assert arrays["documents.titles"].size == arrays["documents.offsets"].size - 1 == made.documents
    assert arrays["references.offsets"].size - 1 == made.references
    assert arrays["triplets"].shape == (arrays["types"].size, 3)
    meta = json.loads((made.folder / "meta.json").read_text())
    assert (meta["format"], meta["version"], meta["seed"]) == ("erukg-triplets", 1, 3)
    assert meta["types"] == ["query", "citation", "title", "post"]
    assert meta["counts"] == {"query": 2, "citation": 2, "title": 5, "post": 1} == made.counts
    tokenizer = (made.folder / "tokenizer.json").read_bytes()
    assert meta["tokenizer_sha256"] == hashlib.sha256(tokenizer).hexdigest()
    assert meta["vocab_size"] == load_tokenizer(made.folder).get_vocab_size()
    assert json.loads(tokenizer)["truncation"] is None
    assert json.loads(tokenizer)["padding"] is None


def test_triplets_name_the_right_texts(made: Summary) -> None:
    triplets, types = np.load(made.folder / "triplets.npy"), np.load(made.folder / "types.npy")
    titles = np.load(made.folder / "documents.titles.npy")
    of_type = [triplets[types == number].tolist() for number in range(4)]
    assert [text_of(made.folder, "references", r) for r, _, _ in of_type[0]] == [
        "what do crabs eat",
        "crab feeding",
    ]
    assert text_of(made.folder, "documents", of_type[0][0][1]) == "crabs eat algae ."
    assert [n for *_, n in of_type[0]] == [-1, -1]
    assert [(p, n) for _, p, n in of_type[1]] == [(1, 0), (0, 1)], "each is cited in the other's other section"
    for reference, positive, negative in of_type[2]:
        start = text_of(made.folder, "documents", positive).split()[
            : len(text_of(made.folder, "references", reference).split())
        ]
        assert " ".join(start) == text_of(made.folder, "references", reference)
        assert titles[positive] > 0
        assert negative not in (-1, positive)
    (reference, positive, negative) = of_type[3][0]
    assert text_of(made.folder, "documents", positive) == "the tide was high today ."
    assert text_of(made.folder, "documents", negative) == "crabs eat algae ."


def test_documents_are_stored_once(made: Summary) -> None:
    texts = [text_of(made.folder, "documents", i) for i in range(made.documents)]
    assert len(set(texts)) == len(texts)
    assert made.documents == len(PAPERS) + 3, "the alias of the first paper and the shared negative add nothing"
    assert made.problems.skipped["reference or document without word pieces"] == 1


def test_pieces_are_those_the_encoder_will_read(made: Summary) -> None:
    text = f"{PAPERS[3]['title']}\n{PAPERS[3]['abstract']}"
    words = Document.parse(text).words
    assert "x" in words, "the formula"
    tokenizer = load_tokenizer(made.folder)
    ids = tokenizer.encode(list(words), is_pretokenized=True, add_special_tokens=False).ids
    offsets = np.load(made.folder / "documents.offsets.npy")
    assert np.load(made.folder / "documents.ids.npy")[offsets[3] : offsets[4]].tolist() == ids


def test_the_summary_shows_counts_and_samples(made: Summary) -> None:
    shown = str(made)
    assert "8 documents" in shown
    assert "citation: 2 (2 with a negative)" in shown
    assert "reference: #tides" not in shown, "samples are read back from the pieces"
    assert set(made.samples) == {"query", "citation", "title", "post"}
    assert made.samples["query"][2] == ""


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_same_seed_gives_the_same_folder(made: Summary, tmp_path: Path, jobs: int) -> None:
    again = prepare_triplets(
        sources(tmp_path),
        tmp_path / "out",
        write_tokenizer(tmp_path / "t.json"),
        seed=3,
        jobs=jobs,
        quiet=True,
    )
    for name in (*(f"{name}.npy" for name in ARRAYS), "meta.json", "tokenizer.json"):
        assert (again.folder / name).read_bytes() == (made.folder / name).read_bytes(), name
    assert again.samples == made.samples


def test_a_share_of_the_titles(tmp_path: Path) -> None:
    papers = [{"id": str(i), "title": f"Title number {i}", "abstract": f"Wave {i} " * 10} for i in range(400)]
    titles = Titles([write_rows(tmp_path / "many.jsonl", papers)])
    tokenizer = write_tokenizer(tmp_path / "tokenizer.json")
    counts = prepare_triplets([titles], tmp_path / "out", tokenizer, title_share=0.25, jobs=1, quiet=True).counts
    assert 60 < counts["title"] < 140
    with pytest.raises(TrainingError, match="title_share is 2"):
        prepare_triplets([titles], tmp_path / "out", tokenizer, title_share=2)


def test_long_texts_are_cut(tmp_path: Path) -> None:
    row = {"reference": "tide " * 100, "document": {"title": "wave " * 10, "abstract": "crab " * 1000}}
    own = Plain([write_rows(tmp_path / "own.jsonl", [row])])
    summary = prepare_triplets([own], tmp_path / "out", write_tokenizer(tmp_path / "t.json"), jobs=1, quiet=True)
    assert summary.document_pieces == 320
    assert np.load(summary.folder / "documents.titles.npy").tolist() == [10]
    assert np.load(summary.folder / "references.ids.npy").size == 64


def test_words_that_look_like_special_tokens_are_words(tmp_path: Path) -> None:
    own = Plain([write_rows(tmp_path / "own.jsonl", [{"reference": "tide [SEP] [MASK]", "document": "wave [CLS]"}])])
    summary = prepare_triplets([own], tmp_path / "out", write_tokenizer(tmp_path / "t.json"), jobs=1, quiet=True)
    assert np.load(summary.folder / "references.ids.npy").min() > 4
    assert np.load(summary.folder / "documents.ids.npy").min() > 4


def test_an_earlier_folder_is_replaced_and_its_other_parts_stay(tmp_path: Path) -> None:
    tokenizer, own = write_tokenizer(tmp_path / "t.json"), tmp_path / "own.jsonl"
    out = tmp_path / "out"
    (out / "dev").mkdir(parents=True)
    (out / "dev" / "set.jsonl").write_text("{}")
    for number in (1, 2):
        rows = [{"reference": f"tide {i}", "document": f"wave {i}"} for i in range(number)]
        prepare_triplets([Plain([write_rows(own, rows)])], out, tokenizer, jobs=1, quiet=True)
        assert np.load(out / "types.npy").size == number
        assert (out / "dev" / "set.jsonl").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "own.jsonl", "t.json"]


def test_a_foreign_folder_is_refused_and_a_failed_run_leaves_nothing(tmp_path: Path) -> None:
    tokenizer = write_tokenizer(tmp_path / "t.json")
    good = Plain([write_rows(tmp_path / "own.jsonl", [{"reference": "tide", "document": "wave"}])])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(TrainingError, match="mine exists and was not made by this command"):
        prepare_triplets([good], tmp_path / "mine", tokenizer)
    bad = Plain([write_rows(tmp_path / "bad.jsonl", ["no", "no"])])
    with pytest.raises(TrainingError, match="2 bad rows"):
        prepare_triplets([good, bad], tmp_path / "out", tokenizer, jobs=1, quiet=True)
    empty = Plain([write_rows(tmp_path / "empty.jsonl", [])])
    with pytest.raises(TrainingError, match="gave no triplet"):
        prepare_triplets([empty], tmp_path / "out", tokenizer, jobs=1, quiet=True)
    with pytest.raises(TrainingError, match="There is no tokenizer at"):
        prepare_triplets([good], tmp_path / "out", tmp_path / "nowhere")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "bad.jsonl",
        "empty.jsonl",
        "mine",
        "own.jsonl",
        "t.json",
    ]


def test_arrays_grow_and_stay_readable(tmp_path: Path) -> None:
    with ArrayWriter(tmp_path / "a.npy", "int32", columns=3) as writer:
        for start in range(0, 30_000, 3000):
            writer.append(np.arange(start, start + 3000).reshape(-1, 3))
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.arange(30_000).reshape(-1, 3))
    ArrayWriter(tmp_path / "b.npy", "uint16").close()
    assert np.load(tmp_path / "b.npy").shape == (0,)


def test_texts_keep_their_order_over_many_chunks(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_tokenizer(tmp_path / "t.json"))
    with TokenizerPool(tokenizer, 2) as pool, PieceWriter(pool, tmp_path, "x", 8, titles=True) as writer:
        for i in range(5000):
            assert writer.add("tide " * (i % 3), "wave " * (i % 5)) == i
    assert writer.lengths.tolist() == [i % 3 + i % 5 for i in range(5000)]
    assert np.load(tmp_path / "x.titles.npy").tolist() == [i % 3 for i in range(5000)]


def test_preparing_needs_only_numpy_and_tokenizers() -> None:
    hidden = ("rich", "typer", "numba", "spacy", "nltk", "Stemmer", "onnxruntime", "torch")
    code = f"import sys; sys.modules.update(dict.fromkeys({hidden!r})); import erukg.training.triplets"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
