"""docs/start.md shows what the commands on it print, section by section, each in a repository of its own."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from building import bundle_files, described
from click.testing import CliRunner
from commands import clone_repository, commit_all, git, replace_text
from image_kit import Image, bundle_image, catalog_image, push
from image_workspaces import PROJECT, with_images
from shown_pages import is_as_shown, shown_in

from olmc.cli.main import main
from olmc.compiler.load import helm

PAGE = PROJECT / "docs/start.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^## (.+?)\n.*?^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SUBSCRIBED = {
    "redhat-operator-index": ("lantern", "stable-1.0"),
    "certified-operator-index": ("tide", "stable"),
    "community-operator-index": ("buoy", "fast"),
}
CATALOG = (
    "schema: olm.package\nname: {name}\ndefaultChannel: {channel}\n---\n"
    "schema: olm.channel\npackage: {name}\nname: {channel}\nentries:\n- name: {name}.v1.0.0\n---\n"
    "schema: olm.bundle\npackage: {name}\nname: {name}.v1.0.0\nimage: registry.example.com/bundles/{name}:v1.0.0\n"
    "properties:\n- type: olm.package\n  value: {{packageName: {name}, version: 1.0.0}}\n"
)


def sections() -> dict[str, str]:
    """The commands of each section, and what it shows."""
    return dict(SECTION.findall(PAGE.read_text(encoding="utf-8")))


def openshift_images(folder: Path) -> Iterator[tuple[str, Image]]:
    """What the catalogs of OpenShift and their bundles are in the example, by their names in a registry."""
    for index, (name, channel) in SUBSCRIBED.items():
        catalog = folder / index / name
        catalog.mkdir(parents=True)
        (catalog / "catalog.yaml").write_text(CATALOG.format(name=name, channel=channel), encoding="utf-8")
        yield f"redhat/{index}:v4.18", catalog_image(folder / index)
        for path, text in bundle_files(described({"name": f"{name}.v1.0.0"})).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        yield f"bundles/{name}:v1.0.0", bundle_image(folder / f"bundles/{name}.v1.0.0")


def extension_images(root: Path) -> Iterator[tuple[str, Image]]:
    """The repository of a ClusterExtension, whose catalog and bundles are images."""
    fixture = PROJECT / "fixtures/transitions/extension-upgraded/after"
    shutil.copytree(fixture, root, ignore=shutil.ignore_patterns("catalogs", "bundles"))
    file = root / "extension.yaml"
    file.write_text(f"{file.read_text(encoding='utf-8')}      version: 1.0.0\n", encoding="utf-8")
    yield "catalogs/tools:latest", catalog_image(fixture / "catalogs/tools")
    for version in ("1.0.0", "1.1.0"):
        yield f"bundles/kettle:v{version}", bundle_image(fixture / f"bundles/kettle-{version}")


def commit(root: Path, message: str) -> None:
    git("add", "--all", cwd=root)
    git("commit", "--quiet", "--allow-empty", "--message", message, cwd=root)


def repository(section: str, root: Path, host: str) -> None:
    """Make the repository of a section, with a commit before the last one, and what it needs in the registry."""
    images: dict[str, Image] = {}
    if "write an operator" in section:
        shutil.copytree(PROJECT / "fixtures/repos/operator-sdk", root)
    elif "OpenShift" in section:
        shutil.copytree(PROJECT / "fixtures/repos/openshift", root)
        (root / "olmc.yaml").unlink()
        images = dict(openshift_images(root.parent / "images"))
    elif "OLM v1" in section:
        images = dict(extension_images(root))
    else:
        made = with_images(root, "dependency")
        images = {reference.partition("/")[2]: image for reference, image in made.items()}
    prefix = root.name
    for reference, image in images.items():
        name, _, tag = reference.rpartition(":")
        push(host, f"{prefix}/{name}", tag, image)
    registries = ("registry.redhat.io", "registry.example.com")
    conf = "".join(f'[[registry]]\nprefix = "{name}"\nlocation = "{host}/{prefix}"\n' for name in registries)
    Path(os.environ["CONTAINERS_REGISTRIES_CONF"]).write_text(conf, encoding="utf-8")
    git("init", "--quiet", "--initial-branch=main", cwd=root)
    if "pipeline" in section or "OLM v1" in section:
        assert CliRunner().invoke(main, ["vendor", str(root)]).exit_code == 0
    commit(root, "operators")
    if "write an operator" in section:
        csv = root / "bundle/manifests/lantern.clusterserviceversion.yaml"
        text = csv.read_text(encoding="utf-8")
        assert "update, patch" in text
        csv.write_text(text.replace("update, patch", "update, delete"), encoding="utf-8")
    elif "OLM v1" in section:
        file = root / "extension.yaml"
        file.write_text(file.read_text(encoding="utf-8").replace("      version: 1.0.0\n", ""), encoding="utf-8")
    elif "OpenShift" not in section:
        file = root / "operators.yaml"
        text = file.read_text(encoding="utf-8")
        assert "  channel: stable\n" in text
        changed = text.replace("  channel: stable\n", "  channel: stable\n  installPlanApproval: Manual\n")
        file.write_text(changed, encoding="utf-8")
    commit(root, "change")


@pytest.mark.process
@pytest.mark.parametrize("section", sections())
def test_commands_of_the_page(section: str, host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / f"start{list(sections()).index(section)}"
    repository(section, root, host)
    monkeypatch.chdir(root)
    monkeypatch.setenv("PWD", str(root))
    for command, output in shown_in(sections()[section]):
        program, *arguments = command.split()
        assert program == "olmc"
        printed = CliRunner().invoke(main, arguments).output
        # What is packed again each time has another digest each time.
        assert is_as_shown(output, re.sub(r"sha256:[0-9a-f]+", "sha256:...", printed)), printed


TOOLS = {
    "Argo CD": ("argo", "operators/beacon/operators.yaml", "  source: harbour\n"),
    "Flux": ("flux", "operators/base/beacon.yaml", "  source: operatorhubio-catalog\n"),
}
"""The example of each tool, and where its branch asks for approvals."""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_a_repository_that_a_tool_applies(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if tool == "Flux" and not (shutil.which("kustomize") or shutil.which("kubectl")):
        pytest.skip("needs kustomize or kubectl")
    if tool == "Argo CD" and not (shutil.which("helm") or find_spec(helm.LIBRARY)):
        pytest.skip("needs helm, or the extra olmc[helm]")
    name, path, line = TOOLS[tool]
    title = f"### {tool} applies the repository"
    text = re.split(r"^##", PAGE.read_text(encoding="utf-8").partition(f"{title}\n")[2], flags=re.MULTILINE)[0]
    root = clone_repository(PROJECT / "fixtures/repos" / name, tmp_path / name)
    git("checkout", "--quiet", "-b", "change", cwd=root)
    shown = [pair for block in BLOCK.findall(text) for pair in shown_in(block)]
    assert path in text
    monkeypatch.chdir(root)
    for command, output in shown:
        if command == "olmc plan --from git:main":
            replace_text(root / path, line, f"{line}  installPlanApproval: Manual\n")
            commit_all(root, "change")
        printed = CliRunner().invoke(main, command.split()[1:]).output
        assert is_as_shown(output, printed), printed


def test_the_page_has_five_readers() -> None:
    assert len(sections()) == 5
