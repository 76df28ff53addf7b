"""The session's own look at the processes that tests have started."""

from __future__ import annotations

import subprocess
import sys

import pytest

from left_processes import left_behind


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_process_that_is_left_behind_is_found() -> None:
    # A child of a child, whose parent ends at once.
    leave = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(7.25)'])"
    subprocess.run([sys.executable, "-c", leave], check=True, timeout=30)
    assert any("sleep(7.25)" in command for command in left_behind(0))
