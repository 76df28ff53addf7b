"""The one table of what the test of the docs does not run, and why.

A key is a part of a command line or of a block; the first that fits counts. What stands here is still looked at: a
command line of `erukg` must be one that `erukg` understands, and the options of a Python program must be in its source.
What would use the output of a command that is not run is not run either.
"""

from __future__ import annotations

__all__ = ["APART", "LANGUAGES_APART", "ONLY_SLOW", "PRESENT_NAMES", "PROGRAMS_APART"]

ENGINE = "an engine that is not here; tests/engines runs those that can be had"
FRAMEWORK = "a framework in an environment of its own; tests/doors runs this block there (`pytest -m doors`)"
TRAINED = "minutes to hours of training; tests/training runs these commands with tiny models"

APART = {
    # Set-up
    "python3 -m venv": "an environment is made from nothing; the last line of .ci/run is this very line",
    "pytest tests/": "tests of their own",
    # Programs that go on until they are stopped
    "erukg serve": "runs until it is stopped; the page's requests are answered by the same application, in process",
    "erukg mcp": "runs until it is stopped; tests/doors/test_mcp.py starts it",
    "StdioServerParameters(": "starts `erukg mcp`; tests/doors/test_mcp.py runs this block",
    # Machines that are not here
    "--engine ray": "a cluster; tests/integrations runs Ray",
    "--device cuda": "a GPU; tests/gpu",
    'device="cuda"': "a GPU; tests/gpu",
    "ray.data.read_parquet": "a bucket; tests/integrations runs this function on a local folder",
    "localhost:9200": ENGINE,
    "localhost:8983": ENGINE,
    "import psycopg": ENGINE,
    "import jpype": ENGINE,
    # Frameworks
    "import spacy": FRAMEWORK,
    "from haystack": FRAMEWORK,
    "from langchain": FRAMEWORK,
    "from llama_index": FRAMEWORK,
    "from bertopic": FRAMEWORK,
    'SpacyTagger("en_core_web_sm")': "a tagger's data, which is a download; tests/test_taggers.py",
    # Models, folders and data that only a reader has
    "erukg train": TRAINED,
    "erukg.training": TRAINED,
    "evaluate annif": "Annif, in an environment of its own; tests/annif",
    "evaluate subjects": "a learned ranking and Annif's predictions; tests/evaluation",
    "--semantic MODEL": "a model that is a download; tests/evaluation",
    "copyrnn:": "a trained baseline; tests/baselines",
    "autokeygen:": "a trained baseline; tests/baselines",
    "promptrank:": "a trained baseline; tests/baselines",
    "promptkp:": "a trained baseline; tests/baselines",
    "llm:": "a language model, a download; tests/baselines",
    "--t5 ": "a trained baseline; tests/baselines",
    "--collections small=FOLDER": "collections that only a reader has; tests/evaluation",
    "--tagger spacy": "a tagger's data, which is a download; tests/evaluation",
    "--expanded expanded/": "folders of expanded sets; tests/evaluation",
    "erukg reproduce": "hours; tests/reproduce runs it on tiny data",
    "erukg evaluate report": "the stored runs; tests/reproduce makes the pages from them",
    "erukg benchmark": "measures for minutes; tests/benchmark",
    "erukg.research.benchmark.gpu": "a GPU",
    "tests/integrations/sizing.py": "measures for minutes",
    "tests/serving/load.py": "measures for minutes",
    "tests.campaign": "runs for as long as one likes; tests/campaign runs a little of it",
    "collection calibrate": "asks for 200 documents and more; tests/collection",
    "remove mine/ ID": "ids that only a reader has; tests/collection",
    # What is shown and not run
    "[erukg]\nname=erukg": "a configuration of Annif; tests/annif uses it",
    "cost of 1,000 documents =": "a sum to fill in",
    "# nginx": "a configuration of nginx, which is not here",
    '{"id": …, "present"': "the form of a line, sketched",
    '"weight": 0.15}, …]}': "a line, shortened",
}

#: Programs that are not run wherever they stand.
PROGRAMS_APART = {
    "docker": "a container engine",
    "ray": "a cluster",
    "openssl": "makes a key, another one each time",
    "git": "a network",
    "bin/run.sh": ENGINE,
}

#: Languages of blocks that nothing runs.
LANGUAGES_APART = {"mermaid": "a drawing"}

#: Run in the slow tier alone.
ONLY_SLOW = ("evaluate readers", "evaluate retrieval", "evaluate case", "textrank")

#: Names that blocks of a page take for granted: Python that is run before the page.
PRESENT_NAMES = {
    "docs/guide.md": "import erukg\ngenerator = erukg.KeyphraseGenerator.from_pretrained()\n"
    "text = open('paper.txt').read()\npresent, absent = ['sea ice'], ['remote sensing']\n",
    "docs/serving.md": "import erukg\ngenerator = erukg.KeyphraseGenerator.from_pretrained()\n"
    "def extract(text, top_k): return [(text.split()[0], 1.0)]\n",
}
