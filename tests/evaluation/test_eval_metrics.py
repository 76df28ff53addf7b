"""Hand-worked examples of both protocols and agreement with a second implementation."""

from __future__ import annotations

import io
import random
import re
import string
from functools import cache

import numpy as np
import pytest
from nltk.stem.porter import PorterStemmer
from nltk.tokenize.destructive import NLTKWordTokenizer
from rich.console import Console

from erukg.errors import InputError
from erukg.research.evaluation import Dataset, Record, Scores, average, score
from erukg.research.evaluation.ground_truth import gold
from erukg.research.evaluation.keyphrase_report import print_report, to_json
from erukg.research.evaluation.metrics import DEPTH, METRICS, judge
from erukg.research.evaluation.stemming import Variant, phrase_key, stemmed_key


def record(title: str, abstract: str, *keyphrases: str, id: str = "d", official: object = None) -> Record:
    return Record(id, title, abstract, keyphrases, official)  # type: ignore[arg-type]


def scores(present: list[str], absent: list[str], *records: Record, protocol: str = "paper") -> Scores:
    dataset = Dataset("s", records)
    return score([(present, absent)] * len(records), dataset, protocol)  # type: ignore[arg-type]


def hits(phrases: list[str], right: dict[str, int], variant: Variant = "nltk") -> list[int]:
    """The ranks of right answers among the first fifty."""
    return list(judge((phrase_key(p, variant) for p in phrases[:DEPTH]), right, len(right)).ranks)


TEXT = ("Sea ice from radar", "We map sea ice with radar images and neural networks.")


def test_one_document_worked_by_hand() -> None:
    # Present gold: sea ice, radar images (2). Absent: remote sensing (1).
    r = record(*TEXT, "Sea Ice", "radar images", "remote sensing")
    s = scores(["sea ice", "neural networks", "radar image"], ["glacier", "remote sensing"], r)
    assert s.present.documents == s.absent.documents == 1
    assert s.present["P@5"] == 2 / 5
    assert s.present["R@5"] == 1
    assert s.present["F@5"] == pytest.approx(2 * 0.4 * 1 / 1.4)
    assert s.present["P@10"] == 0.2
    assert s.present["F@10"] == pytest.approx(2 * 0.2 / 1.2)
    assert (s.absent["R@5"], s.absent["P@5"]) == (1, 0.2)


def test_fewer_predictions_than_k_are_padded_with_wrong_answers() -> None:
    r = record(*TEXT, "sea ice")
    assert scores(["sea ice"], [], r).present["P@5"] == 1 / 5
    assert scores([], [], r).present["F@5"] == 0


def test_predictions_equal_after_stemming_count_once_and_free_their_place() -> None:
    r = record(*TEXT, "sea ice", "radar images")
    # The second and third are the first again, so "radar image" moves from sixth place to fourth.
    wanted = ["sea ice", "Sea-Ice", "sea ice.", "map", "with", "radar image"]
    assert hits(wanted, gold(r).present) == [1, 4]
    assert scores(wanted, [], r).present["R@5"] == 1


def test_ties_stay_in_the_order_given() -> None:
    r = record(*TEXT, "sea ice")
    five = ["map", "with", "we", "and", "from"]
    assert scores(["sea ice", *five], [], r).present["R@5"] == 1
    assert scores([*five, "sea ice"], [], r).present["R@5"] == 0
    assert scores([*five, "sea ice"], [], r).present["R@10"] == 1


def test_gold_repeated_after_stemming_counts_once() -> None:
    r = record(*TEXT, "radar image", "Radar Images", "radar images", "sea ice")
    assert gold(r).n_present == 2
    assert scores(["radar images"], [], r).present["R@5"] == 0.5


def test_documents_without_gold_of_a_kind_are_not_counted() -> None:
    only_present = record(*TEXT, "sea ice", id="a")
    only_absent = record(*TEXT, "remote sensing", id="b")
    s = scores(["sea ice"], ["glacier"], only_present, only_absent)
    assert (s.present.documents, s.absent.documents) == (1, 1)
    assert (s.present["R@5"], s.absent["R@5"]) == (1, 0)
    nothing = scores(["sea ice"], [], record(*TEXT))
    assert nothing.present.documents == 0
    assert np.isnan(nothing.present["F@5"])


def test_macro_average_weighs_documents_alike_and_average_weighs_sets_alike() -> None:
    a = record(*TEXT, "sea ice", id="a")  # R@5 1
    b = record(*TEXT, "radar images", "neural networks", id="b")  # R@5 0
    one, two = scores(["sea ice"], [], a, b, b), scores(["sea ice"], [], a)
    assert one.present["R@5"] == pytest.approx(1 / 3)
    assert average([one, two], "present")["R@5"] == pytest.approx((1 / 3 + 1) / 2)
    assert np.isnan(average([one, two], "absent")["R@5"])
    with_empty = scores([], [], record(*TEXT))
    assert average([two, with_empty], "present")["R@5"] == 1


def test_present_is_decided_by_letters_in_paper_and_by_stemmed_words_in_stemmed() -> None:
    # "ice" stands in "device" by letters only, "mapping" in "map" by stem only.
    r = record("A new device", "It maps icy ground quickly", "ice", "mapping", "Device")
    assert set(gold(r, "paper").present) == {"ice", "devic"}
    assert set(gold(r, "paper").absent) == {"map"}
    assert set(gold(r, "stemmed").present) == {"map", "devic"}
    assert set(gold(r, "stemmed").absent) == {"ice"}


def test_no_phrase_is_found_across_the_title_or_a_sentence_end() -> None:
    r = record("Peer networks", "search engines. Queries help.", "networks search", "engine query", "peer network")
    assert set(gold(r, "stemmed").present) == {"peer network"}
    assert gold(r, "paper").n_absent == 2


def test_punctuation_and_hyphens_do_not_separate_answers() -> None:
    assert phrase_key(" (Peer-to-Peer Networks). ") == phrase_key("peer to peer network") == "peer to peer network"
    assert phrase_key("...") == ""
    r = record(*TEXT, "?!", "sea ice")
    assert gold(r).n_present + gold(r).n_absent == 1


def test_only_fifty_predictions_are_looked_at_unless_told_otherwise() -> None:
    dataset = Dataset("s", (record(*TEXT, "sea ice"),))
    for before, depth, found in ((49, 50, 1), (50, 50, 0), (50, 51, 1), (4, 4, 0)):
        phrases = ["map"] * before + ["sea ice"]
        assert score([(phrases, [])], dataset, depth=depth).present["R@5"] == found


def test_official_gold_is_matched_by_its_own_stems_and_alternatives() -> None:
    official = (("overlai network", "network overlai"), ("qualiti of servic",), ("databas",), ("multicast",))
    r = record(
        "Overlay network design",
        "The service quality of databases.",
        "overlay network",
        "network overlay",
        "quality of service",
        "database",
        official=official,
    )
    g = gold(r, "paper")
    assert g.present == {"network overlai": 0, "overlai network": 0, "databas": 1}
    assert set(g.absent) == {"qualiti of servic", "multicast"}
    # Either alternative is right, the second one named is wrong, and official stems are not stemmed again.
    assert hits(["network overlays", "overlay networks", "databases"], g.present, g.variant) == [1, 3]
    assert stemmed_key("databas") == "databas"
    assert set(gold(r, "stemmed").present) == set(g.present)


def test_official_gold_without_plain_forms_is_looked_for_by_stems() -> None:
    r = record("Grids", "Discovering web-services.", official=(("discov web-servic",), ("grid",), ("cloud",)))
    for protocol in ("paper", "stemmed"):
        assert set(gold(r, protocol).present) == {"discov web servic", "grid"}


def test_official_phrases_that_share_an_alternative_are_one() -> None:
    r = record("a", "b", official=(("x y", "y x"), ("z",), ("y x", "w")))
    assert gold(r).n_absent == 2
    assert gold(r).absent["x y"] == gold(r).absent["w"] != gold(r).absent["z"]


def test_absent_share() -> None:
    halves = Dataset("halves", (record(*TEXT, "sea ice", "remote sensing", "radar", "glacier"),))
    out = io.StringIO()
    print_report(Console(file=out, width=160), to_json([halves, Dataset("nothing", (record(*TEXT),))], []))
    cells = {row[1]: row[4] for line in out.getvalue().splitlines() if len(row := re.split(r" *[│┃] *", line)) > 4}
    assert (cells["halves"], cells["nothing"]) == ("50.0 %", "– %")


def test_bad_calls() -> None:
    with pytest.raises(InputError, match="2 predictions for the 1 documents of 's'"):
        score([([], [])] * 2, Dataset("s", (record(*TEXT),)))
    with pytest.raises(InputError, match="no protocol 'strict'; the protocols are paper and stemmed"):
        scores([], [], record(*TEXT), protocol="strict")


# A second implementation, from the description of the protocols alone: lists, loops, textbook formulas.

_stem = cache(PorterStemmer().stem)
_tokenizer = NLTKWordTokenizer()


@cache
def other_key(phrase: str) -> str:
    phrase = phrase.strip(string.punctuation + " ").replace("-", " ")
    return " ".join(_stem(word.lower()) for word in _tokenizer.tokenize(phrase))


def other_unique(phrases: list[str]) -> list[str]:
    out: list[str] = []
    for phrase in phrases:
        if other_key(phrase) and other_key(phrase) not in out:
            out.append(other_key(phrase))
    return out


def other_words(text: str) -> list[str]:
    return [_stem(word) for word in re.findall(r"\w+|[^\w\s]", text.lower().replace("-", " "))]


def other_present(phrase: str, title: str, abstract: str, protocol: str) -> bool:
    if protocol == "paper":
        return phrase.lower() in f"{title}\n{abstract}".lower()
    wanted = other_words(phrase.strip(string.punctuation))
    for part in (title, abstract):
        words = other_words(part)
        for i in range(len(words) - len(wanted) + 1):
            if words[i : i + len(wanted)] == wanted:
                return True
    return False


def other_scores(predicted: list[str], right: list[str]) -> dict[str, float]:
    answers, right = other_unique(predicted[:50]), other_unique(right)
    out = {}
    for k in (5, 10):
        top = (answers + ["<wrong>"] * k)[:k]
        good = len([answer for answer in top if answer in right])
        p, r = good / len(top), good / len(right)
        out[f"P@{k}"], out[f"R@{k}"] = p, r
        out[f"F@{k}"] = 2 * p * r / (p + r) if good else 0.0
    return out


# fmt: off
WORDS = [
    "network", "networks", "networking", "graph", "graphs", "ice", "device", "devices", "map", "maps",
    "mapping", "peer-to-peer", "o(n)", "c++", "query", "queries", "cannot", "Bayes'", "theory", "theories",
    "learn", "learning", "learned", "overlay", "survey", "surveys", "U.S.", "3d", "e-mail", "models",
    "modelling",
]
# fmt: on


def random_phrase(rng: random.Random) -> str:
    phrase = " ".join(rng.choices(WORDS, k=rng.choice([1, 1, 2, 2, 3])))
    return rng.choice([phrase, phrase, phrase.upper(), phrase.title(), f"({phrase})", f"{phrase}."])


def test_agrees_with_a_second_implementation_on_1000_random_cases() -> None:
    rng = random.Random(7)
    records, predictions = [], []
    for i in range(1000):
        title = " ".join(rng.choices(WORDS, k=rng.randint(1, 6)))
        abstract = ". ".join(" ".join(rng.choices(WORDS, k=rng.randint(1, 8))) for _ in range(rng.randint(1, 5)))
        records.append(Record(f"{i}", title, abstract, tuple(random_phrase(rng) for _ in range(rng.randint(0, 12)))))
        present, absent = ([random_phrase(rng) for _ in range(rng.randint(0, 60))] for _ in range(2))
        predictions.append((present, absent))
    dataset = Dataset("random", tuple(records))
    for protocol in ("paper", "stemmed"):
        got = score(predictions, dataset, protocol)
        for kind, wanted_present in (("present", True), ("absent", False)):
            expected = []
            for r, prediction in zip(records, predictions, strict=True):
                right = [p for p in r.keyphrases if other_present(p, r.title, r.abstract, protocol) == wanted_present]
                if right:
                    expected.append(other_scores(prediction[not wanted_present], right))
            assert got.kinds[kind].documents == len(expected) > 300
            for metric in METRICS:
                values = [e[metric] for e in expected]
                np.testing.assert_allclose(got.kinds[kind].by_document[metric], values, rtol=1e-12)
                assert got.kinds[kind][metric] == pytest.approx(sum(values) / len(values), rel=1e-12)
                assert sum(values) > 0


def test_short_cut_of_the_tokeniser_changes_nothing() -> None:
    rng = random.Random(3)
    words = [
        *WORDS,
        "gonna",
        "wanna",
        "gimme",
        "lemme",
        "gotta",
        "cannot",
        "d'ye",
        "more'n",
        "tis",
        "can",
        "not",
    ]
    for _ in range(2000):
        phrase = " ".join(rng.choices(words, k=rng.randint(1, 4)))
        assert phrase_key(phrase) == other_key(phrase)
