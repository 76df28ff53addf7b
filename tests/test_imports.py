"""The core is light: what it may not import, and how long it may take."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {
    "torch",
    "spacy",
    "pandas",
    "fastapi",
    "transformers",
    "sentence_transformers",
    "sklearn",
    "nltk",
    "ray",
    "scipy",
    "polars",
    "duckdb",
    "pyarrow",
    "joblib",
    "bertopic",
}


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(' '.join({{m.split('.')[0] for m in sys.modules}}))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(out.stdout.split())


def test_import_pulls_in_nothing_heavy() -> None:
    assert not modules_after("import erukg") & (HEAVY | {"numba", "numpy", "onnxruntime", "typer", "asyncio", "rich"})
    for names in ("KeyphraseGenerator, Settings", "generate, extract, Keyphrases"):
        assert not modules_after(f"from erukg import {names}") & (HEAVY | {"numba", "onnxruntime"})


def test_import_is_quick() -> None:
    script = "import time; t = time.process_time(); import erukg; print(time.process_time() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    assert min(times) < 0.05


def test_public_names() -> None:
    import erukg

    for name in erukg.__all__:
        assert getattr(erukg, name) is not None
    assert set(dir(erukg)) == set(erukg.__all__)


def test_python_runs_the_command() -> None:
    done = [
        subprocess.run([sys.executable, "-m", name, "--version"], capture_output=True, text=True, check=True).stdout
        for name in ("erukg", "erukg.cli")
    ]
    assert done[0] == done[1]
    assert done[0].strip()
