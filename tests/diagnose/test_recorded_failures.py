"""Recordings that end in a failure: `olmc fix` cures those that an edit of the workspace can cure.

A case counts if an operator or a ClusterExtension fails in it. What `olmc fix` writes is compiled once more: fewer of
them fail then, and none that ran before fails. The exceptions are listed with their reasons.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from click.testing import CliRunner

from olmc.cli.main import main
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Options
from olmc.k8s.diagnostics import Report
from olmc.review.diagnose.remedies import _rows
from olmc.review.plan.engine import Beginning, named_state
from olmc.targets.pipeline import compile

NO_PROVIDER = "no catalog has an operator that provides what is required"
GONE = "no catalog of the workspace has the package any more"
NO_CONTENT = "the content of a catalog or of a bundle is not in the workspace, or is no YAML"
CLUSTER = "the mistake is in the cluster, and a command cures it"
WISH = "the operator or an administrator holds the upgrade back"
PLATFORM = "the Kubernetes or the OLM of the cluster does not do it"
NOT_CURABLE = {
    **dict.fromkeys(
        (
            "conformance/cases/real/awss3-operator-registry-multi", "conformance/cases/real/cluster-aas-operator-all",
            "conformance/cases/real/eclipse-che-all", "conformance/cases/real/lib-bucket-provisioner-single",
            "conformance/cases/real/silicom-sts-operator-all",
            "conformance/cases/real/special-resource-operator-single", "conformance/cases/synthetic/57-dep-missing",
            "conformance/cases/synthetic/59-dep-package-unsatisfiable",
        ),
        NO_PROVIDER,
    ),
    **dict.fromkeys(
        (
            "conformance/cases/synthetic/82-upgrade-package-gone",
            "conformance/transitions/32a-catalogsource-removed",
            "conformance/transitions/32d-one-of-two-catalogs-removed",
        ),
        GONE,
    ),
    **dict.fromkeys(
        (
            "waiting/cases/w-n77-bundle-no-csv", "waiting/transitions/w-n05-failforward-unpack-failed",
            "v1/main/bundle-not-there", "v1/main/catalog-broken", "v1/v1.11/catalog-broken",
        ),
        NO_CONTENT,
    ),
    **dict.fromkeys(
        (
            "conformance/transitions/22b-failforward-plan-failed", "conformance/transitions/22d-default-plan-failed",
            "conformance/transitions/29c-servicemonitor-crd-later", "conformance/transitions/30f-csv-deleted-only",
            "conformance/transitions/48-crd-deleted-by-hand", "conformance/transitions/w-n04-minkube-then-lower",
            "conformance/transitions/w-n18-csv-by-hand-then-subscription",
            "waiting/transitions/w-n08-failforward-plan-failed-then-fixed",
            "waiting/transitions/w-n101-global-then-own-same-version",
        ),
        CLUSTER,
    ),
    **dict.fromkeys(
        ("conformance/transitions/23a-not-upgradeable", "conformance/transitions/w-n65-override-blocks-upgrade"), WISH
    ),
    **dict.fromkeys(
        (
            "conformance/cases/synthetic/54-require-minkubeversion", "v1/main/exp-dependency", "v1/main/webhooks-off",
            "v1/main/fx-t-extension-config-changed",
        ),
        PLATFORM,
    ),
}  # fmt: skip
NOT_CURED = {
    "conformance/cases/real/ack-ecs-controller-multi": "a Service without ports: only its author knows them",
    "conformance/cases/synthetic/17-og-serviceaccount-missing": "rights of an account of an OperatorGroup",
    "conformance/cases/synthetic/18-og-serviceaccount-weak": "rights of an account of an OperatorGroup",
    "conformance/cases/synthetic/65-constraint-invalid": "a field of a constraint that no OLM knows",
    "conformance/transitions/31d-scoped-account-missing": "rights of an account of an OperatorGroup",
    "waiting/cases/w-n51-scoped-no-deployments": "rights of an account of an OperatorGroup",
    "v1/main/exp-release": "a new name for a bundle, in its CSV and in the catalog",
    "v1/main/release-legacy": "a new name for a bundle, in its CSV and in the catalog",
    "v1/v1.11/release-legacy": "a new name for a bundle, in its CSV and in the catalog",
}
GROUPS = ("conformance/cases/*/*", "conformance/transitions/*", "waiting/*/*", "v1/*/*")


class Verdict(NamedTuple):
    """What fails of a case before and after `olmc fix`, None for a case in which nothing does."""

    before: frozenset[tuple[str, ...]]
    after: frozenset[tuple[str, ...]]
    output: str

    @property
    def is_cured(self) -> bool:
        """Whether less fails than before, and nothing else."""
        return self.after < self.before


def version_of(case: Path) -> str:
    """The OLM v1 that a case was recorded with, "" for a case of OLM v0."""
    if case.parent.parent.name != "v1":
        return ""
    path = case / "record.yaml"
    record: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    gates = "".join(f"+{gate}{'' if on else '=false'}" for gate, on in (record.get("gates") or {}).items())
    return {"std": "v1", "exp": "v1-experimental"}[record.get("profile", "std")] + gates


def request_of(case: Path, root: Path) -> CompileRequest:
    """How a case is compiled, in a copy of its workspace."""
    version = version_of(case)
    options = Options()._replace(olm_version=version) if version else Options()
    given = frozenset({"olm_version"} if version else ())
    if not (case / "before").is_dir():
        return CompileRequest(root, options, given)
    begun = named_state(str(case / "before"), Beginning(str(root), CompileRequest(Path(), options, given)), Report())
    assert begun is not None
    return CompileRequest(root, options._replace(state=begun.state), given | {"state"})


def failing(request: CompileRequest) -> frozenset[tuple[str, ...]]:
    """The rows that fail."""
    done = compile(request)
    return (
        frozenset(name for name, row in _rows(done).items() if row.fails) if done.settled is not None else frozenset()
    )


def verdict(case: Path, folder: Path) -> Verdict | None:
    source = case / ("after" if (case / "after").is_dir() else "input")
    request = request_of(case, source)
    before = failing(request)
    if not before:
        return None
    root = Path(shutil.copytree(source, folder))
    options = ["--olm-version", version_of(case)] if version_of(case) else []
    options += ["--from", str(case / "before")] if (case / "before").is_dir() else []
    output = CliRunner().invoke(main, ["fix", str(root), *options]).output
    return Verdict(before, failing(request._replace(root=root)) if "fixed: " in output else before, output)


def cases(shared: Path, pattern: str) -> Iterator[Path]:
    """The recordings of a group."""
    return (path for path in sorted(shared.glob(pattern)) if any((path / name).is_dir() for name in ("input", "after")))


@pytest.mark.recorded
@pytest.mark.slow
@pytest.mark.parametrize("pattern", GROUPS)
def test_what_an_edit_can_cure_is_cured(pattern: str, shared: Path, tmp_path: Path) -> None:
    left = {}
    for number, case in enumerate(cases(shared, pattern)):
        found = verdict(case, tmp_path / str(number))
        if found is not None and not found.is_cured:
            left[case.relative_to(shared).as_posix()] = found.output
    of_group = {path.relative_to(shared).as_posix() for path in cases(shared, pattern)}
    assert left.keys() == (NOT_CURABLE.keys() | NOT_CURED.keys()) & of_group, left


@pytest.mark.recorded
@pytest.mark.slow
def test_most_of_what_an_edit_can_cure_is_cured(shared: Path) -> None:
    """At least nine of ten: the failures are counted, and the exceptions are those of the lists."""
    failures = [
        case for pattern in GROUPS for case in cases(shared, pattern)
        if failing(request_of(case, case / ("after" if (case / "after").is_dir() else "input")))
    ]  # fmt: skip
    curable = len(failures) - len(NOT_CURABLE)
    assert len(failures) >= 130
    assert (curable - len(NOT_CURED)) / curable >= 0.9
