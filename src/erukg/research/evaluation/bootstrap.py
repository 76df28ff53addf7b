"""Is one system better than another, or were these documents kind to it? Paired bootstrap over documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.errors import InputError

__all__ = ["Difference", "differences_by_set", "paired_bootstrap"]

_CHUNK = 500  # resamples drawn at once: bounds memory; part of what a seed means, so not to be tuned by machine


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher the first system's mean is, its 95 % interval, and a two-sided p."""

    difference: float
    low: float
    high: float
    p: float
    samples: int
    seed: int


def paired_bootstrap(
    first: Sequence[NDArray[np.float64]], second: Sequence[NDArray[np.float64]], samples: int = 10_000, seed: int = 0
) -> Difference:
    """Compare per-document figures of two systems on the same sets, one array per set.

    Documents are drawn with replacement within each set and the sets' means averaged, so with several sets
    the interval is that of the average column. The same seed gives the same figures.
    """
    if samples < 1:
        raise InputError(f"The bootstrap needs at least 1 resample, not {samples}.")
    if [a.shape for a in first] != [b.shape for b in second]:
        raise InputError("The two systems were not scored on the same documents; score both on the same sets.")
    gaps = [np.asarray(a, np.float64) - b for a, b in zip(first, second, strict=True) if a.size]
    if not gaps:
        raise InputError("There is no document with gold phrases of this kind to compare the systems on.")
    means = np.zeros(samples)
    for number, gap in enumerate(gaps):
        rng = np.random.default_rng([seed, number])
        for start in range(0, samples, _CHUNK):
            size = min(_CHUNK, samples - start)
            drawn = rng.integers(0, gap.size, (size, gap.size))
            means[start : start + size] += gap[drawn].mean(axis=1)
    means /= len(gaps)
    low, high = np.quantile(means, [0.025, 0.975])
    # A sum that should be 0 may miss it by rounding, and must count on both sides.
    tail = min(np.count_nonzero(means <= 1e-12), np.count_nonzero(means >= -1e-12))
    return Difference(
        difference=float(sum(gap.mean() for gap in gaps) / len(gaps)),
        low=float(low),
        high=float(high),
        p=min(1.0, 2 * (tail + 1) / (samples + 1)),
        samples=samples,
        seed=seed,
    )


def differences_by_set(
    first: Mapping[str, NDArray[np.float64]], second: Mapping[str, NDArray[np.float64]], samples: int, seed: int
) -> Iterator[tuple[str, Difference]]:
    """The comparison on every set by name and, where there are several, on "average" of them."""
    for name in first:
        yield name, paired_bootstrap([first[name]], [second[name]], samples, seed)
    if len(first) > 1:
        yield "average", paired_bootstrap(list(first.values()), [second[name] for name in first], samples, seed)
