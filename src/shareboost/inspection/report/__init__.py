"""A fitted classifier to look at: its data as a plain dict, and a page of HTML that shows them."""

from .data import report_data
from .page import write_report

__all__ = ["report_data", "write_report"]
