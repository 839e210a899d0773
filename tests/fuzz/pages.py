"""What a page of olmc may hold, whatever it was made of: its own tags, scripts and addresses, and nothing that a
terminal or a browser obeys."""

from __future__ import annotations

import re
from html.parser import HTMLParser

TAGS = frozenset(
    """
    html head meta title style link body header main footer nav section article a h1 h2 h3 h4 p ul ol li dl dt dd table
    caption thead tbody tr th td details summary div span code pre strong em small b i del ins br hr img script input
    select option label output button form fieldset legend mark svg g path circle rect line text time kbd wbr col
    colgroup noscript
    """.split()
)
_ADDRESS = re.compile(
    r"https://olmc\.dev/docs/rules/OLMC\d{3}\.html|#[^\s]*"
    r"|(?:\.\./)?(?:operators/)?[A-Za-z0-9_.-]+\.html(?:#[^\s]*)?|data:,|data:image/svg\+xml[^<>\s]*"
)
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script" and ("type", "application/json") not in attrs
        if tag not in TAGS:
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            if name.startswith("on") or name in ("style", "srcdoc", "formaction"):
                self.wrong.append(f"{name} of <{tag}>")
            if name in ("href", "src", "action", "xlink:href") and not _ADDRESS.fullmatch(value or ""):
                self.wrong.append(f"{name}={value!r} of <{tag}>")

    def handle_decl(self, decl: str) -> None:
        if decl.lower() != "doctype html":
            self.wrong.append(f"<!{decl}>")

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"<!--{data}-->")

    def handle_pi(self, data: str) -> None:
        self.wrong.append(f"<?{data}>")


def faults(page: str) -> list[str]:
    """What a page holds and must not."""
    parser = _Page()
    parser.feed(page)
    parser.close()
    obeyed = [f"U+{ord(match[0]):04X}" for match in OBEYED.finditer(page)]
    return [*parser.wrong, *(["many scripts"] if parser.scripts > 1 else []), *obeyed]
