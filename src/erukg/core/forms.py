"""What kind of phrase a candidate is, and how much that counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from erukg.core.lexicon import GENERIC, PARTICLES, TIMES
from erukg.core.locating import Located
from erukg.core.settings import Settings

__all__ = ["JOINTS", "form_factors", "is_title_cased", "is_vague"]

#: Words inside a phrase that only join others.
JOINTS = PARTICLES | {"of", "and", "&", "the", "for", "on"}

# How often a word that says little must stand in a text to be taken for what it is about.
_REPEATED = 3
# What a word that says little is worth in a query, at least.
_ASKED = 0.4


def is_vague(fold: str, times: int, titled: bool) -> bool:
    """Whether what stands in a text so often, and perhaps in its title, says little: "took place"."""
    return (fold in GENERIC or fold in TIMES) and times < _REPEATED and not titled


def form_factors(
    candidates: Sequence[Located], known: NDArray[np.bool_] | None, settings: Settings, query: bool = False
) -> NDArray[np.float64]:
    """The factor of each present candidate's kind; `known` tells which of them the collection has.

    Of a `query` no word is left out, as nobody asks in vain: "running jacket | women".
    """
    generic = max(settings.generic, _ASKED) if query else settings.generic
    out = np.ones(len(candidates))
    if settings.known != 1 and known is not None:
        out[known] = settings.known
    if not settings.whole_phrases:
        return out
    for k, candidate in enumerate(candidates):
        fold, form = candidate.fold, candidate.form
        factor = 1.0
        if " " not in fold:
            if fold in GENERIC or form.lower() in GENERIC:
                factor = generic
        elif " of " in fold and len(candidate.spans) == 1 and not (known is not None and known[k]):
            factor = 1.0 if is_title_cased(form) else settings.loose
        if candidate.alone <= 0:
            factor *= settings.part if candidate.alone == 0 else settings.embedded
        if factor != 1:
            out[k] *= factor
    return out


def is_title_cased(form: str) -> bool:
    """Whether every word that counts has a capital, as in names and titles."""
    return all(word[0].isupper() for word in form.split() if word not in JOINTS)
