"""Training baselines: examples of each, packed arrays, a loop that learns and goes on, and the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from erukg.cli.train import app
from erukg.errors import InputError, TrainingError
from erukg.research.baselines.neural.vocabulary import UNKNOWN
from erukg.training.baselines import BASELINES, baseline
from erukg.training.baselines.fit import Example, FitOptions, fit
from erukg.training.baselines.packing import Packed, pack
from erukg.training.baselines.run import main
from tiny_copy import TINY, tiny_examples


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


PAPERS: list[dict[str, object]] = [
    {"id": "a", "title": "Sparse retrieval of documents", "abstract": "We index documents with a sparse model."},
    {"id": "b", "title": "Sea ice in radar images", "abstract": "Radar images show where the sea is frozen."},
    {"id": "c", "title": "Other things", "abstract": "Nobody asks for these."},
]


def test_packed_examples_are_words_as_numbers(tmp_path: Path) -> None:
    texts = [
        Example("Sea ice near Xanadu", ("sea ice", "Xanadu", "kubla khan", "sea ice", "one two three four")),
        Example("", ("sea ice",)),
        Example("no targets", ()),
        Example("ice and ice", ("Ice-sea", "ice", "sea")),
    ]
    packed = pack(texts, size=8, most_words=3, longest=3, most_targets=2)
    assert packed.vocabulary.words[5:] == ("ice", "sea", "and")  # "and" comes before "near" and the others
    # Xanadu is beyond the words read, so it cannot be copied.
    assert packed.source.tolist() == [6, 5, 8, 5, 7, 5]
    assert packed.targets.tolist() == [6, 5, 5, 6, 5]
    assert packed.target_at.tolist() == [0, 2, 4, 5]
    assert packed.document_at.tolist() == [0, 1, 3]
    path = tmp_path / "packed.npz.xz"
    packed.save(path)
    loaded = Packed.load(path)
    assert loaded.sha256 == packed.sha256
    assert loaded.describe()["documents"] == 2
    with pytest.raises(TrainingError, match="no document has both"):
        pack([Example("sea", ())])
    with pytest.raises(TrainingError, match="no target can be written"):
        pack([Example("sea sea ice ice", ("xanadu",))], size=7)
    for content in (b"", b"PK\x03\x04", path.read_bytes()[:-20]):
        path.write_bytes(content)
        with pytest.raises(TrainingError, match="cannot be read as packed examples"):
            Packed.load(path)
    plain = tmp_path / "plain.npz"
    replace(packed, document_at=np.array([0, 1, 2])).save(plain)
    with pytest.raises(TrainingError, match="contradict each other"):
        Packed.load(plain)


def test_a_fit_learns_to_copy(tmp_path: Path) -> None:
    lines: list[str] = []
    options = replace(TINY, steps=160, dropout=0.0, learning_rate=2e-2)
    model = fit(tiny_examples(256), tmp_path / "model", options, say=lines.append)
    losses = [float(line.split()[-1]) for line in lines if "held-out loss" in line]
    assert losses[-1] < 0.5 * losses[0]
    held_out = tiny_examples(8, seed=9)
    found = model.generate([example.text for example in held_out], width=8, depth=2)
    right = sum(phrases[0][0] == example.targets[0] for example, phrases in zip(held_out, found, strict=True))
    assert right >= 5
    assert model.card["finished"] is True
    assert model.card["steps"] == 160
    assert not (tmp_path / "model" / "checkpoints").exists()
    # The same again is not trained again; another training does not overwrite it.
    fit(tiny_examples(256), tmp_path / "model", options, say=lines.append)
    assert lines[-1].endswith("holds the finished model already.")
    with pytest.raises(TrainingError, match="not of this training"):
        fit(tiny_examples(256), tmp_path / "model", replace(options, seed=1))


def test_a_fit_that_was_stopped_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    packed = pack(tiny_examples(), TINY.vocabulary)
    whole = fit(packed, tmp_path / "whole", TINY, say=lambda line: None)

    class Stop(Exception):
        pass

    def stop(line: str) -> None:
        if line.startswith("step 7 "):
            raise Stop

    with pytest.raises(Stop):
        fit(packed, tmp_path / "parts", TINY, say=stop)
    with pytest.raises(TrainingError, match="other examples or options"):
        fit(packed, tmp_path / "parts", replace(TINY, batch=8))
    lines: list[str] = []
    parts = fit(packed, tmp_path / "parts", TINY, say=lines.append)
    assert "Going on from step 6." in lines
    assert (tmp_path / "whole" / "model.safetensors").read_bytes() == (
        tmp_path / "parts" / "model.safetensors"
    ).read_bytes()
    assert whole.card["held_out_loss"] == parts.card["held_out_loss"]
    other = fit(packed, tmp_path / "other", replace(TINY, seed=5), say=lambda line: None)
    assert other.card["held_out_loss"] != whole.card["held_out_loss"]


def test_options_that_are_none(tmp_path: Path) -> None:
    for wrong in ({}, {"seconds": 1.0, "steps": 1}, {"steps": 0}, {"steps": 1, "batch": 0}):
        with pytest.raises(TrainingError):
            FitOptions(**wrong)
    with pytest.raises(TrainingError, match="no device 'abacus'"):
        fit(tiny_examples(), tmp_path / "model", replace(TINY, device="abacus"))
    if not torch.cuda.is_available():
        with pytest.raises(TrainingError, match="no GPU"):
            fit(tiny_examples(), tmp_path / "model", replace(TINY, device="cuda"))
    with pytest.raises(InputError, match="no trained baseline 'copyrn'; did you mean 'copyrnn'"):
        baseline("copyrn")


def test_keywords_get_their_abstracts_by_title(tmp_path: Path) -> None:
    keywords: list[dict[str, object]] = [
        {"id": "1", "title": "SPARSE Retrieval of Documents", "keyphrases": ["inverted index", "Search"]},
        {"title": "Not in the corpus", "keyphrases": ["x"]},
        {"title": "Whole", "abstract": "With abstract.", "keyphrases": ["a", "b"]},
    ]
    files = [write(tmp_path / "keywords.jsonl", keywords), write(tmp_path / "corpus.jsonl", PAPERS)]
    assert list(BASELINES["copyrnn"].examples(files)) == [
        Example("Whole\nWith abstract.", ("a", "b")),
        Example(f"{PAPERS[0]['title']}\n{PAPERS[0]['abstract']}", ("inverted index", "Search")),
    ]
    with pytest.raises(TrainingError, match="No document has both keywords and an abstract"):
        list(BASELINES["copyrnn"].examples(files[1:]))


def test_phrases_of_titles_are_written_of_abstracts(tmp_path: Path) -> None:
    found = list(BASELINES["tpg"].examples([write(tmp_path / "corpus.jsonl", PAPERS)]))
    assert [example.text for example in found] == [paper["abstract"] for paper in PAPERS]
    assert "radar images" in found[1].targets
    assert all(target == target.lower() for example in found for target in example.targets)


def test_queries_lead_to_documents(tmp_path: Path) -> None:
    queries: list[dict[str, object]] = [
        {"query": "sparse search?", "doc_id": "a", "label": 1},
        {"query": "frozen sea", "doc_id": "a", "label": 0},
        {"query": "what is it", "doc_text": "A text of its own.", "label": 1},
    ]
    contexts: list[dict[str, object]] = [
        {"context": f"Radar images of ice (Smith et al., 2015) {n}.", "cited_id": "b", "citing_id": "z"}
        for n in range(20)
    ]
    contexts += [{"context": "We refer the reader to this.", "cited_id": "b", "citing_id": "z"}] * 9
    files = [write(tmp_path / f"{n}.jsonl", rows) for n, rows in enumerate((queries, PAPERS, contexts))]
    found = list(BASELINES["doct5query"].examples(files, 3))
    assert [example.text for example in found] == [
        f"{PAPERS[0]['title']}\n{PAPERS[0]['abstract']}",
        PAPERS[0]["abstract"],
        f"{PAPERS[1]['title']}\n{PAPERS[1]['abstract']}",
        PAPERS[1]["abstract"],
        PAPERS[2]["abstract"],
        "A text of its own.",
    ]
    assert found[0].targets == ("sparse search?",)
    assert found[1].targets == (PAPERS[0]["title"],)
    assert len(found[2].targets) == 8
    assert all(target.startswith("Radar images of ice") and "Smith" not in target for target in found[2].targets)
    assert list(BASELINES["doct5query"].examples(files, 3)) == found
    assert found[4].targets == (PAPERS[2]["title"],)
    with pytest.raises(TrainingError, match="No document has a query"):
        list(BASELINES["doct5query"].examples(files[1:2]))


def test_the_command_trains_a_folder(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"title": f"About {e.targets[0]}", "abstract": e.text, "keyphrases": list(e.targets)} for e in tiny_examples()
    ]
    file = write(tmp_path / "keywords.jsonl", rows)
    small = ["--vocabulary", "40", "--embedding", "8", "--hidden", "8", "--batch", "16"]
    out = tmp_path / "model"
    arguments = ["baseline", "copyrnn", str(file), "-o", str(out), "--steps", "2", *small, "--device", "cpu"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "held-out loss" in result.output
    config = json.loads((out / "config.json").read_text())
    assert config["card"]["baseline"] == "copyrnn"
    assert list(config["card"]["files"]) == ["keywords.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keywords.jsonl", "model"]
    both = CliRunner().invoke(app, [*arguments, "--minutes", "1"])
    assert isinstance(both.exception, InputError)
    missing = CliRunner().invoke(app, ["baseline", "copyrnn", str(tmp_path / "none"), "-o", str(out), "--steps", "2"])
    assert "There is no file" in str(missing.exception)


def test_a_network_is_trained_where_little_is_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, object]] = [
        {"title": "t", "abstract": e.text, "keyphrases": list(e.targets)} for e in tiny_examples()
    ]
    file, packed = write(tmp_path / "rows.jsonl", rows), tmp_path / "examples.npz.xz"
    assert main(["pack", "copyrnn", str(file), "-o", str(packed), "--vocabulary", "40"]) == 0
    blocked = (
        "import sys; sys.modules.update(dict.fromkeys(['numba', 'typer', 'rich', 'Stemmer', 'onnxruntime', 'nltk']));"
    )
    program = f"{blocked} from erukg.training.baselines.run import main; sys.exit(main(sys.argv[1:]))"
    sizes = ["--embedding", "8", "--hidden", "8", "--batch", "16", "--device", "cpu"]
    arguments = ["fit", str(packed), "--name", "copyrnn", "-o", str(tmp_path / "model"), "--steps", "2", *sizes]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "model" / "model.safetensors").is_file()
    assert main(["fit", str(file), *arguments[2:]]) == 1
    assert "cannot be read as packed examples" in capsys.readouterr().err


def test_unknown_words_are_never_a_target() -> None:
    packed = pack(tiny_examples(), 12)
    assert UNKNOWN not in packed.targets.tolist()
