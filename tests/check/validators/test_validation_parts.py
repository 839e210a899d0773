"""What the validators are made of: texts of results, choice of validators, JSON offsets, addresses, folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bundle_workshop import CSV, GOOD, findings, patched_bundle, place, settings_of
from hypothesis import given
from hypothesis import strategies as st
from tiers import sampled

from olmc.compiler.api import load
from olmc.compiler.load.files import scan
from olmc.k8s.api.validation.metadata import ANNOTATIONS_LIMIT, metadata_errors
from olmc.k8s.diagnostics import Report, Source
from olmc.k8s.objects import Manifest
from olmc.review.check.validators.bundles import OPTIONAL_VALIDATORS, subject_findings, subject_of, validate
from olmc.review.check.validators.community import link_problem, mail_problem
from olmc.review.check.validators.findings import (
    OPTIONAL,
    SUITES,
    Categories,
    ValidatorSettings,
    result_text,
    select_validators,
)
from olmc.review.check.validators.folders import read_folder
from olmc.review.check.validators.objects import csv_findings, invalid_offset


@pytest.mark.parametrize(
    ("field", "value", "detail", "text"),
    [
        ("spec.x", "y", "z", "Field spec.x, Value y: z"),
        ("spec.x", "", "z", "Field spec.x, Value : z"),
        ("spec.x", None, "z", "Field spec.x: z"),
        ("", "y", "z", "Value y: z"),
        ("", "", "z", "Value : z"),
        ("", None, "z", ": z"),
        ("", None, "", "ErrMessageMissing"),
    ],
)
def test_texts_of_results(field: str, value: str | None, detail: str, text: str) -> None:
    """R-CAT-200: field, value and detail, as far as there are any."""
    assert result_text(detail, field=field, value=value) == text


def test_choosing_validators() -> None:
    """R-CAT-201: by name, by suite, or all, with or without the words that operator-sdk wants."""
    assert select_validators(["community"]) == (frozenset({"community"}), ())
    assert select_validators(["name=operatorhub/v2", "multiarch"]) == (frozenset({"operatorhubv2", "multiarch"}), ())
    hub = {"operatorhub", "operatorhubv2", "standardcapabilities", "standardcategories"}
    assert select_validators(["suite=operatorframework"]) == (frozenset(hub), ())
    assert select_validators(["all"]) == (frozenset(OPTIONAL), ())
    assert select_validators(["community", "comunity"]) == (frozenset({"community"}), ("comunity",))
    assert tuple(OPTIONAL_VALIDATORS) == OPTIONAL
    assert set(SUITES["all"]) == set(OPTIONAL)


def test_optional_validators_run_only_when_asked_for(tmp_path: Path) -> None:
    """R-CAT-201."""
    root = patched_bundle(tmp_path, {CSV: {"metadata": {"annotations": {"capabilities": "Autopilot"}}}})
    assert findings(root, settings_of()) == []
    assert [each.code for each in findings(root, settings_of(["standardcapabilities"]))] == ["OLMC287"]


def test_categories_that_cannot_be_read() -> None:
    """R-CAT-244: one finding, whatever the categories are."""
    settings = ValidatorSettings(
        frozenset({"standardcategories"}), categories=Categories(problem="reading category file: no")
    )
    (finding,) = findings(GOOD, settings)
    text = "could not extract custom categories from categories map[string]struct {}(nil): reading category file: no"
    assert (finding.code, finding.message) == ("OLMC288", f"Value : (kettle.v1.2.0) {text}")


def test_a_csv_without_anything() -> None:
    """R-CAT-214, R-CAT-216: structures that are empty; a file without a kind is never taken for a CSV."""
    source = Source("csv.yaml", "{}")
    told = [finding.text for finding in csv_findings(Manifest({}, source)) if finding.rule.code == "OLMC274"]
    structs = [f"Field {name}, Value struct: required field missing" for name in ("TypeMeta", "ObjectMeta", "Spec")]
    assert told == [*structs, "Value : () 'apiVersion' is missing", "Value : () 'kind' is missing"]


def test_annotations_that_are_too_large() -> None:
    """R-CAT-207: keys and values together have at most 262,144 bytes."""
    fits = {"a": "x" * (ANNOTATIONS_LIMIT - 1)}
    assert metadata_errors({"metadata": {"name": "a", "annotations": fits}}) == []
    (error,) = metadata_errors({"metadata": {"name": "a", "annotations": {**fits, "b": ""}}})
    assert str(error) == "metadata.annotations: Too long: may not be more than 262144 bytes"


def test_operator_groups(tmp_path: Path) -> None:
    """R-CAT-215: the case of their annotations, told with the name of the group."""
    (tmp_path / "group.yaml").write_text(
        "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata:\n  name: og\n  namespace: ns\n"
        "  annotations:\n    olm.providedApis: Tea.v1.example.com\n    olm.providedAPIs: Tea.v1.example.com\n",
        encoding="utf-8",
    )
    (finding,) = findings(tmp_path, settings_of())
    text = "Value og: provided annotation olm.providedApis uses wrong case and should be olm.providedAPIs instead"
    assert (finding.code, finding.message) == ("OLMC275", text)
    assert place(tmp_path, finding) == "olm.providedApis: Tea.v1.example.com"


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0), ("  ", 2), ("[1,2", 4), ('[{"a":1,}]', 9), ('{"a" 1}', 6), ("tru", 3), ("nulL", 4), ("[01]", 3),
        ('"\x01"', 2), ("[1] x", 5), ("-", 1), ("1.a", 3), ("1e", 2), ("[}", 2), ("{]", 2), ('"\\u12g4"', 6),
        ('"\\', 2), ("é", 1), ('["é" "]', 7),
    ],
)  # fmt: skip
def test_where_go_stops_reading_json(text: str, offset: int) -> None:
    """R-CAT-211: the number of bytes up to and with the offending one, at the end all of them."""
    assert invalid_offset(text.encode()) == offset


@given(st.text(alphabet='[]{}",:0 1-.eE+tfnrulasb\\', max_size=12))
def test_json_is_what_a_decoder_takes(text: str) -> None:
    """R-CAT-211: an offset exactly for what is no JSON."""
    try:
        json.loads(text)
        valid = True
    except ValueError:
        valid = False
    assert (invalid_offset(text.encode()) is None) == valid


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("ada@example.com", ""),
        ("Ada Lovelace <ada@example.com>", ""),
        ('"Ada, Lady" <ada@[192.0.2.1]>', ""),
        ("ada@example.com (at work)", ""),
        ("café@example.com", ""),
        ("", "mail: no address"),
        ("ada", "mail: missing '@' or angle-addr"),
        ("ada@", "mail: no angle-addr"),
        ("ada@example..com", 'mail: expected single address, got "..com"'),
        ("ada@example.com, bob@example.com", 'mail: expected single address, got ", bob@example.com"'),
    ],
)
def test_mail_addresses(address: str, problem: str) -> None:
    """R-CAT-241: single RFC 5322 addresses."""
    assert mail_problem(address) == problem


@pytest.mark.parametrize(
    ("url", "cause"),
    [
        ("https://example.com/a?b=c%zz", ""),
        ("mailto:ada@example.com", ""),
        ("/docs", ""),
        ("https://[::1]:8080/", ""),
        ("https://user:secret@example.com:443", ""),
        ("example.com", "invalid URI for request"),
        ("https//example.com", "invalid URI for request"),
        ("1http://example.com", "invalid URI for request"),
        ("://example.com", "missing protocol scheme"),
        ("https://exam ple.com", 'invalid character " " in host name'),
        ("https://example.com:port/", 'invalid port ":port" after host'),
        ("https://[::1/", "missing ']' in host"),
        ("https://example.com/%zz", 'invalid URL escape "%zz"'),
        ("https://example.com/\x07", "net/url: invalid control character in URL"),
        ("", "empty url"),
    ],
)
def test_links(url: str, cause: str) -> None:
    """R-CAT-241: absolute URIs, or absolute paths."""
    quoted = url.replace("\x07", "\\a")
    assert link_problem(url) == (f'parse "{quoted}": {cause}' if cause else "")


def test_bundles_are_found_wherever_they_are(tmp_path: Path) -> None:
    """Bundles of a workspace at any depth, in catalogs/ only directly; folders with one half of a bundle too."""
    for name in ("deep/below/bundle", "catalogs/tea"):
        shutil.copytree(GOOD, tmp_path / name)
    shutil.copytree(GOOD / "manifests", tmp_path / "half" / "manifests")
    (tmp_path / "app" / "manifests").mkdir(parents=True)
    (tmp_path / "app" / "manifests" / "secret.yaml").write_text("kind: Secret\napiVersion: v1\nmetadata: {name: a}\n")
    (tmp_path / "catalogs" / "pot" / "1.0").mkdir(parents=True)
    shutil.copytree(GOOD, tmp_path / "catalogs" / "pot" / "1.0" / "bundle")
    report = Report()
    validated = validate(tmp_path, load(tmp_path, Report()), settings_of(), report)
    assert validated.bundles == 3
    assert [(each.code, each.message, str(each.location)) for each in report] == [
        ("OLMC260", "Unable to locate metadata directory", "half")
    ]


def test_ignored_folders_are_not_validated(tmp_path: Path) -> None:
    shutil.copytree(GOOD, tmp_path / "bundle")
    (tmp_path / "bundle" / "metadata" / "annotations.yaml").unlink()
    report = Report()
    validated = validate(tmp_path, load(tmp_path, Report()), settings_of(), report, ignored=("bundle",))
    assert (validated.bundles, list(report)) == (0, [])


def test_two_bundles_of_one_name_are_both_validated(tmp_path: Path) -> None:
    """The workspace knows only the last one."""
    for name in ("one", "two"):
        patched_bundle(tmp_path / name, {CSV: {"spec": {"minKubeVersion": None}}})
    assert [each.location.path.partition("/")[0] for each in findings(tmp_path, settings_of()) if each.location] == [
        "one",
        "two",
    ]


def paths_of(value: Any) -> Iterator[tuple[str | int, ...]]:
    """The paths to everything inside of a value, itself included."""
    yield ()
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from ((key, *path) for path in paths_of(item))


def replaced(value: Any, path: tuple[str | int, ...], odd: Any) -> Any:
    """A value with something else at a path."""
    if not path:
        return odd
    made = dict(value) if isinstance(value, dict) else list(value)
    made[path[0]] = replaced(value[path[0]], path[1:], odd)  # type: ignore[index]
    return made


ODD: list[Any] = [None, 1, True, 1.5, "", "x", [], {}, [None], [1], ["x"], {"x": None}, [{"x": [1]}], [[]]]


@pytest.mark.parametrize("odd", sampled(ODD, 4))
@pytest.mark.parametrize("path", sorted(path.relative_to(GOOD).as_posix() for path in GOOD.glob("*/*.yaml")))
def test_no_value_is_too_odd(path: str, odd: object) -> None:
    """Whatever stands anywhere in a stranger's file, validators only ever find fault with it."""
    folder = read_folder(GOOD, scan(GOOD, Report()), None)
    settings = settings_of(OPTIONAL)
    file = next(each for each in (*(folder.manifests or ()), *(folder.metadata or ())) if each.path == path)
    for keys in paths_of(file.value):
        changed = file._replace(value=replaced(file.value, keys, odd))
        files = {each.path: each for each in (*(folder.manifests or ()), *(folder.metadata or ()), changed)}
        manifests, metadata = (
            tuple(each for each in files.values() if each.path.startswith(part)) for part in ("manifests", "metadata")
        )
        subject = subject_of(folder._replace(manifests=manifests, metadata=metadata), None)
        assert all(each.rule.code.startswith("OLMC2") and each.text for each in subject_findings(subject, settings))
