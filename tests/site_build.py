"""The command that builds the documentation site."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["ROOT", "build"]

ROOT = Path(__file__).parents[1]


def build(site: Path, *, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    # A proxy that is not there: what reaches for the network fails. (With --quiet, --strict would count no warnings.)
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=root,
        env={**os.environ, **nowhere},
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )
