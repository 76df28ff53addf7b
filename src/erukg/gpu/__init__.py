"""Streams of documents in processes. With the model on a GPU one process runs it and others do the rest.

    caller ── texts ──> workers (queries)         ── posting lists ──> server (BM25, on the device)
                        workers (words, pieces)   <── neighbours ───── server
                        workers                   ── pieces ─────────> server (the model, on the device)
    caller <─ results ─ workers (phrases, scores) <── weights ──────── server

Each worker keeps what it knows of a text between the parts of the work. Texts travel in chunks; how many are on the way
at once is bounded, so memory is constant, and results come in the order of the texts. Every process reads and sends in
threads of its own, so that none that works waits for another one that does. Where the device has too little memory for
the posting lists, the workers search for the neighbours themselves. Long streams on a CPU have workers alone, each with
a model of its own (`processes.py`).
"""

from erukg.gpu.analyser import DeviceAnalyser
from erukg.gpu.pipeline import DeviceStream
from erukg.gpu.runner import DeviceRunner

__all__ = ["DeviceAnalyser", "DeviceRunner", "DeviceStream"]
