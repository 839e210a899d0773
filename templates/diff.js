"use strict";
(() => {
  const KEPT = 3; // lines of context around a difference
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const linesOf = (text) => (text ? text.replace(/\n$/, "").split("\n") : []);

  const row = (kind, left, right) => {
    const made = make("tr", kind);
    for (const [side, text] of [["old", left], ["new", right]]) {
      const cell = make("td", `line ${side} ${text === undefined ? "empty" : "full"}`, text);
      const sign = kind === "same" ? "" : side === "old" ? "-" : "+";
      if (text !== undefined) cell.dataset.sign = sign;
      made.append(cell);
    }
    return made;
  };

  const addSame = (body, lines, first, last) => {
    const head = first ? 0 : KEPT;
    const tail = last ? 0 : KEPT;
    const hidden = lines.length - head - tail;
    if (hidden < 4) {
      for (const line of lines) body.append(row("same", line, line));
      return;
    }
    for (const line of lines.slice(0, head)) body.append(row("same", line, line));
    const fold = make("tr", "fold");
    const cell = make("td");
    cell.colSpan = 2;
    const button = make("button", "", `⋯ ${hidden} lines that are the same`);
    button.type = "button";
    button.addEventListener("click", () => {
      const shown = lines.slice(head, lines.length - tail).map((line) => row("same", line, line));
      fold.replaceWith(...shown);
      shown[0].tabIndex = -1;
      shown[0].focus();
    });
    cell.append(button);
    fold.append(cell);
    body.append(fold);
    for (const line of lines.slice(lines.length - tail)) body.append(row("same", line, line));
  };

  const build = (details) => {
    const blocks = JSON.parse(details.querySelector("script").textContent);
    const table = make("table", "beside");
    table.setAttribute("aria-label", "Old and new side by side");
    const head = make("thead");
    const titles = make("tr");
    for (const title of ["old", "new"]) {
      const cell = make("th", "", title);
      cell.scope = "col";
      titles.append(cell);
    }
    head.append(titles);
    const body = make("tbody");
    blocks.forEach((block, number) => {
      if (block.length === 1) {
        addSame(body, linesOf(block[0]), number === 0, number === blocks.length - 1);
        return;
      }
      const [left, right] = block.map(linesOf);
      for (let line = 0; line < Math.max(left.length, right.length); line++) body.append(row("differs", left[line], right[line]));
    });
    table.append(head, body);
    details.append(table);
  };

  for (const details of document.querySelectorAll("details.object")) {
    details.addEventListener("toggle", () => {
      if (details.open && !details.querySelector("table")) build(details);
    });
    if (details.open) build(details);
  }

  const input = document.getElementById("text");
  const output = document.getElementById("shown");
  const boxes = [...document.querySelectorAll("input[name=gravity]")];
  const texts = new WeakMap();
  const textOf = (element) => {
    let text = texts.get(element);
    if (text === undefined) {
      text = element.textContent.toLowerCase();
      texts.set(element, text);
    }
    return text;
  };

  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const fits = (text) => words.every((word) => text.includes(word));
    let count = 0;
    for (const entry of document.querySelectorAll("article.entry")) {
      const name = textOf(entry.querySelector("h3"));
      let any = false;
      for (const item of entry.querySelectorAll("li")) {
        const shown = wanted.has(item.dataset.gravity) && fits(`${name} ${textOf(item)}`);
        item.hidden = !shown;
        any = any || shown;
        count += shown ? 1 : 0;
      }
      entry.hidden = !any;
    }
    for (const details of document.querySelectorAll("details.object")) {
      details.hidden = !(fits(textOf(details.querySelector("summary"))) || (words.length > 0 && fits(textOf(details))));
    }
    for (const part of document.querySelectorAll("div.entry.table, figure")) part.hidden = !fits(textOf(part));
    for (const section of document.querySelectorAll("section")) {
      section.hidden = ![...section.querySelectorAll(".entry, figure")].some((part) => !part.hidden);
    }
    const all = boxes.every((box) => box.checked) && !words.length;
    output.textContent = all ? "" : `${count} change${count === 1 ? "" : "s"} shown`;
  };

  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  for (const box of boxes) box.addEventListener("change", filter);
  document.querySelector("form.filter").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== input && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape" && document.activeElement === input) {
      input.value = "";
      filter();
    }
  });
})();
