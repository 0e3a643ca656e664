"""The files of the web page, which the server hands out as they are."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

CONTENT_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
"""Of every kind of file that the page has."""


class PageError(RuntimeError):
    """The page's files are not where they were installed to. The text is one line."""


def web_folder() -> Path:
    """The folder of the page: ``index.html`` and what it asks for under ``/static/``.

    Raises:
        PageError: If it is missing, such as from a zipped or an incomplete installation.
    """
    folder = files("client") / "web"
    if not (isinstance(folder, Path) and (folder / "index.html").is_file()):
        raise PageError(f"the web page is missing from {folder}; install deixis again")
    return folder
