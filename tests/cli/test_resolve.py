"""`olmc resolve`: what OLM would choose and why, for people and for machines; the lock; exit codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import BROKEN, olmc
from jsonschema import Draft202012Validator
from scenarios import workspace, write

from olmc.resources import schema

HEAD = "a.v2 2.0.0 a/stable replaces a.v1 provides A requires B image"
CATALOG = ("a.v1 1.0.0 a/stable provides A image", HEAD, "b.v1 1.0.0 b/stable provides B image")
NEXT = "a.v3 3.0.0 a/stable replaces a.v2 provides A image"


def put(root: Path, catalog: Sequence[str] = CATALOG, subs: Sequence[str] = ("a a/stable",), **more: Any) -> Path:
    """A workspace with a catalog below `root`; where there is one already, it is what it becomes."""
    return write(root, workspace({"catalog": catalog, "subs": subs, **more}))


def as_data(root: Path, *options: str, code: int = 0) -> list[dict[str, Any]]:
    """The namespaces of the JSON output, which fits its schema."""
    result = olmc("resolve", root, "-o", "json", *options)
    assert result.exit_code == code, result.stderr
    value = json.loads(result.stdout)
    Draft202012Validator(schema("resolution")).validate(value)
    assert value["version"] == 1
    found: list[dict[str, Any]] = value["namespaces"]
    return found


# The plan


def test_a_table_says_what_comes_and_why(tmp_path: Path) -> None:
    result = olmc("resolve", put(tmp_path))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "NAMESPACE  OPERATOR  FROM  TO    CHANNEL  WHY\n"
        "ns         a         -     a.v2  stable   Subscription a\n"
        "ns         b         -     b.v1  stable   a.v2 requires an operator providing an API with group: example.com,"
        " version: v1, kind: B\n"
    )


def test_a_walk_is_shown_hop_by_hop_and_so_is_what_stays(tmp_path: Path) -> None:
    put(
        tmp_path,
        [*CATALOG, NEXT],
        ["a a/stable", "b b/stable"],
        installed=["a.v1 1.0.0 by a provides A", "b.v1 1.0.0 by b provides B"],
    )
    rows = [line.split(maxsplit=5) for line in olmc("resolve", tmp_path).stdout.splitlines()[1:]]
    assert [row[1:5] for row in rows] == [
        ["a", "a.v1", "a.v2", "stable"],
        ["a", "a.v2", "a.v3", "stable"],
        ["b", "b.v1", "b.v1", "stable"],
    ]
    assert rows[2][5] == "nothing to upgrade to"


def test_a_plan_that_waits_says_so(tmp_path: Path) -> None:
    put(tmp_path, subs=["a a/stable manual"])
    assert "Subscription a; waits for approval\n" in olmc("resolve", tmp_path).stdout
    assert "waits" not in olmc("resolve", tmp_path, "--approve", "ns/a.v2").stdout
    assert "waits" not in olmc("resolve", tmp_path, "--approve", "all").stdout
    assert "waits" in olmc("resolve", tmp_path, "--approve", "ns/a.v1").stdout


def test_json_for_machines_fits_its_schema(tmp_path: Path) -> None:
    put(tmp_path, [*CATALOG, NEXT], installed=["a.v1 1.0.0 by a provides A"])
    common = {"channel": "stable", "catalog": "cat", "catalogNamespace": "ns"}
    assert as_data(tmp_path) == [
        {
            "namespace": "ns",
            "solution": [
                {"name": "a.v2", "package": "a", "version": "2.0.0", **common, "replaces": "a.v1"},
                {"name": "b.v1", "package": "b", "version": "1.0.0", **common, "replaces": ""},
            ],
            "message": "",
            "plans": [
                {"approval": "Automatic", "install": ["a.v2", "b.v1"]},
                {"approval": "Automatic", "install": ["a.v3"]},
            ],
            "settled": ["a.v3", "b.v1"],
        }
    ]


def test_json_of_a_plan_that_waits(tmp_path: Path) -> None:
    (found,) = as_data(put(tmp_path, subs=["a a/stable manual"]))
    assert found["plans"] == [{"approval": "Manual", "install": ["a.v2", "b.v1"]}]
    assert (found["settled"], len(found["solution"])) == ([], 2)
    (found,) = as_data(tmp_path, "--approve", "all")
    assert found["settled"] == ["a.v2", "b.v1"]


def test_what_can_not_be_resolved_is_a_finding_with_olms_message_r_cat_570(tmp_path: Path) -> None:
    put(tmp_path, [HEAD])
    (found,) = as_data(tmp_path, code=1)
    assert found == {
        "namespace": "ns",
        "solution": [],
        "message": "constraints not satisfiable: bundle a.v2 requires an operator providing an API with group: "
        "example.com, version: v1, kind: B, subscription a exists, subscription a requires cat/ns/stable/a.v2",
        "plans": [],
        "settled": [],
    }
    result = olmc("resolve", tmp_path)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].split(maxsplit=5)[1:] == ["a", "-", "-", "stable", "can't be resolved"]
    assert found["message"] in result.stderr


def test_a_workspace_without_subscriptions_has_nothing_to_resolve(tmp_path: Path) -> None:
    put(tmp_path, subs=[])
    assert as_data(tmp_path) == []
    result = olmc("resolve", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")


def test_the_current_directory_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = olmc("resolve", put(tmp_path)).stdout
    monkeypatch.chdir(tmp_path)
    assert olmc("resolve").stdout == expected


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--update", "--locked"], "--update, --locked and --pin exclude each other"),
        (["--update", "--pin", "a=1"], "--update, --locked and --pin exclude each other"),
        (["--locked", "--pin", "a=1"], "--update, --locked and --pin exclude each other"),
        (["--pin", "a"], "--pin takes PACKAGE=VERSION"),
        (["-o", "yaml"], "'yaml' is not one of"),
        (["one-more"], "one workspace is resolved at a time"),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], says: str, tmp_path: Path) -> None:
    before = sorted(put(tmp_path).rglob("*"))
    result = olmc("resolve", tmp_path, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("options", [[], ["--update"], ["--locked"], ["--pin", "a=1.0.0"], ["-o", "json"]])
def test_bad_input_is_exit_code_3_and_nothing_is_written(options: list[str], tmp_path: Path) -> None:
    write(put(tmp_path), BROKEN)
    before = sorted(tmp_path.rglob("*"))
    result = olmc("resolve", tmp_path, *options)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "b.yaml:1:" in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


# The lock


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    """A workspace whose lock holds a.v2 and b.v1."""
    assert olmc("resolve", put(tmp_path), "--update").exit_code == 0
    return tmp_path


def rendered(root: Path, code: int = 0) -> list[str]:
    """The CSVs that `olmc render` shows."""
    result = olmc("render", root, "-o", "name", "--include", "ClusterServiceVersion")
    assert result.exit_code == code, result.stderr
    return [name.rpartition("/")[2] for name in result.stdout.splitlines()]


def test_update_writes_a_lock_that_fits_its_schema(tmp_path: Path) -> None:
    result = olmc("resolve", put(tmp_path), "--update")
    assert result.exit_code == 0
    assert result.stderr == f"{tmp_path / 'olmc.lock'} written\n"
    assert result.stdout == olmc("resolve", tmp_path).stdout
    text = (tmp_path / "olmc.lock").read_text(encoding="utf-8")
    assert text.startswith("# Written by olmc resolve --update and olmc vendor. Commit it; olmc render follows it.\n")
    value = yaml.safe_load(text)
    Draft202012Validator(schema("lock")).validate(value)
    (namespace,) = value["namespaces"]
    digests = [operator.pop("digest") for operator in namespace["operators"]]
    assert len(set(digests)) == 2
    common = {"channel": "stable", "catalog": "cat", "catalogNamespace": "ns"}
    assert namespace == {
        "namespace": "ns",
        "operators": [
            {"package": "a", "name": "a.v2", "version": "2.0.0", **common},
            {"package": "b", "name": "b.v1", "version": "1.0.0", **common},
        ],
    }


def test_a_broken_choice_is_chosen_anew_and_the_images_stay(locked: Path) -> None:
    """What is vendored was not chosen by the resolution: it can't make it again, and must not lose it."""
    file = locked / "olmc.lock"
    text = file.read_text(encoding="utf-8")
    digest = f"sha256:{'a' * 64}"
    images = f"images:\n- image: quay.example.com/a:v1\n  kind: bundle\n  digest: {digest}\n  content: {digest}\n"
    file.write_text(text.replace("version: 2.0.0", "version: 2") + images, encoding="utf-8")
    result = olmc("resolve", locked)
    assert (result.exit_code, "OLMC530" in result.stderr) == (3, True)
    assert olmc("resolve", locked, "--update").exit_code == 0
    assert file.read_text(encoding="utf-8") == text + images


@pytest.mark.parametrize(("text", "count"), [("", 0), ("# nothing\n", 0), ("a: 1\n---\nb: 2\n", 2)])
def test_a_lock_that_is_not_one_document_lets_nothing_in(text: str, count: int, locked: Path) -> None:
    put(locked, [*CATALOG, NEXT])
    (locked / "olmc.lock").write_text(text, encoding="utf-8")
    result = olmc("resolve", locked, "--locked")
    assert (result.exit_code, result.stdout) == (3, "")
    expected = f"olmc.lock: error: olmc.lock: the file: it should hold one document, not {count} [OLMC530]\n"
    assert result.stderr.startswith(expected)


def test_the_lock_is_not_written_through_a_link(tmp_path: Path) -> None:
    root, outside = put(tmp_path / "workspace"), tmp_path / "outside"
    outside.write_text("mine\n", encoding="utf-8")
    (root / "olmc.lock").symlink_to(outside)
    assert olmc("resolve", root, "--update").exit_code == 0
    assert outside.read_text(encoding="utf-8") == "mine\n"
    assert (root / "olmc.lock").read_text(encoding="utf-8").startswith("# Written by olmc")


def test_a_lock_that_cannot_be_written(tmp_path: Path) -> None:
    root = put(tmp_path)
    (root / "olmc.lock").mkdir()
    before = sorted(root.iterdir())
    result = olmc("resolve", root, "--update")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"error: {root / 'olmc.lock'} can't be written: Is a directory\n"
    assert sorted(root.iterdir()) == before


def test_a_lock_that_holds_as_json(locked: Path) -> None:
    result = olmc("resolve", locked, "--locked", "-o", "json")
    assert result.stdout == olmc("resolve", locked, "-o", "json").stdout
    assert result.stderr == "olmc.lock holds\n"


def test_that_nothing_is_asked_for_is_said(tmp_path: Path) -> None:
    result = olmc("resolve", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "[OLMC183]" in result.stderr
    assert result.stderr.endswith("\nolmc: nothing here asks for an operator (no Subscription)\n")


def test_the_same_choice_gives_the_same_bytes(locked: Path) -> None:
    before = (locked / "olmc.lock").read_bytes()
    assert olmc("resolve", locked, "--update").exit_code == 0
    assert (locked / "olmc.lock").read_bytes() == before


def test_where_things_stand_is_no_part_of_the_lock(locked: Path) -> None:
    """Renaming files and adding comments change no digest."""
    (locked / "catalogs/cat/catalog.yaml").rename(locked / "catalogs/cat/renamed.yaml")
    (locked / "bundles/a.v2").rename(locked / "bundles/elsewhere")
    text = (locked / "catalogs/cat/renamed.yaml").read_text(encoding="utf-8")
    (locked / "catalogs/cat/renamed.yaml").write_text(f"# a comment\n\n{text}", encoding="utf-8")
    assert olmc("resolve", locked, "--locked").exit_code == 0


def test_a_lock_that_holds(locked: Path) -> None:
    result = olmc("resolve", locked, "--locked")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "olmc.lock holds\n")


def test_without_a_lock_there_is_nothing_to_hold(tmp_path: Path) -> None:
    result = olmc("resolve", put(tmp_path), "--locked")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "olmc resolve --update" in result.stderr


def test_a_new_head_does_not_change_what_is_rendered(locked: Path) -> None:
    before = olmc("render", locked).stdout
    put(locked, [*CATALOG, NEXT])
    assert olmc("resolve", locked, "--locked").exit_code == 0
    assert olmc("render", locked).stdout == before
    assert olmc("resolve", locked).stdout.splitlines()[1].split()[3] == "a.v2"
    assert olmc("resolve", locked, "--update").exit_code == 0
    assert rendered(locked) == ["a.v3"]


def test_the_walk_to_a_locked_version_starts_where_the_workspace_is(locked: Path) -> None:
    put(locked, [*CATALOG, NEXT], installed=["a.v1 1.0.0 by a provides A"])
    (found,) = as_data(locked)
    assert [plan["install"] for plan in found["plans"]] == [["a.v2", "b.v1"]]


def test_an_update_chooses_anew_though_the_lock_no_longer_holds(locked: Path) -> None:
    put(locked, [NEXT.replace("replaces a.v2 ", "")])
    assert rendered(locked, code=3) == []
    assert olmc("resolve", locked, "--update").exit_code == 0
    assert rendered(locked) == ["a.v3"]


def broken(root: Path) -> list[str]:
    """What `--locked` says about a lock that does not hold: exit code 1, and `olmc render` refuses."""
    result = olmc("resolve", root, "--locked")
    assert (result.exit_code, result.stdout) == (1, "")
    refused = olmc("render", root)
    assert (refused.exit_code, refused.stdout) == (3, "")
    found = [line for line in result.stderr.splitlines() if line.startswith("olmc.lock: error: ")]
    assert all(line.endswith(" [OLMC531]") for line in found)
    return [line.removeprefix("olmc.lock: error: ").removesuffix(" [OLMC531]") for line in found]


def test_a_locked_version_that_is_gone(locked: Path) -> None:
    put(locked, ["a.v1 1.0.0 a/stable provides A image", CATALOG[2]])
    text = "a.v2 from channel stable of catalog cat is locked, a.v1 would be chosen"
    assert f"olmc.lock does not fit namespace ns: {text}" in broken(locked)


def test_a_locked_version_that_moved_to_another_channel(locked: Path) -> None:
    put(locked, [CATALOG[0], HEAD.replace("a/stable", "a/fast"), CATALOG[2]])
    text = "a.v2 from channel stable of catalog cat is locked, a.v1 would be chosen"
    assert f"olmc.lock does not fit namespace ns: {text}" in broken(locked)


def test_a_subscription_that_is_not_locked(locked: Path) -> None:
    put(locked, [*CATALOG, "c.v1 1.0.0 c/stable image"], ["a a/stable", "c c/stable"])
    assert broken(locked) == ["olmc.lock does not fit namespace ns: c.v1 is needed and not locked"]


def test_a_dependency_that_is_not_locked(locked: Path) -> None:
    """The locked version is not installed with an operator that nobody has reviewed."""
    needy = HEAD.replace("requires B", "requires B C")
    put(locked, [CATALOG[0], needy, CATALOG[2], "c.v1 1.0.0 c/stable provides C image"])
    assert broken(locked) == ["olmc.lock does not fit namespace ns: c.v1 is needed and not locked"]
    assert olmc("resolve", locked, "--update").exit_code == 0
    assert rendered(locked) == ["a.v2", "b.v1", "c.v1"]


def test_a_dependency_that_is_no_longer_needed(locked: Path) -> None:
    put(locked, [CATALOG[0], HEAD.replace("requires B ", ""), CATALOG[2]])
    assert "olmc.lock does not fit namespace ns: b.v1 is locked and not chosen any more" in broken(locked)


@pytest.mark.parametrize(
    ("catalog", "more"),
    [
        (CATALOG, {"a.v2": {"permissions": {"sa": ["get pods"]}}}),
        ([CATALOG[0], HEAD.replace(" provides", ' range "<2.0.0" provides'), CATALOG[2]], {}),
        (CATALOG, {"a.v2": {"properties": [{"type": "acme", "value": 1}]}}),
    ],
    ids=["bundle", "entry", "properties"],
)
def test_a_locked_version_that_has_changed_olmc532(catalog: list[str], more: dict[str, Any], locked: Path) -> None:
    """It is still the locked version: `render` goes on, with a warning."""
    put(locked, catalog, more=more)
    result = olmc("resolve", locked, "--locked")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "olmc.lock: warning: a.v2 in namespace ns is no longer what olmc.lock was written for" in result.stderr
    assert result.stderr.count("[OLMC532]") == 1
    assert "holds" not in result.stderr
    assert rendered(locked) == ["a.v2", "b.v1"]
    assert olmc("resolve", locked, "--update").exit_code == 0
    assert olmc("resolve", locked, "--locked").stderr == "olmc.lock holds\n"


def test_a_lock_holds_but_an_operator_would_fail(tmp_path: Path) -> None:
    put(tmp_path, more={"b.v1": {"modes": ["All"]}})
    assert olmc("resolve", tmp_path, "--update").exit_code == 1
    result = olmc("resolve", tmp_path, "--locked")
    assert result.exit_code == 1
    assert "olmc.lock holds" in result.stderr


@pytest.mark.parametrize(
    ("before", "after", "place", "says"),
    [
        ("kind: Lock", "kind: Lok", "olmc.lock:3:7", "'Lok' is not Lock"),
        ("name: a.v2", "nam: a.v2", "olmc.lock:7:5", "there is no such field; did you mean name?"),
        ("sha256:", "md5:", "olmc.lock:13:13", "is not what belongs here"),
        ("namespaces:", "namespaces: [", "olmc.lock:", "not valid YAML"),
    ],
)
def test_a_lock_that_is_not_valid_olmc530(before: str, after: str, place: str, says: str, locked: Path) -> None:
    text = (locked / "olmc.lock").read_text(encoding="utf-8")
    (locked / "olmc.lock").write_text(text.replace(before, after), encoding="utf-8")
    for command in (["resolve"], ["resolve", "--locked"], ["render"]):
        result = olmc(command[0], locked, *command[1:])
        assert (result.exit_code, result.stdout) == (3, "")
        assert result.stderr.startswith(place)
        assert says in result.stderr


def test_an_invalid_lock_can_be_written_anew(locked: Path) -> None:
    """The hint of OLMC530 says that `olmc resolve --update` does."""
    (locked / "olmc.lock").write_text("kind: Lok\n", encoding="utf-8")
    assert olmc("resolve", locked, "--update").exit_code == 0
    assert olmc("resolve", locked, "--locked").exit_code == 0


def test_a_lock_of_subscriptions_that_are_gone_does_not_hold(locked: Path) -> None:
    """Without any Subscription the lock is not looked at."""
    put(locked, subs=[])
    assert olmc("resolve", locked, "--locked").exit_code == 1


def test_an_update_without_subscriptions_leaves_no_stale_lock(locked: Path) -> None:
    put(locked, subs=[])
    assert olmc("resolve", locked, "--update").exit_code == 0
    lock = locked / "olmc.lock"
    assert not lock.exists() or "a.v2" not in lock.read_text(encoding="utf-8")
