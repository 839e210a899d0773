"""Layers on top of each other, and the limits for what they may hold."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_kit import member, packed, tar
from properties import examples

from olmc.integrations.fetch.layers import LayerLimits, Tree, add_layer, write_tree
from olmc.integrations.fetch.sources import VendorError

NAMES = st.sampled_from("abc")
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
Nested = dict[str, Any]


def stacked(folder: Path, *layers: bytes, wanted: str = "", limits: LayerLimits | None = None) -> dict[str, bytes]:
    """The files of an image: those below `wanted`, by their path in it."""
    (folder / "spool").mkdir()
    tree = Tree("example.com/image:v1", (wanted,), folder / "spool", limits or LayerLimits())
    for number, layer in enumerate(layers):
        (folder / str(number)).write_bytes(layer)
        add_layer(tree, folder / str(number), f"sha256:{number}")
    files = {
        name: what.data.read_bytes() for name, what in tree.held.items() if what.data is not None and tree.wants(name)
    }
    if wanted:
        out = folder / "out"
        written = {path: (out / path).read_bytes() for path in write_tree(tree, {wanted: ""}, out)}
        assert written == {name.removeprefix(f"{wanted}/"): data for name, data in files.items()}
    return files


@st.composite
def one_layer(draw: st.DrawFn) -> list[tuple[str, str]]:
    """What a layer does: `("file" | "folder" | "remove" | "empty", path)`, no path both a file and a folder in it."""
    steps = draw(st.lists(st.tuples(st.sampled_from(["file", "file", "folder", "remove", "empty"]), PATHS), max_size=6))
    made = [path for what, path in steps if what in ("file", "folder")]
    above = {"/".join(path.split("/")[:end]) for path in made for end in range(1, path.count("/") + 1)}
    files = {path for what, path in steps if what == "file"} - above
    return [
        (what, path)
        for what, path in dict.fromkeys(steps)
        if (what != "file" or path in files) and (what != "folder" or path not in files)
    ]


def as_tar(steps: list[tuple[str, str]], number: int) -> bytes:
    members: list[Any] = []
    for what, path in steps:
        parent, _, base = path.rpartition("/")
        if what == "file":
            members.append((path, f"{path} of layer {number}"))
        elif what == "folder":
            members.append(member(f"{path}/", type=b"5"))
        else:
            name = f".wh.{base}" if what == "remove" else f"{base}/.wh..wh..opq"
            members.append((f"{parent}/{name}" if parent else name, ""))
    return tar(*members)


def apply(root: Nested, steps: list[tuple[str, str]], number: int) -> None:
    """What a container runtime does to a file system: whiteouts first, as they are about what is below."""
    for what, path in sorted(steps, key=lambda step: step[0] in ("file", "folder")):
        *parents, base = path.split("/")
        here: Any = root
        for name in parents:
            if what in ("file", "folder") and not isinstance(here.get(name), dict):
                here[name] = {}
            here = here.get(name) if isinstance(here, dict) else None
        if not isinstance(here, dict):
            continue
        if what == "file":
            here[base] = f"{path} of layer {number}".encode()
        elif what == "folder":
            here[base] = here[base] if isinstance(here.get(base), dict) else {}
        elif what == "remove":
            here.pop(base, None)
        elif isinstance(here.get(base), dict):
            here[base] = {}


def flat(node: Nested, above: str = "") -> Iterator[tuple[str, bytes]]:
    for name, what in node.items():
        if isinstance(what, dict):
            yield from flat(what, f"{above}{name}/")
        else:
            yield f"{above}{name}", what


@examples(150)
@given(st.lists(one_layer(), max_size=4), st.data())
def test_layers_stack_as_file_systems_do(layers: list[list[tuple[str, str]]], data: st.DataObject) -> None:
    """Files, folders, whiteouts and opaque folders, in any order inside of a layer."""
    root: Nested = {}
    for number, steps in enumerate(layers):
        apply(root, steps, number)
    blobs = [as_tar(data.draw(st.permutations(steps)), number) for number, steps in enumerate(layers)]
    with tempfile.TemporaryDirectory() as folder:
        assert stacked(Path(folder), *blobs) == dict(flat(root))


def test_only_the_wanted_folder_is_kept(tmp_path: Path) -> None:
    layer = tar(("configs/a.yaml", "a"), ("configsextra/b", "b"), ("etc/c", "c"), ("./configs/./d/e.yaml", "e"))
    assert stacked(tmp_path, layer, wanted="configs") == {"configs/a.yaml": b"a", "configs/d/e.yaml": b"e"}


def test_a_whiteout_above_the_wanted_folder_counts(tmp_path: Path) -> None:
    first = tar(("data/configs/a.yaml", "a"))
    second = tar((".wh.data", ""), ("data/configs/b.yaml", "b"))
    assert stacked(tmp_path, first, second, wanted="data/configs") == {"data/configs/b.yaml": b"b"}


def test_links_inside_are_copies(tmp_path: Path) -> None:
    first = tar(("c/x", "old"), member("c/hard", type=b"1", linkname="c/x"), member("c/soft", type=b"2", linkname="x"))
    second = tar(("c/x", "new"), member("c/d/far", type=b"2", linkname="/c/soft"))
    found = stacked(tmp_path, first, second)
    assert found["c/hard"] == b"old"
    (tmp_path / "again").mkdir()
    tree = Tree("i", ("c",), tmp_path / "again", LayerLimits())
    for number in (0, 1):
        add_layer(tree, tmp_path / str(number), "sha256:0")
    out = tmp_path / "out"
    written = {path: (out / path).read_bytes() for path in write_tree(tree, {"c": "to"}, out)}
    assert written == {"to/x": b"new", "to/hard": b"old", "to/soft": b"new", "to/d/far": b"new"}
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_symlink()]


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (LayerLimits(layer_bytes=3000), "a layer, unpacked, is more than 3,000 bytes"),
        (LayerLimits(members=2), "the number of files in a layer is more than 2"),
        (LayerLimits(files=2), "the number of files is more than 2"),
        (LayerLimits(file_bytes=999), "b is more than 999 bytes"),
        (LayerLimits(bytes=1500), "all of the content is more than 1,500 bytes"),
    ],
)
def test_limits_are_named(tmp_path: Path, limits: LayerLimits, what: str) -> None:
    layer = packed(tar(("a", "1"), ("b", "2" * 1000), ("c", "3" * 900)))
    with pytest.raises(VendorError) as caught:
        stacked(tmp_path, layer, limits=limits)
    assert caught.value.diagnostic.message == f"example.com/image:v1 is not unpacked: {what}"
    assert caught.value.diagnostic.code == "OLMC633"


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """A thousandth of its size when packed; reading stops at the limit, whether the file is wanted or not."""
    bomb = packed(tar(("zeros", b"\0" * 50_000_000)))
    assert len(bomb) < 100_000
    with pytest.raises(VendorError, match="more than 1,000,000 bytes"):
        stacked(tmp_path, bomb, wanted="configs", limits=LayerLimits(layer_bytes=1_000_000))
    assert sum(path.stat().st_size for path in (tmp_path / "spool").iterdir()) == 0


def test_a_header_that_would_fill_the_memory(tmp_path: Path) -> None:
    """An extended header may claim any size; more than a header needs is not even read."""
    info = member("x", type=b"x", size=2_000_000)
    header = info.tobuf(format=0)
    layer = gzip.compress(header + b"\0" * 2_000_512)
    with pytest.raises(VendorError, match="a header of 2,000,384 bytes"):
        stacked(tmp_path, layer)


def test_an_archive_whose_middle_is_broken(tmp_path: Path) -> None:
    """tarfile takes a bad header for the end; the files behind it would be missing without a word."""
    data = bytearray(tar(("a", "1"), ("b", "2"), ("c", "3")))
    data[1024 + 150] ^= 0xFF
    with pytest.raises(VendorError, match="a header in it is broken"):
        stacked(tmp_path, bytes(data))


def test_names_that_only_some_systems_tell_apart(tmp_path: Path) -> None:
    for number, (one, other) in enumerate([("c/Straße", "c/STRASSE"), ("c/A/x", "c/a/y"), ("c/é", "c/e\u0301")]):
        (tmp_path / str(number)).mkdir()
        with pytest.raises(VendorError, match="the same as"):
            stacked(tmp_path / str(number), tar((one, "1"), (other, "2")), wanted="c")


def test_a_file_that_is_a_folder_too(tmp_path: Path) -> None:
    with pytest.raises(VendorError, match="a file and a folder at once"):
        stacked(tmp_path, tar(("c/a", "1"), ("c/a/b", "2")), wanted="c")


def test_long_names_and_large_files(tmp_path: Path) -> None:
    """Names that need an extended header, and content beyond what a header may have."""
    name, data = f"c/{'folder/' * 20}file.yaml", bytes(range(256)) * 1000
    assert stacked(tmp_path, packed(tar((name, data), ("c/last", "x")), "zstd"), wanted="c") == {
        name: data,
        "c/last": b"x",
    }


def test_names_that_are_no_text(tmp_path: Path) -> None:
    layer = tar((b"c/\xff.yaml".decode("utf-8", "surrogateescape"), "x"))
    with pytest.raises(VendorError, match="the name is not UTF-8"):
        stacked(tmp_path, layer, wanted="c")
