"""Comparing methods: evaluation on test sets, other systems, and speed."""
