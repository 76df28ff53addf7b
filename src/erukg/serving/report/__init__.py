"""A report: the service's page and the keyphrases of some documents in one HTML file that needs no service.

`Report` gives the beginning and the end of the file, `report_row` the data of each document between them, so that it
can be written as a stream.
"""

from erukg.serving.report.document import Report, escaped, report_row

__all__ = ["Report", "escaped", "report_row"]
