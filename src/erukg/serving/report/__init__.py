"""A report: the service's page and the keyphrases of some documents in one HTML file that needs no service.

`Report` gives the file's beginning, the piece for each document and its end, so that it is written in a stream.
"""

from __future__ import annotations

from erukg.serving.report.parts import Report, report_row

__all__ = ["Report", "report_row"]
