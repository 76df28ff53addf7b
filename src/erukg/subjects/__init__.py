"""Subjects: the concepts of a vocabulary, or an archive's own tags, that describe a text."""

from __future__ import annotations

from erukg.subjects.results import Match, NewTerm, Suggestion, Suggestions

__all__ = ["Match", "NewTerm", "Suggestion", "Suggestions"]
