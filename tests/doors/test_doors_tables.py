"""Tables of texts: pandas, Polars, DuckDB and scikit-learn give what the generator gives."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import erukg.integrations.pandas
import erukg.integrations.polars  # noqa: F401 (it adds a namespace)
from erukg import KeyphraseGenerator, Keyphrases, Settings, fold
from erukg.backends import OnnxBackend
from erukg.collection import Collection
from erukg.errors import InputError
from erukg.integrations.duckdb import register
from erukg.integrations.sklearn import KeyphraseVectorizer

TEXTS = [
    "A search engine for radar images\nWe index satellite images of sea ice.",
    None,
    "Neural networks learn from a stream of data, and so do support vector machines.",
]


@pytest.fixture(scope="module")
def generator(tiny_encoder: OnnxBackend, tiny_collection: Any) -> KeyphraseGenerator:
    return KeyphraseGenerator(tiny_encoder, Collection.open(tiny_collection), settings=Settings(abstain=False))


@pytest.fixture(scope="module")
def results(generator: KeyphraseGenerator) -> list[Keyphrases | None]:
    return [None if text is None else generator.generate(text, 3, exclude=["ice"]) for text in TEXTS]


@pytest.fixture(scope="module")
def wanted(generator: KeyphraseGenerator) -> dict[str, Any]:
    return {"top_k": 3, "exclude": ["ice"], "generator": generator}


@pytest.fixture(scope="module")
def phrases(results: list[Keyphrases | None]) -> list[list[str] | None]:
    found = [None if result is None else result.phrases for result in results]
    assert found[0] is not None
    assert len(found[0]) == 6
    return found


@pytest.fixture(scope="module")
def scored(results: list[Keyphrases | None]) -> list[list[dict[str, Any]] | None]:
    return [
        None
        if result is None
        else [
            {"kind": kind, "phrase": k.phrase, "score": k.score, "confidence": k.confidence}
            for kind in ("present", "absent")
            for k in getattr(result, kind)
        ]
        for result in results
    ]


@pytest.mark.parametrize("dtype", [object, "str", "category", "string[pyarrow]"])
def test_pandas_series(wanted: dict[str, Any], phrases: list[Any], dtype: Any) -> None:
    series = pd.Series(TEXTS, index=["x", "y", "x"], dtype=dtype)
    found = series.erukg.keyphrases(**wanted)
    assert list(found) == phrases
    assert list(found.index) == ["x", "y", "x"]
    assert len(pd.Series([], dtype=dtype).erukg.keyphrases()) == 0


def test_pandas_table(wanted: dict[str, Any], results: list[Keyphrases | None]) -> None:
    frame = pd.DataFrame({"title": ["Engines", None, math.nan], "text": TEXTS}, index=pd.Index([5, 6, 7], name="key"))
    table = frame["text"].erukg.table(**wanted)
    assert list(table.index) == [5] * 6 + [7] * 6
    assert table.index.name == "key"
    assert list(table["phrase"]) == [phrase for result in results if result is not None for phrase in result.phrases]
    assert list(table["rank"])[:6] == [1, 2, 3, 1, 2, 3]
    assert len(frame.join(table)) == 13
    found = frame.erukg.keyphrases(**wanted)
    assert list(found) == [wanted["generator"].generate(f"Engines\n{TEXTS[0]}", 3, exclude=["ice"]).phrases, None,
                           results[2].phrases]  # type: ignore[union-attr]  # fmt: skip
    with pytest.raises(InputError, match=r"^Row 0: It has none of the fields .* \(its fields: 'title_of_book'\)\.$"):
        pd.DataFrame({"title_of_book": ["a"]}).erukg.keyphrases(**wanted)


@pytest.mark.parametrize("kind", ["present", "absent"])
def test_one_kind(wanted: dict[str, Any], results: list[Any], kind: Any) -> None:
    found = [None if result is None else [k.phrase for k in getattr(result, kind)] for result in results]
    assert list(pd.Series(TEXTS).erukg.keyphrases(kind=kind, **wanted)) == found
    assert pl.Series(TEXTS).erukg.keyphrases(kind=kind, **wanted).to_list() == found
    table = pd.Series(TEXTS).erukg.table(kind=kind, **wanted)
    assert list(table["phrase"]) == [phrase for row in found if row is not None for phrase in row]
    assert set(table["kind"]) == {kind}
    with pytest.raises(InputError, match="not 'all'"):
        pd.Series(TEXTS).erukg.keyphrases(kind="all")


def test_polars(wanted: dict[str, Any], phrases: list[Any], scored: list[Any]) -> None:
    frame = pl.DataFrame({"text": TEXTS})
    find = pl.col("text").erukg.keyphrases(**wanted)
    assert frame.select(find)["text"].to_list() == phrases
    assert frame.select(find).schema == {"text": pl.List(pl.String)}
    assert frame.lazy().select(find).collect(engine="streaming")["text"].to_list() == phrases
    assert frame.lazy().select(find).collect_schema() == {"text": pl.List(pl.String)}
    assert frame["text"].erukg.keyphrases(**wanted).to_list() == phrases
    assert frame.select(pl.col("text").erukg.scored(**wanted))["text"].to_list() == scored
    assert frame["text"].cast(pl.Categorical).erukg.keyphrases(**wanted).to_list() == phrases
    assert pl.Series("c", [None, None]).erukg.keyphrases(**wanted).to_list() == [None, None]
    assert frame.clear().select(find)["text"].dtype == pl.List(pl.String)
    with pytest.raises(InputError, match="top_k must be a whole number"):
        pl.col("text").erukg.keyphrases(-1)


def test_duckdb(wanted: dict[str, Any], phrases: list[Any], scored: list[Any]) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (n INTEGER, text VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(TEXTS)))
    register(connection, **{**wanted, "top_k": 1})
    register(connection, **wanted)
    register(connection, "scored", scored=True, **wanted)
    assert connection.sql("SELECT keyphrases(text) FROM t ORDER BY n").fetchall() == [(row,) for row in phrases]
    assert connection.sql("SELECT scored(text) FROM t ORDER BY n").fetchall() == [(row,) for row in scored]
    # More rows than DuckDB hands over at a time.
    many = connection.sql("SELECT text, keyphrases(text) FROM t, range(1500)").fetchall()
    assert len(many) == 4500
    assert all(found == phrases[TEXTS.index(text)] for text, found in many)
    assert connection.sql("SELECT keyphrases(text) FROM t WHERE n > 5").fetchall() == []


@parametrize_with_checks([KeyphraseVectorizer()])  # type: ignore[untyped-decorator]
def test_vectorizer_keeps_the_rules_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "check",
    [
        # Those of scikit-learn that need no table of numbers, which it does not choose by itself for texts.
        *("check_parameters_default_constructible", "check_no_attributes_set_in_init", "check_get_params_invariance"),
        *("check_set_params", "check_estimator_repr", "check_valid_tag_types", "check_mixin_order"),
        "check_estimator_tags_renamed",
    ],
)
def test_vectorizer_keeps_the_rules_for_parameters(check: str) -> None:
    from sklearn.utils import estimator_checks

    getattr(estimator_checks, check)("KeyphraseVectorizer", KeyphraseVectorizer())


def test_vectorizer(generator: KeyphraseGenerator, results: list[Keyphrases | None]) -> None:
    vectorizer = KeyphraseVectorizer(3, exclude=["ice"], generator=generator)
    matrix = vectorizer.fit_transform(TEXTS)
    names = vectorizer.get_feature_names_out()
    assert matrix.shape == (3, len(names))
    for row, result in zip(matrix.toarray(), results, strict=True):
        found = {fold(name): value for name, value in zip(names, row, strict=True) if value}
        assert found == pytest.approx({} if result is None else {fold(k.phrase): k.confidence for k in result})
    assert (vectorizer.transform(TEXTS) != matrix).nnz == 0
    assert (vectorizer.fit(pd.Series(TEXTS)).transform(np.array(TEXTS, object)) != matrix).nnz == 0
    assert (pickle.loads(pickle.dumps(vectorizer)).transform(TEXTS) != matrix).nnz == 0
    assert vectorizer.transform(["nothing of that"]).nnz == 0
    both = clone(vectorizer).set_params(binary=True, kind="present", exclude=None)
    assert both.fit_transform(["the radar images", "a Radar Image"]).toarray().tolist() == [[1.0], [1.0]]


def test_vectorizer_chooses_columns(generator: KeyphraseGenerator) -> None:
    texts = ["a search engine", "the search engine", "a radar image", "the neural network"]
    make = KeyphraseVectorizer(generator=generator, kind="present")
    assert set(make.fit(texts).get_feature_names_out()) == {"search engine", "radar image", "neural network"}
    assert list(clone(make).set_params(min_df=2).fit(texts).get_feature_names_out()) == ["search engine"]
    assert list(clone(make).set_params(max_features=1).fit(texts).get_feature_names_out()) == ["search engine"]
    with pytest.raises(InputError, match="lower min_df"):
        clone(make).set_params(min_df=3).fit(texts)
    with pytest.raises(NotFittedError):
        clone(make).transform(texts)
    with pytest.raises(InputError, match="kind must be"):
        clone(make).set_params(kind="all").fit(texts)


def test_vectorizer_in_pipelines(generator: KeyphraseGenerator) -> None:
    texts = [
        "a search engine for files",
        "the index of a search engine",
        "a radar image",
        "radar images of sea ice",
    ] * 3
    labels = ["search", "search", "radar", "radar"] * 3
    pipeline = make_pipeline(KeyphraseVectorizer(generator=generator), LogisticRegression(C=100))
    search = GridSearchCV(pipeline, {"keyphrasevectorizer__top_k": [1, 5]}, cv=3).fit(texts, labels)
    assert list(search.predict(["which search engine", "what radar image"])) == ["search", "radar"]
    columns = make_column_transformer((KeyphraseVectorizer(generator=generator), "text"))
    assert columns.fit_transform(pd.DataFrame({"text": texts})).shape[0] == 12
    assert columns.get_feature_names_out()[0].startswith("keyphrasevectorizer__")


@pytest.mark.parametrize(
    ("door", "package"),
    [
        *[(name, name) for name in ("pandas", "polars", "sklearn", "bertopic")],
        ("mcp.server", "mcp"),
        ("hub", "huggingface_hub"),
    ],
)
def test_a_door_without_its_package_names_the_extra(door: str, package: str) -> None:
    script = f"import sys; sys.modules[{package!r}] = None\nimport erukg.integrations.{door}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].endswith(f"install it with: pip install 'erukg[{door.partition('.')[0]}]'")


def test_duckdb_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'erukg\[duckdb\]'$"):
        register(duckdb.connect())
