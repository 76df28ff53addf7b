"""The README and the table of settings keep their promises: settings, examples and test command are the real ones."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from erukg import Settings
from erukg.io import InputDocument, read_documents

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
SETTINGS = ROOT / "docs" / "reference" / "settings.md"


def settings_table() -> str:
    """The table that docs/reference/settings.md must have between its two marks."""
    lines = ["| setting | value | paper | range | |", "|---|---|---|---|---|"]
    paper = Settings.paper().to_dict()
    for field in dataclasses.fields(Settings):
        values = [str(v).lower() if field.type == "bool" else f"{v:g}" for v in (field.default, paper[field.name])]
        extent = f"{field.metadata['low']} … {field.metadata['high']}" if "low" in field.metadata else "true, false"
        text = field.metadata["help"].replace("|", "\\|")
        lines.append(f"| `{field.name}` | {' | '.join(values)} | {extent} | {text} |")
    return "\n".join(lines)


def test_settings_table_is_current() -> None:
    found = re.search(r"<!-- settings:begin -->\n(.*?)\n?<!-- settings:end -->", SETTINGS.read_text("utf-8"), re.DOTALL)
    assert found is not None
    assert found[1] == settings_table()


def test_ci_runs_the_readme_line() -> None:
    blocks = re.findall(r"```sh\n(python3 -m venv .*?)\n```", README)
    assert len(blocks) == 2
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == blocks[1]
    example = re.search(r"examples/\S+", blocks[0])
    assert example is not None
    assert (ROOT / example[0]).is_file()


def test_links_point_at_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_examples_can_be_read() -> None:
    items = list(read_documents([ROOT / "examples"]))
    assert len(items) == 7
    assert all(isinstance(item, InputDocument) for item in items)
    # The case study holds two queries beside its document.
    documents = [item for item in items if isinstance(item, InputDocument) and not item.id.endswith(" query")]
    assert len(documents) == 5
    assert all(len(document.text) > 300 for document in documents)


if __name__ == "__main__":
    # Writes the settings table anew after a setting has changed.
    mark = re.compile(r"(<!-- settings:begin -->\n).*?(\n?<!-- settings:end -->)", re.DOTALL)
    page = SETTINGS.read_text("utf-8")
    SETTINGS.write_text(mark.sub(lambda found: f"{found[1]}{settings_table()}{found[2]}", page), "utf-8")
