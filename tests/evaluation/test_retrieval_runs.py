"""Whole retrieval evaluations: methods, expansion, resumption, comparisons, reports and the command."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from erukg.cli import app
from erukg.core.expansion import expand_row
from erukg.errors import InputError, ModelError
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.retrieval import Method, MethodResult, compare, evaluate, find_sets, make_methods
from erukg.research.evaluation.retrieval.doct5query import T5Queries
from erukg.research.evaluation.retrieval.methods import BestPhrases
from erukg.research.evaluation.retrieval.retrieval_report import to_json
from erukg.research.evaluation.retrieval.stored import PredictedQueries
from erukg.research.evaluation.systems import SystemOptions, make_system
from evaluation.retrieval_samples import DOCUMENTS, Lookup, write_set

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
    results = run(folder, ["bm25", "query", "document", "both"])
    recall = {name: result.scores[0].by_query["R@1000"].tolist() for name, result in results.items()}
    assert recall == {"bm25": [1, 0, 1], "query": [1, 1, 1], "document": [1, 1, 1], "both": [1, 1, 1]}


def test_each_phrase_is_added_once_and_only_the_best() -> None:
    many = Lookup({"": (["Sea-ice", "sea ice", "radar", "graph"], ["SEA ICE", "ocean", "cloud", "wind"])})
    ((present, absent),) = BestPhrases(many, 3).predict([Record("d", "", "text", ())])
    assert (present, absent) == (["Sea-ice", "radar"], ["ocean", "cloud"])
    with pytest.raises(InputError, match="1 to 50 phrases"):
        BestPhrases(many, 51)


def test_an_interrupted_run_goes_on_where_it_stopped(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    names = ["bm25", "query", "document", "both"]
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
    assert [m.name for m in make_methods(["bm25", "query"], [Lookup(PHRASES), other])] == [
        "bm25",
        "query lookup",
        "query other",
    ]
    with pytest.raises(InputError, match="no retrieval method 'bm52'; did you mean 'bm25'"):
        make_methods(["bm52"])
    with pytest.raises(InputError, match="known methods: bm25, rm3"):
        make_methods(["#"])


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
    whole = run(folder, ["query", "document", "both"])
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
        results = run(folder, ["query", "document", "both"], store, system=system, expanded=path)
        assert set(system.asked) == {"q1", "q2", "q3"}
        for name, result in results.items():
            assert result.scores[0].means() == whole[name].scores[0].means()
        assert results["query"].expanded == {}
        given = results["both"].expanded["tiny"]
        assert (given["system"], given["expanded"], given["added"]) == ("lookup", "tiny.jsonl", 10)
    # A set without a file is expanded here.
    other = Lookup(PHRASES)
    result = run(write_set(tmp_path / "other"), ["document"], system=other, expanded=files)["document"]
    assert other.asked == list(DOCUMENTS)
    assert result.expanded == {}
    # Phrases with scores will do, and lines without the text.
    scored = [
        {"id": row["_id"], **{kind: [{"phrase": p, "score": 0.1} for p in row[kind]] for kind in ("present", "absent")}}
        for row in rows
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in scored))
    result = run(folder, ["document"], expanded=files)["document"]
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
            run(folder, ["document"], expanded=files)
    with pytest.raises(InputError, match="those of one system"):
        make_methods(["query"], [Lookup({}), Lookup(PHRASES)], expanded=files)
    with pytest.raises(InputError, match="There is no file or folder"):
        make_methods(["query"], [Lookup({})], expanded=tmp_path / "none")


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
    method = Method("doct5query", "doct5query", documents=t5)
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
    assert report["methods"][0]["by_query"]["tiny"]["q2"] == {"R@1000": 0.0, "R@100": 0.0, "nDCG@10": 0.0}
    assert report["methods"][0]["description"]["bm25"] == {"k1": 0.9, "b": 0.4, "analysis": "english-snowball-1"}
    assert report["versions"]["ir_measures"]


def test_comparison_is_by_query(folder: Path) -> None:
    results = run(folder, ["bm25", "both"])
    found = compare(results["both"], results["bm25"], samples=200)
    assert [(c.dataset, c.measure) for c in found] == [("tiny", m) for m in ("R@1000", "R@100", "nDCG@10")]
    assert found[0].result.difference == pytest.approx(1 / 3)
    assert found[0].result == compare(results["both"], results["bm25"], samples=200)[0].result


def test_our_own_model_expands(folder: Path, tiny_model: Path) -> None:
    system = make_system("erukg-extract", SystemOptions(model=str(tiny_model), threads=1))
    results = run(folder, ["rm3", "both"], system=system)
    assert results["both"].scores[0].by_query["R@1000"].tolist() == [1, 0, 1]
    assert results["both"].description["document_expansion"]["added"] == 10


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
        assert "document minus bm25" in done.stdout
        runs.append(((tmp_path / "out.json").read_text(), done.stdout))
    assert runs[0] == runs[1]
    report = json.loads(runs[0][0])
    assert report["task"] == "retrieval"
    assert [s["name"] for s in report["sets"]] == ["tiny", "second"]
    assert set(report["methods"][1]["runs"]) == {"tiny", "second"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "rm4"], "did you mean 'rm3'"),
        (["--method", "bm25", "--compare", "bm25", "query"], "no method 'query' to compare; those run: bm25."),
        (["--system", "textrnk"], "There is no system 'textrnk'"),
        (["--split", "dev"], "qrels/dev.tsv"),
        (["--qrels-by-position", "cranfield"], "none of the sets: tiny"),
        (["--method", "query", "--expanded", "nowhere.jsonl"], "There is no file or folder nowhere.jsonl"),
    ],
)
def test_the_command_refuses(folder: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    if "--split" in arguments:
        (folder / "qrels.tsv").unlink()
    done = CliRunner().invoke(app, ["evaluate", "retrieval", str(folder), "--store", str(tmp_path / "s"), *arguments])
    assert done.exit_code == 1
    assert message in done.stderr
