"use strict";
(() => {
  const search = document.querySelector("input[type=search]");
  const boxes = [...document.querySelectorAll("input[name=severity]")];
  const output = document.querySelector("output");
  const rows = [...document.querySelectorAll("tbody tr")];
  const outcomes = [...document.querySelectorAll("details")];

  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let clusters = 0;
    outcomes.forEach((outcome, number) => {
      const text = outcome.textContent.toLowerCase();
      const fits = wanted.has(outcome.dataset.severity) && words.every((word) => text.includes(word));
      outcome.hidden = rows[number].hidden = !fits;
      if (fits) clusters += Number(outcome.dataset.clusters);
    });
    output.textContent = `${clusters.toLocaleString("en")} cluster${clusters === 1 ? "" : "s"}`;
  };

  document.querySelector(".filter").hidden = false;
  search.addEventListener("input", show);
  for (const box of boxes) box.addEventListener("change", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape" && document.activeElement === search) {
      search.value = "";
      show();
    }
  });
  for (const link of document.querySelectorAll("tbody a")) {
    link.addEventListener("click", () => {
      document.querySelector(link.getAttribute("href")).closest("details").open = true;
    });
  }
  const opened = new Set();
  addEventListener("beforeprint", () => {
    for (const outcome of outcomes) {
      if (outcome.open) opened.add(outcome);
      outcome.open = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const outcome of outcomes) outcome.open = opened.has(outcome);
    opened.clear();
  });
  show();
})();
