"""What a CSV needs before it is installed: `status.requirementStatus` (R-REQ-1 … R-REQ-9).

The list shows what OLM saw when it first checked the CSV (observed-17). It is not written again while the CSV stays
Pending for the same reason. The olm-operator looks while the plan that made the CSV is still at work, hardly a step
behind: of what that plan makes, it finds the CRDs that come directly behind the CSV, and nothing later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from olmc.gojson import encode
from olmc.kube.rbac import decode_rule, decode_rules, rule_satisfied
from olmc.kube.rbac_access import Access
from olmc.kube.restmapper import Crd, rest_mapper
from olmc.model.cluster import InstallPlan, NamespacedName, Step
from olmc.model.objects import (
    ACCOUNT,
    APIEXTENSIONS,
    CRD_KIND,
    RBAC,
    ObjectKey,
    Origin,
    Rendered,
    Subject,
    annotations_of,
    labels_of,
    mappings,
    owner_references,
)
from olmc.model.operators import OLM_GROUP, APIServiceDescription, Csv, StrategyPermissions
from olmc.model.options import Profile
from olmc.olm.naming import ALONGSIDE, PERMISSIONS_HASH, role_name
from olmc.reconcile.operator_groups import account_exists

_CSV, _ACCOUNT = "ClusterServiceVersion", "ServiceAccount"
_RBAC = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})


def initial_requirement_status(
    csv: Csv, objects: Mapping[ObjectKey, Rendered], plans: Iterable[InstallPlan]
) -> Mapping[ObjectKey, Rendered]:
    """The objects without the CRDs, ServiceAccounts and RBAC that the CSV's own plan made after the first check, and
    without those of its accounts that only a later plan made."""
    local = [plan for plan in plans if plan.namespace == csv.namespace]
    late = {(step.kind, step.name) for plan in local for step in _later_steps(csv, plan)}
    makers = {csv.name, *_later_csvs(csv, local)}
    then = ((key, _at_that_time(csv, key, found, late, makers)) for key, found in objects.items())
    return {key: found for key, found in then if found is not None}


def _later_csvs(csv: Csv, plans: Sequence[InstallPlan]) -> Iterator[str]:
    """The CSVs that came with plans after the one that made this CSV."""
    own = next((plan.generation for plan in plans if csv.name in plan.csvs), None)
    for plan in plans:
        if own is not None and plan.generation > own:
            yield from plan.csvs


def _later_steps(csv: Csv, plan: InstallPlan) -> tuple[Step, ...]:
    """The steps of a plan behind the CSV's step and the CRDs that follow it; none if the plan doesn't make the CSV."""
    steps = plan.steps
    own = next((at for at, step in enumerate(steps) if (step.kind, step.name) == (_CSV, csv.name)), len(steps))
    later = own + 1
    while later < len(steps) and steps[later].kind == CRD_KIND:
        later += 1
    return steps[later:]


def _at_that_time(
    csv: Csv, key: ObjectKey, found: Rendered, late: set[tuple[str, str]], makers: set[str]
) -> Rendered | None:
    """An object as it was when the CSV was first checked; None if it was not there yet."""
    if (key.kind, key.name) not in late or key.namespace not in ("", csv.namespace):
        return found
    if key.kind == CRD_KIND:
        return None if found.provenance.origin is Origin.BUNDLE else found
    if key.kind in _RBAC:
        return None
    return _account_before(makers, found) if key.kind == _ACCOUNT else found


def _account_before(makers: set[str], found: Rendered) -> Rendered | None:
    """A ServiceAccount as it was before the CSVs `makers` came to own it; None if nobody else owns it, since it was
    made for them."""
    others = [ref for ref in owner_references(found.object) if ref.get("name") not in makers]
    if not others:
        return None
    return found._replace(object={**found.object, "metadata": {**found.object["metadata"], "ownerReferences": others}})


_MIN_KUBE_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\Z")

Status = dict[str, Any]


class RequirementContext(NamedTuple):
    """What requirements are checked against.

    `apiservices`: the API services that are served, by name, with the kinds of each. `names`: the CSVs of the
    namespace that each CSV replaces, over any number of hops. `extra_apis`: kinds that the cluster serves beyond the
    workspace's, as `group/version/Kind`.
    """

    profile: Profile
    objects: Mapping[ObjectKey, Rendered]
    access: Access
    csvs: Mapping[NamespacedName, Csv]
    apiservices: Mapping[str, frozenset[str]]
    kube_version: str
    extra_apis: frozenset[str]


def requirements(csv: Csv, world: RequirementContext) -> tuple[bool, tuple[Status, ...]]:
    """Whether a CSV's requirements are met, and the list that OLM writes about them, in its order (R-REQ-1)."""
    # OLM goes through all of them even after a failure, so that the list is always whole (R-REQ-1).
    entries = [
        *_min_kube_version(csv, world.kube_version),
        *_crds(csv, world),
        *_required_apiservices(csv, world),
        *_owned_apiservices(csv),
        *_native_apis(csv, world),
        *_service_accounts(csv, world),
    ]
    met = all(ok for ok, _ in entries)
    return met, tuple(status for _, status in entries if status)


def _status(group: str, version: str, kind: str, name: str, status: str, message: str) -> Status:
    return {"group": group, "version": version, "kind": kind, "name": name, "status": status, "message": message}


def _min_kube_version(csv: Csv, server: str) -> Iterator[tuple[bool, Status]]:
    """R-REQ-2."""
    wanted = csv.min_kube_version
    if not wanted:
        return
    # What follows the numbers does not count on the side of the server: v1.30.2-gke.1 is 1.30.2 (R-REQ-2).
    plain = server.removeprefix("v").partition("-")[0].partition("+")[0]
    identity = (OLM_GROUP, "v1alpha1", "ClusterServiceVersion", csv.name)
    have = _MIN_KUBE_VERSION.match(plain)
    need = _MIN_KUBE_VERSION.match(wanted)
    if have is None:
        yield False, _status(*identity, "PresentNotSatisfied", "Server version parsing error")
    elif need is None:
        yield False, _status(*identity, "PresentNotSatisfied", "CSV version parsing error")
    elif [int(part) for part in need.groups()] > [int(part) for part in have.groups()]:
        text = f"CSV version requirement not met: minKubeVersion ({wanted}) > server version ({plain})"
        yield False, _status(*identity, "PresentNotSatisfied", text)
    else:
        yield True, _status(*identity, "Present", f"CSV minKubeVersion ({wanted}) less than server version ({server})")


def _crds(csv: Csv, world: RequirementContext) -> Iterator[tuple[bool, Status]]:
    """R-REQ-3; of several descriptions of one CRD the last decides, and owned ones win over required ones."""
    wanted = {item.name: item for item in csv.required_crds}
    owned = {item.name: item for item in csv.owned_crds}
    for name, item in sorted({**wanted, **owned}.items()):
        identity = (APIEXTENSIONS, "v1", CRD_KIND, name)
        found = world.objects.get(ObjectKey(APIEXTENSIONS, CRD_KIND, "", name))
        if found is None:
            yield False, _status(*identity, "NotPresent", "CRD is not present")
            continue
        # A CRD that came with a predecessor alone may lack what the new version ships; its own plan adds its name when
        # it has written it (R-REQ-3).
        # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/requirements.go#L85-L166
        others = _alongside(csv, found, world.csvs) if name in owned else ()
        if others:
            text = f"CRD installed alongside other CSV(s): {', '.join(others)}"
            yield False, _status(*identity, "PresentNotSatisfied", text)
        # Whether the CRD has the kind that the CSV names, OLM does not ask (R-REQ-3).
        elif item.version not in Crd(found.object).served_versions:
            yield False, _status(*identity, "NotPresent", "CRD version not served")
        else:
            yield True, _status(*identity, "Present", "CRD is present and Established condition is true")


def _alongside(csv: Csv, crd: Rendered, csvs: Mapping[NamespacedName, Csv]) -> tuple[str, ...]:
    """The predecessors of `csv` that a CRD was installed with, unless it was installed with `csv` itself."""
    annotations = annotations_of(crd.object)
    installers = {value for key, value in annotations.items() if key.startswith(ALONGSIDE)}
    if str(NamespacedName(csv.namespace, csv.name)) in installers:
        return ()
    return tuple(
        sorted(name for name in predecessors(csv, csvs) if str(NamespacedName(csv.namespace, name)) in installers)
    )


def predecessors(csv: Csv, csvs: Mapping[NamespacedName, Csv]) -> tuple[str, ...]:
    """The names of the existing CSVs that `csv` replaces, directly or over others, nearest first."""
    found: list[str] = []
    current: Csv | None = csv
    while current is not None and current.replaces and current.replaces not in (*found, csv.name):
        current = csvs.get(NamespacedName(csv.namespace, current.replaces))
        if current is not None:
            found.append(current.name)
    return tuple(found)


def apiservices_by_name(descriptions: Iterable[APIServiceDescription]) -> dict[str, APIServiceDescription]:
    """API service descriptions by `<version>.<group>`, in that order; of several kinds of one the last counts."""
    found = {item.service_name: item for item in descriptions}
    return dict(sorted(found.items()))


def _required_apiservices(csv: Csv, world: RequirementContext) -> Iterator[tuple[bool, Status]]:
    """R-REQ-4."""
    owned = apiservices_by_name(csv.owned_apiservices)
    for name, item in apiservices_by_name(csv.required_apiservices).items():
        if name not in owned:
            present = item.kind in world.apiservices.get(name, ()) or item.api.path in world.extra_apis
            status = "Present" if present else "NotPresent"
            yield present, _status("apiregistration.k8s.io", "v1", "APIService", name, status, "")


def _owned_apiservices(csv: Csv) -> Iterator[tuple[bool, Status]]:
    """R-REQ-5."""
    deployments = {deployment.name for deployment in csv.deployments}
    for name, item in apiservices_by_name(csv.owned_apiservices).items():
        found = item.deployment in deployments
        status = "DeploymentFound" if found else "DeploymentNotFound"
        yield found, _status("apiregistration.k8s.io", "v1", "APIService", name, status, "")


def _native_apis(csv: Csv, world: RequirementContext) -> Iterator[tuple[bool, Status]]:
    """R-REQ-6."""
    mapper = rest_mapper(found.object for found in world.objects.values() if csv.native_apis)
    for api in csv.native_apis:
        known = mapper.serves_kind(api, world.extra_apis, world.kube_version)
        status = ("Present", "Native API exists") if known else ("NotPresent", "Native API does not exist")
        yield known, _status(api.group, api.version, api.kind, f"{api.version}.{api.group}", *status)


def _service_accounts(csv: Csv, world: RequirementContext) -> Iterator[tuple[bool, Status]]:
    """R-REQ-7; what OLM made itself for `permissions` is accepted without being listed (R-REQ-7b).

    Accounts in the order in which they are first recorded. OLM reads them from a map of Go, which begins a small one at
    a random place of eight and goes on from there: with two accounts, this is the order seven times in eight.
    """
    statuses: dict[str, tuple[bool, Status]] = {}
    for scope, entries in ((csv.namespace, csv.permissions), ("", csv.cluster_permissions)):
        for entry in entries:
            # OLM searches with the hash of a binding to a Role, so what it made of clusterPermissions it never
            # recognises: these entries are always checked and listed (R-REQ-7b).
            # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/requirements.go#L418-L464
            if scope and _made_by_olm(csv, entry, world):
                continue
            known_ok, known = statuses.get(entry.account, (True, {}))
            ok, status = _service_account(csv, entry, scope, world, known)
            statuses[entry.account] = (known_ok and ok, status)
    yield from statuses.values()


def _service_account(
    csv: Csv, entry: StrategyPermissions, scope: str, world: RequirementContext, known: Status
) -> tuple[bool, Status]:
    account = entry.account
    base = known or _status("", "v1", "ServiceAccount", account, "Present", "")
    if not account_exists(world.objects, csv.namespace, account):
        return False, {**base, "status": "NotPresent", "message": "Service account does not exist"}
    if owned_by_others(csv, account, world.objects):
        text = "Service account is owned by another ClusterServiceVersion"
        return False, {**base, "status": "PresentNotSatisfied", "message": text}
    granted = world.access.rules(scope, Subject(ACCOUNT, csv.namespace, account))
    dependents = mappings(base.get("dependents"))
    met = True
    for rule in entry.rules:
        satisfied = rule_satisfied(granted, decode_rule(rule))
        met = met and satisfied
        text = encode("PolicyRule", rule).decode()
        dependents.append(
            {
                "group": RBAC,
                "version": "v1",
                "kind": "PolicyRule",
                "status": "Satisfied" if satisfied else "NotSatisfied",
                "message": f"{'namespaced' if scope else 'cluster'} rule:{text}",
            }
        )
    status = {**base, **({"dependents": dependents} if dependents else {})}
    if not met:
        status |= {"status": "PresentNotSatisfied", "message": "Policy rule not satisfied for service account"}
    return met, status


def owned_by_others(csv: Csv, account: str, objects: Mapping[ObjectKey, Rendered]) -> bool:
    """Whether a ServiceAccount has CSVs as owners, none of which is this one."""
    found = objects.get(ObjectKey("", "ServiceAccount", csv.namespace, account))
    refs = owner_references(found.object) if found else ()
    owners = [ref.get("name") for ref in refs if ref.get("kind") == "ClusterServiceVersion"]
    return bool(owners) and csv.name not in owners


def _made_by_olm(csv: Csv, entry: StrategyPermissions, world: RequirementContext) -> bool:
    """R-REQ-7b: a Role and a RoleBinding with the CSV's owner labels and the hashes of this entry."""
    name = role_name(world.profile, csv.name, csv.namespace, dict(entry.object))
    for kind in ("Role", "RoleBinding"):
        found = world.objects.get(ObjectKey(RBAC, kind, csv.namespace, name))
        labels = labels_of(found.object) if found else {}
        if labels.get("olm.owner") != csv.name or PERMISSIONS_HASH not in labels:
            return False
    return True


def permission_entries_satisfied(
    csv: Csv, entries: Sequence[StrategyPermissions], scope: str, world: RequirementContext
) -> bool:
    """Whether all entries are satisfied in a namespace, or cluster-wide for "" (R-PERM-1)."""
    for entry in entries:
        usable = account_exists(world.objects, csv.namespace, entry.account)
        if not usable or owned_by_others(csv, entry.account, world.objects):
            return False
        granted = world.access.rules(scope, Subject(ACCOUNT, csv.namespace, entry.account))
        if not all(rule_satisfied(granted, rule) for rule in decode_rules(entry.rules)):
            return False
    return True
