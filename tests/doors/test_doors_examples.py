"""The examples in docs/doors.md: one for each door. tests/docs runs them, but for the one that needs an environment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "doors.md").read_text("utf-8")
# The first block of every section.
EXAMPLES = {
    heading: code[1]
    for heading, body in re.findall(r"^##+ ([^\n]+)\n(.*?)(?=^##+ |\Z)", TEXT, re.DOTALL | re.MULTILINE)
    if (code := re.search(r"```python\n(.*?)```", body, re.DOTALL)) is not None
}


def test_every_door_has_one() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| [")]
    doors = {door for row in rows for door in re.findall(r"\]\(#([\w-]+)\)", row)} - {"tables-in-files"}
    assert doors == {heading.lower().replace(" ", "-") for heading in EXAMPLES}
    assert TEXT.count("```python") == len(EXAMPLES)


@pytest.mark.doors
def test_bertopic(tmp_path: Path) -> None:
    from doors.own_environment import own_environment, run_there

    python = own_environment("bertopic", ["erukg[bertopic]"])
    assert "sea ice" in run_there(python, EXAMPLES["BERTopic"], tmp_path).lower()
