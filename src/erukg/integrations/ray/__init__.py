"""erukg on Ray: `keyphrases` for people with a Ray Data pipeline, and the jobs behind `--engine ray`.

    driver: plan ──> partitions of the input ──> actors, one partition at a time ──> outcomes
    worker:          reads its partition, works, writes `part-NNNNNN` under a temporary name, renames it, leaves a mark

Documents never travel through Ray's object store, so its size bounds nothing; what a worker holds at a time is a few
hundred documents.
"""

from erukg.integrations.ray.pipeline import keyphrases

__all__ = ["keyphrases"]
