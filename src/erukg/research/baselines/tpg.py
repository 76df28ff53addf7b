"""TPG (Kang and Shin 2024): a network that learned to write the phrases of a title from the abstract below it."""

from __future__ import annotations

from dataclasses import dataclass

from erukg.research.baselines.copyrnn import CopyRnn

__all__ = ["Tpg"]


@dataclass(frozen=True)
class Tpg(CopyRnn):
    """The same search as CopyRNN's; what it was taught makes the difference. At use it reads titles too."""
