"""Disks that fail under an operation: one sentence, the last state stays, and with a sound disk it completes."""

from __future__ import annotations

import random
import resource
import signal
from collections import Counter
from pathlib import Path

from campaign.children import fork
from campaign.killing import Struck, _Striking
from campaign.kinds import Outcome
from campaign.operations import quiet
from campaign.points import FAULTS, Points
from erukg.errors import ErukgError

__all__ = ["Disk"]


class Disk(_Striking):
    """A fault at some call and, where it lasts, at all that follow; writes that take only some of the bytes; no file
    larger than some bytes, which the system itself sees to."""

    share = 2.0

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        run = rng.choice(self.runs)
        struck = Struck(run, scratch)
        way = rng.choice((*FAULTS, "short writes", "file size"))
        room = int(10 ** rng.uniform(1.5, 5.0)) if way == "file size" else None
        at, lasting = rng.randrange(len(run.points)), rng.random() < 0.6
        fault = way if way in FAULTS else None
        points = Points(struck.folder, at if fault else None, fault=fault, lasting=lasting, short=way == "short writes")

        def work() -> str:
            if room is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            points.install()
            try:
                with quiet():
                    run.operation.work(struck.folder)
            except ErukgError as error:
                return str(error)
            return ""

        child = fork(work)
        ending = child.wait(run.operation.seconds)
        assert ending is not None, f"{run.operation.name}, {way} at {at}: no end"
        what = f"{run.operation.name}, {way} at {at} ({run.points[at]}{', lasting' if lasting else ''})"
        assert ending.code == 0 and not ending.error, f"{what}: {ending.code} {ending.error}"
        said = ending.value
        assert not said or said.endswith((".", "?")), f"{what}: no sentence: {said}"
        assert not (said and way == "short writes"), f"{what}: {said}"
        found = struck.check()
        struck.complete()
        return Outcome(Counter([f"{way}: {'refused' if said else 'done'}, {found}"]))
