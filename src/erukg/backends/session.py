"""ONNX Runtime sessions with exactly the threads they are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from erukg.errors import ModelError

__all__ = ["PEAKS", "open_session"]

# peaks_jt = max_i rows_j · states_ti of texts t of one length, whose states are laid end to end: what the maximum is
# taken of lies side by side. A graph and not numpy, because BLAS brings threads of its own, which get in the way of
# documents that run side by side.
PEAKS = Path(__file__).with_name("peaks.onnx")

# The kernel that adds and normalises in one step is not vectorised: two steps are three times as fast.
_SLOWER = ["SkipLayerNormFusion"]


def open_session(graph: Path, threads: int) -> Any:
    """Load a graph to run on the CPU with `threads` threads; raises ModelError where it cannot be run."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            str(graph), options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOWER
        )
    except Exception as error:  # onnxruntime's own exception classes share no public base
        raise ModelError(f"{graph} cannot be run: {error}") from error
