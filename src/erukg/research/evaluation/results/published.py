"""What the paper reports (ERU-KG, ACL 2025), in percent: the figures to read ours beside.

Its copies of the test sets differ from those of a run in places: it has all of KP20k's test set, and its own copies of
NUS and Krapivin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

__all__ = ["ABSENT", "ALPHA_BETA", "ALPHA_BETA_SET", "COUNTERPARTS", "NEIGHBOURS", "PRESENT", "RETRIEVAL", "SEARCHED"]
__all__ += ["SETS", "SHOWN", "SIZES", "TRAINED", "average_of", "known_set", "retrieval_set"]

Pair: TypeAlias = tuple[float, float]

SETS = ("semeval", "inspec", "nus", "krapivin", "kp20k")
"""The five sets of its Table 1."""
_NAMES = {"semeval2010": "semeval", "kp20k_1000": "kp20k", **{name: name for name in SETS}}


def _rows(table: Mapping[str, str]) -> dict[str, dict[str, Pair]]:
    """Rows of the five sets and their average, `5/10` a cell."""
    out: dict[str, dict[str, Pair]] = {}
    for system, line in table.items():
        cells = zip((*SETS, "average"), (cell.split("/") for cell in line.split()), strict=True)
        out[system] = {name: (float(cell[0]), float(cell[1])) for name, cell in cells}
    return out


PRESENT = _rows(
    {
        "TextRank": "16/20.3 29.3/36.2 11.6/16.6 10.1/13.6 9.1/11.6 15.2/19.7",
        "MultipartiteRank": "22.3/22.5 26.3/30.3 23.7/22.2 17.9/15.9 18.4/15.9 21.7/21.4",
        "EmbedRank (Sent2Vec)": "23.5/25.2 27.9/33.4 23.8/22.3 18.6/17.7 19.5/16.8 22.7/23.1",
        "EmbedRank (SBERT)": "25.4/27.1 35.1/39.8 22.5/24.1 20.7/19.3 18.3/17.1 24.4/25.5",
        "PromptRank": "16.1/19.9 33.4/37.5 18.5/19.8 15.9/15.5 16.3/15.6 20/21.7",
        "AutoKeyGen": "22.1/24.4 23.1/23.7 26.1/27.1 20.6/18.6 20.4/19 22.5/22.6",
        "UOKG": "21.5/22.1 23.9/22.9 27.8/26.2 21.5/17.9 21/17.6 23.1/21.3",
        "TPG": "24.7/22.2 34/33.3 25/21.3 20.3/16.3 18.7/14.2 24.5/21.5",
        "ERU-KG-small": "27.4/30.1 28.4/35.7 28.1/26.9 20.7/19.6 21.6/19.2 25.2/26.3",
        "ERU-KG-base": "27.6/30.6 29/36 27.8/27 21.3/19.5 22/19.4 25.5/26.5",
        "CopyRNN (supervised)": "29.6/29.7 22.6/23.7 37.2/34.3 30.1/24.5 30.6/25.7 30/27.6",
    }
)
"""F@5 and F@10 of present phrases, protocol `paper`, by system and set."""

ABSENT = _rows(
    {
        "AutoKeyGen": "0.7/1.1 1.8/2.6 2.3/3.2 2.5/3.7 2.2/3.6 1.9/2.8",
        "UOKG": "1.4/2.3 1.9/2.9 2.5/3.6 4.6/6.9 2.6/4.5 2.6/4.0",
        "TPG": "0.4/0.8 1.5/2.4 1.7/2.4 1/1.2 1.2/1.9 1.2/1.7",
        "ERU-KG-small": "2.1/3.1 5.4/6.5 3.7/5.9 5/6.2 6/8 4.4/5.9",
        "ERU-KG-base": "2.3/3 5.3/6.5 3.4/5.5 4.9/6.2 6/8.1 4.4/5.8",
        "CopyRNN (supervised)": "2.3/2.8 3.5/4.9 5.9/7.8 7.9/10.8 7.1/9.3 5.3/7.1",
    }
)
"""R@5 and R@10 of absent phrases."""

SHOWN = ("ERU-KG-base", "CopyRNN (supervised)")
"""The paper's systems that plots show: its own best, and the supervised one."""

COUNTERPARTS = {
    "textrank": "TextRank",
    "multipartiterank": "MultipartiteRank",
    "embedrank": "EmbedRank (SBERT)",
    "promptrank": "PromptRank",
    "autokeygen": "AutoKeyGen",
    "uokg": "UOKG",
    "tpg": "TPG",
    "copyrnn": "CopyRNN (supervised)",
}
"""Baselines of this package and what the paper calls them."""

TRAINED = ("autokeygen", "uokg", "tpg", "copyrnn")
"""Those of them that learn."""

ALPHA_BETA_SET = "kp20k"
ALPHA_BETA: Mapping[str, Mapping[str, Sequence[Pair]]] = {
    "present": {
        "F@5": [(0.0, 13.9), (0.2, 17.7), (0.4, 20.8), (0.6, 22.0), (0.8, 22.0), (1.0, 21.5)],
        "F@10": [(0.0, 12.1), (0.2, 18.2), (0.4, 19.9), (0.6, 19.9), (0.8, 19.4), (1.0, 18.8)],
    },
    "absent": {
        "R@5": [(0.0, 5.1), (0.2, 5.6), (0.4, 5.8), (0.6, 5.9), (0.8, 6.0), (1.0, 0.0)],
        "R@10": [(0.0, 7.1), (0.2, 7.6), (0.4, 7.9), (0.6, 8.1), (0.8, 8.1), (1.0, 0.0)],
    },
}
"""By kind and metric the curve over α = β on KP20k, ERU-KG-base."""

NEIGHBOURS: Mapping[str, Mapping[str, Sequence[Pair]]] = {
    "present": {"F@10": [(10, 26.4), (50, 26.5), (100, 26.5)]},
    "absent": {"R@10": [(10, 4.5), (50, 5.5), (100, 5.8)]},
}
"""By kind and metric the curve over N, average of the five sets, ERU-KG-base."""

RETRIEVAL: Mapping[str, Mapping[str, float]] = {
    "BM25": {"nfcorpus": 37.0, "acm-cr": 71.5, "six sets": 62.1},
    "RM3": {"nfcorpus": 56.5, "acm-cr": 74.4, "six sets": 65.3},
    "query, ERU-KG-small": {"nfcorpus": 56.3, "acm-cr": 72.1, "six sets": 67.3},
    "query, ERU-KG-base": {"nfcorpus": 54.8, "acm-cr": 72.6, "six sets": 67.0},
    "query, CopyRNN (supervised)": {"nfcorpus": 48.0, "acm-cr": 73.8, "six sets": 63.6},
    "document, ERU-KG-small": {"nfcorpus": 39.0, "acm-cr": 73.0, "six sets": 62.9},
    "document, ERU-KG-base": {"nfcorpus": 38.7, "acm-cr": 72.7, "six sets": 62.9},
    "document, CopyRNN (supervised)": {"nfcorpus": 37.2, "acm-cr": 71.6, "six sets": 62.3},
    "both, ERU-KG-small": {"nfcorpus": 56.2, "acm-cr": 72.8, "six sets": 68.5},
    "both, ERU-KG-base": {"nfcorpus": 55.6, "acm-cr": 73.5, "six sets": 68.4},
    "both, CopyRNN (supervised)": {"nfcorpus": 48.1, "acm-cr": 73.8, "six sets": 63.1},
}
"""R@1000 on the two of its six retrieval sets that come in the same form here, and its average of the six."""

SIZES: Mapping[str, tuple[int, float, float]] = {
    "semeval": (100, 15.2, 59.7),
    "inspec": (500, 9.8, 22.0),
    "nus": (211, 11.6, 49.3),
    "krapivin": (460, 5.7, 51.2),
    "kp20k": (19_987, 5.3, 44.7),
}
"""By set its documents, phrases a document, and percent of absent ones."""

SEARCHED: Mapping[str, tuple[int, int, float]] = {
    "nfcorpus": (323, 3_633, 38.2),
    "acm-cr": (552, 114_882, 1.8),
}
"""Likewise of retrieval sets that there are here: queries, documents, and relevant documents a query."""


def known_set(name: str) -> str | None:
    """What the paper's tables call a test set, None for one that is not in them."""
    return _NAMES.get(name.lower())


def retrieval_set(name: str) -> str | None:
    """Likewise for retrieval sets."""
    return name.lower() if name.lower() in RETRIEVAL["BM25"] else None


def average_of(names: Sequence[str]) -> bool:
    """Whether the average of these sets is the one that the paper gives."""
    return sorted(filter(None, map(known_set, names))) == sorted(SETS) and len(names) == len(SETS)
