"""`olmc fleet`: what comes of many clusters at once, each compiled as if it were alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
from fleets import CLUSTERS, Fleet, compiled, git

from olmc.resources import schema

pytestmark = pytest.mark.process

PLAN = ("plan", "clusters/*", "--from", "git:HEAD")


def test_clusters_with_the_same_outcome_stand_together(fleet: Fleet) -> None:
    """Three clusters break, one is at risk, seven are upgraded and one waits; each outcome is a plan."""
    done = fleet.run(*PLAN, "-o", "json")
    data = json.loads(done.out)
    jsonschema.validate(data, schema("fleet"))
    found = [(one["severity"], one["count"], one["clusters"][0]) for one in data["outcomes"]]
    assert found == [
        ("failing", 3, "clusters/cadiz"), ("risk", 1, "clusters/izmir"), ("change", 7, "clusters/aalborg"),
        ("change", 1, "clusters/esbjerg"),
    ]  # fmt: skip
    assert (done.code, data["total"]) == (1, CLUSTERS)
    for one in data["outcomes"]:
        jsonschema.validate(one["plan"], schema("plan"))


def test_an_outcome_is_what_plan_says(fleet: Fleet, project: Path) -> None:
    """The operators of an outcome are those of `olmc plan` for the workspace with its bundles inside."""
    from olmc.cli.main import main

    data = json.loads(fleet.run(*PLAN, "-o", "json").out)
    stuck = project / "fixtures" / "transitions" / "stuck-upgrade"
    from click.testing import CliRunner

    alone = CliRunner().invoke(
        main, ["plan", os.fspath(stuck / "after"), "--from", os.fspath(stuck / "before"), "-o", "json"]
    )
    expected = json.loads(alone.stdout)
    assert data["outcomes"][0]["plan"]["operators"] == expected["operators"]
    assert data["outcomes"][0]["plan"]["installPlans"] == expected["installPlans"]


def test_the_same_bytes_whoever_did_it(fleet: Fleet, tmp_path: Path) -> None:
    """With one worker, two and eight, with an empty cache, a full one and none, in any order of the entries.

    JSON has all that the other outputs show; these are written from what one worker has kept, and from what eight have.
    """
    names = sorted(path.name for path in (fleet.root / "clusters").iterdir())
    backwards = [f"clusters/{name}" for name in reversed(names)]
    by_eight = fleet._replace(cache=tmp_path / "by-eight")
    runs = [
        fleet.run(*PLAN, "-o", "json", "--jobs", "1"),
        fleet.run(*PLAN, "-o", "json", "--jobs", "2"),
        by_eight.run(*PLAN, "-o", "json", "--jobs", "8"),
        fleet.run("plan", *backwards, "-o", "json", "--no-cache"),
    ]
    assert [compiled(run) for run in runs] == [4, 0, 4, 4]
    assert {run.out for run in runs} == {runs[0].out}
    for output in ("text", "markdown", "html"):
        one, other = fleet.run(*PLAN, "-o", output), by_eight.run("plan", *backwards, "-o", output)
        assert (compiled(one), compiled(other)) == (0, 0)
        assert one.out == other.out != ""


def test_what_has_not_changed_is_not_compiled(fleet: Fleet, project: Path) -> None:
    """Nothing is compiled where nothing changed, one task where one cluster did, and what is known comes back."""
    shutil.copytree(project / "fixtures" / "fleet" / "before" / "operators", fleet.root / "new")
    shutil.rmtree(fleet.root / "operators")
    (fleet.root / "new").rename(fleet.root / "operators")
    git(fleet.root, "checkout", "-q", ".")
    first = fleet.run(*PLAN)
    assert (first.code, compiled(first)) == (0, 0)
    assert "12 clusters, 1 outcome: 12 fine" in first.out
    (fleet.cluster("dover") / "cluster.yaml").write_text(
        (fleet.cluster("dover") / "cluster.yaml").read_text().replace("Harbour", "Port")
    )
    assert [compiled(fleet.run(*PLAN)) for _ in range(2)] == [1, 0]


def test_git_is_asked_once_for_all_clusters(fleet: Fleet, tmp_path: Path) -> None:
    """The number of processes of git does not depend on how many clusters there are."""
    tools = tmp_path / "tools"
    tools.mkdir()
    real = shutil.which("git")
    (tools / "git").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexec {real} "$@"\n')
    (tools / "git").chmod(0o755)
    fleet.run(*PLAN, path=os.fspath(tools))
    calls = (tmp_path / "calls").read_text().splitlines()
    assert sum("ls-tree" in call for call in calls) == 1
    assert sum("cat-file" in call for call in calls) <= 2
    assert len(calls) < 10


def test_clusters_come_and_go(fleet: Fleet) -> None:
    """A cluster that only one side has is planned from, or to, an empty one."""
    shutil.rmtree(fleet.cluster("hull"))
    shutil.copytree(fleet.cluster("kiel"), fleet.cluster("odense"))
    data = json.loads(fleet.run(*PLAN, "-o", "json").out)
    by_cluster = {name: one for one in data["outcomes"] for name in one["clusters"]}
    assert {change["action"] for change in by_cluster["clusters/hull"]["plan"]["applied"]} == {"prune"}
    assert {change["action"] for change in by_cluster["clusters/odense"]["plan"]["applied"]} == {"create"}
    assert "drift" not in by_cluster["clusters/odense"]["plan"]
    assert data["total"] == CLUSTERS + 1


def test_entries_come_from_files_and_from_appliers(fleet: Fleet) -> None:
    """Lines of a file, stdin, and what Applications apply name the same clusters as folders do."""
    (fleet.root / "some.txt").write_text("# the north\nclusters/kiel\n\nclusters/malmo\n")
    names = ("clusters/kiel", "clusters/malmo")
    by_name = fleet.run("status", *names).out
    assert fleet.run("status", "--entries-from", "some.txt").out == by_name
    assert fleet.run("status", "--entries-from", "-", stdin="\n".join(names)).out == by_name
    (fleet.root / "apps").mkdir()
    for name in names:
        text = f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name[9:]}}}\n"
        (fleet.root / "apps" / f"{name[9:]}.yaml").write_text(f"{text}spec: {{source: {{path: {name}}}}}\n")
    assert fleet.run("status", ".").out == by_name


def test_status_check_and_render(fleet: Fleet, tmp_path: Path) -> None:
    """The other commands say of each cluster what they say of a workspace."""
    status = fleet.run("status", "clusters/*", "-o", "json")
    data = json.loads(status.out)
    jsonschema.validate(data, schema("fleet"))
    assert [(one["severity"], one["count"]) for one in data["outcomes"]] == [
        ("failing", 3),
        ("none", 7),
        ("none", 1),
        ("none", 1),
    ]
    words = ["1 of 1 operator fails", "1 operator, none fails", "1 operator, none fails", "no operators"]
    assert [one["headline"] for one in data["outcomes"]] == words
    assert status.code == 1
    check = json.loads(fleet.run("check", "clusters/*", "-o", "json").out)
    jsonschema.validate(check, schema("fleet"))
    assert {"clusters/cadiz", "clusters/faro", "clusters/lagos"} == set(check["outcomes"][0]["clusters"])
    rendered = fleet.run("render", "clusters/*", "--output-dir", os.fspath(tmp_path / "out"))
    assert rendered.code == 1
    folders = sorted(path.parent.name for path in (tmp_path / "out").glob("clusters/*/kustomization.yaml"))
    assert len(folders) == CLUSTERS
    kept = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.yaml")}
    shutil.rmtree(tmp_path / "out")
    fleet.run("render", "clusters/*", "--output-dir", os.fspath(tmp_path / "out"), "--no-cache", "--jobs", "1")
    assert kept == {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.yaml")}


@pytest.mark.parametrize("command", ["status", "render"])
def test_what_is_left_out_of_a_cluster_is_listed(fleet: Fleet, command: str, tmp_path: Path) -> None:
    """And makes it another outcome than that of clusters of which nothing is left out."""
    hidden = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hidden, namespace: default}\n"
    cluster = fleet.cluster("malmo")
    (cluster / "generated").mkdir()
    (cluster / "generated/a.yaml").write_text(hidden)
    (cluster / ".olmcignore").write_text("generated/\n")
    more = ("--output-dir", os.fspath(tmp_path / "out")) if command == "render" else ()
    done = fleet.run(command, "clusters/*", "-o", "json", *more)
    data = json.loads(done.out)
    jsonschema.validate(data, schema("fleet"))
    (outcome,) = [one for one in data["outcomes"] if "clusters/malmo" in one["clusters"]]
    assert outcome["clusters"] == ["clusters/malmo"]
    assert outcome["leftOut"] == [
        {"path": "generated/a.yaml", "what": "ConfigMap/default/hidden", "reason": outcome["leftOut"][0]["reason"]}
    ]
    assert all("leftOut" not in one for one in data["outcomes"] if one is not outcome)
    assert "1 object in 1 file" in outcome["text"]
    (fleet.root / "part.json").write_text(done.out)
    assert json.loads(fleet.run("merge", "part.json", "-o", "json", beside=False).out) == data
    text = fleet.run(command, "clusters/*", *more).out
    assert "generated/a.yaml: ConfigMap/default/hidden" in text


def test_a_chain_of_folders_is_no_fleet_without_end(fleet: Fleet) -> None:
    """1,500 folders in each other: one error with the limit's name, in seconds, where only a star reaches them."""
    place = fleet.root / "clusters"
    for _ in range(1500):
        place = place / "d"
    subprocess.run(["mkdir", "-p", os.fspath(place)], check=True)  # Python's own, and its rmtree, would go too deep
    for folder in place.parents[:1499]:
        (folder / "x.yaml").touch()
    for pattern in ("clusters/**", "**/**/**/**/**/**/prod", "clusters/**/d/x"):
        done = fleet.run("status", pattern)
        assert done.code == 3, done.told[-500:]
        assert done.told.count("[OLMC124]") == 1
        assert "OLMC_LIMIT_DEPTH=NUMBER" in done.told
    assert fleet.run("status", "clusters/ki*").code == 0
    assert fleet.run("status", "c*/**/kiel").code == 3
    assert "names no folder" in fleet.run("status", "operators/**/kiel").told
    subprocess.run(["rm", "-r", os.fspath(fleet.root / "clusters/d")], check=True)


def test_the_folder_of_a_cluster_is_no_link(fleet: Fleet, tmp_path: Path) -> None:
    """What is rendered stays below the folder that was asked for."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/clusters").symlink_to(tmp_path / "elsewhere")
    done = fleet.run("render", "clusters/kiel", "--output-dir", os.fspath(tmp_path / "out"))
    assert done.code == 3
    assert "leads elsewhere" in done.told
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_parts_put_together_are_the_whole(fleet: Fleet) -> None:
    """What three machines say of their shards is what one says of the fleet, in every format."""
    for index in range(3):
        names = fleet.run("shard", "clusters/*", "--of", "3", "--index", str(index)).out
        assert len(names.splitlines()) == 4
        part = fleet.run("plan", "--entries-from", "-", "-o", "json", stdin=names).out
        (fleet.root / f"part-{index}.json").write_text(part)
    parts = [f"part-{index}.json" for index in (2, 0, 1)]
    for output in ("text", "json", "markdown", "html"):
        merged = fleet.run("merge", *parts, "-o", output, beside=False)
        whole = fleet.run(*PLAN, "-o", output)
        assert (merged.code, merged.out) == (whole.code, whole.out)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("plan", "nowhere/*"), "nowhere/* names no folder"),
        (("plan", "clusters/*", "--from", "git:nowhere"), "nowhere"),
        (("plan", "clusters/*", "--from", "git:HEAD:clusters"), "without a path"),
        (("plan", "../elsewhere"), "names no folder"),
        (("shard", "clusters/*", "--of", "3", "--index", "3"), "0 to 2"),
        (("status", "clusters/*", "--scheduler", "tcp://127.0.0.1:1"), "127.0.0.1:1"),
    ],
)  # fmt: skip
def test_wrong_usage_is_said(fleet: Fleet, arguments: tuple[str, ...], problem: str) -> None:
    """What names nothing, and who does not answer, is named."""
    done = fleet.run(*arguments)
    assert done.code in (2, 3)
    assert problem in done.told
    assert done.out == ""


def test_the_name_of_a_cluster_is_put_aside(fleet: Fleet) -> None:
    """Clusters that say their own name are compiled each by itself, and still have the same outcome."""
    for name in ("hull", "kiel"):
        with (fleet.cluster(name) / "operators.yaml").open("a") as stream:
            stream.write(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}-info, namespace: harbour}}\n")
    done = fleet.run(*PLAN, "-o", "json")
    together = [one["clusters"] for one in json.loads(done.out)["outcomes"] if "clusters/hull" in one["clusters"]]
    assert (compiled(done), together) == (6, [["clusters/hull", "clusters/kiel"]])


def test_a_list_of_shards_means_the_folders_themselves(fleet: Fleet) -> None:
    """A name that a list would take for a remark, or for a pattern of others, is a folder like any other."""
    names = ("#north", "[k]iel", "ki*", "a?")
    for name in names:
        shutil.copytree(fleet.cluster("kiel"), fleet.root / name)
    (fleet.root / "kiel").mkdir()
    listed = fleet.run("shard", "[[#ka]*", "--of", "1", "--index", "0", beside=False).out
    done = fleet.run("status", "--entries-from", "-", "-o", "json", stdin=listed)
    reached = {cluster for one in json.loads(done.out)["outcomes"] for cluster in one["clusters"]}
    assert reached >= set(names)
    assert (
        fleet.run("shard", "--entries-from", "-", "--of", "1", "--index", "0", stdin=listed, beside=False).out == listed
    )


@pytest.mark.parametrize("content", ["device", "nul", "bytes"])
def test_a_list_that_is_none_is_refused(fleet: Fleet, content: str) -> None:
    if content != "device":
        (fleet.root / "list").write_bytes(b"clusters/\0\n" if content == "nul" else b"clusters/\xff\n")
    done = fleet.run("status", "--entries-from", "/dev/zero" if content == "device" else "list", beside=False)
    assert done.code == 2
    assert ("--entries-from" in done.told) == (content != "bytes")


def test_a_command_names_the_first_cluster_with_a_result(fleet: Fleet, project: Path) -> None:
    """Clusters that share a result share its text, which has a word in the place of their folder."""
    shutil.copytree(project / "fixtures" / "requirements-not-met", fleet.root / "clusters" / "oslo")
    text = fleet.run("status", "clusters/oslo", beside=False).out
    assert "`olmc why crane.v1.0.0 clusters/oslo` explains it." in text
    assert "FLEET-" not in fleet.run("status", "clusters/oslo", "-o", "json", beside=False).out
    checked = fleet.run("check", "clusters/oslo", "-o", "html", beside=False).out.replace("<wbr>", "")
    assert ("clusters/oslo/" in checked, "FLEET-" in checked) == (True, False)


def test_entries_of_one_cluster_are_compiled_each_by_itself(fleet: Fleet) -> None:
    """And a command at the root, which is named, compiles them together."""
    for name in ("aalborg", "bergen"):
        application = (
            f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\n"
            f"spec: {{destination: {{name: north}}, source: {{path: clusters/{name}}}}}\n"
        )
        (fleet.root / f"{name}.yaml").write_text(application, encoding="utf-8")
    assert "`olmc status` at the root compiles those of a cluster together" in fleet.run("status", ".").told
    assert "at the root compiles" not in fleet.run("status", "clusters/bergen").told
