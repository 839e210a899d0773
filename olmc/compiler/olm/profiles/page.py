"""The formats of OLM versions in words: what `olmc explain profile` prints, and the page docs/olm-versions.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from textwrap import fill
from typing import Any

from olmc.compiler.olm.profiles.data import (
    DOCS,
    EXTENSION,
    OPENSHIFT_PREFIX,
    V1,
    bundles_by,
    canonical,
    controller_of,
    controller_text,
    eras,
    formats,
    gaps,
    newest,
    openshift,
)

WIDTH = 100


def formats_text(version: str) -> str:
    """Every feature with its value in a version, for a terminal; raises UnknownVersionError."""
    name = canonical(version)
    features = formats()["features"]
    lines = [heading(name), ""]
    section = ""
    for feature, era in eras(name):
        if features[feature]["section"] != section:
            section = features[feature]["section"]
            lines += [section, ""]
        lines.append(f"  {features[feature]['title']}  [{feature}{_since(era)}]")
        lines += [_indented(words_of(era)), ""]
    return "\n".join(lines)


def gaps_text(version: str) -> str:
    """Return the parts of a version that olmc can't reproduce, for a terminal; raises UnknownVersionError."""
    name = canonical(version)
    unknown = [*(gap for _, gap in gaps(name)), *formats()["never"]]
    listed = [fill(gap, WIDTH, initial_indent="- ", subsequent_indent="  ") for gap in unknown]
    return "\n".join([heading(name), "", "What olmc can't reproduce:", "", *listed, ""])


def heading(name: str) -> str:
    """Return the description of a version with a canonical name."""
    blend = formats()["named"].get(name)
    if blend is None:
        return f"OLM {name}"
    own = [f"{feature} as in {version}" for feature, version in (blend.get("like") or {}).items()]
    if blend.get("values"):
        own.append(f"its own {', '.join(blend['values'])}")
    if "controller" in blend and bundles_by(name) != EXTENSION:
        own.append(f"operator-controller {controller_text(blend['controller'])}")
    base = f"{name}: OLM {blend['base']}{' with ' if own else ''}{'; '.join(own)}"
    return fill(f"{base}. {blend.get('note', '')}".strip(), WIDTH)


def words_of(era: Mapping[str, Any]) -> str:
    """The value of an era in words."""
    return str(era.get("text") or _shown(era["value"]))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(_pairs(value)) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value or "none")


def _pairs(value: Mapping[str, Any]) -> Iterator[str]:
    for key, part in value.items():
        yield f"{key}: {', '.join(part)}" if isinstance(part, list) else part if key == "*" else f"{key}={part}"


def _since(era: Mapping[str, Any]) -> str:
    return f", since {era['since']}" if "since" in era else ""


def _indented(text: str) -> str:
    wrapped: str = fill(
        text, WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return wrapped


_INTRODUCTION = """\
# OLM versions

OLM's names, labels, hashes and objects changed over the years. `--olm-version`, or `olmVersion` in `olmc.yaml`, chooses
the version to compile for; the default is {newest}, the newest that olmc knows.

    olmc render --olm-version ocp-4.14       what OpenShift 4.14 makes of this workspace
    olmc diff --olm-version 0.25..0.46 .     what upgrading OLM itself would change
    olmc explain profile 0.17                all formats of a version
    olmc explain gaps 0.17                   what olmc can't reproduce of it

A version is a release (`0.25.0`, or `0.25` for its last one), what an OpenShift version ships when it comes out
(`ocp-4.14`), [OLM v1](olm-v1.md) (`v1`), or `docs`: what the documents of OLM state, which is [not always what OLM
does](differences.md). This page is made of the data in `olmc/compiler/olm/profiles` by
`python -m olmc.compiler.olm.profiles.page > docs/olm-versions.md`.

olmc knows the releases
{releases}.
"""

_RANDOM = """
## What can't be known

olmc can't reproduce these facts in any version:

{never}

Of old versions it can't reproduce this either; what was random or has no reproducible hash is made up from the content
or left out, and a note says so:

| since | until | what |
|---|---|---|
{gaps}
"""

_KNOWN = """
## How this is known

OLM {compared} ran on a real API server, and olmc's output was compared with their results for the recorded cases,
output, object by object: of these the values below are as the clusters have them, so far as the cases show them.
No other release was run. What it does, and with which release a value begins, was read: in OLM's source and CRDs, and
in the changes to them. The same goes for all that is older than {oldest}, for OpenShift's own releases, and for
`{docs}`. Where the clusters showed something that the source alone had not, a note below
names the observations and the sources.
"""

_FORMATS = """
## Formats

Texts in braces are names; `apihash` is the hash of an API, `sa` a ServiceAccount. Formats without a table are
as in the newest version, for any requested version.
"""


def page() -> str:
    """The page as Markdown."""
    return "".join(_sections())


def _sections() -> Iterator[str]:
    known = formats()
    releases = fill(", ".join(known["versions"]), 110).strip()
    yield _INTRODUCTION.format(newest=newest(), releases=releases)
    yield from _named(known["named"])
    yield from _openshift()
    gaps = "\n".join((*_gaps(known["features"]), *_further_gaps(known["gaps"])))
    yield _RANDOM.format(never="\n".join(f"- {gap}" for gap in known["never"]), gaps=gaps)
    *others, last = known["compared"]
    yield _KNOWN.format(compared=f"{', '.join(others)} and {last}", oldest=others[0], docs=DOCS)
    yield _FORMATS
    section = ""
    for feature, entry in known["features"].items():
        if entry["section"] != section:
            section = entry["section"]
            yield f"\n### {section}\n"
        yield from _feature(feature, entry)


def _named(named: dict[str, Any]) -> Iterator[str]:
    kubernetes = openshift()["kubernetes"]
    yield "\n## OpenShift, OLM v1, and the documents\n\n"
    yield "| name | OLM | Kubernetes | with | remarks |\n|---|---|---|---|---|\n"
    for name, blend in named.items():
        release = kubernetes.get(name.removeprefix(OPENSHIFT_PREFIX), "").removeprefix("v").removesuffix(".0")
        like = [f"`{feature}` of {version}" for feature, version in (blend.get("like") or {}).items()]
        own = [f"`{feature}`" for feature in blend.get("values") or {}]
        with_own = f"its own {', '.join(own)}" if own else ""
        notes = ("; ".join([*like, with_own]).strip("; "), blend.get("note", ""))
        yield f"| {' | '.join((f'`{name}`', blend['base'], release, *notes))} |\n"
    yield from _gates(named)
    yield f"\nThe values of `{DOCS}`:\n\n| format | value |\n|---|---|\n"
    for feature, era in named[DOCS]["values"].items():
        yield f"| `{feature}` | {_cell(words_of(era))} |\n"


_GATES = """
With a name that begins with `v1` a bundle by itself is rendered as a ClusterExtension would have it. Which feature
gates of operator-controller are open belongs to every profile; what is not in this table has those of `{default}`. The
gates of an OpenShift release are the defaults of its code, and the cluster's own operator may open others.

| name | operator-controller | a bundle by itself is installed by | open gates |
|---|---|---|---|
"""


def _gates(named: dict[str, Any]) -> Iterator[str]:
    yield _GATES.format(default=V1)
    for name, blend in named.items():
        if "gates" in blend:
            cells = (
                f"`{name}`",
                controller_text(controller_of(name)),
                bundles_by(name),
                ", ".join(blend["gates"]) or "none",
            )
            yield f"| {' | '.join(cells)} |\n"


_OPENSHIFT = """
## OpenShift as a target

`--olm-version ocp-4.18` compiles for the whole cluster of that release. It also sets the version of Kubernetes from the
table above, the global catalog namespace (`{globalCatalogNamespace}`), the namespace of OLM (`{olmNamespace}`), and
the APIs below that the release serves beyond those of Kubernetes and OLM. `--kube-version` and the keys of `olmc.yaml`
win over it. Namespace `{globalOperatorGroup[namespace]}` exists, with the OperatorGroup
`{globalOperatorGroup[name]}` for all namespaces, which is among what is rendered once something of OLM is there.
The patch version is taken as .0: a `minKubeVersion` above that one reads as not met.

All capabilities count as enabled, and technology previews as absent; declare other features with
`apis` in `olmc.yaml`. The releases are those of OpenShift 4, from `since` to `until`; with a question mark they are not
certain, and may be one off. *by* says whether a CRD or an API server of OpenShift serves the kind: only a CRD fulfils
what a CSV requires as one. The table is made of `olmc/compiler/olm/profiles/openshift.json`.

| group | kind | scope | by | versions |
|---|---|---|---|---|
"""


def _openshift() -> Iterator[str]:
    facts = openshift()
    yield _OPENSHIFT.format_map(facts)
    for api in facts["apis"]:
        versions = ", ".join(map(_span, api["versions"]))
        yield f"| {api['group']} | {api['kind']} | {api['scope']} | {api['by']} | {versions} |\n"


def _span(item: Mapping[str, Any]) -> str:
    """A served version of an API with its releases, in words."""
    until = f" until {item['until']}" if "until" in item else ""
    return f"{item['version']} since {item['since']}{until}{'?' if item.get('uncertain') else ''}"


def _gaps(features: dict[str, Any]) -> Iterator[str]:
    """A row for each gap; one that lasts for several eras is one."""
    for entry in features.values():
        for gap, lasting in groupby(entry["eras"], key=lambda era: era.get("gap")):
            *_, last = eras = list(lasting)
            following = entry["eras"][entry["eras"].index(last) + 1 :]
            if gap:
                yield f"| {eras[0]['since']} | {_before(following[0]['since']) if following else ''} | {gap} |"


def _further_gaps(gaps: dict[str, Any]) -> Iterator[str]:
    for entry in gaps.values():
        yield f"| {entry['since']} | {entry['until']} | {entry['gap']} |"


def _before(version: str) -> str:
    versions: list[str] = formats()["versions"]
    return versions[versions.index(version) - 1]


def _feature(feature: str, entry: dict[str, Any]) -> Iterator[str]:
    yield f"\n**{entry['title']}** (`{feature}`)\n\n| since | |\n|---|---|\n"
    for era in entry["eras"]:
        yield f"| {era['since']} | {_cell(words_of(era))} |\n"
    if "note" in entry:
        yield f"\n{entry['note']}\n"
    if "known" in entry:
        yield f"\n*How it is known:* {entry['known']}\n"


def _cell(text: str) -> str:
    """A text as a cell of a table; formats have characters that Markdown would take for its own."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(page())
