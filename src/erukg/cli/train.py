"""`erukg train`: from references to a model of one's own, as commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from erukg.taggers import Tagger

__all__ = ["app"]

app = typer.Typer(
    name="train",
    help="Train a model on references and export it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """Train a model on references and export it."""


Files = list[Path] | None


@app.command()
def prepare(
    out: Annotated[Path, typer.Option("--output", "-o", help="Folder to write; replaced when it is such a folder.")],
    tokenizer: Annotated[Path, typer.Option(help="tokenizer.json of the base model, or the folder that holds it.")],
    corpus: Annotated[
        Files,
        typer.Option(help='Documents: {"id", "title", "abstract"} a line; may be repeated, as all files may.'),
    ] = None,
    titles: Annotated[
        bool, typer.Option("--titles/--no-titles", help="Titles as references to their abstracts.")
    ] = True,
    title_share: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the titles that become references.")
    ] = 1.0,
    contexts: Annotated[
        Files, typer.Option(help='Citation contexts: {"context", "cited_id", "citing_id", "section"?}.')
    ] = None,
    queries: Annotated[Files, typer.Option(help='Queries: {"query", "doc_id" or "doc_text", "label"?}.')] = None,
    scirepeval: Annotated[Files, typer.Option(help="SciRepEval Search: queries with scored candidates.")] = None,
    unarxive: Annotated[Files, typer.Option(help="unarXive 2022: full texts with citations.")] = None,
    plain: Annotated[
        Files, typer.Option(help='Any references: {"reference", "document", "negatives"?, "type"?}.')
    ] = None,
    dev: Annotated[
        Files, typer.Option(help="Sets with gold keyphrases to score training on; files or folders.")
    ] = None,
    tag_corpus: Annotated[
        Files, typer.Option(help="Corpus files to take text for the tag head from, tagged by --tagger.")
    ] = None,
    tagged: Annotated[
        Files, typer.Option(help="Text for the tag head that is tagged already: word, tab, tag a line.")
    ] = None,
    tagger: Annotated[
        str, typer.Option(help="Tagger of --dev and --tag-corpus: 'nltk' or the name of a spaCy model.")
    ] = "en_core_web_sm",
    tag_count: Annotated[int, typer.Option(min=1, help="Documents to tag.")] = 24_000,
    tag_held_out: Annotated[int, typer.Option(min=0, help="Tagged texts kept for measuring.")] = 1_000,
    tolerance: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the rows of a file that may be bad.")
    ] = 0.01,
    seed: Annotated[int, typer.Option(help="The same seed and files give the same folder.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. [default: one a core]")] = None,
) -> None:
    """Turn references into training data: triplets, and where asked for dev sets and tagged text.

    Files are JSON Lines, plain or compressed (.gz, .xz). Each part can be prepared in a run of its own.
    """
    from erukg.errors import InputError
    from erukg.training import references as forms
    from erukg.training.triplets import prepare as prepare_triplets

    sources: list[forms.Reader] = []
    if corpus:
        sources.append(forms.Titles(corpus) if titles else forms.Corpus(corpus))
    if unarxive:
        sources.append(forms.Unarxive(unarxive, titles))
    for form, files in (
        (forms.CitationContexts, contexts),
        (forms.Queries, queries),
        (forms.SciRepEval, scirepeval),
        (forms.Plain, plain),
    ):
        if files:
            sources.append(form(files))
    if not (sources or dev or tag_corpus or tagged):
        raise InputError("There is nothing to prepare; give references, such as --corpus FILE, or --dev or --tagged.")
    if sources:
        typer.echo(
            prepare_triplets(sources, out, tokenizer, seed, title_share=title_share, tolerance=tolerance, jobs=jobs)
        )
    if tag_corpus or tagged:
        from erukg.training.tagged import prepare_tagged

        if tag_corpus and tagged:
            raise InputError("Text for the tag head comes from --tag-corpus or from --tagged; give one of them.")
        teacher = _tagger(tagger) if tag_corpus else None
        folder = out / "tagged"
        typer.echo(
            prepare_tagged(tag_corpus or tagged or [], tokenizer, teacher, folder, tag_count, tag_held_out, seed)
        )
    if dev:
        from erukg.training.devset import dev_files, prepare_dev

        teacher = _tagger(tagger)
        for file in dev_files(dev):
            typer.echo(prepare_dev(file, tokenizer, teacher, out / "dev"))


def _tagger(name: str) -> Tagger:
    from erukg.taggers import NltkTagger, SpacyTagger

    return NltkTagger() if name == "nltk" else SpacyTagger(name)


@app.command()
def run(
    config: Annotated[
        Path | None, typer.Argument(help="JSON configuration; may name a preset and change some of it.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Start from: paper, fast or tiny.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder written by 'erukg train prepare'.")] = None,
    base: Annotated[Path | None, typer.Option(help="Base model: a BERT in Hugging Face layout.")] = None,
    out: Annotated[Path | None, typer.Option("--output", "-o", help="Folder of the run.")] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE: change a setting, e.g. splade.steps=4000; may be repeated."),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on from the last checkpoint of an interrupted run.")] = True,
) -> None:
    """Train: MLM warm-up, then term weights (SPLADE) with tags and dense vectors, then tags alone."""
    from erukg.errors import require

    require("torch", "train", "Training")
    from erukg.training.presets import TrainConfig, read_values
    from erukg.training.run import train

    given = {"preset": preset, "data": data, "base": base, "output": out}
    values = read_values(config, change or [])
    values |= {key: str(value) for key, value in given.items() if value is not None}
    train(TrainConfig.from_dict(values), resume)


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help="Trained model: OUTPUT/model of a run.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    name: Annotated[str, typer.Option(help="The model's name.")] = "model",
    layout: Annotated[
        list[str] | None,
        typer.Option(help="int8, fp32 or sparse-encoder; may be repeated. [default: all, in sub-folders]"),
    ] = None,
    tokenizer: Annotated[Path | None, typer.Option(help="tokenizer.json, where the model has none.")] = None,
    base: Annotated[str, typer.Option(help="Name of the base model, for the model card.")] = "",
    base_licence: Annotated[str, typer.Option(help="Licence of the base, for the model card.")] = "",
    exact: Annotated[
        list[str] | None,
        typer.Option(help="Node that int8 leaves in fp32, e.g. layer.5.outer; may be repeated."),
    ] = None,
    bits: Annotated[
        int, typer.Option(min=7, max=8, help="Bits of int8 weights; 8 needs CPUs with VNNI to be exact.")
    ] = 7,
    half: Annotated[bool, typer.Option("--half", help="SparseEncoder weights in fp16.")] = False,
    collections_of: Annotated[
        Path | None,
        typer.Option(help="Exported teacher: a model taught to give its term weights may read its collections."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace folders that exist.")] = False,
) -> None:
    """Write a trained model for use: ONNX in int8 and fp32, and the layout of sentence-transformers."""
    from erukg.errors import require

    require("torch", "train", "Exporting a model")
    from erukg.training.export.folder import LAYOUTS
    from erukg.training.export.folder import export as write

    written = write(
        model,
        out,
        name,
        tuple(layout or LAYOUTS),
        tokenizer,
        base,
        base_licence,
        half,
        overwrite,
        tuple(exact or ()),
        bits == 7,
        collections_of,
    )
    for kind, folder in written.items():
        typer.echo(f"{kind}: {folder}")


@app.command()
def shrink(
    model: Annotated[Path, typer.Argument(help="Trained model: OUTPUT/model of a run.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="Folder of the smaller base.")],
    tokenizer: Annotated[Path | None, typer.Option(help="tokenizer.json, where the model has none.")] = None,
    layers: Annotated[int, typer.Option(min=1, help="Layers.")] = 2,
    width: Annotated[int, typer.Option(min=1, help="Width of its states.")] = 128,
    heads: Annotated[int, typer.Option(min=1, help="Attention heads.")] = 2,
    inner: Annotated[int, typer.Option(min=1, help="Width inside a layer.")] = 512,
    tag_width: Annotated[int, typer.Option(min=1, help="Width of the tag head.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Seed of its layers.")] = 0,
) -> None:
    """Write a smaller base that keeps a trained model's embeddings; train it with that model as its teacher."""
    from erukg.errors import require

    require("torch", "train", "Shrinking a model")
    from erukg.training.shrinking import write_shrunken

    write_shrunken(
        model,
        out,
        tokenizer,
        layers=layers,
        width=width,
        heads=heads,
        inner=inner,
        tag_width=tag_width,
        seed=seed,
    )
    typer.echo(f"base: {out}")
