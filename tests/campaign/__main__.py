"""`python -m tests.campaign`: blows of many kinds, for as long as one likes, and what must hold after each.

Every blow has a number and follows from the seed, the kind and that number, so that a failure can be repeated:
`--kinds damage --first 17 --blows 1`. Counters lie in a JSON file; run again with the same file, it goes on from there.
`--join` takes in the counters of campaigns on other machines, with other seeds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

# Before numpy and torch are imported: children are forked, and have no threads but their own.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).parents[1]))

from campaign.all_kinds import KINDS
from campaign.counters import Counters
from campaign.crew import Plan, campaign, repeat
from campaign.report import page
from campaign.samples import Samples
from erukg.io.publish import publish_text


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 1 where a blow has ever failed."""
    options = _options().parse_args(arguments)
    if options.join:
        counters = Counters.read(options.state)
        for path in options.join:
            counters.join(Counters.read(path))
        counters.write(options.state)
    else:
        counters = _strike(options)
    if options.report is not None:
        publish_text(options.report, page(counters))
    for name, found in counters.kinds.items():
        print(f"{name:<8} {found['inputs']:>9,} blows, {len(counters.failures(name))} failures")
    return 1 if counters.failed else 0


def _strike(options: argparse.Namespace) -> Counters:
    chosen = options.kinds.split(",")
    if unknown := [name for name in chosen if name not in KINDS]:
        sys.exit(f"There is no kind '{unknown[0]}'; there are: {', '.join(KINDS)}.")
    folder = Path(tempfile.mkdtemp(prefix="erukg-campaign-", dir=options.folder))
    # Ended by the shell or the system, the folder goes too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        samples = Samples(folder / "samples")
        kinds = {name: KINDS[name](samples) for name in chosen}
        say = partial(print, file=sys.stderr)
        if options.again:
            return repeat(kinds, folder, options.state.absolute(), say)
        plan = Plan(options.seed, options.blows, 60 * options.minutes, options.workers, options.first)
        return campaign(kinds, plan, folder, options.state.absolute(), say)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--kinds", default=",".join(KINDS), help="some of: %(default)s")
    parser.add_argument("--blows", type=int, default=10, help="of each kind; a blow may be a batch (%(default)s)")
    parser.add_argument("--minutes", type=float, default=10.0, help="the longest it may take (%(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="processes that strike side by side (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, help="number of the first blow; by default the one after the last")
    parser.add_argument("--state", type=Path, default=Path("campaign.json"), help="counters (%(default)s)")
    parser.add_argument("--report", type=Path, help="write a page about the counters, as Markdown")
    parser.add_argument("--join", type=Path, nargs="+", help="strike nothing, but take in the counters of these files")
    parser.add_argument(
        "--again", action="store_true", help="repeat the blows that have failed, and note which pass now"
    )
    parser.add_argument("--folder", type=Path, help="where to work (by default where temporary files go)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
