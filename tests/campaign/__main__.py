"""`python -m tests.campaign`: blows of many kinds, for as long as one likes, and what must hold after each.

Every blow has a number and follows from the seed, the kind and that number, so that a failure can be repeated:
`--kinds damage --first 17 --blows 1`. Counters lie in a JSON file; run again with the same file, it goes on from there.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from campaign.kinds import KINDS, Kind
from erukg.io.publish import publish_text


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 1 where a blow has ever failed."""
    options = _options().parse_args(arguments)
    chosen = options.kinds.split(",")
    if unknown := [name for name in chosen if name not in KINDS]:
        sys.exit(f"There is no kind '{unknown[0]}'; there are: {', '.join(KINDS)}.")
    counters = _read(options.state, options.seed)
    until = time.monotonic() + 60 * options.minutes
    folder = Path(tempfile.mkdtemp(prefix="erukg-campaign-"))
    try:
        kinds = {name: KINDS[name](_made(folder / name)) for name in chosen}
        left = dict.fromkeys(chosen, options.blows)
        while any(left.values()) and time.monotonic() < until:
            # In turn, so that every kind has its share of the time.
            for name in [name for name in chosen if left[name]]:
                number = counters["kinds"].setdefault(name, {"blows": 0, "outcomes": {}, "failures": []})["blows"]
                first = number if options.first is None else options.first + options.blows - left[name]
                _strike(kinds[name], name, first, counters)
                left[name] -= 1
                publish_text(options.state, json.dumps(counters, indent=1) + "\n")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for name, found in counters["kinds"].items():
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(found["outcomes"].items()))
        print(f"{name:<8} {found['blows']} blows ({outcomes}), {len(found['failures'])} failures")
    return 1 if any(found["failures"] for found in counters["kinds"].values()) else 0


def _strike(kind: Kind, name: str, number: int, counters: dict[str, Any]) -> None:
    found = counters["kinds"][name]
    try:
        outcome = kind.blow(random.Random(f"{counters['seed']}:{name}:{number}"))
    except Exception as error:
        outcome = "failed"
        found["failures"].append({"number": number, "error": repr(error)[:500]})
        print(f"{name} {number}:", file=sys.stderr)
        traceback.print_exc()
    found["blows"] += 1
    found["outcomes"][outcome] = found["outcomes"].get(outcome, 0) + 1


def _read(state: Path, seed: int) -> dict[str, Any]:
    if not state.exists():
        return {"seed": seed, "kinds": {}}
    counters: dict[str, Any] = json.loads(state.read_text("utf-8"))
    if counters["seed"] != seed:
        sys.exit(f"{state} was begun with seed {counters['seed']}; go on with that one, or name another file.")
    return counters


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--kinds", default=",".join(KINDS), help="some of: %(default)s")
    parser.add_argument("--blows", type=int, default=10, help="of each kind (%(default)s)")
    parser.add_argument("--minutes", type=float, default=10.0, help="the longest it may take (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, help="number of the first blow; by default the one after the last")
    parser.add_argument("--state", type=Path, default=Path("campaign.json"), help="counters (%(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
