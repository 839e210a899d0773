"""A real browser without a window, driven over its debugging pipe: pages open as they are, their policy included."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
PATIENCE = 60.0

LEAVING = (
    "Inspected target navigated or closed", "Execution context was destroyed.", "Cannot find default execution context",
    "Cannot find context with specified id",
)  # fmt: skip
"""Chromium's answers about a page that another one replaces: `wait` asks again, since the next page has an answer."""

Test = TypeVar("Test", bound=Callable[..., None])


def in_chromium(test: Test) -> Test:
    """Mark a test that needs Chromium; without Chromium it is skipped."""
    reason = "needs chromium, which is not installed"
    marked: Test = pytest.mark.browser(pytest.mark.skipif(CHROMIUM is None, reason=reason)(test))
    return marked


FIRST_PAINT = 2000.0
"""Milliseconds until something of a large page is seen; the machine of the tests may be busy with other things."""

SHOWN = "[...document.querySelectorAll('{}')].filter((each) => each.checkVisibility()).length"

USED = ("button", "checkbox", "link", "searchbox", "DisclosureTriangle", "table", "img", "figure", "navigation")

CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
    .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
  };
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility() || element.closest("script")) continue;
    const [high, low] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a);
    if ((high + 0.05) / (low + 0.05) < 4.5) found.add(`${element.className} ${element.textContent}`.slice(0, 60));
  }
  return [...found];
}"""


class Page:
    """A page that is open; `console` is what was written to its console, errors of the policy included."""

    def __init__(self, to_browser: IO[bytes], from_browser: IO[bytes]) -> None:
        self._out, self._in = to_browser, from_browser
        self._number = 0
        self._session = ""
        self._address = ""
        self.console: list[str] = []

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command; messages for the console that come in the meantime are kept."""
        answer = self._answer(method, params)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                return answer

    def _receive(self) -> dict[str, Any]:
        parts = []
        while (char := self._in.read(1)) not in (b"\0", b""):
            parts.append(char)
        assert parts, "the browser has gone"
        told: dict[str, Any] = json.loads(b"".join(parts))
        if told.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.console.append(json.dumps(told["params"]))
        return told

    def open(self, address: str) -> None:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.send(f"{domain}.enable")
        self._address = address
        self.reset()

    def reset(self) -> None:
        """Open the page once more, as nobody has touched it."""
        self.send("Page.navigate", url="about:blank")
        self.send("Emulation.clearDeviceMetricsOverride")
        self.send("Emulation.setEmulatedMedia", features=[])
        self.console.clear()
        self.send("Page.navigate", url=self._address)
        self.wait("document.readyState === 'complete' && location.protocol !== 'about:'")

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        found = self.send("Runtime.evaluate", **_evaluation(expression))
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true; a page that another one replaces in the meantime has no answer."""
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._answer("Runtime.evaluate", _evaluation(expression))
            error = answer.get("error", {}).get("message", "")
            assert not error or error in LEAVING, answer
            found = answer.get("result", {})
            assert "exceptionDetails" not in found, found
            if found.get("result", {}).get("value"):
                return
            assert time.monotonic() < end, expression
            time.sleep(0.02)

    def press(self, key: str, text: str = "") -> None:
        """Press a key and let it go, as a person would."""
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text: str) -> None:
        for char in text:
            self.press(char, char)


def _evaluation(expression: str) -> dict[str, Any]:
    return {"expression": expression, "returnByValue": True, "awaitPromise": True}


def shown(browser: Page, selector: str) -> int:
    """How many elements of a page can be seen."""
    found: int = browser.ask(SHOWN.format(selector))
    return found


@contextmanager
def opened(page: str, folder: Path) -> Iterator[Page]:
    """The page in a browser, which is closed at the end."""
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    with opened_at(path.as_uri(), folder) as browser:
        yield browser


@contextmanager
def opened_at(address: str, folder: Path) -> Iterator[Page]:
    """What is at an address in a browser, which keeps its own files in `folder` and is closed at the end."""
    commands, answers = os.pipe(), os.pipe()

    def as_three_and_four() -> None:
        given = [os.dup(commands[0]), os.dup(answers[1])]
        os.dup2(given[0], 3)
        os.dup2(given[1], 4)

    process = subprocess.Popen(
        [str(CHROMIUM), *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}"],
        preexec_fn=as_three_and_four, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(commands[0])
    os.close(answers[1])
    try:
        with os.fdopen(commands[1], "wb") as out, os.fdopen(answers[0], "rb") as into:
            browser = Page(out, into)
            browser.open(address)
            yield browser
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
