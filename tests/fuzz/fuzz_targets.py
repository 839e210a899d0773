"""What is fuzzed: functions that take bytes, and raise for whatever olmc must never do with them."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import shlex
import shutil
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml
from click.testing import CliRunner
from image_kit import BUNDLE_LABELS, image, index, member, packed, tar
from mutations import Archive, Mutate, mutated_archive, mutated_bytes, mutated_document, pack, unpack
from pages import OBEYED, faults

import olmc
from olmc.cli.main import main
from olmc.compiler import cache
from olmc.compiler.catalogs.loading import load_catalog
from olmc.compiler.catalogs.properties import pull_spec_problem
from olmc.compiler.catalogs.stored import NotStorableError, StoredCatalog, stored_catalog, stored_form, with_index
from olmc.compiler.load.config import lock_text, options_from, read_config, read_lock
from olmc.compiler.load.live_objects import read_dump
from olmc.compiler.model.catalog import Candidate, Catalog, Property, names_of_bundles
from olmc.compiler.model.options import Options
from olmc.compiler.output.messages import as_text
from olmc.compiler.resolver.predicates import ConstraintError, matches, predicate_of, wording
from olmc.compiler.resolver.snapshot import entry_of_candidate
from olmc.integrations.fetch.containers_config import read_auth_files, read_rewrites
from olmc.integrations.fetch.layers import LayerLimits, Tree, add_layer, content_folders, write_tree
from olmc.integrations.fetch.sources import OCI_INDEX, Index, VendorError, choose, decode_manifest, parse
from olmc.integrations.fetch.transport import challenges_in
from olmc.integrations.fleet.outputs import (
    FleetReport,
    OutcomeGroup,
    as_html,
    as_json,
    as_markdown,
    from_json,
    merged,
    outcome_key,
    report_of,
    unpacked,
)
from olmc.integrations.fleet.outputs import as_text as as_fleet_text
from olmc.integrations.fleet.run import reader_of, sides_of
from olmc.integrations.fleet.trees import entries_of, work_tree
from olmc.integrations.lsp.findings import offset_at, olmc_lines, position_at
from olmc.integrations.lsp.server import language_server
from olmc.k8s.diagnostics import Report, Severity
from olmc.k8s.limits import CelAccount, CelCostError
from olmc.k8s.objects import CatalogKey
from olmc.k8s.semver import (
    RangeError,
    VersionError,
    parse_range,
    parse_release,
    parse_strict,
    parse_tolerant,
    range_problem,
)
from olmc.k8s.yaml import locate
from olmc.k8s.yaml.emitter import dump
from olmc.k8s.yaml.places import cursor
from olmc.k8s.yaml.reader import read
from olmc.review.attestation.statement import RenderStatement, read_statement, statement_text
from olmc.targets.v1.resolution import VersionRangeError, parse_version_range

SECONDS = 5.0
EXIT_CODES = frozenset({0, 1, 2, 3})
PROJECT = Path(__file__).resolve().parents[2]

# w is what is looked at, v what it is compared with, stdin a file that is handed over.
COMMANDS = tuple(
    """
    olmc render w | olmc render w -o json | olmc render w --for apply --keep-going --certs cert-manager
    olmc render w --output-dir out | olmc render w --olm-version 0.17.0 | olmc render w --descoped --flux -o name
    olmc render w --olm-version ocp-4.14 --approve all --verbose | olmc render w --for apply --phase 1 --keep-going
    olmc check w --all --optional all | olmc check w -o json | olmc check w -o github | olmc check w -o sarif
    olmc check w -o junit --author | olmc check w --statistics | olmc diff v w | olmc diff v w -o json
    olmc diff v w -o html | olmc diff v w -o markdown --for apply | olmc diff w v | olmc plan w --from v
    olmc plan w --from v -o json --approve all | olmc plan v --from w -o markdown | olmc plan w --from v -o html
    olmc plan w --to ocp-4.19 | olmc status w -o wide | olmc status w -o json --from v | olmc status w -o prometheus
    olmc why Deployment w | olmc why beacon w -o json | olmc rbac w | olmc rbac w -o json | olmc resolve w --dry-run
    olmc resolve w -o json | olmc graph beacon w | olmc graph beacon w -o svg | olmc fix w --dry-run
    olmc graph beacon w -o json --skip-ranges
    olmc graph beacon w --from 1.0.0 --to 1.1.0 | olmc get installed -A -C w | olmc get packagemanifests -A -C w -o yaml
    olmc get csv -A -C w -o wide | olmc explain w | olmc import w | olmc import -
    olmc fn | olmc migrate w --to descoped --dry-run
    olmc migrate w --to v2alpha1 | olmc migrate w --to olm-v1 --dry-run
    olmc vendor w --offline --check | olmc vendor w --offline | olmc argocd parameters
    olmc plugin argocd generate | olmc argocd generate | olmc init workspace --openshift 4.18
    olmc verify w --provenance v/olmc.yaml
    olmc report w -o out | olmc fleet plan . -o markdown | olmc fleet check w v | olmc fleet status w -o json
    """.replace("\n", " | ").split(" | ")
)
COMMANDS = tuple(command.strip() for command in COMMANDS if command.strip())


MIGRATIONS = tuple(
    f"olmc migrate w --to {target}{options}"
    for target in ("olm-v1", "v2alpha1", "descoped")
    for options in ("", " --dry-run")
)
OLMV1_COMMANDS = tuple(
    f"olmc {command}"
    for command in (
        "render w --olm-version v1", "render w --olm-version v1 --for apply --keep-going", "resolve w -o json",
        "resolve w --update", "status w -o json", "check w --all", "why ClusterExtension w", "diff v w -o json",
        "plan w --from v -o json", "plan w --from v -o html", "rbac w -o json", "graph beacon w",
    )
)  # fmt: skip
# o holds a rendering, n another one, or the workspace that it is of, and s.yaml the state of a cluster.
RENDERINGS = tuple(
    f"olmc {command}"
    for command in (
        "diff o n", "diff o n -o json", "diff o n -o html", "diff o n -o markdown --for apply", "diff n o",
        "plan n --from o", "plan n --from o -o json --approve all", "status n --from o -o json", "render n --from o",
        "why Deployment n --from o", "import o --verify", "plan n --from s.yaml", "status n --from s.yaml -o wide",
        "import s.yaml --verify", "plan n --from s.yaml -o html", "render n --from s.yaml",
    )
)  # fmt: skip
PAGES = ("report w -o out", "report w --from v -o out", "plan w --from v -o html", "diff v w -o html")


class FuzzError(AssertionError):
    """What olmc has done and must not do."""


class FuzzTarget(NamedTuple):
    """Something to feed with inputs; `seeds` gives the first of them, `mutate` makes others of one."""

    run: Callable[[bytes], None]
    mutate: Mutate
    seeds: Callable[[], Iterator[bytes]]
    share: int = 1


def within_limits(run: Callable[[bytes], None], data: bytes, seconds: float = SECONDS) -> None:
    """Runs a target; raises whatever it raises, and FuzzError if it takes more than so many seconds of CPU time."""
    start = time.process_time()
    run(data)
    spent = time.process_time() - start
    if spent > seconds:
        raise FuzzError(f"{spent:.1f} s of CPU time for {len(data)} bytes")


def run_reader(data: bytes) -> None:
    """What is read can be written, and is the same when it is read again; each value has a place."""
    text = data.decode("utf-8", "replace")
    for path in ("x.yaml", "x.json"):
        report = Report()
        documents = read(path, text, report)
        as_text(list(report))
        for document in documents:
            if isinstance(document.value, dict):
                for key in list(document.value)[:3]:
                    locate(document.source, (key,))
        values = [document.value for document in documents]
        again = [document.value for document in read("y.yaml", dump(values), Report())]
        # What Go prints of a large float reads as an integer, which prints the same.
        if values and again != values and dump(again) != dump(values):
            raise FuzzError(f"{values!r} comes back as {again!r}")


def run_ranges(data: bytes) -> None:
    """Versions, releases, ranges, image references."""
    text = data.decode("utf-8", "replace")
    for parse_version in (parse_strict, parse_tolerant):
        with suppress(VersionError):
            parse_version(text)
    with suppress(ValueError):
        parse_release(text)
    range_problem(text)
    pull_spec_problem(text)
    with suppress(VendorError, ValueError):
        parse(text)
    with suppress(VersionRangeError):
        parse_version_range(text).contains(parse_strict("1.2.3-rc.1"))
    with suppress(RangeError):
        parse_range(text).contains(parse_strict("1.2.3-rc.1"))


def run_constraints(data: bytes) -> None:
    """Properties of bundles: each is taken for a requirement, and asked of an entry that has all of them."""
    declared = [
        Property(str(value.get("type")), value.get("value"))
        for document in read("x.yaml", data.decode("utf-8", "replace"), Report())
        for value in (document.value if isinstance(document.value, list) else [document.value])
        if isinstance(value, dict)
    ]
    entry = entry_of_candidate(Candidate("a.v1", "a", "s", CatalogKey("c", "ns"), "1.0.0", tuple(declared)))
    for one in declared:
        with suppress(ConstraintError, CelCostError):
            predicate = predicate_of(one, CelAccount())
            if predicate is not None:
                wording(predicate)
                matches(predicate, entry)


def run_bundle(data: bytes) -> None:
    """A bundle by itself."""
    with workspace(unpack(data).files) as root:
        as_text(olmc.compile(root).diagnostics)


def run_catalog(data: bytes) -> None:
    """The files of a catalog, templates included."""
    files = {name: text.decode("utf-8", "replace") for name, text in unpack(data).files.items()}
    report = Report()
    load_catalog("", files, report)
    as_text(list(report))


def run_config(data: bytes) -> None:
    """The files that steer olmc: olmc.yaml, olmc.lock, and those of container tools."""
    with workspace(unpack(data).files) as root:
        report = Report()
        config = read_config(root, report)
        options_from(config, Options(), frozenset())
        lock = read_lock(root, report)
        lock_text(lock.operators, lock.images)
        read_statement(root / "statement", report)
        as_text(list(report))
        for act in (read_auth_files, read_rewrites):
            with suppress(VendorError):
                act([root / "auth.json" if act is read_auth_files else root / "registries.conf"])


def run_registry(data: bytes) -> None:
    """What registries answer: manifests, indexes, configurations of images, and challenges."""
    for media_type in ("", OCI_INDEX):
        with suppress(VendorError, ValueError):
            found = decode_manifest(data, media_type)
            if isinstance(found, Index):
                choose(found, "linux/amd64")
    with suppress(VendorError):
        content_folders(data, "catalog", "example.com/a:v1")
    with suppress(VendorError):
        content_folders(data, "bundle", "example.com/a:v1")
    challenges_in([data.decode("latin-1")])


def run_layers(data: bytes) -> None:
    """A layer of an image, packed in any way."""
    with workspace({"layer": data}) as root:
        (root / "spool").mkdir()
        limits = LayerLimits(layer_bytes=4_000_000, members=1000, files=500, file_bytes=100_000, bytes=1_000_000)
        tree = Tree("example.com/a:v1", ("manifests",), root / "spool", limits)
        with suppress(VendorError):
            add_layer(tree, root / "layer", "sha256:0")
            for path in write_tree(tree, {"manifests": "out"}, root / "there"):
                if not (root / "there" / path).resolve().is_relative_to(root / "there"):
                    raise FuzzError(f"{path} is outside")


def run_command(data: bytes) -> None:
    """A command line on a tree of files ends with a known code and in words."""
    archive = unpack(data)
    try:
        program, *arguments = shlex.split(archive.command.decode("utf-8", "replace").removeprefix("$ "))
    except ValueError:
        return
    if program != "olmc" or "serve" in arguments:
        return
    with workspace(archive.files) as root:
        name = "stdin" if (root / "stdin").is_file() else next(iter(archive.files), "")
        given = archive.files.get(name, b"")
        if "argocd" in arguments:
            os.chdir(root / "w" if (root / "w").is_dir() else root)
        result = CliRunner().invoke(main, arguments, input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in EXIT_CODES:
        raise FuzzError(f"exit code {result.exit_code}")


def run_extensions(data: bytes) -> None:
    """ClusterExtensions with their catalogs and bundles; and that what comes out of them can be written and read."""
    with workspace(unpack(data).files) as root:
        compiled = olmc.compile(root)
        as_text(compiled.diagnostics)
        dump([rendered.object for rendered in compiled.objects])


def run_state(data: bytes) -> None:
    """What kubectl prints of a cluster, lists of lists and tables included."""
    with workspace(unpack(data).files) as root:
        report = Report()
        read_dump([root], report)
        as_text(list(report))


def run_repository(data: bytes) -> None:
    """Which clusters a repository has, as Argo CD, Flux and policies apply them, and what each of them reads."""
    with workspace(unpack(data).files) as root:
        tree = work_tree(root)
        reader = reader_of(tree)
        for entry in entries_of(root, ["."], [tree])[0]:
            sides_of(entry.path, (reader,))
        compiled = olmc.compile(root)
        as_text(compiled.diagnostics)


def run_parts(data: bytes) -> None:
    """Reports of other jobs, that of the same jobs without what proves them included."""
    report = from_json(data.decode("utf-8", "replace"))
    if report is not None:
        for text in (as_fleet_text(report), as_markdown(report), as_html(merged([report, report])), as_json(report)):
            if text.startswith("<!") and (wrong := faults(text)):
                raise FuzzError(f"{wrong[:5]}")
            if OBEYED.search(text):
                raise FuzzError(f"{OBEYED.search(text)} in {text[:200]!r}")


def run_editor(data: bytes) -> None:
    """What stands at each of a few positions of a document that is being written."""
    text = data.decode("utf-8", "replace")
    lines = olmc_lines("a.yaml", text)
    for number in range(0, len(lines.starts), max(1, len(lines.starts) // 3)):
        for column in (1, 8):
            cursor("a.yaml", text, number + 1, column)
    for encoding in ("utf-8", "utf-16", "utf-32"):
        for offset in (0, len(text) // 2, len(text)):
            position_at(lines, offset_at(lines, position_at(lines, offset, encoding), encoding), encoding)


def run_messages(data: bytes) -> None:
    """Messages to the language server, after which it still answers; what is no message is sent as it is."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    with workspace({"w/a.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"}) as root:
        try:
            documents = list(
                yaml.load_all(data.replace(b"file:///w", (root / "w").as_uri().encode()), yaml.CSafeLoader)
            )
            messages = [json.dumps(document, default=str).encode() for document in documents]
        except (yaml.YAMLError, ValueError, LookupError, RecursionError, OverflowError, TypeError):
            messages = [data]
        ends = [b'{"jsonrpc": "2.0", "id": 77, "method": "%s"}' % method for method in (b"a/b", b"shutdown")]
        sent = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(each), each) for each in (*messages, *ends))
        answers = _Answers()
        server, _ = language_server(Severity.INFO)
        server.start_io(io.BytesIO(sent), answers)
    if b"internal error" in answers.getvalue():
        raise FuzzError(answers.getvalue()[-300:].decode())
    if not any(b'"exit"' in each for each in messages) and not re.search(rb'"id": ?77\b', answers.getvalue()):
        raise FuzzError("nothing is answered any more")


class _Answers(io.BytesIO):
    """What a server has written, after it has closed it as well."""

    def close(self) -> None:
        pass


def run_cache(data: bytes) -> None:
    """What the cache may have, whole and under the right key: a catalog that is one or is read again, and results."""
    known = stored_catalog(data, lambda _: "a: 1\n---\nb: 2\n", lambda: Catalog({}))
    if known is not None:
        as_text(known.found)
        for name in known.catalog.packages:
            with suppress(KeyError):  # it is in no file, of which the stored form comes
                package = known.catalog.packages[name]
                names_of_bundles((known.catalog,)) if package.channels else ()
    for packed_result in (data, zlib.compress(data, 1)):
        result = unpacked(packed_result)
        if result is not None:
            report = report_of("render" if "files" in result else "plan", [("clusters/hull", result)])
            for text in (as_fleet_text(report), as_markdown(report), as_json(report)):
                if "\0" in text:
                    raise FuzzError(f"{text[:200]!r}")
    with workspace({}) as root:
        store = cache.open_cache(root)
        name = cache.key(store, "fuzz")
        (root / name[:2]).mkdir()
        (root / name[:2] / name).write_bytes(data)
        if cache.read(store, name) is not None:
            raise FuzzError("what nobody has written is read")


def run_pages(data: bytes) -> None:
    """Pages of HTML hold what olmc writes into them, and texts."""
    with workspace(unpack(data).files) as root:
        if not (root / "v").is_dir():
            shutil.copytree(root / "w", root / "v", symlinks=True) if (root / "w").is_dir() else (root / "v").mkdir()
        command = PAGES[len(data) % len(PAGES)]
        result = CliRunner().invoke(main, command.split())
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        pages = [path.read_text("utf-8") for path in sorted((root / "out").rglob("*.html"))]
        pages += [result.stdout] if result.stdout.startswith("<!") else []
        if wrong := [fault for page in pages for fault in faults(page)]:
            raise FuzzError(f"{command}: {wrong[:5]}")


@contextmanager
def workspace(files: Mapping[str, bytes]) -> Iterator[Path]:
    """A folder with files, which is the working directory meanwhile; names that lead out of it are left out."""
    memory = Path("/dev/shm")
    before = Path.cwd()
    root = Path(tempfile.mkdtemp(prefix="fuzz-", dir=memory if memory.is_dir() else None)).resolve()
    try:
        for name, data in files.items():
            path = root / name
            with suppress(OSError, ValueError):
                if path.resolve().is_relative_to(root):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
        os.chdir(root)
        yield root
    finally:
        os.chdir(before)
        shutil.rmtree(root, ignore_errors=True)


def files_of(folder: Path, prefix: str = "", most: int = 60_000) -> dict[str, bytes]:
    """The files of a folder, but for pages and what is too large to be changed quickly."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".md")
    return {
        f"{prefix}{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in paths
        if path.stat().st_size <= most
    }


def fixtures() -> Iterator[Path]:
    """The workspaces of the fixtures, and published bundles where OLMC_SHARED has them."""
    yield from (path for path in sorted((PROJECT / "fixtures").iterdir()) if path.is_dir() and path.name != "repos")
    yield from (path for path in sorted((PROJECT / "fixtures" / "repos").iterdir()) if path.is_dir())


def published_bundles() -> Iterator[dict[str, bytes]]:
    """Every fifth of the published bundles, where OLMC_SHARED has them."""
    archive = Path(os.environ.get("OLMC_SHARED", PROJECT.parent / "shared")) / "corpus" / "bundles.tar.xz"
    if not archive.is_file():
        return
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as stream:
        stream.extractall(folder, filter="data")
        for path in sorted(Path(folder).glob("bundles/*/*/manifests"))[::5]:
            yield files_of(path.parent)


def command_seeds() -> Iterator[bytes]:
    for number, folder in enumerate(fixtures()):
        files = files_of(folder, "w/")
        if sum(map(len, files.values())) < 150_000:
            files |= files_of(folder, "v/") if number % 2 else {}
            yield pack(Archive(COMMANDS[number % len(COMMANDS)].encode(), files))
    for number, bundle in enumerate(published_bundles()):
        command = COMMANDS[number * 7 % len(COMMANDS)].encode()
        sides = ("w", "v") if number % 2 else ("w",)
        yield pack(Archive(command, {f"{side}/{name}": data for side in sides for name, data in bundle.items()}))


def extension_seeds() -> Iterator[bytes]:
    for path in sorted((PROJECT / "fixtures" / "olmv1").iterdir()):
        if path.is_dir():
            yield pack(Archive(b"", files_of(path)))


def page_seeds() -> Iterator[bytes]:
    for folder in fixtures():
        files = files_of(folder, "w/")
        if sum(map(len, files.values())) < 20_000:
            yield pack(Archive(b"", files))


def repository_seeds() -> Iterator[bytes]:
    for path in sorted((PROJECT / "fixtures" / "repos").iterdir()):
        files = {name: text for name, text in files_of(path).items() if "/bundles/" not in f"/{name}"}
        if path.is_dir() and sum(map(len, files.values())) < 60_000:
            yield pack(Archive(b"", files))
    chart = {"c/Chart.yaml": b"name: c\nversion: 1.0.0\n", "c/values.yaml": b"a: {b: [1]}\n"}
    source = "{path: '{{path}}', helm: {valueFiles: [values.yaml], values: 'a: 1'}}"
    generators = "[{matrix: {generators: [{git: {directories: [{path: '*'}]}}, {list: {elements: [{a: x}]}}]}}]"
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\nspec:\n"
        f"  generators: {generators}\n  template: {{metadata: {{name: '{{{{path}}}}'}}, spec: {{source: {source}}}}}\n"
    )
    template = {"c/templates/a.yaml": b"apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\n"}
    yield pack(Archive(b"", {"set.yaml": text.encode(), **chart, **template}))


def state_seeds() -> Iterator[bytes]:
    for path in sorted((PROJECT / "fixtures").glob("*/*.yaml")):
        if path.stat().st_size < 6000:
            yield pack(Archive(b"", {"state.yaml": path.read_bytes()}))
    table = b"NAME SHORTNAMES APIVERSION NAMESPACED KIND\npods po v1 true Pod\n"
    listed = b'{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "List", "items": []}]}'
    yield pack(Archive(b"", {"apis.txt": table, "a.json": listed}))


def part_seeds() -> Iterator[bytes]:
    for gravity in ("breaking", "none", "error"):
        told = {"headline": "h", "gravity": gravity, "text": "a\n  b", "data": {"a": [1]}}
        key = outcome_key(told, "clusters/hull")
        for command in ("plan", "render"):
            group = OutcomeGroup("h", gravity, ("clusters/hull",), "a\n  b", {"a": [1]}, key)
            yield as_json(FleetReport(command, 1, (group,))).encode()


def message_seeds() -> Iterator[bytes]:
    document = {"textDocument": {"uri": "file:///w/a.yaml"}, "position": {"line": 0, "character": 3}}
    item = {
        "uri": "file:///w/a.yaml",
        "languageId": "yaml",
        "version": 1,
        "text": "kind: Subscription\nspec: {name: }\n",
    }
    start: dict[str, Any] = {"processId": None, "rootUri": "file:///w", "capabilities": {},
             "workspaceFolders": [{"uri": "file:///w", "name": "w"}]}  # fmt: skip
    change = {"textDocument": {"uri": item["uri"], "version": 2}, "contentChanges": [{"text": "a: 1\n"}]}
    asked = [("initialize", start), ("initialized", {}), ("textDocument/didOpen", {"textDocument": item}),
             ("textDocument/hover", document), ("textDocument/completion", document),
             ("textDocument/definition", document), ("textDocument/didChange", change),
             ("textDocument/didClose", {"textDocument": document["textDocument"]}),
             ("workspace/didChangeWatchedFiles", {"changes": [{"uri": item["uri"], "type": 2}]})]  # fmt: skip
    messages = [
        {"jsonrpc": "2.0", "method": method, "params": params}
        | ({} if "/did" in method or method == "initialized" else {"id": number})
        for number, (method, params) in enumerate(asked)
    ]
    for last in range(3, len(messages) + 1):
        yield b"\n---\n".join(json.dumps(message).encode() for message in messages[:last])


def cache_seeds() -> Iterator[bytes]:
    for path in sorted((PROJECT / "fixtures").glob("**/catalogs/*")):
        files = {name: text.decode("utf-8", "replace") for name, text in files_of(path).items()}
        report = Report()
        with suppress(NotStorableError):
            stored = StoredCatalog(with_index(load_catalog("", files, report)), tuple(report))
            yield stored_form(stored)
    result = {"headline": "h", "gravity": "none", "text": "a\n", "data": {"objects": 1}}
    yield json.dumps(result).encode()
    yield json.dumps({**result, "files": {"a.yaml": "a: 1\n"}, "private": ["a.yaml"]}).encode()
    yield json.dumps({**result, "leftOut": [{"path": "a", "what": "b", "reason": "c"}]}).encode()


def of_lines(data: bytes, rng: Random) -> bytes:
    """Lines of JSON, one of which is changed in its structure."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    changed = mutated_document(lines[at], rng)
    try:
        lines[at] = json.dumps(yaml.load(changed, yaml.CSafeLoader), default=str).encode()
    except (yaml.YAMLError, ValueError, LookupError, RecursionError, OverflowError, TypeError):
        lines[at] = changed
    return b"\n".join(lines)


def migration_seeds() -> Iterator[bytes]:
    for number, folder in enumerate((*fixtures(), *(PROJECT / "fixtures" / "olmv1").iterdir())):
        files = files_of(folder, "w/") if folder.is_dir() else {}
        if 0 < sum(map(len, files.values())) < 60_000:
            yield pack(Archive(MIGRATIONS[number % len(MIGRATIONS)].encode(), files))


def olmv1_seeds() -> Iterator[bytes]:
    for number, folder in enumerate(sorted((PROJECT / "fixtures" / "olmv1").iterdir())):
        if folder.is_dir():
            files = files_of(folder, "w/") | (files_of(folder, "v/") if number % 2 else {})
            yield pack(Archive(OLMV1_COMMANDS[number % len(OLMV1_COMMANDS)].encode(), files))


def rendering_seeds() -> Iterator[bytes]:
    """What is rendered of small workspaces, with the same again, or with the workspace: what is changed in one of them
    is a difference."""
    for number, folder in enumerate(fixtures()):
        files = files_of(folder, "n/")
        if sum(map(len, files.values())) < 30_000:
            text = dump([rendered.object for rendered in olmc.compile(folder).objects]).encode()
            command = RENDERINGS[number % len(RENDERINGS)].encode()
            yield pack(Archive(command, {"o/all.yaml": text, "n/all.yaml": text}))
            with workspace({"o/all.yaml": text}):
                state = CliRunner().invoke(main, ["import", "o"]).stdout_bytes
            yield pack(Archive(command, {"o/all.yaml": text, "s.yaml": state, **files}))


def bundle_seeds() -> Iterator[bytes]:
    for path in sorted((PROJECT / "fixtures").glob("*/bundles/*")):
        yield pack(Archive(b"", files_of(path)))
    yield from (pack(Archive(b"", files)) for files in published_bundles())


def catalog_seeds() -> Iterator[bytes]:
    for path in sorted((PROJECT / "fixtures").glob("**/catalogs/*")):
        yield pack(Archive(b"", files_of(path)))
    for name in ("basic", "semver", "substitutes"):
        text = f"schema: olm.template.{name}\nentries: []\nstable: {{bundles: [{{image: example.com/a:v1}}]}}\n"
        yield pack(Archive(b"", {"t.yaml": text.encode()}))


def config_seeds() -> Iterator[bytes]:
    auth = b'{"auths": {"example.com": {"auth": "YTpi"}}, "credHelpers": {"a": "b"}}'
    conf = b'unqualified-search-registries = ["a"]\n[[registry]]\nprefix = "a"\nlocation = "b"\n'
    for path in sorted((PROJECT / "fixtures").glob("**/olmc.yaml")):
        yield pack(Archive(b"", {"olmc.yaml": path.read_bytes(), "auth.json": auth, "registries.conf": conf}))
    image = f"{{image: example.com/a:v1, digest: 'sha256:{'0' * 64}', content: 'sha256:{'1' * 64}', kind: bundle}}"
    lock = f"apiVersion: olmc.dev/v1alpha1\nkind: Lock\nnamespaces: {{a: [{{package: p}}]}}\nimages: [{image}]\n"
    statement = statement_text(RenderStatement({"a": "0" * 64}, {"w/b": "1" * 64}, ("w", "-o", "json"), {})).encode()
    files = {"olmc.lock": lock.encode(), "statement": statement, "auth.json": auth, "registries.conf": conf}
    yield pack(Archive(b"", files))


def registry_seeds() -> Iterator[bytes]:
    one = image([packed(tar(("manifests/a.yaml", "a: 1")))], BUNDLE_LABELS)
    yield from (
        one.data,
        index({"linux/amd64": one, "linux/arm64/v8": one}).data,
        *(data for _, data in one.parts.values()),
    )
    yield b'Bearer realm="https://example.com/token",service="example.com",scope="repository:a:pull",error="x"'


def layer_seeds() -> Iterator[bytes]:
    plain = tar(
        ("manifests/a.yaml", "a: 1"), member("manifests/b", type=b"2", linkname="a.yaml"), ("manifests/.wh.c", ""),
        member("manifests/h", type=b"1", linkname="manifests/a.yaml"), ("manifests/" + "long/" * 40 + "name", "x"),
    )  # fmt: skip
    yield from (packed(plain, kind) for kind in ("gzip", "zstd", ""))


def text_seeds(name: str) -> Iterator[bytes]:
    """The documents of the fixtures as they are, and small texts of one kind."""
    texts = {
        "reader": "a: &x {b: [1, 0x1f, 1e3, ~, 'q', \"d\\n\"], <<: *x}\n---\n- |2\n   t\n- ? k\n  : !!binary YQ==\n",
        "ranges": ">=1.0.0 <2.0.0 || !1.5.x || 1.2.3-rc.1+b.2 - 3",
        "constraints": """[{"type": "olm.constraint", "value": {"failureMessage": "f", "all": {"constraints": [{"cel":
          {"rule": "properties.exists(p, p.type == 'olm.package' && semver_compare(p.value.version, '1.0.0') > 0)"}},
          {"gvk": {"group": "g", "version": "v1", "kind": "K"}},
          {"package": {"packageName": "p", "versionRange": ">1"}}]}}},
          {"type": "olm.package", "value": {"packageName": "p", "version": "1.1.0"}},
          {"type": "olm.gvk.required", "value": {"group": "g", "version": "v1", "kind": "K"}},
          {"type": "olm.label.required", "value": {"label": "l"}}]""",
    }
    yield texts[name].encode()
    if name == "reader":
        paths = (path for path in sorted((PROJECT / "fixtures").rglob("*.yaml")) if path.stat().st_size < 3000)
        yield from (path.read_bytes() for path in list(paths)[::9])
    if name == "ranges":
        yield from (b"1.2.3", b"v1.2.3-alpha.1", b"example.com:5000/a/b:v1@sha256:" + b"0" * 64, b"<1.x || >=2.1.*")


def of_documents(data: bytes, rng: Random) -> bytes:
    return mutated_document(data, rng)


TARGETS: Mapping[str, FuzzTarget] = {
    "reader": FuzzTarget(run_reader, of_documents, partial(text_seeds, "reader"), 2),
    "ranges": FuzzTarget(run_ranges, mutated_bytes, partial(text_seeds, "ranges"), 1),
    "constraints": FuzzTarget(run_constraints, of_documents, partial(text_seeds, "constraints"), 1),
    "bundle": FuzzTarget(run_bundle, mutated_archive, bundle_seeds, 3),
    "catalog": FuzzTarget(run_catalog, mutated_archive, catalog_seeds, 2),
    "extensions": FuzzTarget(run_extensions, mutated_archive, extension_seeds, 3),
    "state": FuzzTarget(run_state, mutated_archive, state_seeds, 1),
    "repository": FuzzTarget(run_repository, mutated_archive, repository_seeds, 2),
    "parts": FuzzTarget(run_parts, of_documents, part_seeds, 1),
    "editor": FuzzTarget(run_editor, of_documents, partial(text_seeds, "reader"), 1),
    "messages": FuzzTarget(run_messages, of_documents, message_seeds, 1),
    "cache": FuzzTarget(run_cache, of_lines, cache_seeds, 1),
    "migrate": FuzzTarget(run_command, partial(mutated_archive, commands=MIGRATIONS), migration_seeds, 2),
    "olmv1": FuzzTarget(run_command, partial(mutated_archive, commands=OLMV1_COMMANDS), olmv1_seeds, 3),
    "renderings": FuzzTarget(run_command, partial(mutated_archive, commands=RENDERINGS), rendering_seeds, 4),
    "pages": FuzzTarget(run_pages, mutated_archive, page_seeds, 3),
    "config": FuzzTarget(run_config, mutated_archive, config_seeds, 1),
    "registry": FuzzTarget(run_registry, of_documents, registry_seeds, 1),
    "layers": FuzzTarget(run_layers, mutated_bytes, layer_seeds, 1),
    "command": FuzzTarget(run_command, partial(mutated_archive, commands=COMMANDS), command_seeds, 8),
}
"""Each target with its share of the time."""
