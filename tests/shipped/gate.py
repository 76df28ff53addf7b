"""How good a model and a collection are on a small set of our own, and whether that is as good as what is shipped.

`texts.jsonl` is a readers' set (`erukg.research.evaluation.readers`) with two further fields: `keyphrases`, what an
indexer would give the text, present in it or not, and for texts that the collection should know `absent_any`, phrases
of which at least one is expected among the ten best absent ones.

`figures.json` holds what the shipped models reach; `python tests/shipped/gate.py` measures it anew after a model, the
collection or the set has changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from erukg import fold
from erukg.research.evaluation.datasets import Dataset, content_hash
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.metrics import score
from erukg.research.evaluation.readers import FIGURES, judge, load_readers, run_readers
from erukg.research.evaluation.systems import SystemOptions, make_system

ROOT = Path(__file__).parents[2]
ASSETS = Path(str(files("erukg"))) / "assets"
TEXTS, REACHED = Path(__file__).parent / "texts.jsonl", Path(__file__).parent / "figures.json"
#: The shipped models, by what `--model` calls them; the last comes with the repository only.
MODELS = {"small": "small", "tiny": "tiny", "models/base": str(ROOT / "models" / "base")}
#: Figures by name: what they say, and whether more is better. Each is a mean over the texts that it applies to.
GATED: dict[str, tuple[str, bool]] = {
    "F@10": ("F@10 of the present phrases", True),
    "R@10": ("R@10 of the absent phrases", True),
    "answered": ("texts with one of the absent phrases that are expected among the ten best", True),
    "first": ("1 / the place of the first of the absent phrases that are expected", True),
    **{name: FIGURES[name] for name in ("must", "must_not", "leaks", "repetition", "unwanted", "on_topic")},
}

Measured: TypeAlias = Mapping[str, Mapping[str, float]]
"""Each figure's values by text."""


def rows() -> dict[str, dict[str, Any]]:
    """The lines of the set by id."""
    with TEXTS.open("rb") as file:
        return {str(row["id"]): dict(row) for row in map(json.loads, file)}


def measure(model: str, collection: Path | None = None) -> Measured:
    """What the model reaches on the set, with the collection in this folder or else the bundled one."""
    options = SystemOptions(model=model, collection=None if collection is None else str(collection))
    readers = load_readers([TEXTS])
    (result,) = run_readers([make_system("erukg-generate", options)], readers, samples=1)
    out: dict[str, dict[str, float]] = {name: {} for name in GATED}
    for text, row in zip(readers.texts, rows().values(), strict=True):
        found, id = result.found[text.id], text.id
        values = judge(text, found)
        record = Record(id, "", text.text, tuple(row["keyphrases"]))
        scores = score([(found.present, found.absent)], Dataset(id, (record,)))
        if scores.present.documents:
            values["F@10"] = scores.present["F@10"]
        if scores.absent.documents:
            values["R@10"] = scores.absent["R@10"]
        if expected := row.get("absent_any"):
            wanted = {fold(phrase) for phrase in expected}
            places = [place for place, phrase in enumerate(found.absent, 1) if fold(phrase) in wanted]
            values |= {"answered": float(bool(places)), "first": 1 / places[0] if places else 0.0}
        for name in GATED.keys() & values.keys():
            out[name][id] = values[name]
    return out


def means(measured: Measured) -> dict[str, float]:
    return {name: sum(values.values()) / max(len(values), 1) for name, values in measured.items()}


def shortfalls(model: str, measured: Measured, reached: Mapping[str, float]) -> list[str]:
    """A sentence for each figure that is worse than `reached` by more than one text alone can make it."""
    out = []
    for name, mean in means(measured).items():
        help, more = GATED[name]
        values = measured[name]
        leeway = 1 / len(values) if values else 0.0
        bound = reached[name] - leeway if more else reached[name] + leeway
        if values and (mean >= bound if more else mean <= bound):
            continue
        worst = sorted(values, key=lambda id: values[id] if more else -values[id])[:3]
        out.append(
            f"{model}: {name} ({help}) {'fell' if more else 'rose'} from {reached[name]:.3f} to {mean:.3f} over "
            f"{len(values)} texts; {'at least' if more else 'at most'} {bound:.3f} is needed. "
            f"Worst: {', '.join(f'{id} {values[id]:.2f}' for id in worst)}."
        )
    return out


def reached(model: str) -> dict[str, float]:
    """What the shipped model is known to reach, on the set as it is."""
    stored = json.loads(REACHED.read_text("utf-8"))
    assert stored["set"] == content_hash(TEXTS), "texts.jsonl has changed; run: python tests/shipped/gate.py"
    return dict(stored["models"][model])


if __name__ == "__main__":
    models = {
        name: {figure: round(mean, 4) for figure, mean in means(measure(path)).items()} for name, path in MODELS.items()
    }
    REACHED.write_text(json.dumps({"set": content_hash(TEXTS), "models": models}, indent=1) + "\n", "utf-8")
