"""Streams of documents with the model on a GPU: one process runs it, others do the rest, nobody waits for long.

    caller ── texts ──> workers (words, neighbours) ── pieces ──> server (the model, on the device)
    caller <─ results ─ workers (phrases, scores)  <── weights ── server

Each worker keeps what it knows of a text between its two halves of the work. Texts travel in chunks; how many are on
the way at once is bounded, so memory is constant, and results come in the order of the texts.
"""

from erukg.gpu.streams import standing_encoded, standing_keyphrases, stream_encoded, stream_keyphrases

__all__ = ["standing_encoded", "standing_keyphrases", "stream_encoded", "stream_keyphrases"]
