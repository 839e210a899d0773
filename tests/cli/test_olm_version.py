"""`--olm-version`, and what the command line says about versions of OLM."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import names, olmc

from olmc.compiler.olm.profiles.data import UnknownVersionError, canonical
from olmc.targets.v1.generators import gates_of

CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n  olmVersion: {version}\n"
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
GROUP = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: og, namespace: ns}\n"


@pytest.fixture
def group(tmp_path: Path) -> Path:
    """A workspace with one group."""
    (tmp_path / "group.yaml").write_text(GROUP, encoding="utf-8")
    return tmp_path


def test_the_version_decides_on_names(group: Path) -> None:
    assert "ClusterRole/og-admin" in names(group, "--olm-version", "v0.25")
    assert "ClusterRole/og-admin" not in names(group)


def test_olmc_yaml_chooses_and_the_command_line_wins(group: Path) -> None:
    (group / "olmc.yaml").write_text(CONFIG.format(version="ocp-4.3"), encoding="utf-8")
    assert "ClusterRole/og-admin" in names(group)
    assert "ClusterRole/og-admin" not in names(group, "--olm-version", "0.46")


def test_the_environment_chooses(group: Path) -> None:
    result = olmc("render", group, "-o", "name", env={"OLMC_RENDER_OLM_VERSION": "docs"})
    assert "ClusterRole/og-view\n" in result.stdout


@pytest.mark.parametrize("command", ["render", "resolve", "check"])
def test_a_version_that_there_is_not(command: str, group: Path) -> None:
    """Wrong usage, with what there is."""
    result = olmc(command, group, "--olm-version", "ocp-4.41")
    assert result.exit_code == 2
    assert result.stdout == ""
    said = " ".join(result.stderr.split())
    assert "olmc knows no OLM version ocp-4.41. Did you mean ocp-4.4? Known are 0.8 … 0.46.0, " in said


@pytest.mark.parametrize(
    ("version", "meant"),
    [
        ("4.14", "ocp-4.14"),
        ("v4.14", "ocp-4.14"),
        ("OCP-4.14", "ocp-4.14"),
        ("Docs", "docs"),
        ("V0.25", "0.25"),
        ("4.14.3", "ocp-4.14"),
        ("ocp4.14", "ocp-4.14"),
        ("openshift-4.14", "ocp-4.14"),
        ("0.99", ""),
        ("0.25.99", "0.25"),
        ("doc", "docs"),
    ],
)
def test_what_was_probably_meant(version: str, meant: str) -> None:
    with pytest.raises(UnknownVersionError) as error:
        canonical(version)
    assert error.value.hint.startswith(f"Did you mean {meant}? Known are" if meant else "Known are")


def test_a_version_that_there_is_not_in_olmc_yaml(group: Path) -> None:
    """Input that can't be compiled, with its place."""
    (group / "olmc.yaml").write_text(CONFIG.format(version="'0.99'"), encoding="utf-8")
    result = olmc("render", group)
    assert result.exit_code == 3
    assert result.stderr.startswith("olmc.yaml:4:15: error: olmc knows no OLM version 0.99 [OLMC450]")


def test_a_version_without_quotes_is_a_number(group: Path) -> None:
    """0.20 would be 0.2, so it is refused, with what to do."""
    (group / "olmc.yaml").write_text(CONFIG.format(version="0.20"), encoding="utf-8")
    result = olmc("render", group)
    assert result.exit_code == 3
    told = "olmc.yaml:4:15: error: olmVersion: 0.2 is a number, not a text; put it in quotes [OLMC450]\n"
    assert result.stderr.startswith(told)
    assert "in quotes, as '0.25'" in result.stderr


def test_random_names_and_another_resolver_are_said() -> None:
    result = olmc("render", FIXTURES / "own-namespace", "--olm-version", "0.15", "-o", "name", "--verbose")
    assert result.exit_code == 0
    assert [line.rpartition("[")[2] for line in result.stderr.splitlines() if "[OLMC" in line] == [
        "OLMC451]", "OLMC452]", *["OLMC453]"] * 7,
    ]  # fmt: skip
    quiet = olmc("render", FIXTURES / "own-namespace", "--olm-version", "0.25", "-o", "name")
    assert quiet.stderr == ""


@pytest.mark.parametrize("command", ["check", "resolve"])
def test_other_commands_take_the_version(command: str) -> None:
    talk = olmc(command, FIXTURES / "own-namespace", "--olm-version", "0.13").output
    assert "OLMC451" in talk
    assert "OLMC451" not in olmc(command, FIXTURES / "own-namespace").output


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("why", "ClusterRole/quay-admin"), "ClusterRole/quay-admin"),
        (("rbac", "who-can", "get", "configmaps"), "ServiceAccount/harbour/beacon"),
        (("rbac",), "beacon"),
        (("status",), "beacon"),
    ],
)
def test_commands_that_look_at_a_compilation_take_it(command: tuple[str, ...], said: str) -> None:
    result = olmc(*command, FIXTURES / "own-namespace", "--olm-version", "0.13")
    assert result.exit_code == 0
    assert said in result.stdout


def test_what_has_fewer_owner_labels_leads_to_its_cause_as_well() -> None:
    """Without olm.owner.kind, as the documents have it, and without any, as 0.9 has it on roles of groups."""
    copied = olmc("why", "Role/north-pier/ferry.v1.0.0-2jn7w", FIXTURES / "multi-namespace", "--olm-version", "docs")
    assert "\n  because of ClusterServiceVersion harbour/ferry.v1.0.0, which is Succeeded" in copied.stdout
    role = olmc("why", "ClusterRole/quay-admin", FIXTURES / "own-namespace", "--olm-version", "0.9")
    assert role.stdout.endswith("\n  because of OperatorGroup harbour/quay (operators.yaml:1:1)\n")


def places_of_rbac(*options: str) -> list[tuple[str, str]]:
    """The kinds of what is made of a CSV's permissions, and where each comes from."""
    listed = olmc("render", "own-namespace", *options, "-o", "name").stdout.splitlines()
    made = [name for name in listed if "/beacon.v1.0.0-" in name]
    told = [olmc("why", name, "own-namespace", *options).stdout.splitlines()[1] for name in made]
    return sorted((name.partition("/")[0], line) for name, line in zip(made, told, strict=True))


@pytest.mark.parametrize("version", ["0.13", "0.25", "docs"])
def test_rbac_leads_to_its_permissions_whatever_its_name(version: str) -> None:
    places = places_of_rbac("--olm-version", version)
    assert places == places_of_rbac()
    assert [kind for kind, _ in places] == ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    assert len({line for _, line in places}) == 2


def test_the_formats_of_a_version() -> None:
    """Under headings, each with its name and since when; no line is longer than 100 characters but for the headings."""
    text = olmc("explain", "profile", "0.25").stdout
    assert text.startswith("OLM 0.25.0\n\nOperatorGroups\n\n  Name of an OperatorGroup's ClusterRoles")
    assert "[og.clusterrole.name, since 0.8.1]\n    {og}-{suffix}\n" in text
    assert max(map(len, text.splitlines())) <= 110
    assert olmc("explain", "profile").stdout.startswith("OLM 0.46.0\n")
    blend = olmc("explain", "profile", "ocp-4.14").stdout
    assert blend.startswith("ocp-4.14: OLM 0.25.0 with its own og.clusterrole.name. The names are those")
    assert "[og.clusterrole.name]\n    {og}-{suffix}; for groups named aggregate-olm," in blend


def test_only_a_profile_has_a_version() -> None:
    result = olmc("explain", "OLMC301", "0.25")
    assert result.exit_code == 2
    assert "Only `olmc explain profile` takes a VERSION." in result.stderr
    assert olmc("explain", "profile", "0.99").exit_code == 2


def test_what_can_not_be_reproduced() -> None:
    text = olmc("version", "--profile", "v0.17").stdout
    assert text.startswith("OLM 0.17.0\n\nWhat olmc can't reproduce:\n\n")
    assert "- the label olm.deployment-spec-hash, a hash of how Go prints its types" in text
    assert "- uids and times of the cluster" in text
    newest = olmc("version", "--profile", "0.46").stdout
    assert "olm.deployment-spec-hash" not in newest
    assert "- keys and certificates, and the hashes of them" in newest
    assert olmc("version", "--profile", "4.14").exit_code == 2


def test_single_feature_gates_of_a_profile(tmp_path: Path) -> None:
    """R-V1-FG-1: behind `+` gates are opened, and closed with `=false`; olmc.yaml says it alike."""
    assert gates_of("v1+BoxcutterRuntime") == gates_of("v1")._replace(boxcutter_runtime=True)
    assert gates_of("v1-experimental+BoxcutterRuntime=false+DeploymentConfig=true") == gates_of(
        "v1-experimental"
    )._replace(boxcutter_runtime=False)
    assert gates_of("v0.46+BoxcutterRuntime").boxcutter_runtime
    gauge = FIXTURES / "olmv1/gauge"
    opened = olmc("render", gauge, "--olm-version", "v1+SingleOwnNamespaceInstallSupport", "--watch", "north")
    assert (opened.exit_code, "kind: Deployment" in opened.stdout) == (0, True)
    shutil.copytree(gauge, tmp_path / "gauge")
    (tmp_path / "gauge/olmc.yaml").write_text(
        CONFIG.format(version="v1+SingleOwnNamespaceInstallSupport"), encoding="utf-8"
    )
    assert olmc("render", tmp_path / "gauge", "--watch", "north").exit_code == 0
    (tmp_path / "gauge/olmc.yaml").write_text(CONFIG.format(version="v1+Boxcutter"), encoding="utf-8")
    assert "Boxcutter is no feature gate" in olmc("render", tmp_path / "gauge").stderr


@pytest.mark.parametrize("gate", ["Boxcutter", "BoxcutterRuntime=maybe", ""])
def test_a_gate_that_there_is_not(gate: str) -> None:
    with pytest.raises(UnknownVersionError, match="olmc knows no OLM version"):
        gates_of(f"v1+{gate}")
