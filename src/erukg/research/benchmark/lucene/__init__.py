"""Lucene in a process of its own, which stays open and answers one batch of queries at a time.

The small Java program beside this file is compiled against the given jars, which are no part of this package.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.errors import ErukgError, InputError
from erukg.research.benchmark.engines import Found, TermLists

__all__ = ["Lucene", "LuceneProgram"]

_SOURCES = Path(__file__).parent
_VERSION = "org/apache/lucene/util/Version.class"
_BOOST = "org/apache/lucene/search/BoostQuery.class"  # since version 5.4, far from the calls of version 4
# Threads that collect garbage would make it more than one; compiling happens during the warm-up.
_JAVA = ("-XX:+UseSerialGC", "-Xms512m", "-Xmx3g")


@dataclass(frozen=True, slots=True)
class LuceneProgram:
    """Jars that hold a Lucene, and the sources that speak to it."""

    jars: str
    calls: str
    name: str

    @classmethod
    def check(cls, jars: str) -> LuceneProgram:
        """Refuse jars without Lucene, and a machine without a Java compiler, before anything is indexed."""
        classes: set[str] = set()
        paths = [str(Path(jar).resolve()) for jar in jars.split(os.pathsep) if jar]
        for jar in paths:
            try:
                with zipfile.ZipFile(jar) as archive:
                    classes.update(archive.namelist())
            except (OSError, zipfile.BadZipFile) as error:
                raise InputError(f"The jar {jar} cannot be read ({error}); give a readable one to --lucene.") from error
        if _VERSION not in classes:
            raise InputError(f"There is no Lucene in {jars}; give --lucene the lucene-core jar of a version 4.10 or 9.")
        for tool in ("javac", "java"):
            if shutil.which(tool) is None:
                raise InputError(f"Comparing with Lucene needs '{tool}' on the path; install a Java development kit.")
        program = cls(os.pathsep.join(paths), "lucene9" if _BOOST in classes else "lucene4", "")
        with tempfile.TemporaryDirectory() as folder:
            lucene = Lucene(program, TermLists(np.zeros(1, np.int32), np.array([0, 1]), 1), 1, Path(folder))
            lucene.close()
        return cls(program.jars, program.calls, f"lucene {lucene.version}")

    @property
    def settings(self) -> str:
        """What a reader of the figures should know."""
        lossy = "kept in 8 bits (lossy)" if self.calls == "lucene4" else "rounded above 40 terms"
        pruned = "" if self.calls == "lucene4" else ", every match scored (no pruning)"
        return f"one segment, BM25Similarity(0.9, 0.4), document lengths {lossy}{pruned}, timed in Java"

    def compile(self, folder: Path) -> None:
        """Compile the program into `folder`."""
        sources = [_SOURCES / "Search.java", _SOURCES / "Terms.java", _SOURCES / self.calls / "Lucene.java"]
        line = ["javac", "-proc:none", "-nowarn", "-encoding", "UTF-8", "-cp", self.jars, "-d", str(folder)]
        done = subprocess.run([*line, *map(str, sources)], capture_output=True, check=False)
        if done.returncode:
            said = _first_line(done.stderr)
            raise InputError(f"This Lucene is unlike version 4.10 and 9 ({said}); give --lucene one of these.")


class Lucene:
    """Lucene over the documents, as an engine: a whole document asks for any of its terms, boosted by their counts."""

    def __init__(self, program: LuceneProgram, documents: TermLists, keep: int, folder: Path) -> None:
        program.compile(folder)
        lines, index = folder / "documents.txt", folder / "index"
        index.mkdir()
        with lines.open("w", encoding="ascii") as out:
            for i in range(len(documents)):
                out.write(" ".join(map(str, documents[i].tolist())) + "\n")
        classes = os.pathsep.join((program.jars, str(folder)))
        line = ["java", *_JAVA, "-cp", classes, "Search", str(index), str(lines), str(keep)]
        # Not a pipe: nobody reads it meanwhile, and what it says matters only if the program ends.
        self.problems = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.problems, encoding="utf-8"
        )
        try:
            self.version: str = self._answer()["version"]
        except BaseException:
            self.close()
            raise
        lines.unlink()

    def search(self, queries: Sequence[NDArray[np.int32]]) -> tuple[float, list[Found]]:
        assert self.process.stdin is not None
        lines = [str(len(queries))]
        for query in queries:
            terms, counts = np.unique(query, return_counts=True)
            lines.append(" ".join(f"{t}:{c}" for t, c in zip(terms.tolist(), counts.tolist(), strict=True)))
        try:
            self.process.stdin.write("\n".join(lines) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        answers = [self._answer() for _ in queries]
        found = [(np.array(a["documents"], np.int64), np.array(a["scores"], np.float64)) for a in answers]
        return sum(a["seconds"] for a in answers), found

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.problems):
            if stream is not None:
                with suppress(BrokenPipeError):  # what a query left unsent has nobody to go to
                    stream.close()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _ended(self) -> ErukgError:
        self.problems.seek(0)
        return ErukgError(f"The program with Lucene ended: {_first_line(self.problems.read())}")


def _first_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[0].strip() if lines else "It said nothing."
