"""`olmc check`: every stage's diagnostics and the validators' findings, selected, counted, as text and as JSON."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import BROKEN, olmc

from olmc.review.check.validators.findings import OPTIONAL

GOOD = Path(__file__).resolve().parents[1] / "check" / "validators" / "data" / "good"
LABEL = "- type: olm.label\n  value:\n    label: water\n"
CSV = "manifests/kettle.clusterserviceversion.yaml"


def written(root: Path, files: Mapping[str, str]) -> Path:
    """A workspace with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def good(root: Path, *changes: tuple[str, str, str]) -> Path:
    """The good bundle, in some of its files one text replaced by another.

    Its dependency on a label is good to the validators, but not to the compiler (OLMC253).
    """
    shutil.copytree(GOOD, root, dirs_exist_ok=True)
    for name, old, new in (("metadata/dependencies.yaml", LABEL, ""), *changes):
        text = (root / name).read_text(encoding="utf-8")
        assert old in text
        (root / name).write_text(text.replace(old, new), encoding="utf-8")
    return root


def records(*arguments: str | Path, env: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """What a check prints as JSON."""
    found: list[dict[str, Any]] = json.loads(olmc("check", *arguments, "-o", "json", env=env).stdout)["findings"]
    return found


def codes(*arguments: str | Path, env: Mapping[str, str] | None = None) -> list[str]:
    """The codes that a check finds, each once."""
    return sorted({each["code"] for each in records(*arguments, env=env)})


def test_nothing_found(tmp_path: Path) -> None:
    result = olmc("check", good(tmp_path))
    assert (result.exit_code, result.stdout) == (0, "no findings (1 bundle validated)\n")
    assert records(tmp_path) == []


def test_text_shows_the_source(tmp_path: Path) -> None:
    """Place, severity, message and code; the line and a caret; the way out; the counts."""
    root = good(tmp_path, ("manifests/steam.serviceaccount.yaml", "name: steam", "name: kettle"), (CSV, "1.25.0", "''"))
    result = olmc("check", root, "--select", "OLMC27")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{CSV}:17:19: warning: Value : (kettle.v1.2.0) csv.Spec.minKubeVersion is not")
    assert lines[1:4] == [
        "  17 |   minKubeVersion: ''",
        "     |                   ^",
        "  Set spec.minKubeVersion to the oldest Kubernetes that the operator is tested with.",
    ]
    assert lines[4].startswith("manifests/steam.serviceaccount.yaml:4:9: failure: Value kettle: invalid service")
    assert lines[4].endswith("[OLMC279]")
    assert lines[-1] == "1 failure, 1 warning (1 bundle validated)"


def test_every_stage_is_heard() -> None:
    """What settling finds is there beside what loading and the validators find; related places come along."""
    (groups, failed) = records("two-groups")
    assert (groups["code"], groups["severity"], failed["code"]) == ("OLMC306", "failure", "OLMC301")
    assert groups["related"] == [{"message": "OperatorGroup second", "path": "cluster.yaml", "line": 20, "column": 1}]
    assert olmc("check", "two-groups").exit_code == 1


def test_records_have_all_keys() -> None:
    """The same keys for every finding, with the path relative to what is checked."""
    found = records("bare-bundle", "--all")
    assert found
    keys = {"code", "severity", "message", "path", "line", "column", "hint", "related"}
    assert all(each.keys() == keys for each in found)
    assert found[0]["path"] == "manifests/beacon.clusterserviceversion.yaml"


def test_strict_makes_findings_of_warnings() -> None:
    assert olmc("check", "bare-bundle").exit_code == 0
    assert olmc("check", "bare-bundle", "--strict").exit_code == 1
    assert olmc("check", "bare-bundle", "--strict", "--ignore", "OLMC27").exit_code == 0


def test_remarks_are_shown_on_request_and_never_count() -> None:
    assert "info" not in {each["severity"] for each in records("manual-approval")}
    assert "info" in {each["severity"] for each in records("manual-approval", "--all")}
    ignoring = ("--ignore", "OLMC27", "--strict", "--all")
    assert olmc("check", "manual-approval", *ignoring).exit_code == 0


def test_selecting_and_ignoring() -> None:
    """By the beginning of codes, in any case, as often as wanted; who ignores, wins."""
    assert codes("bare-bundle") == ["OLMC270", "OLMC272"]
    assert codes("bare-bundle", "--select", "OLMC272") == ["OLMC272"]
    assert codes("bare-bundle", "--select", "olmc272", "--select", "OLMC3") == ["OLMC272"]
    assert codes("bare-bundle", "--ignore", "OLMC270") == ["OLMC272"]
    assert codes("bare-bundle", "--select", "OLMC27", "--ignore", "OLMC272", "--ignore", "OLMC271") == ["OLMC270"]
    assert codes("bare-bundle", "--select", "OLMC5") == []
    assert codes("bare-bundle", "--select", "27", "--ignore", "272") == ["OLMC270"]


def test_a_code_that_no_rule_has() -> None:
    """Not to be taken for one that found nothing."""
    for option in ("--select", "--ignore"):
        result = olmc("check", "bare-bundle", option, "OLMC2777")
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"{option}: no rule begins with OLMC2777. Did you mean OLMC277 or " in " ".join(result.stderr.split())


def test_what_is_not_selected_does_not_count() -> None:
    assert olmc("check", "two-groups", "--select", "OLMC27").exit_code == 0
    assert olmc("check", "two-groups", "--ignore", "OLMC30").exit_code == 0


def test_errors_are_always_shown(tmp_path: Path) -> None:
    """What an error stops is not checked at all, so nobody may take it for checked."""
    root = written(tmp_path, BROKEN)
    for arguments in ((), ("--ignore", "OLMC"), ("--select", "OLMC27")):
        result = olmc("check", root, *arguments)
        assert result.exit_code == 3
        assert "b.yaml:" in result.stdout
        assert result.stdout.splitlines()[-1] == "1 error (0 bundles validated)"


def test_a_path_that_does_not_exist() -> None:
    result = olmc("check", "nothing-here")
    assert result.exit_code == 3
    assert "[OLMC120]" in result.stdout


def test_several_paths_are_told_apart() -> None:
    """The paths of files begin with the path that was checked; each line comes from its own file."""
    result = olmc("check", "several-workspaces/production", "several-workspaces/staging")
    csv = "manifests/tide.clusterserviceversion.yaml"
    assert f"several-workspaces/production/{csv}:4:3: warning: Value : (tide.v1.0.0) annotations" in result.stdout
    assert f"several-workspaces/staging/{csv}:4:3: warning: Value : (tide.v1.1.0) annotations" in result.stdout
    assert "  4 |   name: tide.v1.0.0\n" in result.stdout
    assert "  4 |   name: tide.v1.1.0\n" in result.stdout
    assert result.stdout.endswith("(2 bundles validated)\n")


def test_without_a_path_it_is_the_current_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("bare-bundle")
    assert codes() == ["OLMC270", "OLMC272"]


def test_optional_validators(tmp_path: Path) -> None:
    """One by one, as a suite, or all of them."""
    root = good(tmp_path, (CSV, "capabilities: Seamless Upgrades", "capabilities: Autopilot"))
    assert codes(root) == []
    assert codes(root, "--optional", "standardcapabilities") == ["OLMC287"]
    assert codes(root, "--optional", "operatorframework") == ["OLMC286", "OLMC287"]
    assert codes(root, "--optional", "name=standardcategories", "--optional", "good-practices") == []
    assert codes(root, "--optional", "all") == ["OLMC286", "OLMC287", "OLMC296"]


def test_an_optional_validator_that_does_not_exist() -> None:
    result = olmc("check", "bare-bundle", "--optional", "operatorhubv3")
    assert result.exit_code == 2
    assert all(name in result.stderr for name in ("operatorhubv3", *OPTIONAL, "operatorframework", "all"))


def test_values_of_optional_validators(tmp_path: Path) -> None:
    """The version of Kubernetes, the Dockerfile, the tool and the platforms of images."""
    bundle = good(
        tmp_path / "bundle",
        (CSV, "1.25.0", "1.20.0"),
        ("manifests/priority.yaml", "scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1"),
    )
    ours = ("--select", "OLMC29", "--select", "OLMC289")
    old = ("--optional", "alpha-deprecated-apis", *ours)
    assert codes(bundle, *old) == ["OLMC292"]
    assert codes(bundle, *old, "--optional-value", "k8s-version=1.22") == ["OLMC291"]
    dockerfile = written(tmp_path, {"Dockerfile": "LABEL com.redhat.openshift.versions='v4.5-v4.8'\n"}) / "Dockerfile"
    community = ("--optional", "community", *ours)
    assert codes(bundle, *community) == ["OLMC289", "OLMC290"]
    assert codes(bundle, *community, "--optional-value", f"index-path={dockerfile}") == ["OLMC289"]
    multiarch = ("--optional", "multiarch", *ours)
    assert codes(bundle, *multiarch) == ["OLMC296"]
    assert codes(bundle, *multiarch, "--optional-value", "container-tools=crane") == ["OLMC295"]
    images = ("kettle:v1.2.0", "proxy:v1", "lid@sha256:" + "0123456789abcdef" * 4)
    both = {f"registry.example.com/{image}": ["linux/amd64", "linux/arm64"] for image in images}
    platforms = written(tmp_path, {"platforms.json": json.dumps(both)}) / "platforms.json"
    assert codes(bundle, *multiarch, "--optional-value", f"platforms={platforms}") == []


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("k8s=1.22", "k8s is none of k8s-version, index-path, container-tools, platforms."),
        ("index-path=nowhere", "nowhere can't be read: No such file or directory."),
        ("platforms=own-namespace/cluster.yaml", "own-namespace/cluster.yaml does not map images to lists"),
    ],
)
def test_values_that_are_no_use(value: str, told: str) -> None:
    result = olmc("check", "bare-bundle", "--optional-value", value)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


@pytest.mark.parametrize("platforms", ["[]", '{"a": 1}', '{"a": ["linux"]}', '{"a": [1]}', "{"])
def test_platforms_of_another_shape(platforms: str, tmp_path: Path) -> None:
    path = written(tmp_path, {"platforms.json": platforms}) / "platforms.json"
    result = olmc("check", "bare-bundle", "--optional-value", f"platforms={path}")
    assert result.exit_code == 2
    assert "does not map images to lists" in " ".join(result.stderr.split())


def test_categories_from_the_environment(tmp_path: Path) -> None:
    """R-CAT-244: a file that replaces the standard categories; that it can't be read is a finding."""
    root = good(tmp_path / "bundle")
    own = written(tmp_path, {"own.json": '{"categories": ["Storage"]}', "odd.json": "[]"}) / "own.json"
    asked = (root, "--optional", "standardcategories")
    assert codes(*asked) == []
    (finding,) = records(*asked, env={"OPERATOR_BUNDLE_CATEGORIES": str(own)})
    assert finding["message"].endswith('value "Monitoring" is not in the set of custom categories')
    (finding,) = records(*asked, env={"OPERATOR_BUNDLE_CATEGORIES": "nowhere.json"})
    assert finding["message"].endswith("reading category file: open nowhere.json: no such file or directory")
    (finding,) = records(*asked, env={"OPERATOR_BUNDLE_CATEGORIES": str(tmp_path / "odd.json")})
    assert "(nil): unmarshaling category file: " in finding["message"]


def test_cel_rules_are_compiled(tmp_path: Path) -> None:
    """R-CAT-205: with the CEL that the resolver uses."""
    root = good(tmp_path, ("metadata/dependencies.yaml", 'properties.exists(p, p.type == "water")', "'1 + 1'"))
    (finding,) = records(root)
    assert (finding["code"], finding["path"], finding["line"]) == ("OLMC262", "metadata/dependencies.yaml", 11)
    assert finding["message"] == "Invalid CEL expression: cel expressions must have type Bool"


def test_ignored_folders_are_not_checked(tmp_path: Path) -> None:
    """As olmc.yaml and .olmcignore say."""
    good(tmp_path / "one", (CSV, "1.25.0", "''"))
    config = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n  ignore: [one]\n"
    assert codes(tmp_path) == ["OLMC272"]
    deck = {"deck.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: deck}\n"}
    assert codes(written(tmp_path, {"olmc.yaml": config, **deck})) == []
    (tmp_path / "olmc.yaml").unlink()
    assert codes(written(tmp_path, {".olmcignore": "one\n"})) == []
    (tmp_path / "deck.yaml").unlink()
    assert codes(tmp_path) == ["OLMC183"]


def test_half_a_bundle(tmp_path: Path) -> None:
    """R-CAT-203: compiling does not see it, checking does."""
    shutil.rmtree(good(tmp_path / "half") / "metadata")
    found = [each for each in records(tmp_path) if each["code"] == "OLMC260"]
    assert [(each["message"], each["path"]) for each in found] == [("Unable to locate metadata directory", "half")]


def test_inline_objects_of_catalogs(tmp_path: Path) -> None:
    """R-CAT-122: OLM decodes them all when it loads a catalog, so a check does, too."""
    data = base64.b64encode(b"- no object").decode()
    bundle = {
        "schema": "olm.bundle", "name": "tea.v1.0.0", "package": "tea", "image": "",
        "properties": [
            {"type": "olm.package", "value": {"packageName": "tea", "version": "1.0.0"}},
            {"type": "olm.bundle.object", "value": {"data": data}},
        ],
    }  # fmt: skip
    assert codes(catalog(tmp_path, [{"name": "tea.v1.0.0"}], bundle)) == ["OLMC251"]


def catalog(root: Path, entries: list[dict[str, Any]], *blobs: dict[str, Any], package: str = "tea") -> Path:
    """A workspace with a file-based catalog of one channel."""
    documents = [
        {"schema": "olm.package", "name": package, "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": package, "name": "stable", "entries": entries},
        *blobs,
    ]
    return written(root, {"catalogs/tea/catalog.yaml": "".join(f"---\n{json.dumps(each)}\n" for each in documents)})


def bundle(name: str, version: Any, image: str = "registry.example.com/p:v1") -> dict[str, Any]:
    """A bundle of package p by image."""
    value = {"packageName": "p", "version": version}
    return {
        "schema": "olm.bundle", "name": name, "package": "p", "image": image,
        "properties": [{"type": "olm.package", "value": value}],
    }  # fmt: skip


def test_t_cat_80_the_model_of_a_catalog(tmp_path: Path) -> None:
    """T-CAT-80: each line of OLM's tree is a finding at its place."""
    documents = [
        {"schema": "olm.package", "name": "p", "defaultChannel": "nope"},
        {
            "schema": "olm.channel", "package": "p", "name": "c",
            "entries": [{"name": "p.v1", "skipRange": ">>1"}, {"name": "p.v2", "skips": [""]}],
        },
        bundle("p.v1", "1.0.0", image=""),
        bundle("p.v2", "1.0.0"),
    ]  # fmt: skip
    text = "".join(f"---\n{json.dumps(each)}\n" for each in documents)
    found = records(written(tmp_path, {"catalogs/c/catalog.yaml": text}))
    told = {each["message"].split(": ", 1)[1] for each in found}
    problem = 'Could not parse Range ">>1": Could not parse comparator ">>" in ">>1"'
    assert told >= {
        "multiple channel heads found in graph: p.v1, p.v2",
        f'invalid skipRange ">>1": {problem}',
        "bundle image must be set",
        "skip[0] is empty",
        "channel must contain at least one bundle",
        "duplicate versions found in bundles: [{1.0.0: [p.v1, p.v2]}]",
    }
    assert olmc("check", tmp_path).exit_code == 1


def test_t_cat_81_a_deprecation_of_an_unknown_schema(tmp_path: Path) -> None:
    """T-CAT-81."""
    deprecations = {
        "schema": "olm.deprecations", "package": "p",
        "entries": [{"reference": {"schema": "olm.foo", "name": "z"}, "message": "gone"}],
    }  # fmt: skip
    root = catalog(tmp_path, [{"name": "p.v1"}], bundle("p.v1", "1.0.0"), deprecations, package="p")
    assert (
        'cannot deprecate object declcfg.PackageScopedReference{Schema:"olm.foo", Name:"z"} referenced by entry 0 for '
        'package "p": object schema unknown'
    ) in [each["message"] for each in records(root)]


def test_t_cat_82_a_property_of_the_wrong_shape(tmp_path: Path) -> None:
    """T-CAT-82."""
    blob = {**bundle("b", "1.0.0"), "properties": [{"type": "olm.package", "value": 5}]}
    found = records(catalog(tmp_path, [{"name": "b"}], blob, package="p"))
    start = 'parse properties for bundle "b": parse property[0] of type "olm.package": '
    assert [each["message"].startswith(start) for each in found if each["code"] == "OLMC216"] == [True]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "  displayName: Kettle\n",
            "\tdisplayName: Kettle\n",
            ("14:1", "OLMC100", "Indent with spaces: YAML does not allow tabs there."),
        ),
        (
            "strategy: deployment",
            "strategy: deploy",
            ("48:15", "OLMC309", "Write strategy: deployment, the only strategy that there is."),
        ),
        (
            "verbs:\n          - '*'\n",
            "verbs: '*'\n",
            ("106:18", "OLMC309", "Write a list, even for a single value: here stands a text."),
        ),
    ],
)
def test_a_mistake_in_a_csv_is_told_once_with_its_own_way_out(
    old: str, new: str, expected: tuple[str, str, str], tmp_path: Path
) -> None:
    found = [each for each in records(good(tmp_path, (CSV, old, new))) if each["severity"] != "warning"]
    assert [(f"{each['line']}:{each['column']}", each["code"], each["hint"]) for each in found] == [expected]
