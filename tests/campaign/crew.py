"""Workers that strike side by side, each kind getting its share of the time."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import random
import re
import resource
import select
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.children import adopt_orphans, end_descendants, living_descendants
from campaign.counters import Counters
from campaign.kinds import Batch, Kind, Outcome, attempt
from erukg.errors import ErukgWarning

__all__ = ["Plan", "campaign", "repeat"]

_PUBLISH_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How long: so many blows of each kind, until so many seconds have passed. `first` repeats blows by number."""

    seed: int
    blows: int
    seconds: float
    workers: int
    first: int | None = None


def campaign(kinds: Mapping[str, Kind], plan: Plan, folder: Path, state: Path, say: Callable[[str], None]) -> Counters:
    """Strike, and keep the counters in `state` as it goes."""
    counters = Counters.read(state)
    run = counters.run(plan.seed, plan.workers)
    names = list(kinds)
    firsts = [plan.first if plan.first is not None else run["next"].get(name, 0) for name in names]
    given = multiprocessing.get_context("fork").Array("q", firsts)
    begin, before, published = time.monotonic(), run["seconds"], 0.0
    crew = [_Worker(kinds, plan, given, firsts, folder / f"worker-{i}") for i in range(plan.workers)]
    while crew:
        for worker in select.select(crew, [], [], 0.5)[0]:
            for name, number, outcome, seconds in worker.read():
                counters.add(name, outcome, plan.seed, number, seconds)
                for failure in outcome.failures:
                    say(f"{name} {number}: {failure}")
            if worker.exit_code is not None:
                crew.remove(worker)
                if worker.exit_code:
                    failed = Outcome(Counter(failed=1), [f"a worker ended with exit code {worker.exit_code}"])
                    counters.add("workers", failed, plan.seed, 0, 0.0)
        run["seconds"] = round(before + time.monotonic() - begin, 1)
        if plan.first is None:
            run["next"].update({name: given[i] for i, name in enumerate(names)})
        if time.monotonic() - published > _PUBLISH_SECONDS or not crew:
            counters.write(state)
            published = time.monotonic()
    return counters


def repeat(kinds: Mapping[str, Kind], folder: Path, state: Path, say: Callable[[str], None]) -> Counters:
    """Repeat every blow that has failed, of a batch that very one, and note whether it passes now."""
    counters = Counters.read(state)
    _prepare_process()
    for name in kinds:
        for failure in counters.failures(name):
            item = re.match(r"item (\d+):", failure["error"])
            Batch.only = int(item[1]) if item else None
            outcome = _strike(kinds[name], name, failure["number"], failure["seed"], folder / "again")
            failure["again"] = outcome.failures[0][:500] if outcome.failures else "passed"
            say(f"{name} {failure['number']} (seed {failure['seed']}) again: {failure['again']}")
        counters.write(state)
    return counters


class _Worker:
    """A process that strikes; results come through a pipe, each behind its length."""

    def __init__(self, kinds: Mapping[str, Kind], plan: Plan, given: Any, firsts: list[int], scratch: Path) -> None:
        self._results, results = os.pipe()
        self._data = b""
        self.exit_code: int | None = None
        self._pid = os.fork()
        if self._pid:
            os.close(results)
            return
        code = 1
        try:
            _work(kinds, plan, given, firsts, scratch, results)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def fileno(self) -> int:
        return self._results

    def read(self) -> Iterator[tuple[str, int, Outcome, float]]:
        """The results that have come; at the end of them there is an exit code."""
        data = os.read(self._results, 1 << 20)
        if not data:
            self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        self._data += data
        while len(self._data) >= 4 and len(self._data) >= 4 + (size := int.from_bytes(self._data[:4], "little")):
            yield pickle.loads(self._data[4 : 4 + size])
            self._data = self._data[4 + size :]


def _work(
    kinds: Mapping[str, Kind], plan: Plan, given: Any, firsts: list[int], scratch: Path, results: int
) -> None:  # fmt: skip
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _prepare_process()
    names, spent, begin = list(kinds), dict.fromkeys(kinds, 0.0), time.monotonic()
    while names and time.monotonic() - begin < plan.seconds:
        name = min(names, key=lambda name: (spent[name] / kinds[name].share, name))
        place = list(kinds).index(name)
        with given.get_lock():
            number = given[place]
            given[place] = number + (number - firsts[place] < plan.blows)
        if number - firsts[place] >= plan.blows:
            names.remove(name)
            continue
        start = time.monotonic()
        outcome = _strike(kinds[name], name, number, plan.seed, scratch)
        seconds = time.monotonic() - start
        spent[name] += seconds
        data = pickle.dumps((name, number, outcome, seconds))
        data = len(data).to_bytes(4, "little") + data
        while data:
            data = data[os.write(results, data) :]
    shutil.rmtree(scratch, ignore_errors=True)


def _prepare_process() -> None:
    warnings.simplefilter("ignore", ErukgWarning)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    adopt_orphans()


def _strike(kind: Kind, name: str, number: int, seed: int, scratch: Path) -> Outcome:
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    rng = random.Random(f"{seed}:{name}:{number}")
    outcome = attempt(lambda: kind.blow(rng, number, scratch))
    if left := living_descendants():
        outcome.failures.append(f"left alive: {left}")
        end_descendants()
    sys.stdout.flush()
    return outcome
