"""Which bundles are in a range: all at once as one by one (R-CAT-320)."""

from __future__ import annotations

from cpu_time import measure
from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.model.catalog import InstalledEntry, Property
from olmc.compiler.resolver.predicates import PackagePredicate, matches
from olmc.compiler.resolver.snapshot import entry_of_installed
from olmc.compiler.resolver.variables import version_index
from olmc.k8s.semver import parse_range

VERSIONS = st.builds(
    "{}.{}.{}{}".format,
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from(["", "-a", "-1", "+b"]),
)
COMPARATORS = st.builds("{}{}".format, st.sampled_from(["", "!", "<", "<=", ">", ">="]), VERSIONS)
ALTERNATIVES = st.lists(COMPARATORS, min_size=1, max_size=3).map(" ".join)
RANGES = st.lists(ALTERNATIVES, min_size=1, max_size=3).map(" || ".join)
TEXTS = st.one_of(VERSIONS, st.sampled_from(["", "v1.0", "no version"]))


@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=2)), max_size=8), RANGES)
def test_bundles_in_a_range(bundles: list[tuple[str, list[str]]], text: str) -> None:
    entries = [
        entry_of_installed(
            InstalledEntry(
                f"q{number}",
                version=version,
                properties=tuple(
                    Property("olm.package", {"packageName": "q", "version": declared})
                    for declared in (*others, version)
                ),
            ),
            "ns",
        )
        for number, (version, others) in enumerate(bundles)
    ]
    predicate = PackagePredicate("q", text, parse_range(text))
    expected = [entry for entry in entries if matches(predicate, entry)]
    assert version_index(entries).inside(predicate.range) == expected


def test_alternatives_over_each_other_are_looked_at_once() -> None:
    """A thousand bundles in each of ten thousand alternatives are not ten million."""
    versions = [f"1.0.{number}" for number in range(1_000)]
    properties = [(Property("olm.package", {"packageName": "q", "version": version}),) for version in versions]
    entries = [
        entry_of_installed(InstalledEntry(f"q-{version}", version=version, properties=declared), "ns")
        for version, declared in zip(versions, properties, strict=True)
    ]
    index, allowed = version_index(entries), parse_range(" || ".join([">0.0.0 !=1.0.5"] * 10_000))
    seconds = measure()
    assert len(index.inside(allowed)) == 999
    assert seconds() < 1
