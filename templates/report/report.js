"use strict";
(() => {
  const input = document.getElementById("text");
  if (!input) return;
  const output = document.getElementById("shown");
  const boxes = [...document.querySelectorAll("input[name=state]")];
  const rows = [...document.querySelectorAll("[data-row]")].map((element) => ({ element, text: element.textContent.toLowerCase() }));

  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let count = 0;
    for (const { element, text } of rows) {
      const shown = (!element.dataset.state || !boxes.length || wanted.has(element.dataset.state)) && words.every((word) => text.includes(word));
      element.hidden = !shown;
      count += shown ? 1 : 0;
    }
    // Whoever looks for something wants to see it, folded away or not.
    for (const details of document.querySelectorAll("details")) {
      if (words.length) details.open = [...details.querySelectorAll("[data-row]")].some((row) => !row.hidden);
    }
    for (const part of document.querySelectorAll("section")) {
      const own = [...part.querySelectorAll("[data-row]")];
      part.hidden = words.length > 0 && !own.some((row) => !row.hidden);
    }
    output.textContent = words.length || boxes.some((box) => !box.checked) ? `${count} of ${rows.length} shown` : "";
  };

  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 80);
  });
  for (const box of boxes) box.addEventListener("change", filter);
  document.querySelector("form.filter").addEventListener("submit", (event) => event.preventDefault());

  // Arrows go from row to row where rows have links, as in a list of files.
  const step = (by) => {
    const links = rows.filter(({ element }) => !element.hidden).map(({ element }) => element.querySelector("a")).filter(Boolean);
    if (!links.length) return false;
    const at = links.indexOf(document.activeElement);
    links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)].focus();
    return true;
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && document.activeElement !== input) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape" && document.activeElement === input) {
      input.value = "";
      filter();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && step(event.key === "ArrowDown" ? 1 : -1)) {
      event.preventDefault();
    }
  });

  if (boxes.some((box) => !box.checked)) filter();

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
})();
