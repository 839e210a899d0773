"""Differences as Markdown: fit for a comment, the gravest first, and nothing of a stranger's is markup."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import compared
from properties import examples

from olmc.compiler.output.document import LIMIT, code
from olmc.review.diff.outputs import as_markdown, review_sections
from olmc.review.diff.text import as_text

HOSTILE = "x` <script>alert(1)</script> ``[a](javascript:b)``` @team #1 | **b** \n# heading\n- \x1b[31m\u202e"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}, "data": data}


def without_code(text: str) -> str:
    """Markdown without its inline code, as CommonMark finds it: runs of as many backticks on both ends."""
    return re.sub(r"(?<!`)(`+)(?!`)(?:.|\n)*?(?<!`)\1(?!`)", "", text)


def test_hostile_names_are_code() -> None:
    """Whatever of a name or a value is markup stays inside of inline code, and on its line."""
    old = [config_map("a", **{HOSTILE: "x"}), config_map(HOSTILE)]
    new = [config_map("a", **{HOSTILE: HOSTILE})]
    text = as_markdown(compared(old, new))
    outside = without_code(text)
    for bad in ("script", "javascript", "@team", "# heading", "\x1b", "\u202e", "**b**"):
        assert bad not in outside
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_hostile_names_in_a_terminal() -> None:
    text = as_text(compared([config_map("a", b=HOSTILE)], [config_map("a", b="c")]))
    assert "\x1b" not in text
    assert "\u202e" not in text


@given(st.text(max_size=40))
def test_inline_code_holds_any_text(text: str) -> None:
    """R-CommonMark: a run of backticks inside is shorter than the one around, so nothing gets out."""
    assert without_code(f"a {code(text)} b") == "a  b"
    assert "\n" not in code(text)


def many(count: int, value: str) -> list[dict[str, Any]]:
    return [config_map(f"settings-{number:05}", key=f"{value}{number}".ljust(50, "x")) for number in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("count", [100, 2000, 4000])
def test_the_limit(count: int) -> None:
    """What is cut is counted, and the lists stay whole."""
    text = as_markdown(compared(many(count, "v"), many(count, "w")))
    assert len(text) <= LIMIT
    shown = text.count("  - ✏️ `data.key`: ")
    cut = re.search(r"\*\*(\d+) changes do not fit into a comment\*\* \((\d+) in Everything else\)", text)
    assert shown + (int(cut[1]) if cut else 0) == count
    assert (cut is None) == (count == 100)
    assert text.count("<details>") == text.count("</details>")


@pytest.mark.slow
def test_the_gravest_is_never_cut_for_the_rest() -> None:
    """A breaking change stands first, however much else there is."""
    group = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a.b.c"}}
    text = as_markdown(compared([group, *many(4000, "v")], many(4000, "w")))
    assert "#### 🛑 Breaking (1)\n\n- `CustomResourceDefinition/a.b.c`\n" in text
    assert text.index("Breaking") < text.index("settings-00000")


def test_a_tiny_limit_still_names_the_cut() -> None:
    text = as_markdown(compared(many(50, "v"), many(50, "w")), 1000)
    assert len(text) <= 1000
    assert "do not fit" in text


def crd_versions(count: int, versions: int) -> dict[str, Any]:
    """A CRD that serves some versions; one less is breaking."""
    names = {"kind": f"K{count}", "plural": f"k{count}s", "singular": f"k{count}", "listKind": f"K{count}List"}
    spec = {
        "group": "a.example.com", "names": names, "scope": "Namespaced",
        "versions": [
            {"name": f"v{number}", "served": True, "storage": number == 1,
             "schema": {"openAPIV3Schema": {"type": "object"}}}
            for number in range(1, versions + 1)
        ],
    }  # fmt: skip
    name = f"k{count}s.a.example.com"
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def binding(number: int, width: int) -> dict[str, Any]:
    """A binding of cluster-admin: a risk."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": f"b{number}".ljust(width, "x")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": f"a{number}".ljust(width, "y"), "namespace": f"n{number}"}],
    }  # fmt: skip


ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "cluster-admin"},
    "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
}  # fmt: skip
LEFT = re.compile(r"^- … and (\d+) more, left out$", re.MULTILINE)
TITLE = re.compile(r"(?:#### |<b>)(?:🛑 |⚠️ )?([A-Z][a-z ]+) \((\d+)\)")
CUT = re.compile(r"\*\*(\d+) changes do not fit into a comment\*\* \((.*)\)")


@pytest.mark.slow
@given(
    crds=st.integers(0, 900), bindings=st.integers(0, 60), maps=st.integers(0, 900), width=st.sampled_from([1, 60]),
    limit=st.integers(6000, LIMIT),
)  # fmt: skip
@examples(15)
def test_each_gravity_has_its_share_and_the_counts_add_up(
    crds: int, bindings: int, maps: int, width: int, limit: int
) -> None:
    """900 breaking lines push no risk out, and risks nothing else; what is left out is counted, in all as well."""
    old = [ROLE, *(crd_versions(number, 2) for number in range(crds)), *many(maps, "v")]
    new = [
        ROLE, *(crd_versions(number, 1) for number in range(crds)), *(binding(at, width) for at in range(bindings)),
        *many(maps, "w"),
    ]  # fmt: skip
    difference = compared(old, new)
    text = as_markdown(difference, limit)
    assert len(text) <= limit
    titles = {title: int(total) for title, total in TITLE.findall(text)}
    expected = {section.heading: len(section.changes) for section in review_sections(difference.changes)}
    assert titles == expected
    for section in re.split(r"\n(?=####|<details>)", text)[1:]:
        assert "\n  - " in section
    left = sum(map(int, LEFT.findall(text)))
    cut = CUT.search(text)
    assert left == (int(cut[1]) if cut else 0)
    named = [int(count) for count in re.findall(r"(\d+) in ", cut[2])] if cut else []
    assert sum(named) == left


@pytest.mark.parametrize("limit", [5000, LIMIT])
def test_many_of_one_kind_hide_no_other(limit: int) -> None:
    """Of what is breaking each kind of object is there."""
    old = [crd_versions(number, 2) for number in range(900)]
    for number, crd in enumerate(old):
        crd["spec"]["versions"][1]["name"] = f"v{number + 2}"  # so that each is a line by itself
    gone = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.a.example.com"}}
    lease = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "zz"}}
    text = as_markdown(compared([*old, gone, lease], [crd_versions(number, 1) for number in range(900)]), limit)
    assert "do not fit" in text
    assert "APIService/v1.a.example.com" in text
    assert "Namespace/zz" in text


def risky(number: int, namespace: str, role: str) -> dict[str, Any]:
    """A binding of a role in a namespace of its own, which no other has: a line by itself."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "x", "namespace": f"n{number:04}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": f"a{number:04}".ljust(60, "y"), "namespace": namespace}],
    }  # fmt: skip


@pytest.mark.parametrize("limit", [3000, LIMIT])
def test_many_risks_hide_no_graver_one(limit: int) -> None:
    """The attack: 900 permissions of another level, of accounts that come before the one with all permissions."""
    reader = {**ROLE, "metadata": {"name": "reader"},
              "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}]}  # fmt: skip
    evil = binding(1, 1)
    evil["subjects"] = [{"kind": "ServiceAccount", "name": "zz-evil", "namespace": "zz"}]
    new = [*(risky(number, f"n{number:04}", "reader") for number in range(900)), evil]
    text = as_markdown(compared([ROLE, reader], [ROLE, reader, *new]), limit)
    assert "do not fit" in text
    assert text.count("ServiceAccount/n") > 3
    assert "zz-evil" in text
    assert "(critical: " in text


@pytest.mark.slow
@pytest.mark.parametrize("limit", [3000, LIMIT])
def test_a_line_that_is_too_long_hides_no_other(limit: int) -> None:
    """It comes first, and would take all of the space: alone, or as one of several objects with the same line."""
    names = ("a" * 90_000, "b.example.com", "c.example.com", "d.example.com")
    gone = [{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name}}
            for name in names]  # fmt: skip
    for some in (gone[:2], gone):
        text = as_markdown(compared([*some, *many(900, "v")], many(900, "w")), limit)
        assert "b.example.com" in text


@pytest.mark.slow
def test_what_is_shown_and_what_is_left_make_the_whole() -> None:
    """The shown lines, each with the changes that it stands for, and the rest."""
    difference = compared(many(3000, "v"), many(3000, "w"))
    text = as_markdown(difference, 20_000)
    (left,) = map(int, LEFT.findall(text))
    assert text.count("  - ✏️ `data.key`: ") + left == len(difference.changes) == 3000
