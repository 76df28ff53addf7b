"""Readers of references: what each form gives, and what becomes of rows that cannot be used."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from erukg.errors import TrainingError
from erukg.training.references import CitationContexts, Corpus, Plain, Queries, Reader, SciRepEval, Titles, Unarxive
from erukg.training.references.base import Citation, Library, Paper, Reference, canonical_id
from erukg.training.references.corpus import without_names
from erukg.training.references.rows import Problems
from erukg.training.references.unarxive import citing_sentences, sentences
from training.texts import PAPERS, write_rows


class Texts:
    """Keeps the texts of a library in memory."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []

    def __len__(self) -> int:
        return len(self.texts)

    def add(self, first: str, second: str = "") -> int:
        self.texts.append((first, second))
        return len(self.texts) - 1


def shelf(tmp_path: Path, *readers: Reader) -> Library:
    corpus = Corpus([write_rows(tmp_path / "shelf.jsonl", PAPERS)])
    books = Library(Texts())
    for reader in (corpus, *readers):
        for paper in reader.documents(Problems()):
            books.add(paper)
    for reader in readers:
        for citation in reader.citations(books, Problems()):
            books.cite(citation)
    return books


def read(reader: Reader, books: Library, seed: int = 0) -> tuple[list[Reference], Problems]:
    problems = Problems()
    return list(reader.references(books, problems, Random(seed))), problems


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.xz"])
def test_a_corpus_is_read_plain_or_compressed(tmp_path: Path, ending: str) -> None:
    corpus = Corpus([write_rows(tmp_path / f"corpus{ending}", PAPERS)])
    papers = list(corpus.documents(Problems()))
    assert [p.id for p in papers[:3]] == ["arxiv:2001.00001", "doi:10.1000/harbour.7", "openalex:w77"]
    assert papers[1].title == "Gauges that float"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("https://arxiv.org/abs/2105.05862v3", "arxiv:2105.05862"),
        ("arXiv:math/0309136v1", "arxiv:math/0309136"),
        ("https://doi.org/10.1000/ABC", "doi:10.1000/abc"),
        ("10.1000/ABC", "10.1000/ABC"),
        ("https://openalex.org/W77", "openalex:w77"),
        ("acl:P99-1016", "acl:P99-1016"),
    ],
)
def test_ids_have_one_spelling(written: str, meant: str) -> None:
    assert canonical_id(written) == meant


def test_titles_refer_to_abstracts(tmp_path: Path) -> None:
    titles = Titles([write_rows(tmp_path / "corpus.jsonl", [*PAPERS, PAPERS[0]])])
    books = shelf(tmp_path)
    for cited in (2, 0):
        books.cite(Citation("arxiv:2001.00001", cited, "methods"))
    references, problems = read(titles, books)
    assert [r.text for r in references] == [p["title"] for p in PAPERS[:4]]
    assert {r.type for r in references} == {"title"}
    assert references[0].negative == 2, "cited by the paper itself"
    assert all(r.negative is not None and r.negative != i for i, r in enumerate(references))
    assert problems.skipped == {
        "title or abstract too short for a title reference": 1,
        "title of a document that came before": 1,
    }
    assert read(titles, books)[0] == references, "the same seed gives the same negatives"


def test_scirepeval_pairs_positives_with_zero_scored_candidates(tmp_path: Path) -> None:
    good, bad = {**PAPERS[0], "doc_id": "a"}, {**PAPERS[2], "doc_id": "b"}
    rows = [
        {"query": "tide tables", "candidates": [{**good, "score": 3}, {**bad, "score": 0}, {"score": 1}]},
        {"query": {"title": "crabs"}, "candidates": [{"doc": bad, "score": "1"}]},
        {"query": "nothing clicked", "candidates": [{**bad, "score": 0}]},
        {"query": "no score", "candidates": [bad]},
        {"query": "", "candidates": []},
    ]
    references, problems = read(SciRepEval([write_rows(tmp_path / "search.jsonl.gz", rows)]), shelf(tmp_path))
    assert [(r.type, r.text) for r in references] == [("query", "tide tables"), ("query", "crabs")]
    assert isinstance(references[0].positive, Paper)
    assert references[0].positive.title == PAPERS[0]["title"]
    assert isinstance(references[0].negative, Paper)
    assert references[0].negative.title == PAPERS[2]["title"]
    assert references[1].negative is None
    assert problems.skipped == {"query without a positive document": 1}
    assert problems.bad == 2
    assert [e.rsplit(":", 2)[1:] for e in problems.examples] == [
        ["4", " a candidate has no 'score'"],
        ["5", " 'query' must be text"],
    ]


def test_plain_references_take_text_objects_and_ids(tmp_path: Path) -> None:
    rows = [
        {"reference": "boat shoes", "document": "Shoes for decks.", "type": "product query"},
        {
            "reference": "crabs at night",
            "document": {"id": "https://openalex.org/W77"},
            "negatives": [{"title": "T", "text": "B"}, "another"],
        },
        {"reference": "lost", "document": 7},
        {"reference": "lost too"},
    ]
    references, problems = read(Plain([write_rows(tmp_path / "own.jsonl", rows)]), shelf(tmp_path))
    assert references == [
        Reference("product query", "boat shoes", Paper("", "", "Shoes for decks.")),
        Reference("reference", "crabs at night", 2, Paper("", "T", "B")),
        Reference("reference", "crabs at night", 2, Paper("", "", "another")),
    ]
    assert problems.bad == 2


def contexts(tmp_path: Path) -> CitationContexts:
    def row(context: str, cited: str, section: str | None) -> dict[str, str]:
        known = {"section": section} if section else {}
        return {"context": context, "cited_id": cited, "citing_id": "x:1", **known}

    rows = [
        row(
            "Floating gauges give a reading every single minute (Reed et al., 2001).",
            "doi:10.1000/harbour.7",
            "Intro",
        ),
        row("Tables and kernels have both been used for this.", "arxiv:2001.00001", "Methods"),
        row("Tables and kernels have both been used for this.", "arxiv:2001.00002", "Methods"),
        row("As they say, crabs like the light of the moon.", "https://openalex.org/W77", None),
        row("This one cites what nobody here knows at all.", "arxiv:1900.1", "Intro"),
        row("See Reed et al. (2001).", "arxiv:2001.00001", "Methods"),
        {"context": "No document is named in this row."},
    ]
    return CitationContexts([write_rows(tmp_path / "contexts.jsonl.xz", rows)])


def test_citation_contexts_take_negatives_from_other_sections(tmp_path: Path) -> None:
    reader = contexts(tmp_path)
    books = shelf(tmp_path, reader)
    references, problems = read(reader, books)
    assert [(r.text, r.positive) for r in references] == [
        ("Floating gauges give a reading every single minute.", 1),
        ("Tables and kernels have both been used for this.", 0),
        ("Tables and kernels have both been used for this.", 3),
        ("As they say, crabs like the light of the moon.", 2),
    ]
    for seed in range(20):
        negatives = [r.negative for r in read(reader, books, seed)[0]]
        assert negatives[0] in (0, 2, 3)
        assert negatives[1] in (1, 2), "what the same sentence cites is no negative"
        assert negatives[2] in (1, 2)
        assert negatives[3] in (0, 1, 3), "without a section: anything else the paper cites"
    assert problems.skipped == {"document not in the corpus": 1, "citation context too short": 1}
    assert problems.bad == 1


@pytest.mark.parametrize(
    ("context", "bare"),
    [
        ("Kernels work (Reed and Marsh, 2003).", "Kernels work."),
        ("Kernels, after Reed et al. (2001), work.", "Kernels, after, work."),
        ("retrospective event detection (Yang et al.", "retrospective event detection"),
        ("Recall (and precision) rose.", "Recall (and precision) rose."),
    ],
)
def test_names_are_taken_out_of_contexts(context: str, bare: str) -> None:
    assert without_names(context) == bare


def test_queries_find_documents_or_bring_their_text(tmp_path: Path) -> None:
    rows = [
        {"query": "how do gauges float", "doc_id": "doi:10.1000/HARBOUR.7", "label": 1, "source": "s"},
        {"query": "how do gauges float", "doc_id": "arxiv:2001.00001", "label": 0, "source": "s"},
        {"query": "what is a crab", "doc_id": "x:9", "doc_text": "An animal.", "label": 1, "source": "s"},
        {"query": "lost", "doc_id": "x:10", "label": 1, "source": "s"},
        {"query": "lost", "label": 1},
    ]
    references, problems = read(Queries([write_rows(tmp_path / "queries.jsonl", rows)]), shelf(tmp_path))
    assert references == [
        Reference("query", "how do gauges float", 1, 0),
        Reference("query", "what is a crab", Paper("", "", "An animal.")),
    ]
    assert problems.skipped == {"document not in the corpus": 1}
    assert problems.bad == 1


def unarxive_paper() -> dict[str, object]:
    def part(section: str, number: str, text: str, kind: str = "paragraph") -> dict[str, object]:
        return {
            "section": section,
            "sec_number": number,
            "text": text,
            "content_type": kind,
            "cite_spans": [],
        }

    return {
        "paper_id": "2101.00009",
        "metadata": {"title": "Harbour forecasts that keep\n  their promises"},
        "abstract": {"text": "  We forecast the water level of harbours and show how often a forecast is right."},
        "body_text": [
            part(
                "Introduction",
                "1",
                "Tables of the tide are old {{cite:aa}}. Nobody cites anything here at all.",
            ),
            part("Sensors", "2.1", "Floating gauges are cheap and they are robust {{cite:bb}}, {{cite:cc}}. "),
            part(
                "More",
                "2.2",
                "We use gauges {{cite:bb}} and the kernel of {{cite:aa}} at {{formula:f1}} metres.",
            ),
            part("Unknown", "3", "Some say that it is all a matter of luck {{cite:zz}}."),
            part("List", "3", "A listing is not a sentence that cites something {{cite:aa}}.", "listing"),
        ],
        "bib_entries": {
            "aa": {"ids": {"arxiv_id": "2001.00001"}},
            "bb": {"ids": {"doi": "10.1000/harbour.7", "open_alex_id": ""}},
            "cc": {"ids": {}, "contained_arXiv_ids": [{"id": "2001.00002"}]},
            "zz": {"ids": {"open_alex_id": "https://openalex.org/W1"}},
        },
    }


def test_unarxive_gives_citing_sentences_and_titles(tmp_path: Path) -> None:
    rows = [unarxive_paper(), {"metadata": {}}]
    reader = Unarxive([write_rows(tmp_path / "papers.jsonl.xz", rows)])
    books = shelf(tmp_path, reader)
    own = books.find("arxiv:2101.00009")
    assert own == len(PAPERS)
    references, problems = read(reader, books)
    assert [(r.type, r.text, r.positive) for r in references[:-1]] == [
        ("citation", "Tables of the tide are old.", 0),
        ("citation", "Floating gauges are cheap and they are robust.", 1),
        ("citation", "Floating gauges are cheap and they are robust.", 3),
    ]
    assert references[0].negative in (1, 3)
    assert references[1].negative is None, "section 2 cites the table too, so nothing is cited elsewhere only"
    assert references[-1].type == "title"
    assert references[-1].text.split() == ["Harbour", "forecasts", "that", "keep", "their", "promises"]
    assert references[-1].negative in (0, 1, 3)
    assert problems.skipped["document not in the corpus"] == 1
    assert problems.bad == 1
    assert [r.type for r in read(Unarxive(reader.files, titles=False), books)[0]] == ["citation"] * 3


def test_sentences_and_groups_of_citations() -> None:
    text = (
        "Waves, e.g. long ones, were seen by Reed et al. in Fig. 3 of their work.{{cite:a}} "
        "Others disagree ({{cite:b}}; {{cite:c}} and {{cite:d}}) with that view entirely. "
        "Two places {{cite:a}} in one sentence are one too many {{cite:b}}. Too short {{cite:a}}."
    )
    assert len(list(sentences(text))) == 4
    assert list(citing_sentences(text)) == [
        ("Waves, e.g. long ones, were seen by Reed et al. in Fig. 3 of their work.", ["a"]),
        ("Others disagree with that view entirely.", ["b", "c", "d"]),
    ]


def test_bad_rows_are_named_by_file_and_line(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "corpus.jsonl", ['{"id": 1,', "", "[1]", *PAPERS, {"id": "x"}, {"id": "y", "title": 3}]
    )
    problems = Problems()
    assert len(list(Corpus([path]).documents(problems))) == len(PAPERS)
    assert problems.bad == 4
    assert problems.examples[0].startswith(f"{path}:1: It is not JSON")
    assert problems.examples[1:] == [
        f"{path}:3: It is JSON, but not an object.",
        f"{path}:9: the document has neither title nor abstract",
        f"{path}:10: 'title' must be text",
    ]


def test_a_file_of_bad_rows_is_refused(tmp_path: Path) -> None:
    some = write_rows(tmp_path / "some.jsonl", [*PAPERS * 10, *["no"] * 11])
    with pytest.raises(TrainingError, match=r"11 bad rows among 61.*some\.jsonl:51"):
        list(Corpus([some]).documents(Problems()))
    assert len(list(Corpus([some]).documents(Problems(tolerance=0.5)))) == 50
    with pytest.raises(TrainingError, match="2 bad rows among 2"):
        list(Corpus([write_rows(tmp_path / "all.jsonl", ["no", "neither"])]).documents(Problems()))


def test_damaged_and_missing_files_are_named(tmp_path: Path) -> None:
    whole = write_rows(tmp_path / "whole.jsonl.xz", PAPERS * 200)
    cut = tmp_path / "cut.jsonl.xz"
    cut.write_bytes(whole.read_bytes()[:-40])
    with pytest.raises(TrainingError, match=r"cut\.jsonl\.xz is damaged"):
        list(Corpus([cut]).documents(Problems()))
    with pytest.raises(TrainingError, match=r"absent\.jsonl\.gz cannot be read"):
        list(Corpus([tmp_path / "absent.jsonl.gz"]).documents(Problems()))


def test_lines_without_end_do_not_fill_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("erukg.training.references.rows.LONGEST_LINE", 1000)
    long = '{"title": "' + "a" * 5000 + '"}'
    path = write_rows(tmp_path / "long.jsonl", [PAPERS[0], long, PAPERS[1]])
    problems = Problems()
    assert [p.title for p in Corpus([path]).documents(problems)] == [p["title"] for p in PAPERS[:2]]
    assert "longer than" in problems.examples[0]
