"""The requirements of a CSV before its installation: `status.requirementStatus` (R-REQ-1 … R-REQ-9).

The list shows the state when OLM first checked the CSV (observed-17). OLM does not write it again while the CSV stays
Pending for the same reason. The olm-operator looks while the plan that made the CSV is still at work, about one step
later. Of the objects of that plan it finds the CRDs directly behind the CSV, and no later ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import ByNamespace, InstallPlan, NamespacedName, Step, namespaced_name
from olmc.compiler.model.operators import CSV_KIND, APIServiceDescription, Csv, StrategyPermissions
from olmc.compiler.model.options import Profile
from olmc.compiler.olm.facts import csv_by_label
from olmc.compiler.olm.naming import ALONGSIDE, PERMISSIONS_HASH, role_name
from olmc.compiler.reconcile.operator_groups import account_exists
from olmc.k8s.api.rbac import decode_rule, decode_rules, rule_satisfied
from olmc.k8s.api.rbac_access import Access
from olmc.k8s.api.restmapper import Crd, rest_mapper
from olmc.k8s.gojson import encode
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    ACCOUNT,
    CRD_KIND,
    GVK,
    OLM_GROUP,
    RBAC,
    APIResource,
    ObjectKey,
    Origin,
    Rendered,
    Subject,
    annotations_of,
    crd_key,
    labels_of,
    mappings,
    owner_references,
)
from olmc.k8s.strconv import decimal

_RBAC = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})


def initial_requirement_status(
    csv: Csv, objects: Mapping[ObjectKey, Rendered], plans: Collection[InstallPlan]
) -> Mapping[ObjectKey, Rendered]:
    """The objects without the CRDs, ServiceAccounts and RBAC that the CSV's own plan made after the first check, and
    without those of its accounts that only a later plan made."""
    late = {(step.kind, step.name) for plan in plans for step in _later_steps(csv, plan)}
    makers = {csv.name, *_later_csvs(csv, plans)}
    then = {key: _at_that_time(csv, key, rendered, late, makers) for key, rendered in objects.items()}
    return {key: rendered for key, rendered in then.items() if rendered is not None}


def _later_csvs(csv: Csv, plans: Collection[InstallPlan]) -> Iterator[str]:
    """The CSVs that came with plans after the one that made this CSV."""
    own = next((plan.generation for plan in plans if csv.name in plan.csvs), None)
    for plan in plans:
        if own is not None and plan.generation > own:
            yield from plan.csvs


def _later_steps(csv: Csv, plan: InstallPlan) -> tuple[Step, ...]:
    """The steps that a plan has carried out behind the CSV's step and the CRDs that follow it; none if the plan doesn't
    make the CSV."""
    # Objects of steps that a plan has not reached exist from before, if at all (observed-30).
    steps = plan.steps[: plan.reached]
    own = next((at for at, step in enumerate(steps) if (step.kind, step.name) == (CSV_KIND, csv.name)), len(steps))
    later = own + 1
    # CRDs come next in a plan, and the catalog operator writes them faster than the olm-operator looks.
    while later < len(steps) and steps[later].kind == CRD_KIND:
        later += 1
    return steps[later:]


def _at_that_time(
    csv: Csv, key: ObjectKey, rendered: Rendered, late: set[tuple[str, str]], makers: set[str]
) -> Rendered | None:
    """An object as it was when the CSV was first checked; None if it was not there yet."""
    # The plan has put all its objects into its own namespace and ignored that of their files (R-CAT-717).
    if (key.kind, key.name) not in late or key.namespace not in ("", csv.namespace):
        return rendered
    if key.kind == CRD_KIND:
        return None if rendered.provenance.origin is Origin.BUNDLE else rendered
    if key.kind in _RBAC:
        return None
    return _account_before(makers, rendered) if key.kind == ACCOUNT else rendered


def _account_before(makers: set[str], rendered: Rendered) -> Rendered | None:
    """Return a ServiceAccount as it was before the CSVs `makers` owned it; None without another owner, since it was
    made for them."""
    others = [ref for ref in owner_references(rendered.object) if ref.get("name") not in makers]
    if not others:
        return None
    return rendered._replace(
        object={**rendered.object, "metadata": {**rendered.object["metadata"], "ownerReferences": others}}
    )


_MIN_KUBE_VERSION = regex(r"v?([0-9]{1,20})\.([0-9]{1,20})\.([0-9]{1,20})(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\Z")

Status = dict[str, Any]


class RequirementContext(NamedTuple):
    """The context of requirements.

    `apiservices`: the API services that are served, by name, with the kinds of each. `names`: the CSVs of the namespace
    that each CSV replaces, over any number of hops. `extra_apis`: kinds that the cluster serves beyond the workspace's,
    as `group/version/Kind`; `api_resources` those with further facts. `knows_accounts`: False for a dump that was taken
    without ServiceAccounts.
    """

    profile: Profile
    objects: Mapping[ObjectKey, Rendered]
    access: Access
    csvs: Mapping[NamespacedName, Csv]
    apiservices: Mapping[str, frozenset[str]]
    kube_version: str
    extra_apis: frozenset[str]
    api_resources: tuple[APIResource, ...] = ()
    knows_accounts: bool = True

    def cluster_serves(self, api: GVK) -> bool:
        """Return whether the cluster is stated to serve an API, without the APIs of the workspace."""
        kinds = (each for each in self.api_resources if (each.group, each.kind) == api.group_kind)
        return api.path in self.extra_apis or any(api.version in each.versions for each in kinds)

    def versions_served(self, crd: str) -> Sequence[str] | None:
        """The versions of the CRD of this name, one of the workspace or one that the cluster has; None without one."""
        rendered = self.objects.get(crd_key(crd))
        if rendered is not None:
            return Crd(rendered.object).served_versions
        plural, _, group = crd.partition(".")
        there = [each for each in self.api_resources if (each.is_crd, each.plural, each.group) == (True, plural, group)]
        return [version for each in there for version in each.versions] if there else None


def requirements(csv: Csv, context: RequirementContext) -> tuple[bool, tuple[Status, ...]]:
    """Return whether a CSV's requirements are met, and the list that OLM writes about them, in its order (R-REQ-1)."""
    # OLM goes through all of them even after a failure, so that the list is always whole (R-REQ-1).
    entries = [
        *_min_kube_version(csv, context.kube_version),
        *_crds(csv, context),
        *_required_apiservices(csv, context),
        *_owned_apiservices(csv),
        *_native_apis(csv, context),
        *_service_accounts(csv, context),
    ]
    met = all(ok for ok, _ in entries)
    return met, tuple(status for _, status in entries if status)


def _status(group: str, version: str, kind: str, name: str, status: str, message: str) -> Status:
    return {"group": group, "version": version, "kind": kind, "name": name, "status": status, "message": message}


def _min_kube_version(csv: Csv, server: str) -> Iterator[tuple[bool, Status]]:
    """R-REQ-2."""
    required = csv.min_kube_version
    if not required:
        return
    identity = (OLM_GROUP, "v1alpha1", CSV_KIND, csv.name)
    problem = kube_version_problem(required, server)
    if problem:
        yield False, _status(*identity, "PresentNotSatisfied", problem)
    else:
        text = f"CSV minKubeVersion ({required}) less than server version ({server})"
        yield True, _status(*identity, "Present", text)


def kube_version_problem(required: str, server: str) -> str:
    """OLM's text for why a server of this version is none that a CSV with this minKubeVersion runs on, "" if it is
    (R-REQ-2)."""
    # The text after the numbers does not count for the server: v1.30.2-gke.1 is 1.30.2 (R-REQ-2).
    plain = server.removeprefix("v").partition("-")[0].partition("+")[0]
    have, need = _numbers(plain), _numbers(required)
    if not required:
        return ""
    if not have:
        return "Server version parsing error"
    if not need:
        return "CSV version parsing error"
    if need > have:
        return f"CSV version requirement not met: minKubeVersion ({required}) > server version ({plain})"
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    """The three numbers of a version, () where there are not three of at most 64 bits."""
    match = _MIN_KUBE_VERSION.match(version)
    numbers = tuple(map(decimal, match.groups())) if match is not None else (None,)
    return tuple(number for number in numbers if number is not None) if None not in numbers else ()


def _crds(csv: Csv, context: RequirementContext) -> Iterator[tuple[bool, Status]]:
    """R-REQ-3; of several descriptions of one CRD the last decides, and owned ones win over required ones."""
    owned = {item.name: item for item in csv.owned_crds}
    for name, item in sorted({**{item.name: item for item in csv.required_crds}, **owned}.items()):
        identity = ("apiextensions.k8s.io", "v1", CRD_KIND, name)
        served, crd = context.versions_served(name), context.objects.get(crd_key(name))
        # Of an API that is only named there is no more to ask.
        served = (item.version,) if served is None and item.api.path in context.extra_apis else served
        if served is None:
            yield False, _status(*identity, "NotPresent", "CRD is not present")
            continue
        # A CRD that came with a predecessor alone may lack what the new version ships; its own plan adds its name when
        # it has written it (R-REQ-3).
        # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/requirements.go#L85-L166
        others = _alongside(csv, crd, context.csvs) if crd is not None and name in owned else ()
        if others:
            text = f"CRD installed alongside other CSV(s): {', '.join(others)}"
            yield False, _status(*identity, "PresentNotSatisfied", text)
        # Whether the CRD has the kind that the CSV names, OLM does not ask (R-REQ-3).
        elif item.version not in served:
            yield False, _status(*identity, "NotPresent", "CRD version not served")
        else:
            yield True, _status(*identity, "Present", "CRD is present and Established condition is true")


def _alongside(csv: Csv, crd: Rendered, csvs: Mapping[NamespacedName, Csv]) -> tuple[str, ...]:
    """The predecessors of `csv` that a CRD was installed with, unless it was installed with `csv` itself."""
    annotations = annotations_of(crd.object)
    installers = {value for key, value in annotations.items() if key.startswith(ALONGSIDE)}
    if str(namespaced_name(csv)) in installers:
        return ()
    names = (name for name in predecessors(csv, csvs) if str(NamespacedName(csv.namespace, name)) in installers)
    return tuple(sorted(names))


def predecessors(csv: Csv, csvs: Mapping[NamespacedName, Csv]) -> tuple[str, ...]:
    """The names of the existing CSVs that `csv` replaces, directly or over others, nearest first."""
    names: list[str] = []
    current: Csv | None = csv
    # OLM guards against circles, and so must this: anybody may write a CSV that replaces its successor (R-CSV-26).
    while current is not None and current.replaces and current.replaces not in (*names, csv.name):
        current = csvs.get(NamespacedName(csv.namespace, current.replaces))
        if current is not None:
            names.append(current.name)
    return tuple(names)


def successor(name: NamespacedName, csvs: ByNamespace[Csv]) -> Csv | None:
    """The CSV that replaces the one of this name, the first by name if there are several."""
    local = (csv for _, csv in sorted(csvs.within(name.namespace).items()))
    return next((csv for csv in local if csv.replaces == name.name != csv.name), None)


def apiservices_by_name(descriptions: Iterable[APIServiceDescription]) -> dict[str, APIServiceDescription]:
    """API service descriptions by `<version>.<group>`, in that order; of several kinds of one the last counts."""
    return dict(sorted({item.service_name: item for item in descriptions}.items()))


def _required_apiservices(csv: Csv, context: RequirementContext) -> Iterator[tuple[bool, Status]]:
    """R-REQ-4."""
    owned = apiservices_by_name(csv.owned_apiservices)
    for name, item in apiservices_by_name(csv.required_apiservices).items():
        # An API that the CSV serves itself can't exist before its installation (R-REQ-4).
        if name not in owned:
            present = item.kind in context.apiservices.get(name, ()) or context.cluster_serves(item.api)
            status = "Present" if present else "NotPresent"
            yield present, _status("apiregistration.k8s.io", "v1", "APIService", name, status, "")


def _owned_apiservices(csv: Csv) -> Iterator[tuple[bool, Status]]:
    """R-REQ-5."""
    deployments = {deployment.name for deployment in csv.deployments}
    for name, item in apiservices_by_name(csv.owned_apiservices).items():
        is_served = item.deployment in deployments
        status = "DeploymentFound" if is_served else "DeploymentNotFound"
        yield is_served, _status("apiregistration.k8s.io", "v1", "APIService", name, status, "")


def _native_apis(csv: Csv, context: RequirementContext) -> Iterator[tuple[bool, Status]]:
    """R-REQ-6."""
    if not csv.native_apis:
        return
    mapper = rest_mapper((rendered.object for rendered in context.objects.values()), context.api_resources)
    for api in csv.native_apis:
        known = mapper.serves_kind(api, context.extra_apis, context.kube_version)
        status = ("Present", "Native API exists") if known else ("NotPresent", "Native API does not exist")
        yield known, _status(api.group, api.version, api.kind, f"{api.version}.{api.group}", *status)


def _service_accounts(csv: Csv, context: RequirementContext) -> Iterator[tuple[bool, Status]]:
    """R-REQ-7; what OLM made itself for `permissions` is accepted without being listed (R-REQ-7b).

    Accounts in the order in which they are first recorded. OLM reads them from a map of Go, which begins a small one at
    a random place of eight and goes on from there: with two accounts, this is the order seven times in eight.
    """
    statuses: dict[str, tuple[bool, Status]] = {}
    for scope, entries in ((csv.namespace, csv.permissions), ("", csv.cluster_permissions)):
        for entry in entries:
            # OLM searches with the hash of a binding to a Role, so what it made of clusterPermissions it never
            # recognises: these entries are always checked and listed (R-REQ-7b). An account that is missing or belongs
            # to another CSV is noticed before.
            # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/requirements.go#L418-L464
            usable = not context.knows_accounts or account_exists(context.objects, csv.namespace, entry.account)
            usable = usable and not owned_by_others(csv, entry.account, context.objects)
            if scope and usable and _made_by_olm(csv, entry, context):
                continue
            # One status for each account, to which its entries of both lists add their rules (R-REQ-7).
            known_ok, known = statuses.get(entry.account, (True, {}))
            ok, status = _service_account(csv, entry, scope, context, known)
            statuses[entry.account] = (known_ok and ok, status)
    yield from statuses.values()


def _service_account(
    csv: Csv, entry: StrategyPermissions, scope: str, context: RequirementContext, known: Status
) -> tuple[bool, Status]:
    account = entry.account
    base = known or _status("", "v1", "ServiceAccount", account, "Present", "")
    if not account_exists(context.objects, csv.namespace, account):
        return False, {**base, "status": "NotPresent", "message": "Service account does not exist"}
    if owned_by_others(csv, account, context.objects):
        text = "Service account is owned by another ClusterServiceVersion"
        return False, {**base, "status": "PresentNotSatisfied", "message": text}
    permissions = context.access.rules(scope, Subject(ACCOUNT, csv.namespace, account))
    dependents = mappings(base.get("dependents"))
    met = True
    for rule in entry.rules:
        satisfied = rule_satisfied(permissions, decode_rule(rule))
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
    """Return whether a ServiceAccount has CSVs as owners, none of which is this one."""
    rendered = objects.get(ObjectKey("", ACCOUNT, csv.namespace, account))
    references = owner_references(rendered.object) if rendered else ()
    # Anything else may own an account; only CSVs compete for one (R-REQ-7).
    owners = [reference.get("name") for reference in references if reference.get("kind") == CSV_KIND]
    return bool(owners) and csv.name not in owners


def _made_by_olm(csv: Csv, entry: StrategyPermissions, context: RequirementContext) -> bool:
    """R-REQ-7b: a Role and a RoleBinding with the CSV's owner labels and the hashes of this entry."""
    name = role_name(context.profile, csv.name, csv.namespace, dict(entry.object))
    for kind in ("Role", "RoleBinding"):
        rendered = context.objects.get(ObjectKey(RBAC, kind, csv.namespace, name))
        obj = rendered.object if rendered else {}
        if csv_by_label(obj) != (csv.namespace, csv.name) or PERMISSIONS_HASH not in labels_of(obj):
            return False
    return True


def permission_entries_satisfied(
    csv: Csv, entries: Sequence[StrategyPermissions], scope: str, context: RequirementContext
) -> bool:
    """Return whether all entries are satisfied in a namespace, or cluster-wide for "" (R-PERM-1)."""
    return scope in scopes_of_permissions(csv, entries, (scope,), context)


def scopes_of_permissions(
    csv: Csv, entries: Sequence[StrategyPermissions], scopes: Sequence[str], context: RequirementContext
) -> frozenset[str]:
    """Return the namespaces in which all entries are satisfied, "" for the whole cluster (R-PERM-1).

    The permissions of an account are mostly the same in many namespaces. olmc compares each set of permissions once.
    """
    satisfied = frozenset(scopes)
    for entry in entries:
        if not satisfied:
            break
        usable = account_exists(context.objects, csv.namespace, entry.account)
        if not usable or owned_by_others(csv, entry.account, context.objects):
            return frozenset()
        subject = Subject(ACCOUNT, csv.namespace, entry.account)
        granted = {scope: context.access.rules(scope, subject) for scope in satisfied}
        wanted, distinct = decode_rules(entry.rules), {id(rules): rules for rules in granted.values()}
        suffices = {key: all(rule_satisfied(rules, rule) for rule in wanted) for key, rules in distinct.items()}
        satisfied = frozenset(scope for scope, rules in granted.items() if suffices[id(rules)])
    return satisfied
