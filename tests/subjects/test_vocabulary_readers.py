"""Every form of vocabulary that is read, and every sort of file that cannot be."""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

import pytest

from erukg.errors import InputError, MissingExtraError
from erukg.subjects.concepts import Concept, VocabularyLimits
from erukg.subjects.vocabulary import Columns, Vocabulary
from subjects import vocabulary_files as files
from subjects.vocabulary_files import BASE, write

TREE, OAK, PLANE = (f"{BASE}{name}" for name in ("tree", "oak", "plane"))


def test_turtle(tmp_path: Path) -> None:
    path = write(tmp_path, "trees.v2.ttl.gz", files.TURTLE)
    trees = Vocabulary.read(path)
    assert list(trees) == [
        Concept(TREE, "Trees", "1"),
        Concept(OAK, "Oaks, English", "1.1", ("Quercus robur", "englisch oak", "pedunculate oak"), (TREE,)),
        Concept(PLANE, "Planes (trees)", broader=(TREE,)),
    ]
    assert (trees.name, trees.language) == ("trees", "en")
    assert trees.left_out == {"deprecated": 3, "without a label in the language": 1}
    assert trees.narrower(0).tolist() == [1, 2]
    german = Vocabulary.read(path, language="de-AT", translations=("en", "fr"), name="Bäume")
    assert [concept.label for concept in german] == ["Bäume", "Stieleiche", "Platanen", "Linden"]
    assert german[1].alternatives == ("Deutsche Eiche",)
    assert (german[1].labels_by_language, german.label(3, "en")) == ({"en": "Oaks, English"}, "Linden")
    assert german.name == "Bäume"
    german.save(tmp_path / "saved")
    assert Vocabulary.open(tmp_path / "saved").left_out == {"deprecated": 3}


def test_rdf_xml_with_labels_of_skos_xl_and_without_a_language(tmp_path: Path) -> None:
    path = write(tmp_path, "trees.rdf", files.RDF_XML)
    assert list(Vocabulary.read(path)) == [Concept(TREE, "Trees"), Concept(OAK, "English oaks", broader=(TREE,))]
    assert [concept.label for concept in Vocabulary.read(path, language="de")] == ["Bäume"]


def test_n_triples_without_types(tmp_path: Path) -> None:
    path = tmp_path / "trees.nt.xz"
    path.write_bytes(lzma.compress(files.N_TRIPLES.encode()))
    assert list(Vocabulary.read(path)) == [Concept(TREE, "Trees"), Concept(OAK, "English oaks", broader=(TREE,))]


def test_the_ways_in_which_vocabularies_say_deprecated(tmp_path: Path) -> None:
    said = """:a a skos:Concept ; skos:prefLabel "a" .
        :b a skos:Concept, <http://www.loc.gov/mads/rdf/v1#DeprecatedAuthority> ; skos:prefLabel "b" .
        :c a skos:Concept ; skos:prefLabel "c" ; <http://example.org/ns#term_status> "deprecated" .
        :d a skos:Concept ; skos:prefLabel "d" ; <http://example.org/own#deprecated> "true" .
        :e a skos:Concept ; skos:prefLabel "e" ; <http://example.org/own#status> <http://example.org/status/OBSOLETE> .
        :f a skos:Concept ; skos:prefLabel "f" ; <http://www.w3.org/2002/07/owl#deprecated> false ;
          skos:historyNote "Deprecated labels were removed in 2019." ; <http://example.org/own#status> "candidate" .
        _:g a skos:Concept ; skos:prefLabel "g" ."""
    prefixes = f"@prefix : <{BASE}> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
    read = Vocabulary.read(write(tmp_path, "x.ttl", prefixes + said))
    assert [concept.label for concept in read] == ["a", "f"]
    assert read.left_out == {"deprecated": 4, "without a URI": 1}


def test_annif_tsv(tmp_path: Path) -> None:
    trees = Vocabulary.read(write(tmp_path, "trees.tsv", files.ANNIF))
    assert list(trees) == [Concept(TREE, "Trees", "1"), Concept(OAK, '"English" oaks', "1.1")]


def test_tsv_with_synonyms(tmp_path: Path) -> None:
    trees = Vocabulary.read(write(tmp_path, "trees.tsv", files.SYNONYMS))
    assert list(trees) == [
        Concept("T1", "Trees"),
        Concept("T2", "Oaks, English", alternatives=("Quercus robur", "oak, pedunculate")),
    ]
    assert trees.find_label("pedunculate oaks") == 1
    numbered = Columns(uri="2", label="1", alternatives="3")
    assert Vocabulary.read(tmp_path / "trees.tsv", columns=numbered)[0] == Concept("Trees", "T1")


def test_tsv_with_names_of_columns(tmp_path: Path) -> None:
    oak = Vocabulary.read(write(tmp_path, "trees.tsv", files.NAMED))[1]
    assert oak == Concept(OAK, "English oaks", alternatives=("Quercus robur", "pedunculate oak"))


def test_csv(tmp_path: Path) -> None:
    path = write(tmp_path, "trees.csv", files.TABLE)
    trees = Vocabulary.read(path, translations=["de"])
    assert list(trees) == [
        Concept(TREE, "Trees", "1", labels_by_language={"de": "Bäume"}),
        Concept(
            OAK,
            "English oaks; common",
            "1.1",
            ("Quercus robur", "pedunculate oak"),
            (TREE,),
            labels_by_language={"de": "Stieleiche"},
        ),
    ]
    assert [concept.label for concept in Vocabulary.read(path, language="de")] == ["Bäume", "Stieleiche"]
    with pytest.raises(InputError, match=r"no labels in 'fr', but in de, en; choose one of these with --language"):
        Vocabulary.read(path, language="fr")


def test_columns_of_ones_choice(tmp_path: Path) -> None:
    path = write(tmp_path, "own.csv", "Key,Words,Also,Above\nk1,Trees,,\nk2,Oaks,oak tree/Quercus,k1\n")
    columns = Columns("Key", "words", alternatives="3", broader="Above", separator="/")
    assert Vocabulary.read(path, columns=columns)[1] == Concept("k2", "Oaks", "", ("oak tree", "Quercus"), ("k1",))
    with pytest.raises(InputError, match=r"line 1: There is no column 'label' \(but 'key', 'words'.*--label-column"):
        Vocabulary.read(path)
    with pytest.raises(InputError, match="There is no column 'nothing'"):
        Vocabulary.read(path, columns=Columns(uri="nothing"))
    tags = Vocabulary.read(path, columns=Columns("Words", "Words"))
    assert [concept.uri for concept in tags] == ["Trees", "Oaks"]


def test_json_lines(tmp_path: Path) -> None:
    path = write(tmp_path, "trees.jsonl", files.JSON_LINES + '"to read"\n')
    trees = Vocabulary.read(path, translations=("de",))
    assert list(trees) == [
        Concept(TREE, "Trees", labels_by_language={"de": "Bäume"}),
        Concept(OAK, "English oaks", "7", ("Quercus robur",), (TREE,)),
        Concept("to read", "to read"),
    ]


def test_a_list(tmp_path: Path) -> None:
    tags = Vocabulary.read(write(tmp_path, "tags.txt", b"\xef\xbb\xbf" + files.TAGS.encode()))
    assert [concept.uri for concept in tags] == ["to read", "field notes"]
    assert len(Vocabulary.load(write(tmp_path, "tags", files.TAGS), form="list")) == 2


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "cut.ttl",
            files.TURTLE + ":x a skos:Concept ; skos:prefLabel",
            "not Turtle that can be read: it ends too soon",
        ),
        ("broken.ttl", files.TURTLE.replace("skos:member", "member"), "not Turtle that can be read: line 7, "),
        (
            "unbound.ttl",
            files.TURTLE.replace("dcterms:i", "other:i"),
            'Turtle that can be read: line .*"other:" not bound',
        ),
        ("broken.rdf", files.RDF_XML[:-20], "is not RDF/XML that can be read: line"),
        ("broken.nt", files.N_TRIPLES + "<a> <b> .\n", "is not N-Triples that can be read"),
        ("no.ttl", "@prefix : <http://example.org/> . :a :b :c .", "no concept with a label .* is it SKOS"),
        ("german.ttl", files.TURTLE.replace("@en", "@fr").replace("@fr-GB", "@en"), "no labels in 'en', but in de, fr"),
        ("binary.ttl", b"\x00\x01\x02" * 1000, "binary data"),
        ("deep.ttl", "@prefix : <http://example.org/> . :a :b " + "[ :b " * 100_000, "nested too deeply"),
        ("picture.ttl", b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "a PNG image"),
        ("empty.ttl", "", "no concept"),
        ("empty.tsv", "", "There is no concept"),
        ("empty.csv", "", "There is no concept"),
        ("empty.txt", " \n\n", "There is no concept"),
        ("empty.jsonl", "", "There is no concept"),
        ("plain.tsv", "Trees\nOaks\n", "line 1: It does not begin with a URI and a tab"),
        ("labels.tsv", f"<{TREE}>\tTrees\nEnglish oaks\tOaks\n", "line 2: It does not begin with a URI and a tab"),
        ("blank.tsv", f"<{TREE}>\tTrees\n<{OAK}>\t\n", "line 2: The label is empty"),
        ("twice.tsv", f"<{TREE}>\tTrees\n<{TREE}>\tOaks\n", r"line 2: The URI .* another concept too \(.*line 1\)"),
        ("twice.csv", "uri,label\na,b\na,c\n", "line 3: The URI 'a'"),
        ("twice.jsonl", '{"uri": "a", "label": "b"}\n' * 2, "line 2: The URI 'a'"),
        ("wide.csv", "uri,label\na,b,c\n", "line 2: It has 3 cells"),
        ("binary.tsv", bytes(range(256)), "line 1: .*not UTF-8|control characters"),
        ("nulls.txt", b"\0" * 100, "control characters"),
        ("picture.csv", b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "a PNG image"),
        ("prose.txt", "word " * 1000, "5,000|4,999 characters"),
        ("list.jsonl", "[1]\n", "line 1: It is neither an object"),
        ("broken.jsonl", '{"uri": \n', "line 1: It is not JSON"),
        ("typed.jsonl", '{"uri": "a", "label": ["b"]}\n', "line 1: The label is not a string but list"),
        ("typed2.jsonl", '{"uri": {}, "label": "b"}\n', "line 1: The URI is not a string but dict"),
        ("typed3.jsonl", '{"uri": "a", "label": "b", "synonyms": [3]}\n', "line 1: The label is not a string but int"),
        ("typed4.jsonl", '{"uri": "a", "label": "b", "broader": [{}]}\n', "line 1: .* is not a string but dict"),
        ("french.jsonl", '{"uri": "a", "label": {"fr": "b"}}\n', "no labels in 'en', but in fr"),
        ("damaged.tsv.gz.x", "", "none of the endings"),
        ("unknown.doc", "", "none of the endings"),
    ],
)
def test_wrong_files_get_one_sentence(tmp_path: Path, name: str, content: str | bytes, said: str) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(InputError, match=said) as raised:
        Vocabulary.read(path)
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500 + len(str(path)) * 2


def test_a_uri_that_is_none_is_taken_as_it_is_or_refused(tmp_path: Path) -> None:
    data = files.RDF_XML.replace(b"trees/oak", b"trees, of oak")
    found = Vocabulary.read(write(tmp_path, "spaced.rdf", data))
    assert len(found) == 2
    assert found.find(f"{files.BASE.removesuffix('trees/')}trees, of oak") >= 0


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "cut.ttl.gz").write_bytes(write(tmp_path, "whole.ttl.gz", files.TURTLE).read_bytes()[:100])
    for name in ("cut.ttl.gz", "nothing.ttl", "nothing.tsv", "nothing.csv"):
        with pytest.raises(InputError, match=f"{name} cannot be read"):
            Vocabulary.read(tmp_path / name)
    (tmp_path / "folder.ttl").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        Vocabulary.read(tmp_path / "folder.ttl")
    with pytest.raises(InputError, match=r"no form of vocabulary 'turtel'; did you mean 'turtle'"):
        Vocabulary.read(tmp_path / "nothing", form="turtel")


def test_too_large_files_are_given_up(tmp_path: Path) -> None:
    limits = VocabularyLimits(concepts=1000, bytes=10_000)
    many = write(tmp_path, "many.tsv.gz", "".join(f"<u:{i}>\t{i}\n" for i in range(100_000)))
    with pytest.raises(InputError, match="line 1001: There are more than 1,000 concepts"):
        Vocabulary.read(many, limits=limits)
    with pytest.raises(InputError, match=r"larger than 0.01 MB.*--max-mb"):
        Vocabulary.read(write(tmp_path, "many.ttl.gz", files.TURTLE * 100), limits=limits)


def test_xml_reads_no_other_files_and_does_not_swell(tmp_path: Path) -> None:
    secret = write(tmp_path, "secret.txt", "secret")
    outside = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    laughs = '<!DOCTYPE x [<!ENTITY a "' + "ha" * 1000 + '">'
    laughs += "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 50}">' for i in range(8)) + "]>"
    body = files.RDF_XML.decode("iso-8859-1").split("\n", 1)[1]
    for name, head, entity in (("outside.rdf", outside, "&e;"), ("laughs.rdf", laughs, "&i;")):
        path = write(tmp_path, name, head + body.replace("Trees", f"Trees{entity}"))
        try:
            labels = [concept.label for concept in Vocabulary.read(path)]
        except InputError as error:
            labels = [str(error)]
        assert "secret" not in "".join(labels)
        assert sum(map(len, labels)) < 1000


def test_skos_without_rdflib_is_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtraError, match=r"Reading SKOS needs the package 'rdflib'.*erukg\[skos\]"):
        Vocabulary.read(tmp_path / "is-not-even-there.ttl")
    assert len(Vocabulary.read(write(tmp_path, "trees.tsv", files.ANNIF))) == 2
