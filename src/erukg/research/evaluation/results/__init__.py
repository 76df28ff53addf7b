"""A folder of tables and plots made from stored runs, and from nothing else."""

from __future__ import annotations

from erukg.research.evaluation.results.page import write_results

__all__ = ["write_results"]
