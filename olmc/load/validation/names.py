"""Kubernetes' rules for names, in the words that the validators' version of Kubernetes has for them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from olmc.golang import is_dns1035_label, is_dns1123_subdomain
from olmc.strconv import quoted


def subdomain_problems(name: str) -> list[str]:
    """What is wrong with a name as a DNS-1123 subdomain."""
    # Only the messages about labels and keys have moved on to counting bytes.
    return [in_characters(problem) for problem in is_dns1123_subdomain(name)]


def dns1035_label_problems(name: str) -> list[str]:
    """What is wrong with a name as a DNS-1035 label: up to 63 letters, digits and dashes after a letter."""
    return [in_characters(problem) for problem in is_dns1035_label(name)]


def in_characters(problem: str) -> str:
    """A message of today's Kubernetes about too long a name as the validators' version has it."""
    return problem.replace(" bytes", " characters")


def quoted_list(names: Iterable[str]) -> str:
    """Texts as Go's %q prints a list of them: quoted, between brackets, separated by blanks."""
    return "[" + " ".join(quoted(name) for name in names) + "]"


def ascii_list(names: Iterable[str]) -> str:
    """As quoted_list, in ASCII alone (Go's %+q)."""
    return "[" + " ".join(_in_ascii(quoted(name)) for name in names) + "]"


def _in_ascii(printed: str) -> str:
    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return re.sub(r"[^\x00-\x7f]", escape, printed)
