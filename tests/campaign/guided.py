"""A fuzzer that keeps what reaches code it has not seen (atheris), in a process of its own: it instruments imports.

As a program: `python guided.py TARGET RUNS SEED` strikes one target so many times and says so at the end.
"""

from __future__ import annotations

import importlib
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

__all__ = ["TARGETS", "Guided"]

TARGETS = ("document", "jsonl", "json", "csv", "markdown", "vocabulary")
_RUNS = {**dict.fromkeys(TARGETS, 50_000), "vocabulary": 2_000}

if __name__ != "__main__":
    from campaign.kinds import Kind, Outcome

    class Guided(Kind):
        """A run of the fuzzer on one target."""

        def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
            target = rng.choice(TARGETS)
            runs = _RUNS[target]
            line = [sys.executable, __file__, target, str(runs), str(rng.randrange(1, 2**31)), str(scratch)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            done = subprocess.run(line, capture_output=True, timeout=400, cwd=scratch, env=environment, check=False)
            tail = done.stderr[-1500:].decode("utf-8", "replace")
            assert done.returncode == 0, f"{target}: exit code {done.returncode}: {tail}"
            assert f"Done {runs} in" in tail or f"Done {runs} runs" in tail, f"{target}: {tail}"
            return Outcome(Counter({f"guided: {target}": runs}))


def _strike(target: str, data: bytes, scratch: Path) -> None:
    import io

    from erukg.core.document import Document
    from erukg.core.folding import fold
    from erukg.errors import InputError
    from erukg.io import BadDocument, read_documents

    if target == "document":
        given = data.decode("utf-8", "surrogatepass" if data[:1] == b"s" else "replace")
        Document.parse(given)
        fold(given)
        return
    if target == "vocabulary":
        # The readers alone: what makes arrays of concepts is compiled, and the compiler does not know the calls that
        # are put in for the fuzzer.
        from erukg.subjects.concepts import VocabularyLimits
        from erukg.subjects.readers import Columns, Wanted, read_concepts

        path = scratch / f"v{('.csv', '.tsv', '.jsonl', '.txt')[data[0] % 4 if data else 0]}"
        path.write_bytes(data[1:])
        try:
            read_concepts(path, None, Wanted("en", (), Columns(), VocabularyLimits()))
        except InputError as error:
            assert "\n" not in str(error)
        return
    for item in read_documents(["-"], form=target, stdin=io.BytesIO(data)):
        assert not isinstance(item, BadDocument) or "\n" not in item.message.strip()


def _main(target: str, runs: str, seed: str, scratch: str) -> None:
    import atheris  # type: ignore[import-untyped]

    with atheris.instrument_imports(include=["erukg"]):
        for name in ("erukg.io", "erukg.core.document", "erukg.subjects.readers"):
            importlib.import_module(name)
    place = Path(scratch)

    def one(data: bytes) -> None:
        try:
            _strike(target, data, place)
        except UnicodeDecodeError:
            if target != "document":
                raise

    # It ends the process by itself, with exit code 0 after the last run.
    atheris.Setup([sys.argv[0], f"-runs={runs}", f"-seed={seed}", "-max_len=600", "-timeout=20"], one)
    atheris.Fuzz()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _main(*sys.argv[1:])
