"""``python -m shareboost`` is the command ``shareboost``."""

from .cli import app

if __name__ == "__main__":
    app(prog_name="shareboost")
