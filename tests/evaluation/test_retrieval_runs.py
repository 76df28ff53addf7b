"""Whole retrieval evaluations: methods, expansion, resumption, comparisons, reports and the command."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from erukg.cli import app
from erukg.collection import Collection
from erukg.core.expansion import expand_row
from erukg.errors import InputError, ModelError
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.retrieval import (
    METHODS,
    DocumentFiles,
    Method,
    MethodResult,
    compare,
    compare_all,
    evaluate,
    find_sets,
    make_methods,
)
from erukg.research.evaluation.retrieval.beir import load_retrieval_set
from erukg.research.evaluation.retrieval.context import SetContext
from erukg.research.evaluation.retrieval.doct5query import T5Queries
from erukg.research.evaluation.retrieval.phrases import BestPhrases, NeighbourTerms
from erukg.research.evaluation.retrieval.retrieval_report import to_json
from erukg.research.evaluation.retrieval.stored import PredictedQueries
from erukg.research.evaluation.systems import System, SystemOptions, make_system
from evaluation.retrieval_samples import DOCUMENTS, Lookup, write_set
from tiny import write_corpus

OF_ANY_SYSTEM = ["query-appended", "appended", "document"]
# "frozen ocean" finds nothing as it is: either the query must learn of ice, or the document of frozen water.
PHRASES = {"frozen ocean": (["frozen ocean"], ["sea ice"]), "sea ice": (["sea ice"], ["frozen water"])}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_set(tmp_path / "tiny")


def run(folder: Path, names: list[str], store: Path | None = None, **options: Any) -> dict[str, MethodResult]:
    system = options.pop("system", None) or Lookup(PHRASES)
    methods = make_methods(names, [system], **options)
    return {result.name: result for result in evaluate(methods, find_sets([folder]), store)[1]}


def test_expansion_finds_what_the_words_alone_do_not(folder: Path) -> None:
    results = run(folder, ["bm25", *OF_ANY_SYSTEM])
    recall = {name: result.scores[0].by_query["R@1000"].tolist() for name, result in results.items()}
    assert recall == {"bm25": [1, 0, 1], **{name: [1, 1, 1] for name in OF_ANY_SYSTEM}}


def test_controls_add_titles_and_terms_of_neighbours(tmp_path: Path) -> None:
    documents = {
        "a": ("Whales", "sonar song"),
        "b": ("", "sonar krill"),
        "c": ("", "sonar krill"),
        **{f"other{i}": ("", f"filler{i}") for i in range(30)},
    }
    queries = {"whale": "whales", "krill": "krill", "song": "song"}
    folder = write_set(tmp_path / "s", documents, queries, [(id, "a", 1) for id in queries])
    scores = {
        name: result.scores[0].by_query["R@1000"].tolist()
        for name, result in run(folder, ["bm25", "title", "neighbours"]).items()
    }
    assert scores == {"bm25": [1, 0, 1], "title": [1, 0, 1], "neighbours": [1, 1, 1]}
    # A copy is no neighbour: b and c get the words of a, and not each other's.
    (method,) = make_methods(["neighbours"])
    (files,) = find_sets([folder])
    context = SetContext(files, load_retrieval_set(files))
    assert method.field is not None
    assert isinstance(method.field, NeighbourTerms)
    found = dict(zip(documents, method.field.for_set(context).predict(context.data.documents), strict=True))
    assert set(found["b"][0]) == {"whale", "sonar", "song"}
    assert set(found["a"][0]) == {"sonar", "krill"}
    assert found["other3"] == ([], [])


def test_each_phrase_is_added_once_and_only_the_best() -> None:
    many = Lookup({"": (["Sea-ice", "sea ice", "radar", "graph"], ["SEA ICE", "ocean", "cloud", "wind"])})
    ((present, absent),) = BestPhrases(many, 3, 2).predict([Record("d", "", "text", ())])
    assert (present, absent) == (["Sea-ice", "radar"], ["ocean"])
    with pytest.raises(InputError, match="1 to 50 phrases"):
        BestPhrases(many, 10, 51)


def test_an_interrupted_run_goes_on_where_it_stopped(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    names = ["bm25", "query-appended", "document", "appended"]
    with pytest.raises(KeyboardInterrupt):
        run(folder, names, store, system=Lookup(PHRASES, stop_after=5))
    resumed = Lookup(PHRASES)
    results = run(folder, names, store, system=resumed)
    assert resumed.asked == ["d3", "d4"]  # of q1 to q3 and d1 to d4 five were done
    again = Lookup(PHRASES)
    files = find_sets([folder])
    sets, repeated = evaluate(make_methods(names, [again]), files, store)
    assert again.asked == []
    assert to_json(sets, repeated) == to_json(sets, list(results.values()))
    unstored = run(folder, names)
    for name in names:
        assert unstored[name].scores[0].means() == results[name].scores[0].means()
    fresh = Lookup(PHRASES)
    evaluate(make_methods(names, [fresh]), files, store, fresh=True)
    assert sorted(fresh.asked) == ["d1", "d2", "d3", "d4", "q1", "q2", "q3"]


def test_a_run_cut_short_is_completed(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    whole = run(folder, ["bm25"], store)["bm25"]
    (file,) = (store / "tiny").iterdir()
    lines = file.read_text().splitlines(keepends=True)
    assert len(lines) == 4
    file.write_text("".join(lines[:2]) + lines[2][:20])
    assert run(folder, ["bm25"], store)["bm25"].scores[0].means() == whole.scores[0].means()
    assert [json.loads(line)["id"] for line in file.read_text().splitlines()[1:] if "documents" in line][-1] == "q3"
    # Another corpus does not meet the old run.
    write_set(folder, documents={**DOCUMENTS, "d5": ("", "frozen ocean")}, qrels=[("q2", "d5", 1)])
    assert run(folder, ["bm25"], store)["bm25"].scores[0]["R@1000"] == 1


def test_methods_are_named_by_system_when_there_are_several() -> None:
    other = Lookup({})
    other.name = "other"
    assert [m.name for m in make_methods(["bm25", "appended"], [Lookup(PHRASES), other])] == [
        "bm25",
        "appended lookup",
        "appended other",
    ]
    with pytest.raises(InputError, match="no retrieval method 'bm52'; did you mean 'bm25'"):
        make_methods(["bm52"])
    with pytest.raises(InputError, match="known methods: bm25, rm3"):
        make_methods(["#"])
    with pytest.raises(InputError, match="'fused' needs a model of this package, and 'other' is none; with other"):
        make_methods(["fused"], [other])
    with pytest.raises(InputError, match="'own' needs a keyphrase system"):
        make_methods(["own"])


def test_doct5query_from_a_file(folder: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries"
    queries.mkdir()
    rows = [{"id": id, "predicted_queries": ["why is the ocean frozen"] if id == "d2" else []} for id in DOCUMENTS]
    file = queries / "tiny.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for path in (queries, file):
        result = run(folder, ["doct5query"], predicted_queries=path)["doct5query"]
        assert result.scores[0].by_query["R@1000"].tolist() == [1, 1, 1]
    assert PredictedQueries(file).for_set("tiny").describe()["sha256"]
    for line, message in (
        ('{"id": "d1", "predicted_queries": []}', "line 5: the id 'd1' was already used"),
        ('{"predicted_queries": []}', "line 5: the field 'id' is missing"),
        ('{"id": "d9", "predicted_queries": "why"}', "line 5: the field 'predicted_queries' must be a list"),
    ):
        file.write_text("".join(json.dumps(row) + "\n" for row in rows) + line + "\n")
        with pytest.raises(InputError, match=message):
            run(folder, ["doct5query"], predicted_queries=queries)
    file.write_text(json.dumps(rows[0]) + "\n")
    with pytest.raises(InputError, match="no line for the document 'd2'"):
        run(folder, ["doct5query"], predicted_queries=queries)
    file.unlink()
    with pytest.raises(InputError, match="no predicted queries for the set 'tiny'"):
        run(folder, ["doct5query"], predicted_queries=queries)
    with pytest.raises(InputError, match="not both"):
        make_methods(["doct5query"], predicted_queries=queries, t5=tmp_path)
    with pytest.raises(InputError, match="There is no file or folder"):
        make_methods(["doct5query"], predicted_queries=tmp_path / "none")


def test_documents_expanded_before(folder: Path, tmp_path: Path) -> None:
    """What `erukg expand` wrote takes the place of the system for documents, and gives the same figures."""
    whole = run(folder, OF_ANY_SYSTEM)
    files = tmp_path / "expanded"
    files.mkdir()
    file = files / "tiny.jsonl"
    rows = []
    for id, (title, text) in DOCUMENTS.items():
        ((present, absent),) = Lookup(PHRASES).predict([Record(id, title, text, ())])
        rows.append(expand_row({"_id": id, "title": title, "text": text}, present, absent))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for path in (files, file):
        system = Lookup(PHRASES)
        store = tmp_path / f"store of {path.name}"
        results = run(folder, OF_ANY_SYSTEM, store, system=system, files=DocumentFiles(path))
        assert set(system.asked) == {"q1", "q2", "q3"}
        for name, result in results.items():
            assert result.scores[0].means() == whole[name].scores[0].means()
        assert results["query-appended"].expanded == {}
        given = results["document"].expanded["tiny"]
        assert (given["system"], given["expanded"]) == ("lookup", "tiny.jsonl")
        assert (given["present"], given["absent"]) == (10, 20)
    # A set without a file is expanded here.
    other = Lookup(PHRASES)
    result = run(write_set(tmp_path / "other"), ["document"], system=other, files=DocumentFiles(files))["document"]
    assert other.asked == list(DOCUMENTS)
    assert result.expanded == {}
    # Phrases with scores will do, and lines without the text.
    scored = [
        {"id": row["_id"], **{kind: [{"phrase": p, "score": 0.1} for p in row[kind]] for kind in ("present", "absent")}}
        for row in rows
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in scored))
    result = run(folder, ["document"], files=DocumentFiles(files))["document"]
    assert result.scores[0].means() == whole["document"].scores[0].means()
    row: dict[str, Any]
    for row, message in (
        ({**rows[0], "text": "another"}, "'d1' has another text than in the set"),
        ({"_id": "d1", "present": []}, "line 1: the field 'absent' must be a list of phrases"),
        ({"_id": "d1", "present": [], "absent": [3]}, "line 1: the field 'absent' must be a list of phrases"),
        ({"present": [], "absent": []}, "line 1: the field '_id' is missing"),
        ({**rows[1]}, "line 2: the id 'd2' was already used"),
        ({**rows[0], "_id": "d9"}, "has no line for the document 'd1'"),
    ):
        changed: list[dict[str, Any]] = [row, *rows[1:]]
        file.write_text("".join(json.dumps(line) + "\n" for line in changed))
        with pytest.raises(InputError, match=message):
            run(folder, ["document"], files=DocumentFiles(files))
    with pytest.raises(InputError, match="those of one system"):
        make_methods(["document"], [Lookup({}), Lookup(PHRASES)], files=DocumentFiles(files))
    with pytest.raises(InputError, match="There is no file or folder"):
        make_methods(["document"], [Lookup({})], files=DocumentFiles(tmp_path / "none"))


def test_doct5query_from_weights(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers

    transformers: Any = importlib.import_module("transformers")
    words = "<pad> </s> <unk> sea ice search engine graph what is the".split()
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    model = tmp_path / "t5"
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(model)
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(words), d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(model)
    records = [Record("a", "", "sea ice", ()), Record("b", "search engine", "graph", ())]
    t5 = T5Queries(model, queries=3)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a model this small only waits for the others
    request.addfinalizer(lambda: torch.set_num_threads(threads))
    (first, _), (second, _) = t5.predict(records)
    assert len(first) == len(second) == 3
    assert set(" ".join([*first, *second]).split()) <= set(words)
    assert len(set(first)) > 1  # sampled, not the same three times
    # A run that goes on with the second document samples what it would have in one go.
    assert next(iter(T5Queries(model, queries=3).predict(records[1:])))[0] == second
    assert t5.describe() == T5Queries(model, queries=3).describe()
    assert t5.describe() != T5Queries(model, queries=4).describe()
    method = Method("doct5query", "doct5query", appended=t5)
    _, (result,) = evaluate([method], find_sets([write_set(tmp_path / "tiny")]), tmp_path / "store")
    assert result.scores[0].queries == ("q1", "q2", "q3")
    assert result.description["document_expansion"]["queries"] == 3
    (model / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(ModelError, match=r"The T5 model in .* cannot be loaded"):
        next(iter(t5.predict(records)))
    with pytest.raises(ModelError, match=r"no config\.json"):
        T5Queries(tmp_path)
    with pytest.raises(InputError, match="1 to 50 queries"):
        T5Queries(model, queries=51)


def test_without_weights_there_is_no_figure(folder: Path) -> None:
    sets, results = evaluate(make_methods(["bm25", "doct5query"]), find_sets([folder]))
    report = to_json(sets, results)
    assert report["methods"][1] == {"name": "doct5query", "not_run": "weights not available"}
    assert report["methods"][0]["by_query"]["tiny"]["q2"] == {
        "nDCG@10": 0.0,
        "R@100": 0.0,
        "R@1000 padded": 1.0,
        "R@1000": 0.0,
    }
    assert report["methods"][0]["description"]["bm25"] == {"k1": 0.9, "b": 0.4, "analysis": "english-snowball-1"}
    assert report["versions"]["ir_measures"]


def test_comparison_is_by_query(folder: Path) -> None:
    results = run(folder, ["bm25", "document"])
    found = compare(results["document"], results["bm25"], samples=200)
    measures = ["nDCG@10", "R@100", "R@1000 padded", "R@1000"]
    assert [(c.dataset, c.measure) for c in found] == [("tiny", m) for m in measures]
    assert found[-1].result.difference == pytest.approx(1 / 3)
    assert found[0].result == compare(results["document"], results["bm25"], samples=200)[0].result


def test_everything_is_compared_with_bm25_and_rm3(folder: Path) -> None:
    names = ["bm25", "rm3", "rm3-30", "title", "neighbours-rm3", "doct5query"]
    results = list(run(folder, names).values())
    pairs = dict.fromkeys((c.first, c.second) for c in compare_all(results, [("title", "rm3")], samples=20))
    assert list(pairs) == [
        *((name, "bm25") for name in ("rm3", "rm3-30", "title", "neighbours-rm3")),
        *((name, "rm3-30") for name in ("bm25", "rm3", "title", "neighbours-rm3")),
        *((name, "neighbours-rm3") for name in ("bm25", "rm3", "rm3-30", "title")),
        ("title", "rm3"),
    ]


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty of the made-up documents as a set; each query is a piece of one of them."""
    rows = [json.loads(line) for line in write_corpus(tmp_path_factory.mktemp("p") / "c", 40).read_text().splitlines()]
    documents = {row["id"]: (row["title"], row["abstract"]) for row in rows}
    queries = {f"q{id}": " ".join(text.split()[:6]) for id, (_, text) in list(documents.items())[:6]}
    return write_set(
        tmp_path_factory.mktemp("sets") / "papers", documents, queries, [(id, id[1:], 1) for id in queries]
    )


@pytest.fixture
def ours(tiny_model: Path, tiny_collection: Path) -> System:
    return make_system(
        "erukg-generate", SystemOptions(model=str(tiny_model), collection=str(tiny_collection), threads=1)
    )


def test_every_method_runs_with_our_own_model(papers: Path, ours: System, tmp_path: Path) -> None:
    store = tmp_path / "store"
    names = [name for name in METHODS if name != "doct5query"]
    results = run(papers, names, store, system=ours)
    assert list(results) == names
    for name, result in results.items():
        assert result.scores[0]["R@1000"] == 1, name  # some words of a query always stand in its document
    described = {name: result.description for name, result in results.items()}
    assert described["rm3-30"]["rm3"] == {"documents": 10, "terms": 30, "weight": 0.5}
    assert described["query"]["query_options"] == {"weight": 0.3, "present": 10, "absent": 20, "terms": 0}
    assert described["fused"]["query_options"]["terms"] == 100
    assert described["fused"]["masses"]["feedback"] == 0.3
    assert described["own"]["document_expansion"]["settings"]["neighbours"] == 10
    assert described["both"]["field_boost"] == 0.4
    assert results["both"].expanded["papers"] == results["own"].expanded["papers"]
    assert results["own"].expanded["papers"]["collection"]["documents"] == 40
    # Methods differ in what they find and how high.
    runs = {
        name: next((store / "papers").glob(f"run-{name}-{result.runs['papers'][:16]}*")).read_text().split("\n", 1)
        for name, result in results.items()
    }
    assert len({found for _, found in runs.values()}) == len(names)


def test_own_phrases_are_those_of_other_documents(papers: Path, ours: System, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = run(papers, ["own"], store, system=ours)["own"]
    (collection,) = (store / "papers").glob("collection-*")
    opened = Collection.open(collection)
    assert len(opened) == 40
    assert opened.manifest.glossary_documents == 1
    # By its id a document is known, and left out of its own neighbours, even where its text differs a little.
    (files,) = find_sets([papers])
    context = SetContext(files, load_retrieval_set(files), store)
    (method,) = make_methods(["own"], [ours])
    here = method.for_set(context).field
    assert here is not None
    changed = [replace(record, abstract=record.abstract + " Radar.") for record in context.data.documents]
    unknown = [replace(record, id=f"not {record.id}") for record in changed]
    apart = [a != b for a, b in zip(here.predict(changed), here.predict(unknown), strict=True)]
    assert sum(apart) > 30
    # The same corpus and model meet the same collection again; it is not built anew.
    stamp = (collection / "manifest.json").stat().st_mtime_ns
    assert run(papers, ["own"], store, system=ours)["own"].runs == first.runs
    for file in (store / "papers-documents").iterdir():
        file.unlink()
    run(papers, ["both"], store, system=ours)
    assert (collection / "manifest.json").stat().st_mtime_ns == stamp
    assert [path.name for path in (store / "papers").glob("collection-*")] == [collection.name]


def test_documents_expanded_or_encoded_elsewhere(papers: Path, ours: System, tmp_path: Path) -> None:
    whole = run(papers, ["own", "sparse"], tmp_path / "store", system=ours)
    rows = [json.loads(line) for file in (tmp_path / "store" / "papers-documents").iterdir() for line in file.open()]
    own = tmp_path / "own.jsonl"
    own.write_text("".join(json.dumps(row) + "\n" for row in rows[1:]))
    (stored,) = (tmp_path / "store" / "papers").glob("vectors-*")
    vectors = stored.read_text().splitlines(keepends=True)[1:]
    folder = tmp_path / "encoded"
    folder.mkdir()
    (folder / "papers.jsonl").write_text("".join(vectors))
    files = DocumentFiles(own_expanded=own, encoded=folder)
    again = run(papers, ["own", "sparse"], tmp_path / "other", system=ours, files=files)
    for name in ("own", "sparse"):
        assert again[name].scores[0].means() == whole[name].scores[0].means()
    assert again["sparse"].expanded["papers"]["encoded"] == "papers.jsonl"
    assert again["own"].expanded["papers"]["expanded"] == "own.jsonl"
    assert not list((tmp_path / "other" / "papers").glob("collection-*"))
    assert not list((tmp_path / "other" / "papers").glob("vectors-*"))
    for line, message in (
        ("", "has no line for the document"),
        ('{"id": "x", "indices": [1], "values": []}', "line 40: the fields 'indices' and 'values' must be lists"),
        ('{"id": "x", "indices": [99999999], "values": [1.0]}', "line 40: the fields 'indices'"),
        ('{"id": "x", "indices": [1], "values": [-1.0]}', "line 40: the fields 'indices'"),
        ('{"indices": [1], "values": [1.0]}', "line 40: the field 'id' is missing"),
    ):
        (folder / "papers.jsonl").write_text("".join(vectors[:-1]) + line + "\n")
        with pytest.raises(InputError, match=message):
            run(papers, ["sparse"], system=ours, files=files)


def test_an_interrupted_encoding_goes_on(papers: Path, ours: System, tmp_path: Path) -> None:
    whole = run(papers, ["sparse"], tmp_path, system=ours)["sparse"]
    (stored,) = (tmp_path / "papers").glob("vectors-*")
    complete = stored.read_text()
    stored.write_text(complete[: len(complete) // 2])
    for file in (tmp_path / "papers").glob("run-*"):
        file.unlink()
    assert run(papers, ["sparse"], tmp_path, system=ours)["sparse"].scores[0].means() == whole.scores[0].means()
    ids = [json.loads(line)["id"] for line in stored.read_text().splitlines()[1:] if line.endswith("}")]
    assert len(ids) == len(set(ids)) == 40


def test_the_command(folder: Path, tiny_model: Path, tmp_path: Path) -> None:
    write_set(tmp_path / "second")
    arguments = ["evaluate", "retrieval", folder, tmp_path / "second", "--method", "bm25,document", "-m", "doct5query"]
    arguments += ["--system", "erukg-extract", "--model", tiny_model, "--store", tmp_path / "store", "--threads", 1]
    arguments += ["--compare", "document", "bm25", "--samples", 100, "--output", tmp_path / "out.json"]
    runs = []
    for _ in range(2):
        done = CliRunner().invoke(app, [str(a) for a in arguments])
        assert done.exit_code == 0, done.output
        assert "tiny: 1 query without judgements left out: q4." in done.stdout
        assert "not run: weights not available" in done.stdout
        assert "minus bm25, average" in done.stdout
        assert "document minus bm25" in done.stdout
        runs.append(((tmp_path / "out.json").read_text(), done.stdout))
    assert runs[0] == runs[1]
    report = json.loads(runs[0][0])
    assert report["task"] == "retrieval"
    assert [s["name"] for s in report["sets"]] == ["tiny", "second"]
    assert set(report["methods"][1]["runs"]) == {"tiny", "second"}
    assert {(c["first"], c["second"]) for c in report["comparisons"]} == {("document", "bm25")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "rm4"], "did you mean 'rm3'"),
        (["--method", "bm25", "--compare", "bm25", "query"], "no method 'query' to compare; those run: bm25."),
        (["--system", "textrnk"], "There is no system 'textrnk'"),
        (["--split", "dev"], "qrels/dev.tsv"),
        (["--method", "query", "--expanded", "nowhere.jsonl"], "There is no file or folder nowhere.jsonl"),
        (["--method", "query", "--encoded", "nowhere"], "There is no file or folder nowhere of encoded documents"),
        (["--method", "both", "--system", "tfidf"], "needs a model of this package"),
    ],
)
def test_the_command_refuses(folder: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    if "--split" in arguments:
        (folder / "qrels.tsv").unlink()
    done = CliRunner().invoke(app, ["evaluate", "retrieval", str(folder), "--store", str(tmp_path / "s"), *arguments])
    assert done.exit_code == 1
    assert message in done.stderr
