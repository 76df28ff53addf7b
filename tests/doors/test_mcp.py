"""`erukg mcp` with the SDK's own client: in this process, over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer
from typer.testing import CliRunner

from doors.examples import example
from doors.own_environment import ROOT
from erukg import KeyphraseGenerator, __version__
from erukg.cli import app
from erukg.core.query_expansion import QueryOptions
from erukg.integrations.mcp.files import AllowedFolders, ToolLimits
from erukg.integrations.mcp.server import make_server
from erukg.integrations.mcp.tools import Tools
from erukg.io.engines import search_query

TEXT = "A neural search engine for sparse documents. The search engine has a memory cache."
OTHER = "Passive radar images show sea ice. A satellite and the temperature tell more on sea ice."
NAMES = [
    "extract_keyphrases",
    "generate_keyphrases",
    "suggest_concepts",
    "expand_query",
    "compare_texts",
    "folder_themes",
]
SECRET = "the secret search engine of another folder"


@pytest.fixture(scope="module")
def generator(tiny_model: Path, tiny_collection: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained(tiny_model, tiny_collection)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that may be read, beside a file that may not."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "papers-of-others").mkdir()
    (tmp_path / "papers-of-others" / "secret.txt").write_text(SECRET)
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "engine.txt").write_text(TEXT)
    (papers / "ice.md").write_text(OTHER)
    rows = [{"id": "a", "text": TEXT}, {"id": "b", "title": "Sea ice", "text": OTHER}, {"id": "c"}]
    (papers / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return papers


def server_of(generator: KeyphraseGenerator, *folders: Path, vocabularies: Any = None, **limits: Any) -> MCPServer:
    chosen = ToolLimits(**limits)
    return make_server(Tools(generator, AllowedFolders(folders, chosen), chosen, vocabularies or {}))


async def call(client: Client, name: str, **arguments: Any) -> Any:
    """The structured answer of a tool, or its error as a string."""
    result = await client.call_tool(name, arguments)
    if not result.is_error:
        return result.structured_content
    (said,) = result.content
    return said.text


def ask(server: MCPServer, name: str, **arguments: Any) -> Any:
    async def main() -> Any:
        async with Client(server) as client:
            return await call(client, name, **arguments)

    return asyncio.run(main())


def phrases(document: dict[str, Any]) -> list[str]:
    return [phrase["phrase"] for phrase in document["phrases"]]


def test_tools_say_what_they_take_and_answer(generator: KeyphraseGenerator) -> None:
    async def main() -> Any:
        async with Client(server_of(generator)) as client:
            return (await client.list_tools()).tools

    tools = asyncio.run(main())
    assert [tool.name for tool in tools] == NAMES
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert tool.annotations.open_world_hint is False
        assert tool.title
        assert tool.output_schema["type"] == "object"
        undescribed = {name for name, one in tool.input_schema["properties"].items() if "description" not in one}
        assert undescribed <= {"query"}


def test_text_and_file_give_the_phrases_of_the_generator(generator: KeyphraseGenerator, folder: Path) -> None:
    server = server_of(generator, folder)
    found = generator.generate(TEXT, 5)
    by_text = ask(server, "generate_keyphrases", text=TEXT, top_k=5)["documents"][0]
    assert phrases(by_text) == [k.phrase for k in found]
    assert [p["occurrences"] for p in by_text["phrases"]] == [len(k.spans) for k in found]
    assert found.absent
    for path in ("engine.txt", str(folder / "engine.txt"), f"../{folder.name}/engine.txt"):
        (by_path,) = ask(server, "generate_keyphrases", path=path, top_k=5)["documents"]
        assert by_path["phrases"] == by_text["phrases"]
        assert by_path["id"] == str(folder / "engine.txt")
    (extracted,) = ask(server, "extract_keyphrases", text=TEXT)["documents"]
    assert phrases(extracted) == [k.phrase for k in generator.extract(TEXT).present]


def test_notices_come_with_the_phrases(generator: KeyphraseGenerator) -> None:
    (document,) = ask(server_of(generator), "extract_keyphrases", text="")["documents"]
    assert document["phrases"] == []
    assert len(document["notices"]) == 1
    (half,) = ask(server_of(generator), "extract_keyphrases", text="\ud800 memory cache")["documents"]
    assert phrases(half) == ["memory cache"]


def test_a_folder_is_read_document_by_document(generator: KeyphraseGenerator, folder: Path) -> None:
    answer = ask(server_of(generator, folder), "extract_keyphrases", path=".")
    assert [d["id"] for d in answer["documents"]] == [str(folder / "engine.txt"), str(folder / "ice.md"), "a", "b"]
    (reason,) = answer["left_out"]
    assert reason.startswith(f"{folder / 'rows.jsonl'}:3: ")


def test_themes_are_counted_over_documents(generator: KeyphraseGenerator, folder: Path) -> None:
    answer = ask(server_of(generator, folder), "folder_themes", path=str(folder), top_k=50)
    assert answer["documents"] == 4
    by_name = {theme["phrase"].lower(): theme for theme in answer["themes"]}
    assert by_name["sea ice"]["documents"] == 2
    assert by_name["sea ice"]["examples"] == [str(folder / "ice.md"), "b"]
    assert by_name["neural search engine"]["examples"] == [str(folder / "engine.txt"), "a"]
    assert [theme["documents"] > 1 for theme in answer["themes"]] == sorted(
        (theme["documents"] > 1 for theme in answer["themes"]), reverse=True
    )


def test_two_texts_are_compared(generator: KeyphraseGenerator, folder: Path) -> None:
    server = server_of(generator, folder)
    same = ask(server, "compare_texts", first_text=TEXT, second_path="engine.txt")
    assert (same["similarity"], same["only_first"], same["only_second"]) == (1.0, [], [])
    assert "memory cache" in same["shared"]
    other = ask(server, "compare_texts", first_path="ice.md", second_path="engine.txt")
    assert other["similarity"] < 0.9
    assert "sea ice" in [phrase.lower() for phrase in other["only_first"]]
    assert ask(server, "compare_texts", first_path=".", second_text=TEXT) == (
        "It holds more than one document; give a file of one."
    )


def test_a_query_is_expanded(generator: KeyphraseGenerator) -> None:
    server = server_of(generator)
    answer = ask(server, "expand_query", query="search engine", top_k=5, engine="lucene")
    expected = generator.expand_query("search engine", QueryOptions(present=5, absent=5))
    assert answer["phrases"] == [phrase.to_dict() for phrase in expected.phrases]
    assert answer["request"] == search_query(expected, "lucene")
    assert ask(server, "expand_query", query="search engine")["request"] is None
    assert ask(server, "expand_query", query="\ud800 search engine")["query"] == "\ufffd search engine"


def test_concepts_of_labels_and_of_a_vocabulary(generator: KeyphraseGenerator) -> None:
    labels = ["Memory cache", "Search engines", "Sea ice"]
    vocabularies = {"own": generator.suggester(labels), "more": generator.suggester(["Sea ice"])}
    server = server_of(generator, vocabularies=vocabularies)

    def concepts(**arguments: Any) -> Any:
        answer = ask(server, "suggest_concepts", **arguments)
        return answer if isinstance(answer, str) else phrases(answer["documents"][0])

    assert concepts(text=OTHER, labels=labels)[0] == "Sea ice"
    assert set(concepts(text=TEXT, vocabulary="own")) == {"Memory cache", "Search engines"}
    (found,) = ask(server_of(generator, vocabularies=vocabularies), "suggest_concepts", text=OTHER, vocabulary="more")[
        "documents"
    ]
    assert [(one["uri"], one["occurrences"]) for one in found["phrases"]] == [("Sea ice", 2)]
    assert concepts(text=TEXT) == "Say which vocabulary: own, more."
    assert concepts(text=TEXT, vocabulary="owm") == "There is no vocabulary 'owm'; did you mean 'own'?"
    assert "has no vocabulary" in ask(server_of(generator), "suggest_concepts", text=TEXT)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("../secret.txt", "is not in a folder that may be read"),
        ("../papers-of-others/secret.txt", "is not in a folder that may be read"),
        ("/etc/passwd", "is not in a folder that may be read"),
        ("..", "is not in a folder that may be read"),
        ("link.txt", "is not in a folder that may be read"),
        ("out/secret.txt", "is not in a folder that may be read"),
        ("loop", "is not the name of a file that can be reached"),
        ("pipe.txt", "is neither a file nor a folder"),
        ("none.txt", "There is no 'none.txt' in the folders that may be read"),
        ("file:///etc/passwd", "There is no 'file:///etc/passwd' in the folders that may be read"),
        ("a\0b", "is not the name of a file that can be reached"),
        ("x" * 5000, "is not the name of a file that can be reached"),
        ("odd.bin", "Its ending is none of .txt"),
    ],
)
def test_what_may_not_be_read_is_refused_in_a_sentence(
    generator: KeyphraseGenerator, folder: Path, path: str, sentence: str
) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "out").symlink_to(folder.parent)
    (folder / "loop").symlink_to(folder / "loop")
    os.mkfifo(folder / "pipe.txt")
    (folder / "odd.bin").write_bytes(b"\0\1")
    said = ask(server_of(generator, folder), "extract_keyphrases", path=path)
    assert sentence in said
    assert "secret search" not in said
    assert "\n" not in said
    assert len(said) < 600


def test_links_that_lead_out_of_a_folder_are_passed_over(generator: KeyphraseGenerator, folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "out").symlink_to(folder.parent / "papers-of-others")
    (folder / "within.txt").symlink_to(folder / "engine.txt")
    answer = ask(server_of(generator, folder), "generate_keyphrases", path=".")
    assert str(folder / "within.txt") in [document["id"] for document in answer["documents"]]
    assert not any("secret" in document["id"] for document in answer["documents"])
    assert sum("a link to a place that may not be read" in reason for reason in answer["left_out"]) == 2


def test_without_an_allowed_folder_nothing_is_read(generator: KeyphraseGenerator) -> None:
    assert ask(server_of(generator), "folder_themes", path="/") == (
        "No folder may be read; give the text itself, or start erukg mcp with --allow FOLDER."
    )


def test_limits(generator: KeyphraseGenerator, folder: Path) -> None:
    answer = ask(server_of(generator, folder, max_documents=2), "extract_keyphrases", path=".")
    assert len(answer["documents"]) == 2
    assert answer["left_out"] == ["All after the first 2 documents, which are as many as a call may read."]
    answer = ask(server_of(generator, folder, max_theme_documents=3), "folder_themes", path=".")
    assert answer["documents"] == 3
    small = server_of(generator, folder, max_mb=0.001)
    assert "longer than 1000 characters" in ask(small, "extract_keyphrases", text="x " * 600)
    assert "longer than 1000 characters" in ask(small, "expand_query", query="x " * 600)
    (folder / "long.txt").write_text("x " * 600)
    assert "larger than 0.001 MB" in ask(small, "extract_keyphrases", path="long.txt")
    assert "larger than 0.001 MB" in ask(
        server_of(generator, folder, max_file_mb=0.001), "extract_keyphrases", path="long.txt"
    )


def test_time_is_limited(generator: KeyphraseGenerator, folder: Path) -> None:
    rows = [{"id": str(number), "text": TEXT * 20} for number in range(3000)]
    (folder / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    server = server_of(generator, folder, max_seconds=0.5, max_theme_documents=100_000)
    answer = ask(server, "folder_themes", path="many.jsonl")
    assert answer["documents"] < 3000
    assert answer["left_out"] == [f"All after the first {answer['documents']} documents, when the time was over."]


def test_names_that_are_no_unicode_can_be_sent(generator: KeyphraseGenerator, folder: Path) -> None:
    with open(os.fsencode(folder) + b"/\xff.txt", "w") as file:  # noqa: PTH123 (a name of bytes)
        file.write(TEXT)
    answer = ask(server_of(generator, folder), "extract_keyphrases", path=".")
    assert any(document["id"].endswith("\ufffd.txt") for document in answer["documents"])


@pytest.mark.parametrize(
    "given",
    [{"a": 1}, None, float("nan"), ["rare", "files"], 7, []],
    ids=["a dict", "None", "NaN", "a list of words", "an int id", "an empty list"],
)
def test_mistakes_are_errors_of_one_sentence(generator: KeyphraseGenerator, given: Any) -> None:
    for arguments in ({"text": given}, {"path": given}, {"text": TEXT, "top_k": 1000 if given == 7 else given}):
        said = ask(server_of(generator), "extract_keyphrases", **arguments)
        assert isinstance(said, str)
        assert said.endswith(".")
        assert "\n" not in said


def test_both_or_neither_of_text_and_path(generator: KeyphraseGenerator) -> None:
    server = server_of(generator)
    assert ask(server, "extract_keyphrases") == "Give either a text or a path."
    assert ask(server, "extract_keyphrases", text="a", path="b") == "Give either a text or a path, not both."


# As a process of its own


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "erukg.cli", "mcp", *map(str, arguments)]


def test_over_standard_input_and_output(tiny_model: Path, folder: Path) -> None:
    first, *rest = command("--model", tiny_model, "--no-collection", "--allow", folder)

    async def main() -> Any:
        async with Client(StdioServerParameters(command=first, args=rest, env=dict(os.environ))) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
            return await call(client, "extract_keyphrases", path="engine.txt"), await call(
                client, "extract_keyphrases", path="/etc/passwd"
            )

    good, bad = asyncio.run(main())
    expected = KeyphraseGenerator.from_pretrained(tiny_model, False).extract(TEXT)
    assert phrases(good["documents"][0]) == [k.phrase for k in expected.present]
    assert bad.startswith("'/etc/passwd' is not in a folder that may be read")


@contextmanager
def over_http(*arguments: object) -> Iterator[str]:
    """The address of a server on a free port."""
    process = subprocess.Popen(command("--http", "--port", 0, *arguments), stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", process.stderr.readline())
        assert found is not None
        yield found[0]
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_over_http(tiny_model: Path, folder: Path) -> None:
    async def main(address: str) -> Any:
        async with Client(address) as client:
            return await call(client, "extract_keyphrases", path="engine.txt")

    with over_http("--model", tiny_model, "--no-collection", "--allow", folder) as address:
        answer = asyncio.run(main(address))
        assert "memory cache" in phrases(answer["documents"][0])
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        accept = {"Accept": "application/json, text/event-stream"}

        def status(**headers: str) -> int:
            return httpx.post(address, json=body, headers={**accept, **headers}).status_code

        assert status() == 200
        assert status(Origin="http://localhost:6274") == 200
        assert status(Host="evil.example") == 421
        assert status(Origin="https://evil.example") == 403
        taken = subprocess.run(
            command("--model", tiny_model, "--no-collection", "--http", "--port", address.split(":")[2].split("/")[0]),
            capture_output=True,
            text=True,
            check=False,
        )
        assert taken.returncode == 1
        assert taken.stderr.startswith("erukg: Address already in use")
        assert taken.stderr.count("\n") == 1


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["mcp", *map(str, arguments)])


def test_the_extra_is_asked_for_before_any_work_and_help_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "mcp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert "--allow" in run("--help").stdout
    done = run("--model", "there is none")
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("erukg: The MCP server needs the package 'mcp")
    assert line.endswith("; install it with: pip install 'erukg[mcp]'")


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    done = run("--allow", tmp_path / "none")
    assert done.exit_code == 1
    assert done.stderr == f"erukg: {tmp_path / 'none'} is no folder, so it cannot be allowed.\n"


def test_the_example_of_the_page(tmp_path: Path, folder: Path, tiny_model: Path) -> None:
    program = tmp_path / "bin" / "erukg"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m erukg.cli "$@" --model {tiny_model} --no-collection\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    # The SDK starts servers with few variables; that of Python's path is only for a source that is not installed.
    code = example("agents.md", "For your agent").replace('"papers"])', '"papers"], env=dict(os.environ))')
    done = subprocess.run(
        [sys.executable, "-c", f"import os\n{code}"],
        cwd=folder.parent,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^2 sea ice \['.*ice\.md', 'b'\]$", done.stdout, re.MULTILINE | re.IGNORECASE)


def test_the_registry_entry_is_of_this_version() -> None:
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    (package,) = entry["packages"]
    assert entry["version"] == package["version"] == __version__
    assert len(entry["description"]) <= 100
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert [each["value"] for each in package["runtimeArguments"]] == extras["mcp"]
    arguments = [each.get("name") or each["value"] for each in package["packageArguments"]]
    assert arguments[0] == "mcp"
    shown = run("--help").stdout
    assert all(name in shown for name in arguments[1:])
