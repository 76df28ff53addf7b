"""Is confidence right? Of the phrases given a confidence of 20 %, people should have chosen one in five.

Fits the numbers of `erukg.core.confidence` to test sets, and shows how well those in use do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from erukg.core.analysis import Prepared
from erukg.core.backend import Backend, Encoding
from erukg.core.confidence import ABSENT, PRESENT, SURE_FIT, Calibration, fit_of_phrases
from erukg.core.results import Keyphrase
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.generator_system import GeneratorSystem
from erukg.research.evaluation.ground_truth import Gold, ground_truth
from erukg.research.evaluation.keyphrases import Progress
from erukg.research.evaluation.reporting import make_table, percent, report_head
from erukg.research.evaluation.stemming import phrase_key

__all__ = ["KindCalibration", "Shown", "fit_logistic", "measure", "print_calibration", "run_calibration", "to_json"]

TOP_K = 10
_BINS = 10
_IN_USE: Mapping[str, Calibration] = {"present": PRESENT, "absent": ABSENT}


@dataclass(frozen=True, slots=True)
class Shown:
    """One phrase that was shown: what its confidence is made from, and what people chose.

    exact  whether people chose it
    near   whether it is, contains or lies in a phrase that people chose
    """

    score: float
    fit: float
    confidence: float
    band: str
    exact: bool
    near: bool


@dataclass(frozen=True, slots=True)
class KindCalibration:
    """How confidence does for one kind of phrase.

    fitted  constant, and weights of ln s and of the fit, that suit the sets best
    bins    equally many phrases each, by confidence: the mean of it, the share that people chose, and how many
    bands   of each band: the share of all phrases, the share that people chose, and the share that is near one
    """

    fitted: tuple[float, float, float]
    bins: list[tuple[float, float, int]]
    bands: dict[str, tuple[float, float, float]]


def run_calibration(
    system: GeneratorSystem, datasets: Sequence[Dataset], progress: Progress | None = None
) -> dict[str, KindCalibration]:
    """Every phrase among the ten best of each kind, whatever its confidence, against what people chose."""
    generator, settings = system.generator, system.settings.replace(min_confidence=0)
    found: dict[str, list[Shown]] = {kind: [] for kind in _IN_USE}
    for dataset in datasets:
        for done, (record, gold) in enumerate(zip(dataset.records, ground_truth(dataset), strict=True), 1):
            prepared = generator.prepare((record.id, record.text), settings)
            encoding = generator.backend.encode(prepared.pieces, prepared.terms)
            result = generator.complete(prepared, encoding, TOP_K, settings)
            for kind, phrases, chosen in (
                ("present", result.present, gold.n_present),
                ("absent", result.absent, gold.n_absent),
            ):
                if chosen:
                    fits = _fits([k.phrase for k in phrases], generator.backend, prepared, encoding)
                    found[kind] += [_shown(k, gold, kind, fit) for k, fit in zip(phrases, fits, strict=True)]
            if progress is not None:
                progress(system.name, dataset.name, done, len(dataset))
    return {kind: measure(phrases, kind) for kind, phrases in found.items()}


def _fits(phrases: Sequence[str], backend: Backend, prepared: Prepared, encoding: Encoding) -> list[float]:
    """How much each absent phrase fits the text, as their confidence has it."""
    fit = prepared.neighbourhood.fit
    if backend.affinity is None:
        return [1.0 if fit is None else fit] * len(phrases)
    near = backend.affinity.to(encoding.vector, backend.phrase_terms(phrases))
    fits: list[float] = fit_of_phrases(fit, near).tolist()
    return fits


def _shown(keyphrase: Keyphrase, gold: Gold, kind: str, fit: float) -> Shown:
    key = phrase_key(keyphrase.phrase, gold.variant)
    near = any(f" {key} " in f" {other} " or f" {other} " in f" {key} " for other in (*gold.present, *gold.absent))
    exact = key in (gold.present if kind == "present" else gold.absent)
    return Shown(keyphrase.score, fit, keyphrase.confidence or 0.0, keyphrase.band or "", exact, near)


def measure(phrases: Sequence[Shown], kind: str) -> KindCalibration:
    """Coefficients, bins and bands of the phrases of one kind."""
    score, fit, confidence = (np.array([getattr(p, name) for p in phrases]) for name in ("score", "fit", "confidence"))
    exact, near = np.array([p.exact for p in phrases]), np.array([p.near for p in phrases])
    uses_fit = _IN_USE[kind].fit != 0
    columns = np.stack([np.log(score), fit] if uses_fit else [np.log(score)], 1)
    sure = fit >= SURE_FIT if uses_fit else np.ones(len(phrases), np.bool_)
    fitted = [*fit_logistic(columns[sure], exact[sure]).tolist(), 0.0][:3]
    bins = []
    for some in np.array_split(np.argsort(confidence, kind="stable"), _BINS):
        bins.append((float(confidence[some].mean()), float(exact[some].mean()), len(some)))
    names = np.array([p.band for p in phrases])
    bands = {}
    for band in ("strong", "fair", "weak"):
        which = names == band
        if which.any():
            bands[band] = (float(which.mean()), float(exact[which].mean()), float(near[which].mean()))
    return KindCalibration((fitted[0], fitted[1], fitted[2]), bins, bands)


def fit_logistic(features: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The constant and the weights that make what was chosen most likely (Newton's method)."""
    rows = np.column_stack([np.ones(len(features)), features])
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-rows @ weights))
        # A little towards 0, so that a set in which all or none was chosen has an answer too.
        curvature = (rows * (p * (1 - p))[:, None]).T @ rows + 1e-6 * np.eye(rows.shape[1])
        weights += np.linalg.solve(curvature, rows.T @ (chosen - p) - 1e-6 * weights)
    return weights


def print_calibration(console: Console, results: Mapping[str, KindCalibration]) -> None:
    """The numbers to put into `erukg.core.confidence`, and how those in use do."""
    for kind, found in results.items():
        constant, score, fit = found.fitted
        console.print(f"{kind}: fitted constant={constant:.3f}, score={score:.3f}, fit={fit:.3f}")
        table = make_table(f"{kind}: ten equal parts by confidence (%)", "confidence", "chosen", "phrases")
        for confidence, chosen, count in found.bins:
            table.add_row(f"{100 * confidence:.2f}", f"{100 * chosen:.2f}", f"{count}")
        console.print(table)
        table = make_table(f"{kind}: bands (%)", "figure", "of all", "chosen", "near a chosen one")
        for band, figures in found.bands.items():
            table.add_row(band, *map(percent, figures))
        console.print(table)


def to_json(
    system: GeneratorSystem, datasets: Sequence[Dataset], results: Mapping[str, KindCalibration]
) -> dict[str, Any]:
    """Everything in the tables as fractions, and what it was made from."""
    return {
        **report_head("calibration"),
        "sets": [{"name": d.name, "sha256": d.sha256, "documents": len(d)} for d in datasets],
        "system": {"name": system.name, "description": system.describe()},
        "in_use": {kind: asdict(calibration) for kind, calibration in _IN_USE.items()},
        "kinds": {kind: asdict(found) for kind, found in results.items()},
    }
