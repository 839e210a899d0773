"""The checks that OLM makes of a whole catalog and of each channel's graph, and the tree that it prints of what they
find (R-CAT-400, R-CAT-401)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from olmc.catalogs import properties as props
from olmc.catalogs.catalog_errors import CatalogError, below
from olmc.catalogs.content import has_inline_content
from olmc.diagnostics.rule import Rule
from olmc.diagnostics.rules import catalogs as rules
from olmc.model.catalog import CatalogBundle, Channel, ChannelEntry, Package
from olmc.model.diagnostics import Place
from olmc.semver import parse_strict, range_problem
from olmc.strconv import quoted


def heads(entries: Sequence[ChannelEntry]) -> list[str]:
    """The names of the entries that no entry replaces or skips, sorted; a sound channel has one (R-CAT-401)."""
    incoming = {skip for entry in entries for skip in entry.skips}
    incoming.update(entry.replaces for entry in entries if entry.replaces)
    return sorted(entry.name for entry in entries if entry.name not in incoming)


def graph_problem(entries: Sequence[ChannelEntry]) -> tuple[str, str]:
    """What is wrong with the graph in OLM's words, and the entry to look at; ("", "") for a sound one (R-CAT-400)."""
    names_of_heads = heads(entries)
    if not names_of_heads:
        return "no channel head found in graph", ""
    if len(names_of_heads) > 1:
        return f"multiple channel heads found in graph: {', '.join(names_of_heads)}", names_of_heads[0]
    by_name = {entry.name: entry for entry in entries}
    skipped = {skip for entry in entries for skip in entry.skips}
    current = names_of_heads[0]
    chain = {current: 0}
    # The walk ends at an entry that is skipped, so what only that one replaces is stranded (R-CAT-400).
    while (replaced := by_name[current].replaces) in by_name and replaced not in skipped:
        if replaced in chain:
            cycle = " -> ".join([*list(chain)[chain[replaced] :], replaced])
            return f"detected cycle in replaces chain of upgrade graph: {cycle}", current
        chain[replaced] = len(chain)
        current = replaced
    stranded = sorted(by_name.keys() - chain.keys() - skipped)
    if stranded:
        return f"channel contains one or more stranded bundles: {', '.join(stranded)}", stranded[0]
    return "", ""


_NO_MESSAGE = "invalid deprecation: message must be set"


@dataclass(slots=True)
class _Node:
    """A line of the tree and the lines below it, with the errors that they stand for."""

    line: str
    children: list[_Node] = field(default_factory=list)
    errors: list[CatalogError] = field(default_factory=list)

    def add(self, rule: Rule, place: Place | None, where: str, problem: str) -> None:
        self.children.append(_Node(problem))
        self.errors.append(CatalogError(rule, place, {"where": where, "problem": problem}))

    def hang(self, node: _Node) -> None:
        """Add a sub-tree, unless nothing is wrong in it."""
        if node.children:
            self.children.append(node)
            self.errors += node.errors


def check_model(packages: Mapping[str, Package]) -> tuple[str, list[CatalogError]]:
    """What is wrong with the packages: OLM's tree ("" when all is well) and each finding with its place.

    Packages, channels and bundles are visited in the order of their names (D7).
    """
    root = _Node("invalid index")
    for _, package in sorted(packages.items()):
        root.hang(_package_node(package))
    return ("\n".join(_lines(root)) if root.children else ""), root.errors


def _lines(node: _Node) -> Iterable[str]:
    yield f"{node.line}:" if node.children else node.line
    for index, child in enumerate(node.children):
        last = index == len(node.children) - 1
        first, *others = _lines(child)
        yield ("└── " if last else "├── ") + first
        for line in others:
            yield ("    " if last else "│   ") + line


def _package_node(package: Package) -> _Node:
    node = _Node(f"invalid package {quoted(package.name)}")
    where = f"package {quoted(package.name)}"
    if not package.default_channel:
        node.add(rules.NO_DEFAULT_CHANNEL, package.location, where, "default channel must be set")
    if not package.channels:
        node.add(rules.NO_CHANNELS, package.location, where, "package must contain at least one channel")
    unexplained = {(entry.schema, entry.name) for entry in package.deprecations if not entry.message}
    for _, channel in sorted(package.channels.items()):
        node.hang(_channel_node(channel, package, unexplained))
    same = _same_versions(package)
    if same:
        listed = " ".join(f"{{{version}: [{', '.join(names)}]}}" for version, names in same.items())
        second = package.bundles[next(iter(same.values()))[1]]
        problem = f"duplicate versions found in bundles: [{listed}]"
        node.add(rules.SAME_VERSIONS, second.location, where, problem)
    if ("olm.package", "") in unexplained:
        node.add(rules.NO_DEPRECATION_MESSAGE, package.location, where, _NO_MESSAGE)
    return node


def _same_versions(package: Package) -> dict[str, list[str]]:
    """The versions, release included, that several bundles of the package's channels have, with their names."""
    # By name: a bundle in several channels is no duplicate of itself (R-CAT-126).
    named = {entry.name for channel in package.channels.values() for entry in channel.entries}
    by_version: dict[str, list[str]] = {}
    for name in sorted(named):
        bundle = package.bundles[name]
        release = _release(bundle)
        by_version.setdefault(f"{bundle.version}-{release}" if release else bundle.version, []).append(name)
    return {version: names for version, names in sorted(by_version.items()) if len(names) > 1}


_WITHOUT_RELEASE = {"packageName", "version"}


def _release(bundle: CatalogBundle) -> str:
    package = next(prop.value for prop in bundle.properties if prop.type == props.PACKAGE)
    if package.keys() == _WITHOUT_RELEASE:  # as nearly all are
        return ""
    return props.field_texts(props.PACKAGE, package, "release")[0]


def _channel_node(channel: Channel, package: Package, unexplained: set[tuple[str, str]]) -> _Node:
    node = _Node(f"invalid channel {quoted(channel.name)}")
    where = f"package {quoted(package.name)}, channel {quoted(channel.name)}"
    if not channel.entries:
        problem = "channel must contain at least one bundle"
        node.add(rules.EMPTY_CHANNEL, channel.location, where, problem)
    else:
        problem, name = graph_problem(channel.entries)
        if problem:
            place = next((entry.location for entry in channel.entries if entry.name == name), channel.location)
            node.add(rules.BROKEN_GRAPH, place, where, problem)
    for entry in sorted(channel.entries, key=lambda entry: entry.name):
        node.hang(_bundle_node(entry, package.bundles[entry.name], where, ("olm.bundle", entry.name) in unexplained))
    if ("olm.channel", channel.name) in unexplained:
        node.add(rules.NO_DEPRECATION_MESSAGE, channel.location, where, _NO_MESSAGE)
    return node


_Finding = tuple[Rule, Place | None, str]


def _bundle_node(entry: ChannelEntry, bundle: CatalogBundle, where: str, unexplained: bool) -> _Node:
    node = _Node("")
    for rule, place, problem in _bundle_findings(entry, bundle, unexplained):
        node.line = f"invalid bundle {quoted(entry.name)}"
        node.add(rule, place, f"{where}, bundle {quoted(entry.name)}", problem)
    return node


def _bundle_findings(entry: ChannelEntry, bundle: CatalogBundle, unexplained: bool) -> Iterator[_Finding]:
    if not bundle.name:
        yield rules.BUNDLE_WITHOUT_NAME, bundle.location, "name must be set"
    release = _release(bundle)
    normal = f"{bundle.package}-v{bundle.version}-{release}"
    if release and bundle.name != normal:
        problem = f"name {quoted(bundle.name)} does not match normalized name {quoted(normal)}"
        yield rules.NAME_WITHOUT_RELEASE, below(bundle.location, "name"), problem
    for index, skip in enumerate(entry.skips):
        if not skip:
            yield rules.EMPTY_SKIP, below(entry.location, "skips", index), f"skip[{index}] is empty"
    cause = range_problem(entry.skip_range) if entry.skip_range else ""
    if cause:
        problem = f"invalid skipRange {quoted(entry.skip_range)}: {cause}"
        yield rules.BAD_SKIP_RANGE, below(entry.location, "skipRange"), problem
    if not bundle.image and not has_inline_content(bundle):
        yield rules.NO_BUNDLE_IMAGE, bundle.location, "bundle image must be set"
    if unexplained:
        yield rules.NO_DEPRECATION_MESSAGE, bundle.location, _NO_MESSAGE
    if release and parse_strict(bundle.version).build:
        problem = "cannot use build metadata in version with a release version"
        yield rules.BUILD_WITH_RELEASE, bundle.location, problem
