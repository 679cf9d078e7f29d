"""The paper's figures and tables: ``python -m paper NAME``.

One file an experiment, built from the library's public names; each defines an ``EXPERIMENT``.
"""

from .experiment import Claim, Experiment, Row, Verdict, verdict
from .lab import Lab
from .reproduction import NAMES, experiment, reproduce

__all__ = [
    "NAMES",
    "Claim",
    "Experiment",
    "Lab",
    "Row",
    "Verdict",
    "experiment",
    "reproduce",
    "verdict",
]
