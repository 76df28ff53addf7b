"""The campaign itself: it goes on where it ended, repeats a blow by its number, hides no failure, and finds what is
planted; and a short one, of every kind that is quick."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from campaign.children import fork, in_child, living_descendants
from campaign.counters import Counters
from campaign.crew import Plan, campaign
from campaign.folders import Strangers
from campaign.kinds import Batch, Kind, Outcome
from campaign.points import HALF, Points
from campaign.report import page, table

ROOT = Path(__file__).parents[2]
RUN = ROOT / "docs" / "results" / "runs" / "campaign.json"


class Draws(Kind):
    """Fails at every blow that draws an odd number; what it drew is the outcome."""

    def __init__(self) -> None:
        pass

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        drawn = rng.randrange(100)
        assert drawn % 2 == 0, f"{drawn} is odd"
        return Outcome(Counter([f"drew {drawn}"]), points={"draw": {"of": 8, "struck": number % 8}})


class Crashing(Batch):
    """The third of a batch ends the process, or never ends."""

    size, seconds = 5, 0.5

    def __init__(self, way: str) -> None:
        self.way, self.struck = way, 0

    def strike(self, rng: random.Random, scratch: Path) -> str:
        self.struck += 1
        if self.struck == 3:
            os.kill(os.getpid(), signal.SIGKILL) if self.way == "crash" else time.sleep(60)
        return "fine"


def strike(state: Path, kind: Kind, **plan: int) -> Counters:
    given = {"seed": 5, "blows": 8, "seconds": 60, "workers": 1, **plan}
    said: list[str] = []
    return in_child(lambda: campaign({"draws": kind}, Plan(**given), state.parent, state, said.append), 60)  # type: ignore[no-any-return]


def test_counters_are_gone_on_with_and_joined(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    first = strike(state, Draws(), workers=2).kinds["draws"]
    odd = [failure["number"] for failure in first["failures"]]
    assert 0 < len(odd) < 8
    assert (first["blows"], first["outcomes"]["failed"]) == (8, len(odd))
    assert strike(state, Draws(), blows=2).kinds["draws"]["blows"] == 10
    again = strike(tmp_path / "again.json", Draws(), blows=10).kinds["draws"]
    whole = Counters.read(state).kinds["draws"]
    assert again["outcomes"] == whole["outcomes"], "blows follow from the seed and their numbers"
    (failed,) = strike(tmp_path / "one.json", Draws(), first=odd[0], blows=1).kinds["draws"]["failures"]
    assert failed["error"] == next(each["error"] for each in whole["failures"] if each["number"] == odd[0])
    joined, other = Counters.read(state), strike(tmp_path / "other.json", Draws(), seed=6)
    joined.join(other)
    assert joined.kinds["draws"]["inputs"] == 18
    assert joined.points["draw"]["of"] == 8
    with pytest.raises(SystemExit, match="Both campaigns have runs with seed 5"):
        joined.join(Counters.read(state))
    assert "--kinds draws --seed 6 --first" in page(joined)
    assert joined.failed


@pytest.mark.parametrize(("way", "said"), [("crash", "died with exit code -9"), ("hang", r"no end within 0\.5 s")])
def test_a_batch_that_crashes_or_hangs_is_a_failure(tmp_path: Path, way: str, said: str) -> None:
    outcome = Crashing(way).blow(random.Random(1), 0, tmp_path)
    (failure,) = outcome.failures
    assert re.match(f"item 2: .*{said}", failure)


def test_what_is_planted_is_found(tmp_path: Path) -> None:
    strangers = Strangers(tmp_path)
    strangers.check()
    (tmp_path / "notes.txt").write_bytes((tmp_path / "notes.txt").read_bytes())
    with pytest.raises(AssertionError, match=r"notes\.txt of somebody else was changed"):
        strangers.check()

    def leave_a_child() -> list[str]:
        child = fork(lambda: time.sleep(30))
        found = living_descendants(0.1)
        child.kill()
        return found

    assert len(in_child(leave_a_child, 20)) == 1


def test_calls_are_counted_and_struck(tmp_path: Path) -> None:
    def work(points: Points) -> list[str]:
        points.install()
        with (tmp_path / "a").open("w") as file:
            file.write("a" * 100)
        (tmp_path / "a").replace(tmp_path / "b")
        (tmp_path / "b").unlink()
        (tmp_path.parent / "elsewhere").write_text("x")
        return points.seen

    assert in_child(lambda: work(Points(tmp_path)), 20) == ["open", "write", "rename", "unlink"]
    ending = fork(lambda: work(Points(tmp_path, 1, HALF))).wait(20)
    assert ending is not None
    assert ending.killed
    assert (tmp_path / "a").stat().st_size == 50
    with pytest.raises(AssertionError, match=r"No space left on device"):
        in_child(lambda: work(Points(tmp_path, 1, fault="full")), 20)


def test_a_short_one(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    kinds = "kill,points,damage,disk,writers"
    line = [sys.executable, "-m", "tests.campaign", "--kinds", kinds, "--blows", "1", "--state", str(state)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = json.loads(state.read_text())["kinds"]
    assert {name: found["blows"] for name, found in counted.items()} == dict.fromkeys(kinds.split(","), 1)


EVERY_WAY = """
import random, sys
from pathlib import Path
from campaign import fuzz, fuzz_doors
from campaign.samples import Samples

folder = Path(sys.argv[1])
samples = Samples(folder / "samples")
doors = [fuzz_doors.Requests, fuzz_doors.Agents, fuzz_doors.Commands]
for make in [*doors, fuzz.Texts, fuzz.Files, fuzz.Extracted, fuzz.Types, fuzz.Lists]:
    make.size = 12
    (folder / make.__name__).mkdir()
    outcome = make(samples).blow(random.Random(3), 0, folder / make.__name__)
    assert (sum(outcome.counts.values()), outcome.failures) == (12, []), f"{make.__name__}: {outcome}"
"""


def test_every_way_of_fuzzing(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])}
    line = [sys.executable, "-c", EVERY_WAY, str(tmp_path)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_stored_run_is_what_the_page_says() -> None:
    stored = Counters.read(RUN)
    assert not stored.failed
    assert table(stored) in (ROOT / "docs" / "reliability.md").read_text("utf-8")
    for operation in ("build", "add", "remove", "merge"):
        found = stored.points[operation]
        assert found["struck"] == f"0-{found['of'] - 1}", f"{operation} was not killed at every point"
    counted = {name: found["inputs"] for name, found in stored.kinds.items()}
    assert counted["kill"] + counted["points"] + counted["long"] >= 2_000
    assert counted["damage"] >= 5_000
    assert counted["fuzz"] >= 1_000_000
