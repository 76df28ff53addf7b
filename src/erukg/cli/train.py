"""`erukg train`: commands that turn references into a model of your own."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer import Argument, Option

from erukg.cli._affinity import affinity
from erukg.cli._common import say
from erukg.cli._learning import AnyModel, Cores, Overwrite, Trees, end_learning, say_bad
from erukg.cli._options import FieldOptions, options
from erukg.cli._tune import tune
from erukg.errors import InputError, require
from erukg.io import Limits, check_extras

if TYPE_CHECKING:
    from erukg.core.tagging import Tagger
    from erukg.training.references import Reader

__all__ = ["app"]

_HELP = "Train a model on references and export it."
app = typer.Typer(name="train", help=_HELP, no_args_is_help=True, rich_markup_mode=None)

Files = list[Path] | None


@app.callback(help=_HELP)
def _group() -> None:
    pass


app.command()(options()(tune))
app.command()(options()(affinity))


@app.command()
def prepare(
    out: Annotated[Path, Option("--output", "-o", help="Folder to write; an earlier one of this kind is replaced.")],
    tokenizer: Annotated[Path, Option(help="tokenizer.json of the base model, or the folder that holds it.")],
    corpus: Annotated[
        Files, Option(help='Documents: {"id", "title", "abstract"} per line; like all file options, may be repeated.')
    ] = None,
    titles: Annotated[bool, Option("--titles/--no-titles", help="Use titles as references to their abstracts.")] = True,
    title_share: Annotated[float, Option(min=0.0, max=1.0, help="Share of the titles that become references.")] = 1.0,
    contexts: Annotated[
        Files, Option(help='Citation contexts: {"context", "cited_id", "citing_id", "section"?}.')
    ] = None,
    queries: Annotated[Files, Option(help='Queries: {"query", "doc_id" or "doc_text", "label"?}.')] = None,
    scirepeval: Annotated[Files, Option(help="SciRepEval Search: queries with scored candidates.")] = None,
    unarxive: Annotated[Files, Option(help="unarXive 2022: full texts with citations.")] = None,
    plain: Annotated[Files, Option(help='Any references: {"reference", "document", "negatives"?, "type"?}.')] = None,
    dev: Annotated[Files, Option(help="Keyphrase sets by which training scores its models; files or folders.")] = None,
    tag_corpus: Annotated[Files, Option(help="Corpus files whose texts --tagger tags to train the tag head.")] = None,
    tagged: Annotated[
        Files, Option(help="Tagged texts to train the tag head; one word, a tab and its tag per line.")
    ] = None,
    tagger: Annotated[
        str, Option(help="Tagger for --dev and --tag-corpus: nltk, spacy or spacy:PIPELINE.")
    ] = "spacy:en_core_web_sm",
    tag_count: Annotated[int, Option(min=1, help="Documents of --tag-corpus to tag.")] = 24_000,
    tag_held_out: Annotated[int, Option(min=0, help="Tagged texts kept to measure the tag head.")] = 1_000,
    tolerance: Annotated[float, Option(min=0.0, max=1.0, help="Share of a file's rows that may be bad.")] = 0.01,
    seed: Annotated[int, Option(help="The same seed and files give the same folder.")] = 0,
    jobs: Annotated[int | None, Option(min=1, help="Processes. [default: one per core]")] = None,
) -> None:
    """Turn references into training data: triplets and, if asked for, development sets and tagged text.

    Files are JSON Lines, plain or compressed (.gz, .xz). Each part can be prepared in a run of its own.
    """
    sources = _sources(corpus, titles, unarxive, contexts, queries, scirepeval, plain)
    if not (sources or dev or tag_corpus or tagged):
        raise InputError("There is nothing to prepare; give references, such as --corpus FILE, or --dev or --tagged.")
    if tag_corpus and tagged:
        raise InputError("Text for the tag head comes from --tag-corpus or from --tagged; give one of them.")
    if sources:
        from erukg.training.triplets import prepare_triplets

        summary = prepare_triplets(
            sources, out, tokenizer, seed, title_share=title_share, tolerance=tolerance, jobs=jobs
        )
        typer.echo(summary)
    if files := tag_corpus or tagged:
        from erukg.training.tagged import prepare_tagged, read_tagged, tag_files

        teacher = _tagger(tagger) if tag_corpus else None
        texts = tag_files(files, teacher, tag_count, seed) if teacher else chain.from_iterable(map(read_tagged, files))
        source = type(teacher).__name__ if teacher else "given"
        typer.echo(prepare_tagged(texts, tokenizer, out / "tagged", tag_held_out, seed, tagger=source))
    if dev:
        from erukg.research.evaluation.datasets import load_sets
        from erukg.training.dev_sets import prepare_dev

        teacher = _tagger(tagger)
        for dataset in load_sets(dev):
            typer.echo(prepare_dev(dataset, teacher, out / "dev"))


def _sources(
    corpus: Files, titles: bool, unarxive: Files, contexts: Files, queries: Files, scirepeval: Files, plain: Files
) -> list[Reader]:
    """The readers of the files given, in the order in which their documents are numbered."""
    from erukg.training import references as forms

    sources: list[Reader] = []
    if corpus:
        sources.append(forms.Titles(corpus) if titles else forms.Corpus(corpus))
    if unarxive:
        sources.append(forms.Unarxive(unarxive, titles))
    kinds = (forms.CitationContexts, forms.Queries, forms.SciRepEval, forms.Plain)
    others = zip(kinds, (contexts, queries, scirepeval, plain), strict=True)
    return sources + [kind(files) for kind, files in others if files]


def _tagger(name: str) -> Tagger:
    """A tagger by one of the names that all commands take, or by that of a spaCy pipeline alone."""
    from erukg.taggers import load_tagger

    known = name if name.partition(":")[0] in ("nltk", "spacy") else f"spacy:{name}"
    return cast("Tagger", load_tagger(known))


@app.command()
def run(
    config: Annotated[Path | None, Argument(help="JSON configuration; may name a preset and change it.")] = None,
    preset: Annotated[str | None, Option(help="Preset to start from: paper, fast or tiny.")] = None,
    data: Annotated[Path | None, Option(help="Folder written by 'erukg train prepare'.")] = None,
    base: Annotated[Path | None, Option(help="Base model: a BERT in Hugging Face layout.")] = None,
    out: Annotated[Path | None, Option("--output", "-o", help="Folder of the run.")] = None,
    change: Annotated[
        list[str] | None, Option("--set", help="KEY=VALUE: change a setting, e.g. splade.steps=4000; may be repeated.")
    ] = None,
    resume: Annotated[bool, Option(help="Resume an interrupted run from its last checkpoint.")] = True,
) -> None:
    """Train: MLM warm-up, then term weights (SPLADE) with tags and dense vectors, then tags alone."""
    require("torch", "train", "Training")
    from erukg.training.config import TrainConfig, read_values
    from erukg.training.run import train

    given = {"preset": preset, "data": data, "base": base, "output": out}
    values = read_values(config, change or [])
    values |= {key: str(value) for key, value in given.items() if value is not None}
    train(TrainConfig.from_dict(values), resume)


@app.command()
def export(
    model: Annotated[Path, Argument(help="Trained model: OUTPUT/model of a run.")],
    out: Annotated[Path, Option("--output", "-o", help="Folder to write.")],
    name: Annotated[str, Option(help="The model's name.")] = "model",
    layout: Annotated[
        list[str] | None, Option(help="int8, fp32 or sparse-encoder; may be repeated. [default: all, in sub-folders]")
    ] = None,
    tokenizer: Annotated[Path | None, Option(help="tokenizer.json, if the model has none.")] = None,
    base: Annotated[str, Option(help="Name of the base model, for the model card.")] = "",
    base_licence: Annotated[str, Option(help="Licence of the base, for the model card.")] = "",
    exact: Annotated[
        list[str] | None, Option(help="Node that int8 leaves in fp32, e.g. layer.5.outer; may be repeated.")
    ] = None,
    bits: Annotated[int, Option(min=7, max=8, help="Bits of int8 weights; 8 needs CPUs with VNNI to be exact.")] = 7,
    half: Annotated[bool, Option("--half", help="SparseEncoder weights in fp16.")] = False,
    collections_of: Annotated[
        Path | None,
        Option(help="Exported teacher whose collections the model may use, as it gives the same term weights."),
    ] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace folders that exist.")] = False,
) -> None:
    """Write a trained model for use: ONNX in int8 and fp32, and the layout of sentence-transformers."""
    require("torch", "train", "Exporting a model")
    from erukg.training.export.folder import LAYOUTS
    from erukg.training.export.folder import export as write

    layouts, exclude = tuple(layout or LAYOUTS), tuple(exact or ())
    written = write(
        model, out, name, layouts, tokenizer, base, base_licence, half, overwrite, exclude, bits == 7, collections_of
    )
    for kind, folder in written.items():
        typer.echo(f"{kind}: {folder}")


@app.command()
def shrink(
    model: Annotated[Path, Argument(help="Trained model: OUTPUT/model of a run.")],
    out: Annotated[Path, Option("--output", "-o", help="Folder of the smaller base.")],
    tokenizer: Annotated[Path | None, Option(help="tokenizer.json, if the model has none.")] = None,
    layers: Annotated[int, Option(min=1, help="Layers.")] = 2,
    width: Annotated[int, Option(min=1, help="Width of the hidden states.")] = 128,
    heads: Annotated[int, Option(min=1, help="Attention heads.")] = 2,
    inner: Annotated[int, Option(min=1, help="Width of the feed-forward layers.")] = 512,
    tag_width: Annotated[int, Option(min=1, help="Width of the tag head.")] = 64,
    seed: Annotated[int, Option(min=0, help="Seed of the random layers.")] = 0,
) -> None:
    """Write a smaller base with a trained model's embeddings; train it with that model as its teacher."""
    require("torch", "train", "Shrinking a model")
    from erukg.training.base import load_base, save_base
    from erukg.training.base import shrink as shrunken

    small = shrunken(load_base(model)[0], layers, width, heads, inner, tag_width, seed)
    save_base(small, out, tokenizer or model / "tokenizer.json", half=True)
    typer.echo(f"base: {out}")


@app.command()
@options()
def ranker(
    sources: Annotated[list[str], Argument(help="Documents with a title and an abstract, outside the collection.")],
    fields: FieldOptions,
    out: Annotated[Path, Option("--output", "-o", help="Folder to write the model with its ranking to.")],
    model: AnyModel = None,
    collection: Annotated[Path | None, Option(help="Collection to learn for. [default: the bundled one]")] = None,
    documents: Annotated[int, Option(min=1, help="How many documents are drawn.")] = 12_000,
    trees: Trees = 150,
    seed: Annotated[int, Option(min=0, help="The same seed and files give the same ranking.")] = 0,
    work: Annotated[
        Path | None, Option(help="Folder for samples, from which an interrupted run goes on. [default: OUTPUT.samples]")
    ] = None,
    threads: Cores = None,
    overwrite: Overwrite = False,
) -> None:
    """Learn to rank absent phrases from titles that are hidden, for your own collection and without labels."""
    require("lightgbm", "train", "Training a ranking")
    check_extras(sources)
    from erukg.io.progress import progress
    from erukg.training.ranking.fitting import FitOptions
    from erukg.training.ranking.run import RankingOptions, train_ranker

    chosen = RankingOptions(documents=documents, seed=seed, fit=FitOptions(trees=trees, seed=seed))
    with progress("documents") as bar:
        report = train_ranker(
            sources,
            out,
            model=model,
            collection=collection,
            options=chosen,
            work=work,
            overwrite=overwrite,
            threads=threads,
            limits=Limits(names=fields.names),
            on_bad=say_bad,
            on_progress=bar.update,
        )
    typer.echo(f"{report.samples} of {report.drawn} documents taught; the model is in {out}.")
    if report.inside:
        say(f"{report.inside} documents are in the collection itself and were left out.")
    end_learning(report.bad)


@app.command()
@options()
def tagger(
    sources: Annotated[list[str], Argument(help="Texts of the kinds to be read; every file counts alike.")],
    fields: FieldOptions,
    out: Annotated[Path, Option("--output", "-o", help="Folder to write the model with its tagger to.")],
    model: Annotated[str | None, Option(help="Model to give it to: small, tiny or a folder. [default: tiny]")] = None,
    teacher: Annotated[str, Option(help="Whose tags are learned: a model, nltk, spacy or spacy:PIPELINE.")] = "small",
    tagged: Annotated[
        list[Path] | None, Option(help="CoNLL-U file whose words people have tagged; counts as a file of texts.")
    ] = None,
    documents: Annotated[int, Option(min=1, help="How many documents are drawn of each file, at most.")] = 30_000,
    steps: Annotated[int, Option(min=1, help="How many steps are trained; 1,000 take a minute or two.")] = 6_000,
    seed: Annotated[int, Option(min=0, help="The same seed and files give the same tagger.")] = 0,
    work: Annotated[
        Path | None, Option(help="Folder from which an interrupted run goes on. [default: OUTPUT.work]")
    ] = None,
    threads: Cores = None,
    overwrite: Overwrite = False,
) -> None:
    """Learn to tell nouns, verbs and other classes of words as a larger model or a tagger does, on a CPU in minutes."""
    require("torch", "train", "Training a tagger")
    check_extras(sources)
    from erukg.io.progress import progress
    from erukg.training.words.fitting import Fit
    from erukg.training.words.run import TaggerOptions, train_tagger

    chosen = TaggerOptions(documents=documents, seed=seed, fit=Fit(steps=steps, seed=seed))
    with progress("texts") as texts, progress("steps") as trained:
        bars = {"texts": texts, "steps": trained}
        report = train_tagger(
            sources,
            out,
            tagged=tagged or (),
            teacher=teacher,
            model=model,
            options=chosen,
            work=work,
            overwrite=overwrite,
            threads=threads,
            limits=Limits(names=fields.names),
            on_bad=say_bad,
            on_progress=lambda kind, done, total: bars[kind].update(done, total),
        )
    typer.echo(
        f"{report.words:,} words of {report.texts:,} texts taught; {report.agreement:.1%} of those in texts held out "
        f"get the teacher's class; the model is in {out}."
    )
    if report.right is not None:
        typer.echo(f"{report.right:.1%} of the words in texts that people tagged, held out, get the right class.")
    end_learning(report.bad)


@app.command()
@options()
def suggest(
    sources: Annotated[list[str], Argument(help="The files that the tagged collection was built from.")],
    fields: FieldOptions,
    out: Annotated[
        Path, Option("--output", "-o", help="Folder to write; a run that was stopped goes on when given again.")
    ],
    collection: Annotated[Path, Option(help="Collection whose documents carry tags (collection build --tags FIELD).")],
    vocabulary: Annotated[
        Path | None, Option(help="Vocabulary of the tags: a file or a folder. [default: the collection's own tags]")
    ] = None,
    model: AnyModel = None,
    documents: Annotated[int, Option(min=1, help="How many documents the trees learn from, at most.")] = 10_000,
    trees: Trees = 300,
    seed: Annotated[int, Option(min=0, help="The same seed and files give the same ranking.")] = 0,
    threads: Cores = None,
    overwrite: Overwrite = False,
) -> None:
    """Learn to rank the subjects of a vocabulary from an archive whose documents carry them, for 'erukg suggest'."""
    require("lightgbm", "train", "Training a ranking")
    check_extras(sources)
    from erukg.io.progress import progress
    from erukg.training.suggest.fitting import SubjectFit
    from erukg.training.suggest.run import SuggestOptions, train_suggest

    chosen = SuggestOptions(documents=documents, fit=SubjectFit(trees=trees, seed=seed))
    with progress("documents") as bar:
        report = train_suggest(
            sources,
            out,
            collection=collection,
            vocabulary=vocabulary,
            model=model,
            options=chosen,
            overwrite=overwrite,
            threads=threads,
            limits=Limits(names=fields.names),
            on_bad=say_bad,
            on_progress=bar.update,
        )
    typer.echo(f"{report.documents} tagged documents taught; the ranking is in {out}.")
    end_learning(report.bad)


@app.command()
def baseline(
    name: Annotated[str, Argument(help="copyrnn, tpg, doct5query, autokeygen, uokg, promptrank or promptkp.")],
    files: Annotated[list[Path], Argument(help="What the baseline learns from, as JSON Lines; see docs/baselines.md.")],
    out: Annotated[Path, Option("--output", "-o", help="Folder to write; a run that was stopped goes on from it.")],
    minutes: Annotated[float | None, Option(min=0.0, help="How long to train. [default: 10]")] = None,
    steps: Annotated[int | None, Option(min=1, help="How many steps to train instead.")] = None,
    seed: Annotated[int, Option(min=0, help="With --steps on a CPU the same seed gives the same model.")] = 0,
    device: Annotated[str | None, Option(help="cpu or cuda. [default: cuda where there is a GPU]")] = None,
    batch: Annotated[int, Option(min=1, help="Documents in a step.")] = 128,
    vocabulary: Annotated[int, Option(min=10, max=60_000, help="Most frequent words that are known.")] = 50_000,
    embedding: Annotated[int, Option(min=1, help="Width of the words' vectors.")] = 160,
    hidden: Annotated[int, Option(min=2, help="Width of the network's states.")] = 512,
    base: Annotated[Path | None, Option(help="Model folder that promptrank or promptkp begins from.")] = None,
) -> None:
    """Train another method's network, to compare with.

    It is a sequence-to-sequence model that can copy words; promptrank and promptkp begin from the model in --base.
    """
    require("torch", "train", "Training a baseline")
    from erukg.training.baselines import BASED
    from erukg.training.baselines import baseline as find
    from erukg.training.baselines.fit import FitOptions
    from erukg.training.baselines.run import train_baseline

    if minutes is not None and steps is not None:
        raise InputError("Training takes --minutes or --steps, not both.")
    seconds = None if steps is not None else 60 * (10.0 if minutes is None else minutes)
    options = FitOptions(
        seconds=seconds,
        steps=steps,
        seed=seed,
        batch=batch,
        device=device,
        vocabulary=vocabulary,
        embedding=embedding,
        hidden=hidden,
    )
    if name in BASED:
        from erukg.training.baselines.based import train_based

        typer.echo(f"{out}: {train_based(name, files, base, out, options)} steps")
        return
    if base is not None:
        raise InputError(f"Training {name} begins from nothing; leave --base out.")
    model = train_baseline(name, files, out, replace(options, longest=find(name).longest))
    typer.echo(f"{out}: held-out loss {model.card['held_out_loss']:.3f}")
