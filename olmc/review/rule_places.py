"""Where in the input the rule of a grant stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from olmc.explain.provenance import is_owned, located, place_of_object
from olmc.kube.rbac import decode_rules, normalized
from olmc.model.cluster import Cluster
from olmc.model.location import Location, Place
from olmc.model.objects import Origin, Rendered
from olmc.model.rbac import PolicyRule
from olmc.review.permissions import Grant

_AS_WRITTEN = (Origin.MANIFEST, Origin.BUNDLE, Origin.BUNDLE_UPDATE, Origin.STRATEGY)


def finder(objects: Iterable[Rendered], cluster: Cluster) -> Callable[[Grant], Location | None]:
    """A function that gives the place of the rule of a grant, read when it is asked for."""
    by_identity = {found.identity: found for found in objects}

    def find(grant: Grant) -> Location | None:
        found = by_identity.get(grant.source)
        return located(_of_rule(place_of_object(found, cluster), found, grant.rule)) if found is not None else None

    return find


def _of_rule(place: Place | None, role: Rendered, rule: PolicyRule) -> Place | None:
    """The place of a rule inside that of its role, where the role stands in the input with its rules."""
    if place is None or not (place.keys or (role.provenance.origin in _AS_WRITTEN and not is_owned(role.object))):
        return place
    for index, written in enumerate(decode_rules(role.object.get("rules"))):
        if rule in normalized(written):
            return place._replace(keys=(*place.keys, "rules", index))
    return place
