"""The method itself: from a text, a model's term weights and a collection's neighbours to ranked keyphrases.

Arrays in, results out: nothing here opens a file, starts a thread or knows which model or collection is behind the
protocols it asks.
"""
