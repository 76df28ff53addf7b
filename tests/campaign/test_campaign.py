"""The campaign itself: it goes on where it ended, repeats a blow by its number, and does not hide a failure."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from campaign.__main__ import main
from campaign.kinds import KINDS


class Draws:
    """Notes what it drew; fails at every blow that draws an odd number."""

    drawn: list[int]

    def __init__(self, folder: Path) -> None:
        assert folder.is_dir()
        Draws.drawn = []

    def blow(self, rng: random.Random) -> str:
        self.drawn.append(rng.randrange(100))
        assert self.drawn[-1] % 2 == 0, f"{self.drawn[-1]} is odd"
        return "even"


def test_counters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(KINDS, "draws", Draws)
    state = tmp_path / "state.json"
    line = ["--kinds", "draws", "--seed", "5", "--state", str(state)]
    assert main([*line, "--blows", "8"]) == 1
    first = list(Draws.drawn)
    odd = [number for number, drawn in enumerate(first) if drawn % 2]
    assert 0 < len(odd) < 8
    counted = json.loads(state.read_text())["kinds"]["draws"]
    assert counted["outcomes"] == {"even": 8 - len(odd), "failed": len(odd)}
    assert [failure["number"] for failure in counted["failures"]] == odd
    main([*line, "--blows", "2"])
    assert not set(Draws.drawn) <= set(first)
    assert json.loads(state.read_text())["kinds"]["draws"]["blows"] == 10
    main([*line, "--blows", "1", "--first", str(odd[0])])
    assert Draws.drawn == [first[odd[0]]]
    with pytest.raises(SystemExit, match="was begun with seed 5"):
        main([*line, "--seed", "6"])


def test_a_short_one(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    assert main(["--kinds", "fuzz,same,damage", "--blows", "2", "--state", str(state)]) == 0
    counted = json.loads(state.read_text())["kinds"]
    assert {name: found["blows"] for name, found in counted.items()} == {"fuzz": 2, "same": 2, "damage": 2}
