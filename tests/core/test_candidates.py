"""Noun phrases: the paper's grammar, folding, spans, positions, and finding given phrases."""

from __future__ import annotations

from typing import cast

import nltk
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.test_document import texts
from erukg.core.candidates import find_candidates, noun_phrases
from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.hashing import hash_phrases
from erukg.core.locating import Located, locate, words_before
from erukg.core.neighbours import Glossary
from erukg.core.word_classes import ADJECTIVE, NOUN, OTHER, penn_class
from erukg.errors import InputError

PAPER = nltk.RegexpParser("NP: {(<NN.*|JJ.*>+<NN.*|CD>)|<NN.*>}")


def tagged(text: str, tags: str, max_words: int = 5) -> list[Located]:
    classes = np.array([penn_class(t) for t in tags.split()], np.int8)
    return noun_phrases(Document.parse(text), classes, max_words)


def forms(found: list[Located]) -> list[str]:
    return [candidate.form for candidate in found]


def folds(found: list[Located]) -> list[str]:
    return [candidate.fold for candidate in found]


def test_an_ordinary_sentence() -> None:
    text = "Deep networks and a deep  network on Windows 95"
    found = tagged(text, "JJ NNS CC DT JJ NN IN NNP CD")
    assert folds(found) == ["deep network", "window 95"]
    assert forms(found) == ["Deep networks", "Windows 95"]
    assert [c.spans for c in found] == [((0, 13), (20, 33)), ((37, 47),)]
    assert [c.words_before for c in found] == [0, 7]


def test_the_most_used_form_is_shown() -> None:
    found = tagged("Peer-to-Peer net . peer-to-peer nets . peer-to-peer nets", "JJ NN . JJ NNS . JJ NNS")
    assert folds(found) == ["peer to peer net"]
    assert forms(found) == ["peer-to-peer nets"]
    assert [len(c.spans) for c in found] == [3]


@given(st.lists(st.sampled_from(["NN", "NNS", "JJ", "JJR", "CD", "VB", ",", "BR"]), max_size=30))
@settings(max_examples=300, deadline=None)
def test_chunks_are_those_of_nltk(tags: list[str]) -> None:
    words = [f"w{'abcdefghijklmnopqrstuvwxyzABCD'[i]}q{i:02}" for i in range(len(tags))]
    document = Document.parse(
        "".join(", " if t == "," else "\n\n" if t == "BR" else f"{w} " for w, t in zip(words, tags, strict=True))
    )
    classes = np.array([penn_class(t) for t in tags if t != "BR"], np.int8)
    expected: list[str] = []
    sentence: list[tuple[str, str]] = []
    for word, tag in [*zip(words, tags, strict=True), ("", "BR")]:
        if tag != "BR":
            sentence.append((word, tag))
        elif sentence:
            expected += [
                " ".join(w for w, _ in np_) for np_ in PAPER.parse(sentence).subtrees(lambda t: t.label() == "NP")
            ]
            sentence = []
    assert forms(noun_phrases(document, classes, max_words=30)) == expected


def test_long_runs_keep_their_head() -> None:
    found = tagged("a b1 c1 d1 e1 f1 g1", "DT JJ NN NN NN NN NN", max_words=3)
    assert forms(found) == ["e1 f1 g1"]
    assert forms(tagged("Windows 95", "NN CD", max_words=1)) == []


def test_what_is_no_phrase() -> None:
    assert forms(tagged("i , e.g. , x , 95 , et al , I/O", "NN , NN , NN , NN , NN NN , NN")) == ["I/O"]
    assert forms(tagged("k e y w o r d s", " ".join(["NN"] * 8), max_words=8)) == []
    assert forms(tagged("Table 1 , Figure 2.3 , Windows 95", "NN CD , NN CD , NN CD")) == ["Windows 95"]
    assert forms(tagged("paper , results", "NN , NNS")) == ["paper", "results"]


def test_markup_inside_a_phrase() -> None:
    text = 'the \\emph{deep} Schr\\"odinger nets, H<sub>2</sub>O molecules, infor-\nmation needs, AT&amp;T labs'
    tags = "DT JJ NNP NNS , NN NNS , NN NNS , NNP NNS"
    found = tagged(text, tags)
    assert forms(found) == ["deep Schrödinger nets", "H2O molecules", "information needs", "AT&T labs"]
    for key, ((a, b),) in ((c.fold, c.spans) for c in found):
        assert fold(text[a:b]) == key
    assert text[slice(*found[2].spans[0])] == "infor-\nmation needs"


def test_one_class_a_word() -> None:
    with pytest.raises(InputError, match="Got 1 tag classes for 2 words"):
        noun_phrases(Document.parse("two words"), np.zeros(1, np.int8))


def spans_of(document: Document, folds: list[str]) -> list[tuple[tuple[int, int], ...]]:
    return [place.spans if place is not None else () for place in locate(document, folds)]


def test_candidates_count_every_occurrence_and_noun_phrases_their_own() -> None:
    text = "sparse networks of networks"
    document = Document.parse(text)
    classes = np.array([ADJECTIVE, NOUN, OTHER, NOUN], np.int8)
    assert [len(c.spans) for c in noun_phrases(document, classes)] == [1, 1]
    found = find_candidates(document, classes, whole=False)
    assert folds(found) == ["sparse network", "network"]
    assert [len(c.spans) for c in found] == [1, 2]
    assert [c.words_before for c in found] == [0, 1]


def test_occurrences_are_whole_words_without_breaks() -> None:
    text = "Peer-to-peer ice in devices; ice\n\nnets, an Ice net. Ices"
    document = Document.parse(text)
    ice, net, peer, part, absent = spans_of(document, ["ice", "ice net", "peer to peer ice", "to peer", "device ice"])
    assert [text[a:b] for a, b in ice] == ["ice", "ice", "Ice", "Ices"]
    assert [text[a:b] for a, b in net] == ["Ice net"]
    assert [text[a:b] for a, b in peer] == ["Peer-to-peer ice"]
    assert part == absent == ()
    assert spans_of(document, ["", " ", " ice", "ice", "ice"])[:3] == [(), (), ()]


@given(texts, st.data())
@settings(max_examples=300, deadline=None)
def test_occurrences_agree_with_a_plain_search(text: str, data: st.DataObject) -> None:
    document = Document.parse(text)
    n = len(document)
    runs = [
        (i, j)
        for i in range(n)
        for j in range(i + 1, min(i + 4, n) + 1)
        if not document.breaks[i + 1 : j].any() and document.folded[i] and document.folded[j - 1]
    ]
    chosen = data.draw(st.lists(st.sampled_from(runs), max_size=4)) if runs else []
    keys = [" ".join(f for f in document.folded[i:j] if f) for i, j in chosen] + ["absent phrase"]
    for key, spans in zip(keys, spans_of(document, keys), strict=True):
        length = len(key.split())
        plain = tuple(
            (int(document.starts[i]), int(document.ends[j - 1]))
            for i, j in runs
            if " ".join(f for f in document.folded[i:j] if f) == key
            and fold(text[document.starts[i] : document.ends[j - 1]]) == key
        )
        assert all(fold(text[a:b]) == key for a, b in spans)
        assert set(plain) <= set(spans)
        if length <= 4:
            assert set(spans) <= {(int(document.starts[i]), int(e)) for i in range(n) for e in document.ends[i:]}


def test_positions_count_words_not_marks() -> None:
    text = "One, two (three) $x$ four"
    document = Document.parse(text)
    assert words_before(document, [text.index(w) for w in ("One", "two", "three", "four")]).tolist() == [0, 1, 2, 4]
    assert words_before(document, []).tolist() == []
    assert words_before(Document.parse(""), [0]).tolist() == [0]


def test_candidates_know_their_position() -> None:
    text = "We , too , like nets"
    found = tagged(text, "PRP , RB , VBP NNS")
    assert [c.words_before for c in found] == [3] == words_before(Document.parse(text), [text.index("nets")]).tolist()


class Listed:
    """A glossary of a few phrases, as far as candidates ask it."""

    def __init__(self, *phrases: str) -> None:
        self.known = hash_phrases([fold(phrase) for phrase in phrases]).tolist()

    def __len__(self) -> int:
        return len(self.known)

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        return np.array([self.known.index(h) if h in self.known else -1 for h in hashes.ravel().tolist()], np.int64)


def whole(text: str, tags: str, *known: str) -> dict[str, int]:
    """The whole phrases of a text, each with how many of its occurrences stand alone."""
    classes = np.array([penn_class(t) for t in tags.split()], np.int8)
    glossary = cast(Glossary, Listed(*known)) if known else None
    return {found.form: found.alone for found in find_candidates(Document.parse(text), classes, glossary=glossary)}


SENTENCE = "On Tuesday the Port of Antwerp sold two freshly painted tug boats in three days ."
TAGS = "IN NNP DT NNP IN NNP VBD CD RB VBN NN NNS IN CD NNS ."


def test_whole_phrases_and_those_of_the_paper() -> None:
    found = whole(SENTENCE, TAGS)
    assert list(found) == [
        "Port",
        "Port of Antwerp",
        "Antwerp",
        "freshly painted tug boats",
        "painted tug boats",
        "tug boats",
    ]
    assert {form for form, alone in found.items() if alone} == {"Port of Antwerp", "freshly painted tug boats"}
    classes = np.array([penn_class(t) for t in TAGS.split()], np.int8)
    paper = find_candidates(Document.parse(SENTENCE), classes, whole=False)
    assert forms(paper) == ["Tuesday", "Port", "Antwerp", "tug boats", "days"]


def test_counts_and_dates_are_phrases_of_queries_alone() -> None:
    assert whole("last week", "JJ NN") == {"week": 1}
    assert whole(f"{SENTENCE} next week", f"{TAGS} JJ NN") == whole(SENTENCE, TAGS)


def test_mere_owners_are_no_phrases() -> None:
    found = whole(f"{SENTENCE} Byron's notes", f"{TAGS} NNP NNS")
    assert "Byron's notes" in found
    found = whole(f"{SENTENCE} the city's", f"{TAGS} DT NN")
    assert not any("city" in form for form in found)


def test_owners_with_a_whole_name_go_by_it() -> None:
    found = whole(f"{SENTENCE} Ada Byron's notes", f"{TAGS} NNP NNP NNS")
    assert {"notes", "Ada Byron"} <= set(found)
    text = f"{SENTENCE} Ada Byron's notes and Ada Byron's son"
    classes = np.array([penn_class(t) for t in f"{TAGS} NNP NNP NNS CC NNP NNP NN".split()], np.int8)
    places = {c.form: c for c in find_candidates(Document.parse(text), classes)}
    assert [text[start:end] for start, end in places["Ada Byron"].spans] == ["Ada Byron's"] * 2


def test_what_the_glossary_knows_is_a_candidate_wherever_it_stands() -> None:
    tags = TAGS.replace("NN NNS IN", "VB VB IN")
    assert not any("boat" in form for form in whole(SENTENCE, tags))
    assert whole(SENTENCE, tags, "tug boats")["tug boats"] == -1
    assert whole(SENTENCE, TAGS, "tug boats")["tug boats"] == 0
    assert "boats" not in whole(SENTENCE, tags, "boats"), "single words are left to the grammar"
    assert "the Port" not in whole(SENTENCE, tags, "the Port"), "no phrase begins with an article"


def test_a_part_counts_how_often_it_stands_alone() -> None:
    text = "The new ferries and the ferries ran . Ferries sank , new ferries ran on and on ."
    tags = "DT JJ NNS CC DT NNS VBD . NNS VBD , JJ NNS VBD RB CC RB ."
    assert whole(text, tags) == {"new ferries": 2, "ferries": 2}
