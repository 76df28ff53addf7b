"""erukg on Ray: `keyphrases` for Ray Data pipelines, and the jobs behind `--engine ray`.

    driver: lists the input, cuts it into partitions, submits one Ray task per partition, collects the outcomes
    task:   reads its partition, processes it, publishes `part-NNNNNN` with an atomic rename, then marks it as done

Documents never pass through Ray's object store, so its size limits nothing; a task holds a few hundred documents at a
time.
"""

from erukg.integrations.ray.pipeline import keyphrases

__all__ = ["keyphrases"]
