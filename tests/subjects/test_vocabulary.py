"""A vocabulary in memory and in a folder: looked up, saved, mapped, sent to other processes, damaged."""

from __future__ import annotations

import json
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from erukg.core.folding import fold
from erukg.core.hashing import hash_phrases
from erukg.core.phrase_list import natural_order
from erukg.errors import ErukgError, InputError
from erukg.subjects.concepts import Concept, VocabularyLimits, matching_form
from erukg.subjects.storage import verify_folder
from erukg.subjects.vocabulary import Vocabulary

CONCEPTS = (
    Concept("u:planet", "Mercury (planet)", "52", ("Hermes",), ("u:body", "u:unknown", "u:planet")),
    Concept("u:element", "Mercury (element)", alternatives=("Hg", "quicksilver", "Hg", " quick  silver ")),
    Concept("u:body", "Bodies, Celestial", labels_by_language={"de": "Himmelskörper"}),
    Concept("u:hermes", "hermes"),
    Concept("u:marks", "???"),
)


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary.of(CONCEPTS, "sky")


@pytest.mark.parametrize(
    ("heading", "read"),
    [
        ("Fractures, Hip", "Hip Fractures"),
        ("Leukemia, Myeloid, Acute", "Acute Myeloid Leukemia"),
        ("Enteritis, Transmissible, of Turkeys", "Transmissible Enteritis of Turkeys"),
        ("Fire, in art", "Fire in art"),
        ("Exit, voice, and loyalty", "Exit, voice, and loyalty"),
        ("Hotels, inns, bars and kitchens", "Hotels, inns, bars and kitchens"),
        ("1,2-Dichloroethane", "1,2-Dichloroethane"),
        ("plain", "plain"),
        ("trailing, ", "trailing, "),
    ],
)
def test_inverted_headings_are_read_as_they_are_meant(heading: str, read: str) -> None:
    assert natural_order(heading) == read


def test_qualifiers_are_dropped_for_matching_only() -> None:
    assert matching_form("Seals (animals)") == matching_form("seal") == "seal"
    assert matching_form("Fractures, Hip (injury) [old]") == "hip fracture"
    assert matching_form("f(x) models") != "model"
    assert matching_form("(untitled)") == "untitled", "a label is never empty for want of its brackets"


def test_concepts_come_back_as_they_were_given(vocabulary: Vocabulary) -> None:
    assert len(vocabulary) == len(CONCEPTS)
    assert vocabulary.name == "sky"
    planet, element, body, *_ = vocabulary
    assert planet == Concept("u:planet", "Mercury (planet)", "52", ("Hermes",), ("u:body",))
    assert element.alternatives == ("Hg", "quicksilver", "quick silver"), "white space is made even, repetitions go"
    assert body.labels_by_language == {"de": "Himmelskörper"}
    assert (vocabulary.label(2), vocabulary.label(2, "de"), vocabulary.label(1, "de")) == (
        "Bodies, Celestial",
        "Himmelskörper",
        "Mercury (element)",
    )
    assert (vocabulary.broader(0).tolist(), vocabulary.narrower(2).tolist()) == ([2], [0])
    with pytest.raises(IndexError):
        vocabulary[len(CONCEPTS)]


def test_found_by_uri_and_by_label(vocabulary: Vocabulary) -> None:
    assert [vocabulary.find(concept.uri) for concept in CONCEPTS] == list(range(len(CONCEPTS)))
    assert vocabulary.find("u:none") == vocabulary.find_label("planets") == vocabulary.find_label("?") == -1
    assert vocabulary.find_label("celestial body") == 2
    assert vocabulary.find_label("mercury (ELEMENT)") == 1, "the one that is written so"
    assert vocabulary.find_label("Mercury") in (0, 1)
    assert vocabulary.find_label("hermes") == 3
    assert Vocabulary.of([*CONCEPTS[:1], Concept("u:x", "Herme")]).find_label("HERMES") == 0
    assert Vocabulary.of([Concept("a", "b", alternatives=("Elms",)), Concept("c", "elm")]).find_label("the elm") == -1
    assert Vocabulary.of([Concept("a", "b", alternatives=("Elms",)), Concept("c", "elm's")]).find_label("elm") == 1


def test_arrays_of_labels_agree_with_the_concepts(vocabulary: Vocabulary) -> None:
    folds, owners = vocabulary.label_folds, vocabulary.label_owners
    assert len(folds) == len(owners) == len(vocabulary.label_is_preferred) == vocabulary.label_count == 9
    assert [array.dtype.str[1:] for array in (folds, owners, vocabulary.label_is_preferred)] == ["u8", "i4", "b1"]
    assert np.all(folds[:-1] <= folds[1:])
    for j in range(vocabulary.label_count):
        text, concept = vocabulary.label_text(j), vocabulary[int(owners[j])]
        assert text in (concept.label, *concept.alternatives)
        assert bool(vocabulary.label_is_preferred[j]) == (text == concept.label)
        form = matching_form(text)
        assert folds[j] == (hash_phrases([form])[0] if form else 0)
    assert vocabulary.longest_label == max(fold(text).count(" ") + 1 for text in ("celestial bodies", "quick silver"))


def test_a_list_of_tags_is_a_vocabulary() -> None:
    tags = Vocabulary.of(["to read", " to  read", "field notes"])
    assert [(concept.uri, concept.label) for concept in tags] == [("to read",) * 2, ("field notes",) * 2]
    assert len(Vocabulary.of([])) == 0
    assert Vocabulary.of([]).find("x") == Vocabulary.of([]).find_label("x") == -1


@pytest.mark.parametrize(
    ("concepts", "said"),
    [
        ("one string", "not of one string"),
        ([Concept("a", "b"), Concept("a", "c")], r"Concept 2: The URI 'a' .* another concept too \(Concept 1\)"),
        ([Concept("a", " ")], "Concept 1: The label is empty"),
        ([Concept("", "b")], "The URI is empty"),
        ([7], "a Concept or a string, not int"),
        ([Concept("a", 7)], "label is not a string but int"),  # type: ignore[arg-type]
        ([Concept("a", "b" * 3000)], "3,000 characters"),
        (["a\0b"], "control characters"),
        ([Concept("a\ud800b", "c")], "control characters"),
        ([Concept("a", "b", alternatives=tuple(map(str, range(20_000))))], "more than 10,000 labels"),
    ],
)
def test_what_is_no_concept_is_refused(concepts: list[Concept], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Vocabulary.of(concepts)


def test_too_many_concepts_are_refused() -> None:
    limits = VocabularyLimits(concepts=3)
    assert len(Vocabulary.of(["a", "b", "c", "a"], limits=limits)) == 3
    with pytest.raises(InputError, match="more than 3 concepts"):
        Vocabulary.of(list("abcd"), limits=limits)


def test_saved_and_opened_it_is_the_same(vocabulary: Vocabulary, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "sky"
    vocabulary.save(folder)
    verify_folder(folder)
    opened = Vocabulary.load(folder)
    assert list(opened) == list(vocabulary)
    assert (opened.name, opened.languages) == ("sky", ("en", "de"))
    assert opened.fingerprint == vocabulary.fingerprint == opened._arrays.fingerprint()
    assert opened.find_label("quicksilver") == 1
    assert not opened.label_folds.flags.writeable
    Vocabulary.of(["only"]).save(folder)
    assert len(Vocabulary.open(folder)) == 1, "a vocabulary is replaced"
    assert len(opened) == len(vocabulary), "what was open stays as it was"
    assert [path.name for path in folder.parent.iterdir()] == ["sky"]
    assert len(list(folder.iterdir())) == 2, "the replaced one's file is gone"
    Vocabulary.of(["only"], "renamed").save(folder)
    assert Vocabulary.open(folder).name == "renamed"
    Vocabulary.of([]).save(folder)
    assert len(Vocabulary.open(folder)) == 0


def test_fingerprint_is_that_of_the_content() -> None:
    same = Vocabulary.of(CONCEPTS, "another name")
    assert same.fingerprint == Vocabulary.of(CONCEPTS).fingerprint
    others = [CONCEPTS[:-1], CONCEPTS[::-1], (*CONCEPTS[:-1], Concept("u:marks", "!!!"))]
    assert len({Vocabulary.of(each).fingerprint for each in (CONCEPTS, *others)}) == 4


def test_it_travels_to_other_processes(vocabulary: Vocabulary, tmp_path: Path) -> None:
    assert list(pickle.loads(pickle.dumps(vocabulary))) == list(vocabulary)
    vocabulary.save(tmp_path / "sky")
    opened = pickle.dumps(Vocabulary.open(tmp_path / "sky"))
    assert len(opened) < 1000
    assert list(pickle.loads(opened)) == list(vocabulary)


def test_many_threads_may_ask(vocabulary: Vocabulary) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(vocabulary.find_label, ["quicksilver"] * 200)) == {1}


def test_a_large_one_opens_at_once(tmp_path: Path) -> None:
    concepts = [Concept(f"u:{i}", f"thing {i}", alternatives=(f"item {i}",)) for i in range(100_000)]
    Vocabulary.of(concepts).save(tmp_path / "large")
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        opened = Vocabulary.open(tmp_path / "large")
        times.append(time.perf_counter() - begun)
    assert min(times) < 0.1
    assert opened[77_777] == concepts[77_777]
    assert (opened.find("u:99999"), opened.find_label("items 4321")) == (99_999, 4321)


def test_a_folder_of_something_else_is_left_alone(vocabulary: Vocabulary, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is no vocabulary"):
        vocabulary.save(tmp_path)
    with pytest.raises(InputError, match="holds no vocabulary"):
        Vocabulary.open(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        Vocabulary.open(tmp_path / "nothing")
    with pytest.raises(InputError, match="cannot be written"):
        vocabulary.save(tmp_path / "notes.txt" / "below")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_build_that_was_killed_leaves_nothing_in_the_way(vocabulary: Vocabulary, tmp_path: Path) -> None:
    vocabulary.save(tmp_path / "sky")
    (tmp_path / "sky" / "vocabulary.json").unlink()
    (tmp_path / "sky" / f".arrays-{'0' * 16}.bin.1.part").write_bytes(b"half")
    vocabulary.save(tmp_path / "sky")
    assert list(Vocabulary.open(tmp_path / "sky")) == list(vocabulary)


def test_a_damaged_folder_is_never_believed(vocabulary: Vocabulary, tmp_path: Path) -> None:
    folder = tmp_path / "sky"
    vocabulary.save(folder)
    (file,) = folder.glob("*.bin")
    whole = file.read_bytes()
    rng = np.random.default_rng(5)
    for place in rng.integers(0, len(whole), 300).tolist():
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(InputError, match="is damaged"):
            verify_folder(folder)
        # A wrong letter or hash may pass unnoticed, but nothing is read beyond the end.
        with suppress(InputError):
            damaged = Vocabulary.open(folder)
            assert len(list(damaged)) == len(CONCEPTS)
            damaged.find_label("hermes")
    file.write_bytes(whole[:-30])
    with pytest.raises(InputError, match="is damaged"):
        Vocabulary.open(folder)
    file.unlink()
    with pytest.raises(InputError, match="is damaged"):
        Vocabulary.open(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"version": 9}, "format '9'"), ({"concepts": 3}, "checksum"), ({"format": "x"}, "not that of a vocabulary")],
)
def test_a_changed_manifest_is_refused(
    vocabulary: Vocabulary, tmp_path: Path, change: dict[str, object], said: str
) -> None:
    vocabulary.save(tmp_path / "sky")
    manifest = tmp_path / "sky" / "vocabulary.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    with pytest.raises(InputError, match=said):
        Vocabulary.open(tmp_path / "sky")
    for broken in (b"", b"[" * 100_000, b"{}", b"\xff\xfe", b"null"):
        manifest.write_bytes(broken)
        with pytest.raises(ErukgError, match="is damaged"):
            Vocabulary.open(tmp_path / "sky")
