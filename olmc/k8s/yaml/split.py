"""Where a stream ends one document and begins the next: as the readers of Kubernetes split it.

`kubectl`, Argo CD, OLM and opm split with `YAMLReader` of k8s.io/apimachinery before they read YAML
(https://github.com/kubernetes/apimachinery/blob/v0.34.0/pkg/util/yaml/decoder.go), kustomize splits with the same rule:
a line that begins with `---` ends a document if nothing but white space or a comment follows. White space is that of
Unicode. Any other text there is an error. They read no more than one document of each part. YAML knows other ends, and
it knows lines that begin with `---` and end nothing. olmc accepts only streams that both split alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmc.k8s.yaml.document import LINE_BREAK

SEPARATOR = "---"

YAML_SPACE = " \t\r\n\x85\u2028\u2029"


FOLLOWED = "Kubernetes refuses text behind `---`"


def is_separator(line: str) -> bool:
    """Whether Kubernetes and YAML both end a document at a line, and take nothing of the line for content."""
    if not line.startswith(SEPARATOR):
        return False
    rest = line[len(SEPARATOR) :]
    comment = rest.strip(YAML_SPACE)
    if not comment:
        return True
    return comment[0] == "#" and rest[0] != "#" and LINE_BREAK.search(comment) is None


def separators(text: str) -> Iterator[int]:
    """The offsets of the lines of a stream that begin with `---`."""
    at = 0 if text.startswith(SEPARATOR) else text.find("\n---") + 1 or -1
    while at >= 0:
        yield at
        at = text.find("\n---", at) + 1 or -1


def split_documents(text: str) -> list[str] | None:
    """The documents of a YAML stream, without those that are empty and without the line of `---` before each; None if
    Kubernetes and YAML split the stream differently."""
    first, *others = f"\n{text}".split("\n---")
    if not all(part[:1] == "\n" or is_separator(f"---{_first_line(part)}") for part in others):
        return None
    parts = [f"{part}\n" for part in (first[1:], *(part.partition("\n")[2] for part in others))]
    parts[-1] = parts[-1][:-1]
    return [part for part in parts if part and not part.isspace()]


def _first_line(text: str) -> str:
    return text[: text.find("\n") + 1] or text


def parts(text: str) -> Iterator[str]:
    """The texts of which Kubernetes reads one document each, be they empty; it may refuse the lines between them."""
    begin = 0
    for at in separators(text):
        # A part may begin with a line of `---`.
        if at != begin:
            yield text[begin:at]
            begin = text.find("\n", at) + 1 or len(text)
    yield text[begin:]
