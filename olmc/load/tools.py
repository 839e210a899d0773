"""Running the tools of others: without a network, in an environment of their own, bounded in time and output."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from olmc.lean import NamedTuple, regex
from olmc.load.kustomization import relative_path

_MOST_ERRORS = 64 * 1024
# Nobody listens there: Go's client asks the proxy for whatever is not on this machine.
_NO_PROXY_THERE = "http://127.0.0.1:9"
_FRAMES = regex(r'^.*?"command failed" err=|^Error: |["\\<>]+')


class Output(NamedTuple):
    """What a tool printed; `problem` says why it is nothing, "" for no problem."""

    text: str
    problem: str = ""


def run(command: Sequence[str], *, seconds: float, most: int, stdin: str = "") -> Output:
    """Run a command for so many seconds, of which so many bytes are read. It gets none of the user's environment.

    It is in the process group of its caller: who ends that ends the command as well.
    """
    import subprocess  # takes its time to import, and few workspaces are built
    import tempfile
    import threading

    with (
        tempfile.TemporaryDirectory(prefix="olmc-build-") as folder,
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryFile() as given,
    ):
        given.write(stdin.encode("utf-8", "replace"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                command, stdin=given, stdout=subprocess.PIPE, stderr=errors, env=_environment(folder)
            )
        except OSError as error:
            return Output("", f"{Path(command[0]).name} can't be run: {error.strerror}")
        timer = threading.Timer(seconds, process.kill)
        timer.daemon = True
        timer.start()
        with process:
            assert process.stdout is not None
            data = process.stdout.read(most + 1)
            if len(data) > most:
                process.kill()
        ended = timer.is_alive()
        timer.cancel()
        if not ended:
            return Output("", f"it took more than {seconds} seconds")
        if len(data) > most:
            return Output("", f"it gives more than {most:,} bytes")
        if process.returncode:
            errors.seek(0)
            return Output("", _cleaned(errors.read(_MOST_ERRORS).decode("utf-8", "replace")))
    return Output(data.decode("utf-8", "replace"))


def _environment(folder: str) -> dict[str, str]:
    """What a tool gets to know: an empty home, no programs to call, and a proxy that is none."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NO_PROXY_THERE)
    places = dict.fromkeys(("HOME", "PATH", "TMPDIR", "TMP", "TEMP", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), folder)
    # Without it no program starts on Windows.
    system = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    return {**system, **places, **proxies, "KUBECONFIG": os.devnull, "LC_ALL": "C"}


def relative_to(root: Path, problem: str) -> str:
    """A tool's message with paths as seen from `root`: it has them from the top of the file system."""
    top = "/".join(root.resolve().parts[1:2])
    return re.sub(
        rf"(?<![\w/])/{re.escape(top)}/[^\s'\":;,\]]+", lambda match: relative_path(Path(match[0]), root), problem
    )


def _cleaned(text: str) -> str:
    """A tool's message in one line, without what it is framed in."""
    line = " ".join(_FRAMES.sub(" ", text.strip()).split())
    return line[:600] or "it ended without a message"
