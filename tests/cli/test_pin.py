"""`olmc resolve --pin PACKAGE=VERSION`: a Subscription stays at a version, and nothing else in its file changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from commands import olmc
from scenarios import workspace, write

CATALOG = (
    "a.v1.0.0 1.0.0 a/stable image",
    "a.v1.1.0 1.1.0 a/stable replaces a.v1.0.0 image",
    "a.v1.2.0 1.2.0 a/stable replaces a.v1.1.0 image",
    "a.v2.0.0 2.0.0 a/fast image",
    "b.v1.0.0 1.0.0 b/stable image",
)
SUBSCRIPTION = """\
# Who wants it: the harbour team.
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata:
  name: a   # its name
  namespace: ns

spec:
  # Do not change the channel!
  channel: "stable"

  name: a   # the package
  source: cat
  sourceNamespace: ns
# the end
"""
PINNED = SUBSCRIPTION.replace(
    '  channel: "stable"', '  startingCSV: a.v1.1.0\n  installPlanApproval: Manual\n  channel: "stable"'
)
INSTALLED = "status: {installedCSV: a.v1.1.0, currentCSV: a.v1.1.0, state: AtLatestKnown}\n"


def put(root: Path, text: str = SUBSCRIPTION, catalog: Sequence[str] = CATALOG, installed: Sequence[str] = ()) -> Path:
    return write(root, workspace({"catalog": catalog, "installed": installed}) | {"subs/a.yaml": text})


def text_of(root: Path) -> str:
    return (root / "subs/a.yaml").read_bytes().decode()


@pytest.mark.parametrize("version", ["1.1.0", "a.v1.1.0"])
def test_a_pin_adds_what_is_missing_and_keeps_comments(version: str, tmp_path: Path) -> None:
    result = olmc("resolve", put(tmp_path), "--pin", f"a={version}")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{tmp_path / 'subs/a.yaml'}: a is pinned to {version}\n"
    assert text_of(tmp_path) == PINNED


def test_a_lock_is_to_be_written_anew(tmp_path: Path) -> None:
    """What was locked is not what is pinned; the command that follows is named, and then the lock holds."""
    root = put(tmp_path)
    assert olmc("resolve", root, "--update").exit_code == 0
    result = olmc("resolve", root, "--pin", "a=1.1.0")
    assert result.stderr.splitlines()[1:] == [
        "olmc.lock has the earlier choice; olmc resolve --update writes it again."
    ]
    assert olmc("resolve", root, "--locked").exit_code == 1
    olmc("resolve", root, "--update")
    assert olmc("resolve", root, "--locked").exit_code == 0


def test_a_pin_replaces_what_is_there(tmp_path: Path) -> None:
    old = SUBSCRIPTION.replace(
        "# the end", "  startingCSV: 'a.v1.0.0'  # since spring\n  installPlanApproval: Automatic # go\n# the end"
    )
    assert olmc("resolve", put(tmp_path, old), "--pin", "a=1.1.0").exit_code == 0
    expected = old.replace("'a.v1.0.0'  # since", "a.v1.1.0  # since").replace("Automatic # go", "Manual # go")
    assert text_of(tmp_path) == expected


def test_pinning_twice_changes_nothing(tmp_path: Path) -> None:
    put(tmp_path, PINNED)
    assert olmc("resolve", tmp_path, "--pin", "a=1.1.0").exit_code == 0
    assert text_of(tmp_path) == PINNED


def test_a_pin_is_what_is_installed_and_what_comes_next_waits(tmp_path: Path) -> None:
    put(tmp_path)
    assert olmc("resolve", tmp_path, "--pin", "a=1.1.0").exit_code == 0
    shown = ("-o", "name", "--include", "ClusterServiceVersion")
    approved = olmc("render", tmp_path, *shown, "--approve", "ns/a.v1.1.0")
    assert approved.stdout == "ClusterServiceVersion/ns/a.v1.1.0\n"
    assert olmc("render", tmp_path, *shown, "--allow-empty").stdout == ""


def test_every_subscription_to_the_package_is_pinned(tmp_path: Path) -> None:
    """Two documents of one file, and an item of a List in another one."""
    two = SUBSCRIPTION.replace("  name: a   # its name", "  name: second")
    other = SUBSCRIPTION.replace("name: a ", "name: b ").replace("# the end\n", "")
    listed = "apiVersion: v1\nkind: List\nitems:\n- kind: Subscription\n  apiVersion: operators.coreos.com/v1alpha1\n"
    listed += "  metadata: {name: third, namespace: ns}\n  spec:\n    name: a\n    channel: stable\n    source: cat\n"
    listed += "    sourceNamespace: ns\n"
    put(tmp_path, f"{SUBSCRIPTION}---\n{other}---\n{two}")
    write(tmp_path, {"list.yaml": listed})
    result = olmc("resolve", tmp_path, "--pin", "a=1.1.0")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-2:] == [
        f"{tmp_path / 'subs/a.yaml'}: a is pinned to 1.1.0",
        f"{tmp_path / 'list.yaml'}: a is pinned to 1.1.0",
    ]
    pinned_two = PINNED.replace("  name: a   # its name", "  name: second")
    assert text_of(tmp_path) == f"{PINNED}---\n{other}---\n{pinned_two}"
    lines = "    startingCSV: a.v1.1.0\n    installPlanApproval: Manual\n"
    expected = listed.replace("    name: a\n", f"{lines}    name: a\n")
    assert (tmp_path / "list.yaml").read_text(encoding="utf-8") == expected


def test_a_pin_looks_at_the_default_channel_without_another(tmp_path: Path) -> None:
    put(tmp_path, SUBSCRIPTION.replace('  channel: "stable"\n', ""))
    assert olmc("resolve", tmp_path, "--pin", "a=2.0.0").exit_code == 3
    assert olmc("resolve", tmp_path, "--pin", "a=1.1.0").exit_code == 0
    assert "  startingCSV: a.v1.1.0\n" in text_of(tmp_path)


def test_a_lock_does_not_stand_in_the_way(tmp_path: Path) -> None:
    """A pin may ask for what the lock hides; the lock is then to be written again."""
    put(tmp_path, catalog=CATALOG[:2])
    assert olmc("resolve", tmp_path, "--update").exit_code == 0
    put(tmp_path)
    assert olmc("resolve", tmp_path, "--pin", "a=1.2.0").exit_code == 0
    assert "  startingCSV: a.v1.2.0\n" in text_of(tmp_path)


@pytest.mark.parametrize(("version", "code"), [("1.0.0", 3), ("1.1.0", 0), ("1.2.0", 0)])
def test_what_is_installed_can_only_go_forward(version: str, code: int, tmp_path: Path) -> None:
    put(tmp_path, SUBSCRIPTION + INSTALLED, installed=["a.v1.1.0 1.1.0 a"])
    result = olmc("resolve", tmp_path, "--pin", f"a={version}")
    assert result.exit_code == code
    if code:
        assert "a.v1.1.0 is installed, and its upgrades go to a.v1.2.0 [OLMC533]" in result.stderr
        assert text_of(tmp_path) == SUBSCRIPTION + INSTALLED


def test_a_version_may_be_reached_over_several_hops(tmp_path: Path) -> None:
    at_first = INSTALLED.replace("1.1.0", "1.0.0")
    put(tmp_path, SUBSCRIPTION + at_first, installed=["a.v1.0.0 1.0.0 a"])
    assert olmc("resolve", tmp_path, "--pin", "a=1.2.0").exit_code == 0
    assert "  startingCSV: a.v1.2.0\n" in text_of(tmp_path)


@pytest.mark.parametrize(
    ("pin", "place", "says"),
    [
        ("a=1.1.1", "subs/a.yaml:10:3: ", "catalog cat has no such entry [OLMC533]\n  Did you mean 1.1.0"),
        ("a=a.v1.1.O", "subs/a.yaml:10:3: ", "Did you mean a.v1.1.0"),
        ("a=2.0.0", "subs/a.yaml:10:3: ", "channel stable of catalog cat has no such entry"),
        ("aa=1.1.0", "", "no Subscription in the workspace asks for this package [OLMC533]\n  Did you mean a?"),
        ("b=1.0.0", "", "no Subscription in the workspace asks for this package"),
    ],
)
def test_what_is_not_there_is_refused_with_what_might_be_meant(pin: str, place: str, says: str, tmp_path: Path) -> None:
    result = olmc("resolve", put(tmp_path), "--pin", pin)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith(f"{place}error: ")
    assert says in result.stderr
    assert text_of(tmp_path) == SUBSCRIPTION


def test_a_mapping_in_braces_stays_in_braces(tmp_path: Path) -> None:
    flow = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: a, namespace: ns}\n"
    flow += "spec: {name: a, channel: stable, source: cat, sourceNamespace: ns}\n"
    assert olmc("resolve", put(tmp_path, flow), "--pin", "a=1.1.0").exit_code == 0
    pin = "startingCSV: a.v1.1.0, installPlanApproval: Manual, "
    assert text_of(tmp_path) == flow.replace("spec: {", "spec: {" + pin)


def test_json_stays_json(tmp_path: Path) -> None:
    files = workspace({"catalog": CATALOG, "subs": ["a a/stable starting a.v1.0.0 manual"]})
    assert olmc("resolve", write(tmp_path, files), "--pin", "a=1.1.0").exit_code == 0
    text = (tmp_path / "cluster.json").read_text(encoding="utf-8")
    assert text == files["cluster.json"].replace("a.v1.0.0", "a.v1.1.0")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (">-\n    a.v1.0.0", "the value is a block of lines below its key"),
        (
            "&s a.v1.0.0\n  config: {env: [{name: A, value: *s}]}",
            "the value has an anchor (&), and what repeats it would change as well",
        ),
    ],
)
def test_what_can_not_be_pinned_is_pointed_to_with_what_to_write(value: str, said: str, tmp_path: Path) -> None:
    text = SUBSCRIPTION.replace("# the end", f"  startingCSV: {value}\n# the end")
    result = olmc("resolve", put(tmp_path, text), "--pin", "a=1.1.0")
    assert (result.exit_code, text_of(tmp_path)) == (3, text)
    assert result.stderr == (
        f"subs/a.yaml:15:3: error: a can't be pinned to 1.1.0: {said} [OLMC533]\n"
        "  Write it by hand: spec.installPlanApproval: Manual, and spec.startingCSV: a.v1.1.0.\n"
    )


def test_nothing_is_written_when_one_of_several_can_not_be_pinned(tmp_path: Path) -> None:
    other = SUBSCRIPTION.replace("  name: a   # its name", "  name: second").replace('"stable"', '"fast"')
    put(tmp_path)
    write(tmp_path, {"subs/other.yaml": other})
    result = olmc("resolve", tmp_path, "--pin", "a=1.1.0")
    assert result.exit_code == 3
    assert "subs/other.yaml:10:3: error: " in result.stderr
    assert text_of(tmp_path) == SUBSCRIPTION
    assert (tmp_path / "subs/other.yaml").read_text(encoding="utf-8") == other


@pytest.mark.parametrize("pin", ["a=", "=1.0.0", "="])
def test_a_pin_needs_a_package_and_a_version(pin: str, tmp_path: Path) -> None:
    assert olmc("resolve", put(tmp_path), "--pin", pin).exit_code == 2


def test_a_pin_that_olm_would_jump_over_is_not_possible(tmp_path: Path) -> None:
    """From a.v1, which is installed, the head's skipRange leads past a.v2; startingCSV counts for nothing then."""
    catalog = ["a.v1 1.0.0 a/s", "a.v2 2.0.0 a/s replaces a.v1", "a.v3 3.0.0 a/s replaces a.v2 range <3.0.0"]
    text = """\
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: a, namespace: ns}
spec:
  {channel}: s
  name: a
  source: cat
  sourceNamespace: ns
status: {installedCSV: a.v1, currentCSV: a.v1, state: AtLatestKnown}
""".replace("{channel}", "channel")
    files = workspace({"catalog": catalog, "installed": ["a.v1 1.0.0 a"]})
    result = olmc("resolve", write(tmp_path, files | {"a.yaml": text}), "--pin", "a=2.0.0")
    assert result.exit_code == 3, olmc("resolve", tmp_path).stdout
