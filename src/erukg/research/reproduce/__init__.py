"""Every table and figure of the paper, of the front page and of the results, by one plan of stored runs."""

from __future__ import annotations

from erukg.research.reproduce.parts import Given, Parts
from erukg.research.reproduce.plan import BASELINES, PARTS, STEPS, Step, choose_steps
from erukg.research.reproduce.runner import Outcome, Results, run_steps

__all__ = [
    "BASELINES",
    "PARTS",
    "STEPS",
    "Given",
    "Outcome",
    "Parts",
    "Results",
    "Step",
    "choose_steps",
    "run_steps",
]
