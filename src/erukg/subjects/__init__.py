"""Subjects: the concepts of a vocabulary, or an archive's own tags, that describe a text."""

from __future__ import annotations

from erukg.subjects.concepts import Concept
from erukg.subjects.learned import SubjectRanking
from erukg.subjects.results import Match, NewTerm, Suggestion, Suggestions
from erukg.subjects.suggester import Suggester, vocabulary_of_tags
from erukg.subjects.vocabulary import Columns, Vocabulary, VocabularyLimits

__all__ = [
    "Columns",
    "Concept",
    "Match",
    "NewTerm",
    "SubjectRanking",
    "Suggester",
    "Suggestion",
    "Suggestions",
    "Vocabulary",
    "VocabularyLimits",
    "vocabulary_of_tags",
]
