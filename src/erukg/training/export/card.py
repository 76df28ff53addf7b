"""The model card, written from the run that made the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from erukg.training.model import Shape

__all__ = ["model_card"]


def model_card(name: str, summary: dict[str, Any], shape: Shape, base: str = "", base_licence: str = "") -> str:
    """README.md of a model: what it is, its data, settings, development figures, limits and licence.

    `summary` is the run.json of the run; what it does not say is left out. Its `notes`, a list of sentences, tell of
    what was done after the run.
    """
    config = summary.get("config") or {}
    lines = [
        "---",
        "language: en",
        "library_name: sentence-transformers",
        "pipeline_tag: feature-extraction",
        "tags: [sparse-encoder, splade, keyphrase-generation, erukg]",
        f"license: {base_licence.lower() or 'apache-2.0'}",
        "---",
        "",
        f"# {name}",
        "",
        "Term-importance model for keyphrase extraction and generation (ERU-KG): one pass over a text gives "
        "the weight of every vocabulary term (SPLADE: max-pooled log(1 + relu)), the word class of each word "
        "(noun, adjective, number, other) and a dense vector.",
        "",
        f"- Size: BERT, {shape.layers} layers of {shape.hidden_size}, {shape.vocab_size:,} word pieces"
        + (f", {summary['parameters'] / 1e6:.1f}M parameters." if "parameters" in summary else "."),
    ]
    if base or config.get("base"):
        lines.append(
            f"- Base: {base or 'the folder ' + str(config['base'])}" + (f" ({base_licence})." if base_licence else ".")
        )
    lines += _data(summary) + _training(summary, config) + _figures(summary)
    lines += [
        "",
        "## Limits",
        "",
        "English only, lower-cased. It knows the domain of its training data: other domains want training on "
        f"references of their own. Texts longer than {shape.max_positions} word pieces are read in windows. "
        "Term weights say what a text is about to those who refer to it; they are not probabilities.",
        "",
        "## Licence",
        "",
        f"The weights derive from {base or 'their base'}"
        + (f", licensed {base_licence}," if base_licence else "")
        + " and from the training text named above; no training text is contained in them.",
        "",
    ]
    return "\n".join(lines)


def _data(summary: dict[str, Any]) -> list[str]:
    data = summary.get("data") or {}
    counts = data.get("counts") or {}
    if not counts:
        return []
    rows = [f"| {kind} | {count:,} |" for kind, count in counts.items()]
    return [
        "",
        "## Training data",
        "",
        f"{summary.get('documents', 0):,} documents, and references to them:",
        "",
        "| reference | triplets |",
        "|---|---|",
        *rows,
    ]


def _training(summary: dict[str, Any], config: dict[str, Any]) -> list[str]:
    if not config:
        return []
    stages = summary.get("stages") or {}
    lines = ["", "## Training", ""]
    for stage in ("mlm", "splade", "tags"):
        if stage in stages:
            chosen = config[stage]
            lines.append(
                f"- {stage}: {stages[stage]['steps']:,.0f} steps of {chosen['batch']} in "
                f"{stages[stage]['seconds']:.0f} s, AdamW "
                f"{chosen['learning_rate']:g}, {chosen['warmup_steps']} warm-up steps, linear decay"
            )
    if config.get("teacher") and (config.get("distill_terms") or config.get("distill_scores")):
        teachers = [config["teacher"]] if isinstance(config["teacher"], str) else config["teacher"]
        lines.append(
            f"- taught by {' and '.join(Path(teacher).name for teacher in teachers)}: "
            f"term weights {config['distill_terms']:g}, scores {config['distill_scores']:g}"
        )
    mixture = {k: v for k, v in config["mixture"].items() if k not in config["leave_out"]}
    lines += [
        f"- λ_q {config['lambda_reference']:g}, λ_d {config['lambda_document']:g}, quadratic ramp over the "
        f"first {100 * config['ramp']:.0f} %; dense weight {config['dense_weight']:g}, tag weight "
        f"{config['tag_weight']:g}",
        "- mixture: " + ", ".join(f"{kind} {share:g}" for kind, share in mixture.items()),
        f"- documents of at most {config['document_length']} word pieces, references of "
        f"{config['reference_length']}; "
        f"seed {config['seed']}; torch {summary.get('torch', '?')} on {summary.get('device', '?')}",
        *(f"- {note}" for note in summary.get("notes") or ()),
    ]
    return lines


def _figures(summary: dict[str, Any]) -> list[str]:
    dev = summary.get("dev")
    lines: list[str] = []
    if dev:
        lines = [
            "",
            "## Development figures",
            "",
            f"Extraction on {dev['documents']:,} development documents, F@5 / F@10 in percent, "
            f"{dev['terms']:.0f} non-zero terms a document:",
            "",
            "| set | paper's settings | tuned settings |",
            "|---|---|---|",
        ]
        for name, (five, ten) in dev["paper"].items():
            tuned = dev["tuned"][name]
            lines.append(f"| {name} | {five:.1f} / {ten:.1f} | {tuned[0]:.1f} / {tuned[1]:.1f} |")
    if summary.get("tag_accuracy") is not None:
        lines += ["", f"Word classes on held-out text: {100 * summary['tag_accuracy']:.2f} % as its teacher."]
    return lines
