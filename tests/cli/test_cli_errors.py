"""Bad documents among good ones, exit codes, pipes, interruptions, terminals, lazy loading."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pypdf
import pytest
import typer
from typer.testing import CliRunner, Result

from erukg.cli import app
from erukg.cli._common import printable
from erukg.cli._options import InputOptions
from erukg.cli._work import Source, process
from erukg.core.results import Keyphrases
from erukg.core.streams import Answer, attempt
from erukg.errors import InputError
from erukg.io import InputDocument
from erukg.io.outputs import Output
from erukg.io.writers import JsonWriter

Run = Callable[..., Result]
Shell = Callable[..., subprocess.Popen[bytes]]


def write_lines(path: Path, count: int) -> Path:
    path.write_text("".join(json.dumps({"id": f"d{i}", "text": f"sparse graph {i}"}) + "\n" for i in range(count)))
    return path


def test_one_bad_line_among_many(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "text": "sea ice"}\n{"id": "2", "text": \n{"id": "3", "text": "sparse graph"}\n')
    result = run("generate", path)
    assert result.exit_code == 3
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["1", "3"]
    first, last = result.stderr.splitlines()
    assert first.startswith(f"erukg: {path}:2: It is not JSON")
    assert last == "erukg: 1 of 3 documents skipped."


def test_nothing_but_bad_documents(run: Run, tmp_path: Path) -> None:
    binary = tmp_path / "program.txt"
    binary.write_bytes(b"\x7fELF" + bytes(100))
    secret = tmp_path / "secret.pdf"
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(secret)
    result = run("generate", binary, secret, tmp_path / "none.txt")
    assert result.exit_code == 1
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 4
    assert "a program" in lines[0]
    assert "encrypted" in lines[1]
    assert "no such file" in lines[2]


def test_no_documents_at_all(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    result = run("generate", tmp_path)
    assert result.exit_code == 1
    assert result.stderr == "erukg: There are no documents in what was given.\n"


def test_names_cannot_steer_the_terminal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m\nb.txt"
    path.write_bytes(b"\xff\xff")
    result = run("generate", path)
    assert "\x1b" not in result.stderr
    assert len(result.stderr.splitlines()) == 2
    path.write_bytes(b"sparse graph")
    assert "\x1b" not in run("generate", path, "--format", "table").stdout
    assert printable("sea\x07 ice\u202e") == "sea\\x07 ice\\u202e"


def test_a_document_the_work_refuses_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path / "a.jsonl", 20)

    def result_of(document: InputDocument) -> Keyphrases:
        if document.id in ("d0", "d7", "d8", "d19"):
            raise InputError("It is not to our taste.")
        return Keyphrases(id=document.id)

    def work(documents: Iterable[InputDocument]) -> Iterator[Answer[InputDocument, Keyphrases]]:
        # Reads ahead, as a pool of threads does.
        return iter([attempt(result_of, document) for document in documents])

    with pytest.raises(typer.Exit) as left:
        process(Source(InputOptions(paths=[str(path)])), Output(None, JsonWriter), work)
    assert left.value.exit_code == 3
    out = capsys.readouterr()
    expected = [f"d{i}" for i in range(20) if i not in (0, 7, 8, 19)]
    assert [json.loads(line)["id"] for line in out.out.splitlines()] == expected
    assert "4 of 20 documents skipped" in out.err
    assert f"erukg: {path}:8: It is not to our taste." in out.err


def test_output_appears_complete_or_not_at_all(run: Run, tmp_path: Path) -> None:
    path, output = write_lines(tmp_path / "a.jsonl", 3), tmp_path / "out.jsonl"
    result = run("generate", path, "--output", output)
    assert (result.exit_code, result.stdout) == (0, "")
    assert len(output.read_text().splitlines()) == 3
    assert not (tmp_path / "out.jsonl.part").exists()
    assert run("generate", path, "--output", tmp_path / "out.csv").exit_code == 0
    assert (tmp_path / "out.csv").read_text().startswith("id,kind,")
    for bad in (path, tmp_path, tmp_path / "none" / "x.jsonl"):
        result = run("generate", path, "--output", bad)
        assert result.exit_code == 1
        assert len(result.stderr.splitlines()) == 1
    assert len(path.read_text().splitlines()) == 3
    before = output.read_text()
    assert run("generate", tmp_path / "none.txt", "n" * 5000 + ".txt", "--output", output).exit_code == 1
    assert output.read_text() == before
    assert not (tmp_path / "out.jsonl.part").exists()


def test_resume(run: Run, tmp_path: Path) -> None:
    path, output, part = write_lines(tmp_path / "a.jsonl", 5), tmp_path / "o.jsonl", tmp_path / "o.jsonl.part"
    with path.open("a") as file:
        file.write('{"id": "d1", "text": "sea ice"}\n')
    run("generate", path, "--output", output)
    whole = output.read_text()
    lines = whole.splitlines(keepends=True)
    output.unlink()
    for done in (0, 2, 5, 6):
        part.write_text("".join(lines[:done]) + (lines[done][:20] if done < 6 else ""))
        assert run("generate", path, "--output", output, "--resume").exit_code == 0
        assert output.read_text() == whole
        assert not part.exists()
        output.unlink()
    output.write_text("".join(lines[:3]))
    assert run("generate", path, "--output", output, "--resume").exit_code == 0
    assert output.read_text() == whole
    part.write_text("something else\n")
    result = run("generate", path, "--output", output, "--resume")
    assert result.exit_code == 1
    assert "Line 1" in result.stderr
    assert output.read_text() == whole


def test_interrupted_work_can_be_resumed(shell: Shell, run: Run, tmp_path: Path) -> None:
    output, part = tmp_path / "o.jsonl", tmp_path / "o.jsonl.part"
    process = shell("generate", "-", "--input-format", "jsonl", "--output", output, "--threads", 1)
    assert process.stdin is not None
    process.stdin.write(b'{"id": "d0", "text": "sparse graph 0"}\n{"id": "d1", "text": "sparse graph 1"}\n')
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not (part.exists() and part.read_text().count("\n") == 2):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stdout == b""
    assert b"Interrupted" in stderr
    assert b"--resume" in stderr
    assert b"Traceback" not in stderr
    assert not output.exists()
    path = write_lines(tmp_path / "a.jsonl", 4)
    assert run("generate", path, "--output", output, "--resume").exit_code == 0
    assert [json.loads(line)["id"] for line in output.read_text().splitlines()] == ["d0", "d1", "d2", "d3"]


def test_closed_pipe_is_no_drama(shell: Shell, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", 3000)
    process = shell("generate", path)
    assert process.stdout is not None
    assert process.stderr is not None
    assert json.loads(process.stdout.readline())["id"] == "d0"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=30) == 141


def test_on_a_terminal_there_is_a_table_and_a_bar(shell: Shell, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", 3)
    primary, secondary = pty.openpty()
    process = shell("generate", path, stdout=secondary, stderr=secondary, stdin=subprocess.DEVNULL)
    os.close(secondary)
    seen = b""
    while True:
        try:
            chunk = os.read(primary, 65536)
        except OSError:  # how Linux says that the other side of the terminal is closed
            break
        if not chunk:
            break
        seen += chunk
    os.close(primary)
    assert process.wait(timeout=30) == 0
    text = seen.decode()
    assert "present" in text
    for expected in ("d2", "sparse graph", "strong"):
        assert expected in text
    assert '"phrase"' not in text
    assert "documents" in text


def test_no_arguments_on_a_terminal_asks_for_paths(shell: Shell) -> None:
    primary, secondary = pty.openpty()
    process = shell("generate", stdin=secondary)
    _, stderr = process.communicate(timeout=30)
    os.close(primary)
    os.close(secondary)
    assert process.returncode == 2
    assert b"standard input" in stderr


def modules_after(*arguments: str) -> set[str]:
    code = (
        "import sys\nfrom erukg.cli import app\n"
        f"try: app({list(arguments)!r})\nexcept SystemExit as e: assert e.code == 0, e\n"
        "print('|'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split("|"))


def test_help_loads_no_command_and_generate_only_its_own(tiny_model: Path, tmp_path: Path) -> None:
    loaded = modules_after("--help")
    assert not loaded & {
        "erukg.cli.generate",
        "erukg.cli.train",
        "erukg.cli.collection",
        "erukg.cli.evaluate",
        "numpy",
    }
    path = tmp_path / "a.txt"
    path.write_text("sparse graph")
    loaded = modules_after("generate", str(path), "--model", str(tiny_model), "--no-collection")
    heavy = {"torch", "transformers", "spacy", "nltk", "pandas", "fastapi", "pypdf", "sklearn", "scipy"}
    ours = {
        "erukg.training",
        "erukg.research.evaluation",
        "erukg.cli.train",
        "erukg.cli.evaluate",
        "erukg.research.baselines",
    }
    assert not loaded & (heavy | ours)


def test_version_and_help() -> None:
    from erukg import __version__

    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"erukg {__version__}\n")
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).stdout
    for name in ("generate", "extract", "rank", "collection", "train", "evaluate", "Exit codes"):
        assert name in text
    assert CliRunner().invoke(app, ["generat"]).exit_code == 2


def test_a_damaged_model_is_one_sentence(tiny_model: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "m"))
    data = bytearray((folder / "head.safetensors").read_bytes())
    data[-5] ^= 1
    (folder / "head.safetensors").write_bytes(data)
    line = ["extract", str(write_lines(tmp_path / "a.jsonl", 1)), "--model", str(folder)]
    result = CliRunner().invoke(app, line)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"erukg: {folder}/head.safetensors does not match its checksum; the model is damaged, copy it again.\n"
    )


@pytest.mark.parametrize(
    ("command", "name", "known"),
    [
        ("generate", "o.xlsx", ".jsonl, .ndjson, .json, .csv, .tsv, .parquet (also .gz, .xz), or say with --format"),
        ("extract", "o.txt.gz", ".csv, .tsv, .parquet"),
        ("rank", "o.docx", ".csv, .tsv, .parquet"),
        ("expand", "o.xlsx", ".jsonl, .ndjson, .json, .parquet, .csv, .tsv (also .gz, .xz)"),
        ("encode", "o.xlsx", ".jsonl, .ndjson, .json, .parquet, .csv, .tsv"),
    ],
)
def test_endings_that_are_not_written_are_refused(
    run: Run, tmp_path: Path, command: str, name: str, known: str
) -> None:
    path, more = write_lines(tmp_path / "a.jsonl", 2), ("--phrase", "sparse graph") if command == "rank" else ()
    result = run(command, path, "--output", tmp_path / name, *more)
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(result.stderr.splitlines()) == 1
    assert "is not written here; use one of " in result.stderr
    assert known in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"]
    for good in ("plain", "o.json", "o.NDJSON", "o.jsonl.gz"):
        assert run(command, path, "--output", tmp_path / good, *more).exit_code == 0
    assert json.loads((tmp_path / "plain").read_text().splitlines()[1])["id"] == "d1"
    if command not in ("expand", "encode"):
        assert run(command, path, "--output", tmp_path / name, "--format", "table", *more).exit_code == 0
