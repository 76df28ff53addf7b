"""Every code block of README and docs is run, or stands in the table of `apart.py` with the reason why not."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.apart import APART, PRESENT_NAMES
from docs.blocks import PAGES, ROOT, blocks_of, commands_of
from docs.comparing import difference
from docs.inputs import write_inputs
from docs.running import Page, Wrong, parses

WITH_BLOCKS = [path for path in PAGES if blocks_of(path)]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "inputs"
    write_inputs(folder)
    return folder


@pytest.fixture
def there(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own with all inputs, which is the current one."""
    shutil.copytree(inputs, tmp_path / "there", symlinks=True)
    monkeypatch.chdir(tmp_path / "there")
    yield tmp_path / "there"
    if "joblib" in sys.modules:  # its processes would wait for more work for minutes
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True, kill_workers=True)


def run(path: Path, *, slow: bool = False) -> Page:
    page = Page(slow=slow)
    exec(PRESENT_NAMES.get(path.relative_to(ROOT).as_posix(), ""), page.names)
    blocks = blocks_of(path)
    page.write(blocks)
    for block in blocks:
        page.run(block)
    return page


@pytest.mark.parametrize("path", WITH_BLOCKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_page(path: Path, there: Path) -> None:
    run(path)


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_BLOCKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_whole_page(path: Path, there: Path) -> None:
    run(path, slow=True)


def test_no_reason_is_left_over() -> None:
    texts = [
        text
        for path in PAGES
        for block in blocks_of(path)
        for text in ([one.line for one in commands_of(block.code)] if block.language == "shell" else [block.code])
    ]
    first = {next((key for key in APART if key in text), None) for text in texts}
    assert sorted(APART.keys() - first) == []
    assert not PRESENT_NAMES.keys() - {path.relative_to(ROOT).as_posix() for path in PAGES}


def test_what_is_wrong_is_found(there: Path) -> None:
    """The test of the docs can fail: an option, an output, a line of Python, a block nobody knows."""
    pages = {
        "option": "    erukg generate paper.txt --no-such-option\n",
        "apart": "    erukg serve --no-such-option\n",
        "output": "    $ erukg extract paper.txt --top-k 1 --format tsv\n    nonsense\n",
        "python": "```python\nimport erukg\nerukg.generat('text')\n```\n",
        "stray": "```toml\nname = 1\n```\n",
        "extra": "    pip install 'erukg[nonsense]'\n",
        "json": "```json\n{\n```\n",
        "tab": '=== "Shell"\n\n    ```sh\n    erukg generate --no-such-option\n    ```\n',
    }
    for name, text in pages.items():
        path = there / f"{name}.md"
        path.write_text(text, "utf-8")
        (block,) = blocks_of(path)
        with pytest.raises(Wrong, match=name):
            Page().run(block)


def test_numbers_may_differ_a_little() -> None:
    assert difference("sea ice  61%\nice … 0.41", "sea ice 60%\nice age and 0.413\n") is None
    assert difference("61%", "55%") == "61% is 55".replace("%", "")
    assert difference("3 documents", "4 documents") == "3 is 4"
    assert difference("sea ice", "land ice") == "the words differ"
    assert difference('{"a": [0.5], "took_ms": 1.0}', '{"a": [0.502], "took_ms": 9.0}') is None
    assert difference('{"a": [0.5]}', '{"a": [0.6]}') == "$.a[0] is 0.6"


def test_a_quote_may_go_over_lines() -> None:
    (command,) = commands_of("$ curl -d '{\n  1}' \\\n  x # why\nshown\n")
    assert command.words == ["curl", "-d", "{\n  1}", "x"]
    assert command.shown == ["shown"]


def test_parsing_is_the_command_s_own() -> None:
    parses(["collection", "build", "mine/", "archive.jsonl"])
    with pytest.raises(Exception, match="No such option"):
        parses(["collection", "build", "mine/", "archive.jsonl", "--nope"])
