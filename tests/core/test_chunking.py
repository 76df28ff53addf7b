"""Chunks: what is a phrase in running text and in queries, told by word classes, capitals and a few words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.test_document import texts
from erukg.core.chunking import Chunk, TaggedText, find_chunks
from erukg.core.document import QUERY_WORDS, Document
from erukg.core.word_classes import CLASSES

# In the order of `CLASSES`; O is every word without a mark.
LETTERS = "ONJCPVGWRB"
# Makes any sentence long enough to be no query, and holds no phrase.
MORE = " . It was as if they had all been there before us ."


def parsed(marked: str) -> tuple[Document, NDArray[np.int8]]:
    """A text whose words bear the letters of their classes: "a red|J kite|N"."""
    words, classes = zip(*([*word.split("|"), "O"][:2] for word in marked.split()), strict=True)
    document = Document.parse(" ".join(words))
    assert list(document.words) == list(words)
    return document, np.array([LETTERS.index(letter) for letter in classes], np.int8)


def chunks(marked: str, max_words: int = 5, known: str | None = None) -> list[tuple[str, bool]]:
    """The phrases of a marked text, and whether they stand alone."""
    document, classes = parsed(marked)

    def is_known(first: int, last: int) -> bool:
        return " ".join(document.words[first:last]) == known

    found = find_chunks(TaggedText(document, classes), max_words, is_known if known else None)
    return [(" ".join(document.words[first:last]), alone) for first, last, alone in found]


def prose(marked: str, max_words: int = 5) -> str:
    """The phrases of a sentence that stand alone."""
    assert len(parsed(marked + MORE)[0]) > QUERY_WORDS
    return " | ".join(phrase for phrase, alone in chunks(marked + MORE, max_words) if alone)


def parts(marked: str) -> str:
    """The phrases of a sentence that are there only as part of longer ones."""
    return " | ".join(phrase for phrase, alone in chunks(marked + MORE) if not alone)


def query(marked: str, known: str | None = None) -> str:
    assert len(parsed(marked)[0]) <= QUERY_WORDS
    return " | ".join(phrase for phrase, _ in chunks(marked, known=known))


def test_every_class_has_a_letter() -> None:
    assert len(LETTERS) == len(CLASSES)


def test_nouns_with_what_stands_before_them() -> None:
    assert prose("A narrow|J gauge|N railway|N crosses|B the steep|J") == "narrow gauge railway"
    assert prose("Older|W trams|N are more|W reliable|J machines|N") == "trams | reliable machines"


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("We saw|B the ferry|N captain|N Mia|P Holt|P there", "ferry captain | Mia Holt"),
        ("Goalkeeper|N Ines|P Duarte|P saved|B it", "Ines Duarte"),
        ("We sat|B in the Lisbon|P office|N then", "Lisbon office"),
        ("A text|N of mia|P holt|P without capitals|N", "text of mia holt | capitals"),
        ("They met|B President|P Ada|P Lindqvist|P then", "President Ada Lindqvist"),
        ("A New|J York|P firm|N left|B", "New York firm"),
        ("Das Eis|P der Arktis|P schmilzt|B", "Eis | Arktis"),
        ("They met|B the captain|N Ludwig|P van|N der|O Holt|P then", "captain | Ludwig van der Holt"),
        ("We saw|B the Piazza|P dei|N Cordai|P then", "Piazza dei Cordai"),
        ("Curator|P Bola|P Adeyemi|P spoke|B", "Bola Adeyemi"),
        ("Actor|P Holt|P spoke|B", "Actor Holt"),
        ("We read|B J.|P K.|P Rowling|G then", "J. K. Rowling"),
        ("The shop|N Marks|P &|O Spencer|P said|B", "shop | Marks & Spencer"),
        ("They sell|B Salt|N &|O Vinegar|N Crisps|N here", "Salt & Vinegar Crisps"),
    ],
)
def test_roles_are_cut_from_names(marked: str, expected: str) -> None:
    assert prose(marked) == expected


def test_a_title_before_a_name_may_be_left_out() -> None:
    assert parts("They met|B President|P Ada|P Lindqvist|P then") == "Ada Lindqvist"
    assert parts("They met|B Joan|P Ada|P Lindqvist|P then") == ""
    assert parts("They met|B President|P Lindqvist|P then") == ""
    marked = "they met|B president|P ada|P lindqvist|P then"
    assert parts(marked) == "", "a name has a capital where others have"
    assert ("ada lindqvist", False) in chunks((marked + MORE).lower().replace("|p", "|P").replace("|b", "|B"))


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("He left|B the Bank|P of England|P then", "Bank of England"),
        ("The Bank|P of England|P governor|N left|B", "Bank of England | governor"),
        ("He runs|B the old|J University|P of Cape|P Town|P library|N", "University of Cape Town | library"),
        (
            "He met|B the Chancellor|P of the Exchequer|P Nigel|P Lawson|P there",
            "Chancellor of the Exchequer | Nigel Lawson",
        ),
        ("during the Feast|N of the Nets|P in|O May|P", "Feast of the Nets | May"),
        ("A|O Study|N Of the Effects|N of|O Frost|N", "Study | Effects of Frost"),
        ("The Royal|P Commission|P on Rural|P Health|P met|B", "Royal Commission on Rural Health"),
        ("The Prince|P on Rural|P Roads|P met|B", "Prince | Rural Roads"),
        ("A bill|N of lading|N was|B lost|V", "bill of lading"),
        ("An increased|V cost|N of rail|N travel|N is|B seen|V", "increased cost of rail travel"),
        ("A number|N of users|N left|B", "number | users"),
        ("The effects|N of frost|N on roads|N", "effects | frost | roads"),
        ("The news|N of the day|N and theft|N of week|N", "news | day | theft | week"),
    ],
)
def test_of_joins_names_and_heads_that_say_something(marked: str, expected: str) -> None:
    assert prose(marked) == expected


def test_what_of_joins_does_not_stand_alone() -> None:
    assert parts("A bill|N of lading|N was|B lost|V") == "bill | lading"
    assert parts("The Bank|P of England|P governor|N left|B") == "Bank"
    assert (
        prose("the yearly|J cost|N of electric|J rail|N travel|N in", max_words=4)
        == "yearly cost | electric rail travel"
    )


def test_of_joins_nothing_across_a_break() -> None:
    document = Document.parse("House\n\nof\n\ncards" + MORE)
    classes = np.array([1, 0, 1] + [0] * (len(document) - 3), np.int8)
    assert find_chunks(TaggedText(document, classes), 5, None) == [Chunk(0, 1, True), Chunk(2, 3, True)]


def test_and_joins_what_the_text_joins_again() -> None:
    once = "supply|N and demand|N rise|B"
    assert prose(once) == "supply | demand"
    assert prose(f"{once} ; Supply|N and demands|N fell|B") == "supply and demand | Supply and demands"
    assert prose(f"{once} ; demand|N and supply|N fell|B") == "supply | demand | demand | supply"
    assert prose("talk|N and talk|N ; talk|N and talk|N") == "talk | talk | talk | talk"
    assert prose("big|J cats|N and dogs|N ; big|J cats|N and dogs|N") == "big cats | dogs | big cats | dogs"


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("Trials|N in type|N 2|C diabetes|N ended|B", "Trials | type 2 diabetes"),
        ("They gave|B 40|C patients|N 12|C weeks|N", ""),
        ("They saw|B 40|C otters|N and 3|C grey|J seals|N", "otters | grey seals"),
        ("In Apollo|P 11|C and Annex|N 2|C we", "Apollo 11 | Annex 2"),
        ("A village|N 11|C miles|N off|R in Model|N 2024|C we", "village | Model"),
        ("Prep|N 20|C mins|N", "Prep"),
        ("We ate|B 2|C tins|N beans|N", "beans"),
        ("On Thurs|P nobody|N came|B", ""),
        ("It ended|B the Thirty|C Years'|P War|P at|B last|J", "Thirty Years' War"),
        ("It paid|B a dividend|N of NOK|P 2.40|C and 40|C EUR|P of rent|N", "dividend | rent"),
        ("He got|B four|C years'|N imprisonment|N and one|C week's|N leave|N", "imprisonment | leave"),
        ("A 34-year-old|J nurse|N met|B the three-week-old|N kitten|N", "nurse | kitten"),
        ("By June|P 12|C visitors|N had|B come|V", "June | visitors"),
        ("In one village|N 1850|C barns|N burnt|B", "village | barns"),
        ("A 40|C metre|N tower|N fell|B", "tower"),
        ("We saw|B the RBS|P Six|C Nations|N game|N", "RBS | Six Nations game"),
        ("Most World|P War|P Two|C veterans|N left|B", "World War Two | veterans"),
        ("The CHAPTER|N SEVEN|C pilots|N left|B", "CHAPTER | pilots"),
        ("We Lost|V Three|C Ships|N again|R", "Ships"),
    ],
)
def test_numbers_count_or_name(marked: str, expected: str) -> None:
    assert prose(marked) == expected


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("We read|B Ada|P Byron's|P notes|N", "Ada Byron's | notes"),
        ("We read|B Newton's|P method|N", "Newton's method"),
        ("We heard|B United's|P Ada|P Byron|P speak|B", "United's Ada Byron"),
        ("We heard|B Lisbon|P United's|P Ada|P Byron|P speak|B", "Lisbon United's | Ada Byron"),
        ("We saw|B New|P Paul's|P Cathedral|P there", "New Paul's Cathedral"),
        ("We drank|B the city's|N tap|N water|N", "tap water"),
        ("We crossed|B the city's|N bridges|N", "city's bridges"),
    ],
)
def test_owners(marked: str, expected: str) -> None:
    assert prose(marked) == expected


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("By turning|G valves|N they stop|B", "valves"),
        ("We built|B a rotating|G drum|N", "rotating drum"),
        ("Drilling|G rigs|N sank|B", "Drilling rigs"),
        ("The deep|J drilling|G rigs|N sank|B", "deep drilling rigs"),
        ("They are running|G", ""),
        ("Object|N marking|G ; We saw|B the object|N marking|G it", "Object marking | object"),
        ("The men|N waiting|G ; they left|B", "men"),
        ("Salt|N from de-icing|G salt|N fell|B", "Salt | de-icing salt"),
        ("They left|B for Beijing|G then", "Beijing"),
    ],
)
def test_gerunds_name_something_after_a_determiner(marked: str, expected: str) -> None:
    assert prose(marked) == expected


def test_participles_and_their_adverbs() -> None:
    assert prose("We met|B randomly|R chosen|V voters|N") == "randomly chosen voters"
    assert parts("We met|B randomly|R chosen|V voters|N") == "chosen voters"
    assert prose("We met|B often|R chosen|V voters|N") == "chosen voters"
    assert prose("They came|B quickly|R") == ""
    assert prose("The ferry|N was|B sunk|V") == "ferry"
    assert prose("The proposed|V method|N and used|V cars|N") == "method | cars"


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("Peel|N potatoes|N . Then fry|N onions|N . Serve|N", "Peel potatoes | fry onions | Serve"),
        ("Rinse|N . We left|B", "Rinse"),
        ("We bought|B a garlic|N press|N", "garlic press"),
        ("Peel|N potatoes|N . Add|N 2|C eggs|N", "potatoes | eggs"),
    ],
)
def test_sentences_begin_with_imperatives(marked: str, expected: str) -> None:
    assert prose(marked) == expected


def test_a_phrase_that_opens_a_sentence_keeps_its_first_word() -> None:
    assert prose("Type|N 2|C diabetes|N is|B common|J") == "Type 2 diabetes"
    assert prose("Heat|N pumps|N are|B quiet|J") == "Heat pumps"


def test_et_al_is_no_phrase_and_its_author_none() -> None:
    assert prose("as von holt|N et|N al|N argued|B , ferries|N sank|B") == "ferries"


def test_weak_words_are_left_out_or_may_be() -> None:
    assert prose("Various|J ferries|N and several|J trams|N") == "ferries | trams"
    assert prose("We want|B new|J trams|N") == "new trams"
    assert parts("We want|B new|J trams|N") == "trams"
    assert parts("We want|B electric|J trams|N") == ""
    assert parts("We want|B light|J electric|J trams|N") == "electric trams"


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("sparse|J networks|N answer|N popular|J queries|N", "sparse networks | popular queries"),
        ("the files|N its neighbours|N share|N", "files | neighbours"),
        ("firms|N report|N losses|N need|N credit|N lines|N", "firms | losses | credit lines"),
        ("A landslide|N buried|V part|N of|O it", "landslide | part"),
        ("A laser|N induced|V breakdown|N", "laser induced breakdown"),
        ("A randomised|J controlled|V trial|N", "randomised controlled trial"),
        # After a singular it is a noun.
        ("the time|N share|N market|N", "time share market"),
        ("The tenant|N reports|N that it is|B cold|J", "tenant"),
        ("The tenant|N reports|N ; that is|B cold|J", "tenant reports"),
        ("The flow|N meter|N measures|N how it|O ran|B", "flow meter"),
    ],
)
def test_runs_are_cut_at_verbs(marked: str, expected: str) -> None:
    assert prose(marked) == expected


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("cheap|J flights|N paris|P", "cheap flights | paris"),
        ("cheap|J flights|N", "cheap flights"),
        ("ferry|N timetable|N northern|J islands|N", "ferry timetable | northern islands"),
        ("gluten|N free|J bread|N", "gluten free bread"),
        ("bus|N glass|N physics|N series|N", "bus glass | physics series"),
        ("kayak|N roof|N rack|N foam|N block|N", "kayak roof | rack foam block"),
        ("ferries|N to the islands|N", "ferries | islands"),
        ("Fry|N pan|N", "Fry pan"),
    ],
)
def test_queries_are_cut_into_phrases(marked: str, expected: str) -> None:
    assert query(marked) == expected


def test_known_phrases_of_a_query_come_first() -> None:
    marked = "kayak|N roof|N rack|N foam|N block|N"
    assert query(marked, known="roof rack") == "kayak | roof rack | foam block"
    assert query(marked, known="roof rack foam block") == "kayak | roof rack foam block"
    assert query("used|V cars|N wales|P dealers|N", known="cars wales") == "cars wales | dealers"


def test_long_runs_keep_their_end() -> None:
    marked = "the ferry|N booking|N fare|N price|N index|N rose|B"
    assert prose(marked, 5) == "ferry booking fare price index"
    assert prose(marked, 2) == "price index"
    assert prose(marked, 1) == "index"


@given(texts, st.data(), st.integers(1, 6))
@settings(max_examples=400, deadline=None)
def test_chunks_lie_within_unbroken_runs(text: str, data: st.DataObject, max_words: int) -> None:
    document = Document.parse(text)
    n = len(document)
    classes = np.array(data.draw(st.lists(st.integers(0, len(CLASSES) - 1), min_size=n, max_size=n)), np.int8)
    found = find_chunks(TaggedText(document, classes), max_words, lambda first, last: (first + last) % 3 == 0)
    assert [chunk.first for chunk in found] == sorted(chunk.first for chunk in found)
    for first, last, _ in found:
        assert 0 <= first < last <= n
        assert last - first <= max_words
        assert not document.breaks[first + 1 : last].any()
        assert document.usable[first:last].all()
