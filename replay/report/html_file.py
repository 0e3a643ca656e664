"""One HTML file that needs nothing from anywhere else.

Texts of a run are untrusted. They reach a page in two ways only: through Jinja2's escaping, or
inside a JSON block in which ``<``, ``>``, ``&`` and ``'`` are escaped and which a script puts into
the page as text. The content policy allows the file's own scripts by their hash and nothing else,
so that even text that got through could neither run nor fetch anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

TEMPLATES = Path(__file__).with_name("templates")
THEME = "theme.js"
"""Runs before the page is drawn, so that it does not flash in the other theme."""


def render(
    template: str,
    context: Mapping[str, Any],
    *,
    scripts: Sequence[str],
    styles: Sequence[str] = ("report.css",),
    filters: Mapping[str, Callable[..., Any]] | None = None,
) -> str:
    """The page.

    Args:
        template: Its file's name.
        context: What it shows.
        scripts: Files that are joined into the page's own script.
        styles: Style sheets, joined; the dark theme's values stand before them.
        filters: For the template.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters or {})
    texts = {"theme": _own(THEME), "report": "".join(_own(name) for name in scripts)}
    return environment.get_template(template).render(
        **context,
        style=Markup(_style(styles)),
        scripts={name: Markup(text) for name, text in texts.items()},
        policy=_policy(texts.values()),
    )


def json_block(value: Any) -> Markup:
    """JSON for a script's data block."""
    return htmlsafe_json_dumps(value, dumps=_compact)


def _style(names: Iterable[str]) -> str:
    """The style sheets; the dark theme's rules stand before them, so that print overrides them."""
    dark = _own("dark.css")
    by_system = f':root:not([data-theme="light"]) {{ {dark} }}'
    sheets = "".join(_own(name) for name in names)
    return (
        f"@media (prefers-color-scheme: dark) {{ {by_system} }}\n"
        f':root[data-theme="dark"] {{ {dark} }}\n{sheets}'
    )


def _own(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _compact(value: Any, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _policy(scripts: Iterable[str]) -> str:
    """The content policy: these scripts, inline styles, embedded pictures, and nothing else."""
    hashes = " ".join(
        "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in scripts
    )
    return (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {hashes}; "
        "base-uri 'none'; form-action 'none'"
    )
