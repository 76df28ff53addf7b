"""The model card, written from the run that made the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from erukg.training.config import STAGES
from erukg.training.model import Shape

__all__ = ["model_card"]

_CARD = """---
language: en
library_name: sentence-transformers
pipeline_tag: feature-extraction
tags: [sparse-encoder, splade, keyphrase-generation, erukg]
license: {licence}
---

# {name}

Term-importance model for keyphrase extraction and generation (ERU-KG): one pass over a text gives the weight of every \
vocabulary term (SPLADE: max-pooled log(1 + relu)), the class of each word (ten of them: \
nouns, names, adjectives, participles …) and a dense vector.

{facts}

## Limits

English only, lower-cased. It knows the domain of its training data: other domains want training on references of \
their own. Texts longer than {positions} word pieces are read in windows. Term weights say what a text is about to \
those who refer to it; they are not probabilities.

## Licence

The weights derive from {origin} and from the training text named above; no training text is contained in them.
"""


def model_card(name: str, summary: dict[str, Any], shape: Shape, base: str = "", base_licence: str = "") -> str:
    """README.md of a model: what it is, its data, settings, development figures, limits and licence.

    `summary` is the run.json of the run; what it does not say is left out. Its `notes`, a list of sentences, tell of
    what was done after the run.
    """
    config = summary.get("config") or {}
    size = f"- Size: BERT, {shape.layers} layers of {shape.hidden_size}, {shape.vocab_size:,} word pieces"
    facts = [size + (f", {summary['parameters'] / 1e6:.1f}M parameters." if "parameters" in summary else ".")]
    if base or config.get("base"):
        named = base or f"the folder {config['base']}"
        facts.append(f"- Base: {named}" + (f" ({base_licence})." if base_licence else "."))
    return _CARD.format(
        licence=base_licence.lower() or "apache-2.0",
        name=name,
        facts="\n".join([*facts, *_data(summary), *_training(summary, config), *_figures(summary)]),
        positions=shape.max_positions,
        origin=(base or "their base") + (f", licensed {base_licence}," if base_licence else ""),
    )


def _data(summary: dict[str, Any]) -> list[str]:
    counts = (summary.get("data") or {}).get("counts")
    if not counts:
        return []
    documents = f"{summary.get('documents', 0):,} documents, and references to them:"
    rows = [f"| {kind} | {count:,} |" for kind, count in counts.items()]
    return ["", "## Training data", "", documents, "", "| reference | triplets |", "|---|---|", *rows]


def _training(summary: dict[str, Any], config: dict[str, Any]) -> list[str]:
    if not config:
        return []
    lines = ["", "## Training", ""]
    for name in STAGES:
        if done := (summary.get("stages") or {}).get(name):
            stage = config[name]
            lines.append(
                f"- {name}: {done['steps']:,.0f} steps of {stage['batch']} in {done['seconds']:.0f} s, AdamW "
                f"{stage['learning_rate']:g}, {stage['warmup_steps']} warm-up steps, linear decay"
            )
    if config.get("teacher") and (config.get("distill_terms") or config.get("distill_scores")):
        teachers = [config["teacher"]] if isinstance(config["teacher"], str) else config["teacher"]
        lines.append(
            f"- taught by {' and '.join(Path(teacher).name for teacher in teachers)}: "
            f"term weights {config['distill_terms']:g}, scores {config['distill_scores']:g}"
        )
    mixture = {k: v for k, v in config["mixture"].items() if k not in config["leave_out"]}
    return [
        *lines,
        f"- λ_q {config['lambda_reference']:g}, λ_d {config['lambda_document']:g}, quadratic ramp over the "
        f"first {100 * config['ramp']:.0f} %; dense weight {config['dense_weight']:g}, tag weight "
        f"{config['tag_weight']:g}",
        "- mixture: " + ", ".join(f"{kind} {share:g}" for kind, share in mixture.items()),
        f"- documents of at most {config['document_length']} word pieces, references of "
        f"{config['reference_length']}; "
        f"seed {config['seed']}; torch {summary.get('torch', '?')} on {summary.get('device', '?')}",
        *(f"- {note}" for note in summary.get("notes") or ()),
    ]


def _figures(summary: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    if dev := summary.get("dev"):
        heading = (
            f"Extraction on {dev['documents']:,} development documents, F@5 / F@10 in percent, "
            f"{dev['terms']:.0f} non-zero terms per document:"
        )
        table = ["| set | paper's settings | tuned settings |", "|---|---|---|"]
        for name, (five, ten) in dev["paper"].items():
            tuned = dev["tuned"][name]
            table.append(f"| {name} | {five:.1f} / {ten:.1f} | {tuned[0]:.1f} / {tuned[1]:.1f} |")
        lines = ["", "## Development figures", "", heading, "", *table]
    if summary.get("tag_accuracy") is not None:
        accuracy = f"{100 * summary['tag_accuracy']:.2f} % as the tagger they were learned from."
        lines += ["", f"Word classes on held-out text: {accuracy}"]
    return lines
