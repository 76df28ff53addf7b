"""Ten ordinary mistakes at every Python door: the right answer, or one sentence that says what to do."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import erukg
import erukg.integrations.pandas
import erukg.integrations.polars
from erukg import KeyphraseGenerator
from erukg.errors import InputError
from erukg.integrations.duckdb import register
from erukg.integrations.hub import HubModel
from erukg.integrations.sklearn import KeyphraseVectorizer
from erukg.io import BadDocument, read_documents
from erukg.io.items import FieldNames

TEXT = "A fast search engine finds radar images of sea ice."
WORDS = ["search", "engine"]
ANSWER = "an answer"
# What the sentence must say; `ANSWER` where there is nothing wrong.
ONE = {
    "dict": ANSWER,
    "frame": "a data frame; give one column of it",
    "none": "not None",
    "nan": "NaN, which stands for a missing text",
    "bytes": "bytes; decode them first",
    "path": "a path; give what the file holds",
    "file": "an open file; give what it holds",
    "int": "not a number",
    "words": "' '.join(words) makes one text of words",
    "empty": "generate_batch takes many documents",
}
MANY = {
    "dict": "this is one mapping",
    "frame": "this is a data frame; give one column of it",
    "none": "this is None",
    "nan": "this is NaN",
    "bytes": "this is one document",
    "path": "erukg.io.read_documents reads files",
    "file": "this is an open file; give its lines",
    "int": "this is a number",
    "words": ANSWER,
    "empty": ANSWER,
}
# A cell of a table; a missing one has missing phrases.
CELL = {**ONE, "none": ANSWER, "nan": ANSWER}


@pytest.fixture(scope="module")
def mistakes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    path = tmp_path_factory.mktemp("mistakes") / "a.txt"
    path.write_text(TEXT)
    with path.open() as file:
        yield {
            "dict": {"id": 7, "text": TEXT},
            "frame": pd.DataFrame({"text": [TEXT]}),
            "none": None,
            "nan": math.nan,
            "bytes": TEXT.encode(),
            "path": path,
            "file": file,
            "int": 7,
            "words": WORDS,
            "empty": [],
        }


ONE_DOORS: dict[str, Callable[[KeyphraseGenerator, Any], object]] = {
    "generate": lambda g, value: g.generate(value),
    "extract": lambda g, value: g.extract(value),
    "agenerate": lambda g, value: asyncio.run(g.agenerate(value)),
    "rank": lambda g, value: g.rank(value, WORDS),
    "encode": lambda g, value: g.encode(value),
    "expand_query": lambda g, value: g.expand_query(value),
    "suggest": lambda g, value: g.suggest(value, WORDS),
    "erukg.generate": lambda g, value: erukg.generate(value),
    "erukg.extract": lambda g, value: erukg.extract(value),
}
MANY_DOORS: dict[str, Callable[[KeyphraseGenerator, Any], object]] = {
    "generate_batch": lambda g, value: list(g.generate_batch(value)),
    "extract_batch": lambda g, value: list(g.extract_batch(value)),
    "stream": lambda g, value: list(g.stream(value)),
    "rank_batch": lambda g, value: list(g.rank_batch(value, WORDS)),
    "encode_stream": lambda g, value: list(g.encode_stream(value)),
    "expand_queries": lambda g, value: list(g.expand_queries(value)),
    "sklearn": lambda g, value: KeyphraseVectorizer(generator=g).fit([TEXT]).transform(value).toarray(),
}
CELL_DOORS: dict[str, Callable[[KeyphraseGenerator, Any], object]] = {
    "pandas": lambda g, value: pd.Series([value], dtype=object).erukg.keyphrases(generator=g),
    "pandas table": lambda g, value: pd.Series([value], dtype=object).erukg.table(generator=g),
    "sklearn": lambda g, value: KeyphraseVectorizer(generator=g).fit([TEXT, value]).vocabulary_,
}


def check(door: Callable[[], object], expected: str) -> object:
    """What the door answers; a refusal must be one sentence with what is expected in it."""
    if expected == ANSWER:
        return door()
    with pytest.raises(InputError) as error:
        door()
    sentence = str(error.value)
    assert expected in sentence
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    return None


@pytest.mark.parametrize("mistake", ONE)
@pytest.mark.parametrize("door", ONE_DOORS)
def test_one(tiny_generator: KeyphraseGenerator, mistakes: dict[str, object], door: str, mistake: str) -> None:
    call = ONE_DOORS[door]
    found = check(lambda: call(tiny_generator, mistakes[mistake]), ONE[mistake])
    if ONE[mistake] == ANSWER:
        right = call(tiny_generator, ("7", TEXT))
        assert found == right


@pytest.mark.parametrize("mistake", MANY)
@pytest.mark.parametrize("door", MANY_DOORS)
def test_many(tiny_generator: KeyphraseGenerator, mistakes: dict[str, object], door: str, mistake: str) -> None:
    found: Any = check(lambda: MANY_DOORS[door](tiny_generator, mistakes[mistake]), MANY[mistake])
    if MANY[mistake] == ANSWER:
        assert len(found) == len(mistakes[mistake])  # type: ignore[arg-type]


@pytest.mark.parametrize("mistake", CELL)
@pytest.mark.parametrize("door", CELL_DOORS)
def test_cells(tiny_generator: KeyphraseGenerator, mistakes: dict[str, object], door: str, mistake: str) -> None:
    found: Any = check(lambda: CELL_DOORS[door](tiny_generator, mistakes[mistake]), CELL[mistake])
    if mistake in ("none", "nan") and door == "pandas":
        assert found[0] is None
    if mistake == "dict" and door == "pandas":
        assert found[0] == tiny_generator.generate(TEXT).phrases


@pytest.mark.parametrize("mistake", ONE)
def test_bad_items_of_a_stream_say_so(
    tiny_generator: KeyphraseGenerator, mistakes: dict[str, object], mistake: str
) -> None:
    first, middle, last = tiny_generator.generate_batch([TEXT, mistakes[mistake], TEXT])
    assert first == last == tiny_generator.generate(TEXT)
    if ONE[mistake] == ANSWER:
        assert middle.phrases == first.phrases
    else:
        assert ONE[mistake] in str(middle.error)


def test_ids_may_be_numbers(tiny_generator: KeyphraseGenerator) -> None:
    number = pd.Series([7])[0]
    assert type(number) is not int
    found = tiny_generator.generate_batch(
        [(number, TEXT), {"id": number, "text": TEXT}, {"id": math.nan, "text": TEXT}]
    )
    assert [result.id for result in found] == ["7", "7", None]
    assert tiny_generator.generate(TEXT, pd.Series([3])[0], id=7).id == "7"
    with pytest.raises(InputError, match="id must be a string or a whole number or None, not an object"):
        tiny_generator.generate(TEXT, id={})  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [[7], [b"a"], [WORDS], [{"text": TEXT}], [1.5, math.nan]])
def test_polars_columns_of_something_else(tiny_generator: KeyphraseGenerator, values: list[Any]) -> None:
    column = pl.Series("c", values)
    with pytest.raises(InputError, match=r"^The column 'c' holds .*, not texts; give a column of strings\.$"):
        column.erukg.keyphrases(generator=tiny_generator)
    with pytest.raises(Exception, match="The column 'c' holds"):
        column.to_frame().select(pl.col("c").erukg.keyphrases(generator=tiny_generator))


@pytest.mark.parametrize("name", ["none", "nan", "bytes", "path", "file", "int", "words", "empty", "dict", "frame"])
def test_duckdb_connections_that_are_none(mistakes: dict[str, object], name: str) -> None:
    with pytest.raises(InputError, match=r"^connection must be what duckdb.connect\(\) gives, not \w+\.$"):
        register(mistakes[name])


def test_duckdb_arguments_that_are_none(tiny_generator: KeyphraseGenerator) -> None:
    connection = duckdb.connect()
    with pytest.raises(InputError, match="cannot be the name of a function"):
        register(connection, "drop table")
    with pytest.raises(InputError, match="kind must be 'both' or 'present' or 'absent', not 'all'"):
        register(connection, kind="all")  # type: ignore[arg-type]
    register(connection, generator=tiny_generator)
    with pytest.raises(duckdb.BinderException, match="keyphrases"):
        connection.sql("SELECT keyphrases(7)")


# Where a folder, a file or a name of one is wanted; `None` is the bundled one where there is one.
NAME_DOORS: dict[str, Callable[[Any], object]] = {
    "HubModel": HubModel,
    "HubModel with a collection": lambda value: HubModel("tiny", value),
    "HubModel.from_pretrained": HubModel.from_pretrained,
    "HubModel.save_pretrained": lambda value: HubModel("tiny").save_pretrained(value),
    "read_documents": lambda value: list(read_documents(value)),
    "FieldNames": lambda value: FieldNames(text=value),
}


@pytest.mark.parametrize("mistake", ["dict", "frame", "nan", "bytes", "file", "int", "words", "empty"])
@pytest.mark.parametrize("door", NAME_DOORS)
def test_names_that_are_none(mistakes: dict[str, object], door: str, mistake: str) -> None:
    if door == "read_documents" and mistake in ("words", "empty"):
        assert NAME_DOORS[door](mistakes[mistake]) == [
            BadDocument(
                word, 'There is no such file or folder; a text itself is given as --text "…", or through a pipe.'
            )
            for word in mistakes[mistake]  # type: ignore[attr-defined]
        ]
    else:
        check(lambda: NAME_DOORS[door](mistakes[mistake]), " must be ")


@pytest.mark.parametrize("mistake", ["frame", "none", "nan", "bytes", "path", "file", "words", "empty", "dict"])
def test_numbers_that_are_none(tiny_generator: KeyphraseGenerator, mistakes: dict[str, object], mistake: str) -> None:
    value: Any = mistakes[mistake]
    series = pd.Series([TEXT])
    check(lambda: series.erukg.keyphrases(value, generator=tiny_generator), "top_k must be a whole number")
    check(lambda: pl.col("c").erukg.keyphrases(value), "top_k must be a whole number")
    check(lambda: KeyphraseVectorizer(min_df=value, generator=tiny_generator).fit([TEXT]), "must be a whole number")


@pytest.mark.parametrize("mistake", ["dict", "frame", "nan", "bytes", "path", "file", "int"])
@pytest.mark.parametrize("name", ["exclude", "must_have"])
def test_lists_that_are_none(
    tiny_generator: KeyphraseGenerator, mistakes: dict[str, object], name: str, mistake: str
) -> None:
    wanted: Any = {name: mistakes[mistake]}
    check(lambda: tiny_generator.generate(TEXT, **wanted), f"{name} must be a list or set, each a string")
    # A column of a table is a list.
    column: Any = {name: pd.Series(["ice"])}
    words: Any = {name: ["ice"]}
    assert tiny_generator.generate(TEXT, **column) == tiny_generator.generate(TEXT, **words)


def test_options_that_there_are_not(tiny_generator: KeyphraseGenerator) -> None:
    doors: list[Callable[..., object]] = [
        pd.Series([TEXT]).erukg.keyphrases,
        pd.Series([TEXT]).erukg.table,
        pl.Series([TEXT]).erukg.keyphrases,
        pl.col("c").erukg.scored,  # before there is a frame
        lambda **wanted: register(duckdb.connect(), **wanted),
    ]
    for door in doors:
        check(lambda door=door: door(topk=3), "There is no option 'topk'; did you mean 'top_k'?")  # type: ignore[misc]
        check(lambda door=door: door(kind="all"), "kind must be 'both' or 'present' or 'absent', not 'all'.")  # type: ignore[misc]


def test_paths_in_place_of_texts(tiny_generator: KeyphraseGenerator) -> None:
    # A string is a text, whatever it looks like.
    assert tiny_generator.generate("search/engine.txt").error is None
    with pytest.raises(InputError, match=r"erukg\.io\.read_documents"):
        tiny_generator.generate_batch(Path("a"))  # type: ignore[arg-type]
