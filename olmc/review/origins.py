"""Where in the input an object stems from, as exactly as its CSV lets one say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from olmc.golang import binding_name, cluster_role_name, role_name
from olmc.kube.rbac import decode_rules, normalized
from olmc.model.cluster import Cluster, Name
from olmc.model.location import Location, Place
from olmc.model.objects import Origin, Rendered, metadata_of
from olmc.model.operators import CSV_KIND, Csv, StrategyPermissions
from olmc.model.profile import Profile
from olmc.model.rbac import PolicyRule
from olmc.profiles.ownership import COPIED_FROM
from olmc.review.permissions import Grant
from olmc.yaml import locate

_AS_WRITTEN = (Origin.MANIFEST, Origin.BUNDLE, Origin.BUNDLE_UPDATE, Origin.STRATEGY)
_RBAC_KINDS = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")


def location_of(found: Rendered, cluster: Cluster) -> Location | None:
    """Where an object stems from: for RBAC of an install strategy the permissions in the CSV, None for nowhere."""
    return _located(_refined(found, cluster))


def finder(objects: Iterable[Rendered], cluster: Cluster) -> Callable[[Grant], Location | None]:
    """A function that gives the place of the rule of a grant, read when it is asked for."""
    by_identity = {found.identity: found for found in objects}

    def find(grant: Grant) -> Location | None:
        found = by_identity.get(grant.source)
        return _located(_of_rule(_refined(found, cluster), found, grant.rule)) if found is not None else None

    return find


def place_data(place: Location | None) -> dict[str, Any] | None:
    """A place as data, None for nowhere."""
    return place._asdict() if place is not None else None


def _located(place: Place | None) -> Location | None:
    return locate(place.source, place.keys) if place is not None else None


def _of_rule(place: Place | None, role: Rendered, rule: PolicyRule) -> Place | None:
    """The place of a rule inside that of its role, where the role stands in the input with its rules."""
    if place is None or not (place.keys or (role.provenance.origin in _AS_WRITTEN and not _is_owned(role.object))):
        return place
    for index, written in enumerate(decode_rules(role.object.get("rules"))):
        if rule in normalized(written):
            return place._replace(keys=(*place.keys, "rules", index))
    return place


def _refined(found: Rendered, cluster: Cluster) -> Place | None:
    """The place in the provenance; for RBAC that is named after an entry of a CSV's permissions, this entry."""
    key, place = found.identity, found.provenance.place
    csv = _owner(found.object, cluster) if key.kind in _RBAC_KINDS else None
    if place is None or place.keys or csv is None or csv.source != place.source:
        return place
    for field, entries in (("permissions", csv.permissions), ("clusterPermissions", csv.cluster_permissions)):
        for index, entry in enumerate(entries):
            if key.name in _names(cluster.profile, csv, entry):
                return place._replace(keys=("spec", "install", "spec", field, index))
    return place


def _names(profile: Profile, csv: Csv, entry: StrategyPermissions) -> Iterator[str]:
    """What the RBAC of an entry of permissions can be called: its role, cluster-wide or not, and the binding."""
    for kind, named in (("Role", role_name), ("ClusterRole", cluster_role_name)):
        role = named(profile, csv.name, csv.namespace, dict(entry.object))
        yield role
        yield binding_name(profile, f"{kind}Binding", role, csv.namespace, entry.account)


def _is_owned(obj: Mapping[str, Any]) -> bool:
    labels = metadata_of(obj).get("labels")
    return isinstance(labels, Mapping) and "olm.owner" in labels and labels.get("olm.owner.kind", CSV_KIND) == CSV_KIND


def _owner(obj: Mapping[str, Any], cluster: Cluster) -> Csv | None:
    """The CSV that an object's owner labels name; a copy in a target namespace says where it was copied from."""
    if not _is_owned(obj):
        return None
    labels = obj["metadata"]["labels"]
    namespace = labels.get(COPIED_FROM) or labels.get("olm.owner.namespace")
    return cluster.csvs.get(Name(str(namespace), str(labels.get("olm.owner"))))
