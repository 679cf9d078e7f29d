"""The command ``shareboost``."""

# Each of these files adds its command to the app.
from . import demo, explain, export, fit, info, path, predict, report  # noqa: F401
from .app import app

__all__ = ["app"]
