"""The plan: every stored run behind the tables and figures of the paper, of the front page and of the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Formatter

from erukg.errors import InputError, did_you_mean

__all__ = ["BASELINES", "PARTS", "STEPS", "Part", "Step", "choose_steps", "parts_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """Something that steps are made from: what it is, and where it is looked for."""

    what: str
    where: str


BASELINES = {
    "promptrank": "a T5 model for PromptRank",
    "copyrnn": "CopyRNN, trained by erukg train baseline",
    "autokeygen": "AutoKeyGen, trained by erukg train baseline",
    "uokg": "UOKG, trained by erukg train baseline",
    "tpg": "TPG, trained by erukg train baseline",
    "promptkp": "PromptKP, trained by erukg train baseline",
    "llm": "a language model that is asked for keyphrases",
    "doct5query": "a T5 model that predicts queries",
}
"""Systems with weights of their own, which lie in folders of these names."""

PARTS = {
    "test": Part("keyphrase test sets", "DATA/keyphrases/test"),
    "dev": Part("keyphrase development sets", "DATA/keyphrases/dev"),
    "retrieval": Part("retrieval sets in BEIR's layout", "DATA/retrieval/SET"),
    "corpus": Part("a corpus of documents", "DATA/corpus"),
    "readers": Part("the readers' set", "tests/readers of --repository"),
    "case": Part("the texts of the case study", "examples/case-study.jsonl of --repository"),
    "base": Part("the model base", "models/base of --repository"),
    "vectors": Part("a sentence-transformers model", "--vectors FOLDER"),
    "tagger": Part("a tagger to compare with", "--tagger spacy:NAME"),
    "paper-collection": Part(
        "a collection as the paper's, by erukg collection build --paper", "--paper-collection FOLDER"
    ),
    "fp32": Part("the model with 32-bit weights", "--variants FOLDER, in it fp32"),
    "variants": Part(
        "models trained without one type of reference",
        "--variants FOLDER, in it models/NAME and perhaps collections/NAME",
    ),
    "subjects": Part("documents with the concepts that indexers chose", "DATA/subjects/pubmed_mesh_dev.jsonl.xz"),
    "mesh": Part("MeSH with synonyms", "DATA/vocabularies/mesh_id_label_synonyms.tsv.xz"),
    "tagged": Part("an archive, by erukg collection build --tags subjects", "--subjects FOLDER, in it tagged"),
    "subject-ranking": Part("a ranking, by erukg train suggest", "--subjects FOLDER, in it ranking"),
    "annif": Part("what Annif suggests, by erukg evaluate annif", "--subjects FOLDER, in it annif/NAME.jsonl"),
    **{name: Part(what, f"--baselines FOLDER, in it {name}") for name, what in BASELINES.items()},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One stored run.

    name     of the step, and of its run
    task     what is done: a function of `tasks.TASKS`
    needs    parts without which it is not run
    uses     parts that it takes in where they are there, besides those that its rows name
    fills    the tables and figures that it is read for
    rows     systems, as `erukg evaluate` names them; "{base}" is where that part is, and a row whose part is missing is
             left out
    methods  of retrieval; none: all of them
    studies  of ablations
    sets     beginnings of the names of the sets that it is about; none: all of them
    paper    whether the paper's settings are varied
    on_page  whether the page of results shows it
    """

    name: str
    task: str
    needs: tuple[str, ...]
    uses: tuple[str, ...] = ()
    fills: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    studies: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    paper: bool = False
    on_page: bool = True

    @property
    def parts(self) -> tuple[str, ...]:
        """All parts that its result depends on, where they are there."""
        return tuple(dict.fromkeys((*self.needs, *self.uses, *(p for row in self.rows for p in parts_of(row)))))


def parts_of(row: str) -> list[str]:
    """The parts that a row names."""
    return [name for _, name, _, _ in Formatter().parse(row) if name]


_TABLE_1, _TABLE_2, _TABLE_3 = "paper: Table 1", "paper: Table 2", "paper: Table 3"
_KEYPHRASES, _RETRIEVAL = "results: Keyphrases", "results: Retrieval"
_FRONT, _FRONT_SEARCH = "README: phrases in the text", "README: search"
_ALPHA_BETA_SETS = ("kp20k",)  # as in the paper
_GENERATE, _SMALL = "erukg-generate", "erukg-generate:model=small"


def _trained(name: str) -> tuple[Step, ...]:
    """The steps of a baseline that has weights of its own: keyphrases, and search as the paper does it."""
    row = f"{name}:{{{name}}}"
    fills = (_TABLE_1, _FRONT, _KEYPHRASES) if name not in ("promptkp", "llm") else (_FRONT, _KEYPHRASES)
    found = (Step(name=name, task="keyphrases", needs=("test", name), rows=(row,), fills=fills),)
    if name not in ("autokeygen", "uokg", "tpg", "copyrnn"):  # the paper searches with these
        return found
    methods = ("bm25", "rm3-30", "query-appended", "appended")
    needs, fills = ("retrieval", name), (_TABLE_2, _RETRIEVAL)
    search = Step(name=f"retrieval-{name}", task="retrieval", needs=needs, rows=(row,), methods=methods, fills=fills)
    return (*found, search)


STEPS: tuple[Step, ...] = (
    Step(
        name="ours",
        task="keyphrases",
        needs=("test",),
        fills=(_TABLE_1, "paper: Table 5", _FRONT, "README: phrases not in the text", _KEYPHRASES),
        rows=(
            _GENERATE,
            "erukg-generate:complete",
            "erukg-extract",
            "erukg-generate:paper",
            _SMALL,
            "erukg-generate:model=small,complete",
            "erukg-generate:model={base}",
            "erukg-generate:absent_learned=0",
            "erukg-generate:complete,absent_composed=0",
        ),
    ),
    Step(
        name="paper",
        task="keyphrases",
        needs=("test", "paper-collection"),
        fills=(_TABLE_1, _FRONT, _KEYPHRASES),
        rows=(
            "erukg-generate:paper,model=small,collection={paper-collection}",
            "erukg-generate:paper,model={base},collection={paper-collection}",
        ),
    ),
    Step(
        name="baselines",
        task="keyphrases",
        needs=("test",),
        fills=(_TABLE_1, _FRONT, _KEYPHRASES),
        rows=(
            "textrank",
            "textrank:tagger={tagger}",
            "multipartiterank",
            "multipartiterank:tagger={tagger}",
            "positionrank",
            "yake",
            "tfidf:{corpus}",
        ),
    ),
    Step(
        name="vectors",
        task="keyphrases",
        needs=("test", "vectors"),
        fills=(_TABLE_1, _FRONT, _KEYPHRASES),
        rows=("embedrank:{vectors}", "keybert:{vectors}"),
    ),
    *(step for name in BASELINES if name != "doct5query" for step in _trained(name) if step.task == "keyphrases"),
    Step(
        name="speed",
        task="speed",
        needs=("test",),
        fills=(_TABLE_3, "README: quality against speed", "results: Quality against speed"),
        rows=(
            "erukg-extract:model=small",
            _SMALL,
            "erukg-generate:model={base}",
            "yake",
            "textrank:tagger={tagger}",
            "multipartiterank:tagger={tagger}",
            "embedrank:{vectors},tagger={tagger}",
        ),
    ),
    Step(
        name="speed-trained",
        task="speed",
        needs=("test",),
        fills=(_TABLE_3, "results: Quality against speed"),
        rows=tuple(f"{name}:{{{name}}}" for name in BASELINES if name not in ("doct5query", "promptrank")),
    ),
    Step(
        name="throughput",
        task="throughput",
        needs=("test",),
        fills=("paper: Table 3 (N = 10, 50, 100)",),
        on_page=False,
    ),
    Step(
        name="retrieval",
        task="retrieval",
        needs=("retrieval",),
        fills=(_TABLE_2, "paper: Table 5", _FRONT_SEARCH, _RETRIEVAL),
        rows=(_SMALL,),
    ),
    Step(
        name="retrieval-doct5query",
        task="retrieval",
        needs=("retrieval", "doct5query"),
        fills=(_TABLE_2, _RETRIEVAL),
        methods=("bm25", "rm3-30", "doct5query"),
    ),
    *(step for name in BASELINES if name != "doct5query" for step in _trained(name) if step.task == "retrieval"),
    Step(
        name="ablations-alpha-beta",
        task="ablations",
        needs=("test",),
        fills=("paper: Table 6", "results: Ablations"),
        studies=("alpha-beta",),
        sets=_ALPHA_BETA_SETS,
    ),
    Step(
        name="ablations",
        task="ablations",
        needs=("test",),
        uses=("fp32", "variants", "corpus", "retrieval"),
        fills=("paper: Table 4", "results: Ablations"),
        studies=("neighbours", "pruning", "position", "precision", "collection"),
    ),
    Step(
        name="ablations-tags",
        task="ablations",
        needs=("test", "tagger"),
        fills=("results: Ablations",),
        studies=("tags",),
    ),
    Step(
        name="ablations-references",
        task="ablations",
        needs=("test", "variants"),
        uses=("retrieval",),
        fills=("paper: Figure 3", "results: Ablations"),
        studies=("references",),
    ),
    Step(
        name="ablations-paper",
        task="ablations",
        needs=("test",),
        uses=("paper-collection", "retrieval"),
        fills=("paper: Table 4", "results: Ablations"),
        studies=("neighbours",),
        paper=True,
    ),
    Step(
        name="ablations-paper-alpha-beta",
        task="ablations",
        needs=("test",),
        uses=("paper-collection",),
        fills=("paper: Table 6", "results: Ablations"),
        studies=("alpha-beta",),
        sets=_ALPHA_BETA_SETS,
        paper=True,
    ),
    Step(
        name="case",
        task="case",
        needs=("case",),
        fills=("paper: Table 7", "paper: Table 8", "results: Case study"),
        rows=(
            _GENERATE,
            _SMALL,
            "multipartiterank",
            "textrank",
            "yake",
            *(f"{name}:{{{name}}}" for name in ("autokeygen", "uokg", "tpg", "copyrnn")),
        ),
    ),
    Step(
        name="readers",
        task="readers",
        needs=("readers",),
        fills=("README: texts of our own", "results: Readers"),
        rows=(_GENERATE, _SMALL, "yake"),
    ),
    Step(
        name="calibration",
        task="calibration",
        needs=("dev",),
        fills=("results: Confidence",),
        rows=(_GENERATE,),
    ),
    Step(
        name="subjects",
        task="subjects",
        needs=("subjects", "mesh", "tagged"),
        uses=("subject-ranking", "annif"),
        fills=("docs/suggest.md: How good it is", "results: Subjects"),
    ),
    Step(
        name="dev",
        task="keyphrases",
        needs=("dev",),
        fills=("docs/decisions.md: what was chosen on the development sets",),
        rows=(_GENERATE, "erukg-generate:complete", _SMALL),
        on_page=False,
    ),
)
"""In the order in which they are run and shown."""


def choose_steps(names: Sequence[str]) -> list[Step]:
    """The steps called so, in the order of the plan; all of them where none is named."""
    known = [step.name for step in STEPS]
    for name in names:
        if name not in known:
            raise InputError(f"There is no step '{name}'; {did_you_mean(name, known, 'there are: {known}.')}")
    return [step for step in STEPS if not names or step.name in names]
