// What a reader of the page can do beyond reading: sort and filter the table of all cases, copy commands. Nothing here
// asks a network, and without this script the page shows all that it shows with it.
(() => {
  const make = (name, properties, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

  // What is wider than the window scrolls in its box: keys must reach it, and its edge says that there is more.
  const mark = (box) => {
    const beyond = box.scrollWidth - box.clientWidth;
    box.classList.toggle("more", box.scrollLeft < beyond - 1);
    if (beyond > 1) box.tabIndex = 0;
  };
  const markAll = () => each(".scroll", mark);
  each(".scroll", (box) => box.addEventListener("scroll", () => mark(box), { passive: true }));
  each("details", (fold) => fold.addEventListener("toggle", markAll));
  addEventListener("resize", markAll);
  markAll();

  // A page from a folder may lack the clipboard: a selected text can be copied there as well.
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea", { value: text });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  each("code.command", (code) => {
    const button = make("button", { type: "button", className: "copy", textContent: "copy" });
    button.addEventListener("click", async () => {
      await copy(code.textContent);
      button.textContent = "copied";
      setTimeout(() => (button.textContent = "copy"), 1500);
    });
    code.after(button);
  });

  const table = document.querySelector("table.cases");
  if (!table) return;
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...body.rows];
  const FIRST = 2;
  const verdictOf = (span) => ["fail", "unmeasured"].find((name) => span.classList.contains(name)) ?? "pass";
  // Failures weigh most, and among them what is no number; what was not measured or not run weighs least.
  const weight = (span) => {
    const verdict = verdictOf(span);
    if (verdict === "unmeasured") return -1;
    const share = Number(span.querySelector("b").textContent.replace("FAIL", ""));
    return verdict === "fail" ? share || Number.MAX_VALUE : share || 0;
  };
  const weights = (cell) => Math.max(-2, ...[...cell.children].filter((span) => !span.hidden).map(weight));
  const keys = { problem: (row) => row.cells[0].textContent, shape: (row) => row.cells[1].textContent };

  const options = (names) => ["", ...names].map((name) => make("option", { value: name, textContent: name || "all" }));
  const choices = {
    method: heads.slice(FIRST).map((head) => head.textContent),
    regime: [...new Set(rows.map((row) => row.dataset.regime))].sort(),
    verdict: ["fail", "unmeasured", "pass"],
  };
  const chosen = {};
  const count = make("output", {});
  const bar = make("p", { className: "filter" });
  for (const [name, names] of Object.entries(choices)) {
    chosen[name] = make("select", { name }, ...options(names));
    chosen[name].addEventListener("change", filter);
    bar.append(make("label", {}, `${name} `, chosen[name]));
  }
  bar.append(count);
  table.parentElement.before(bar);

  function filter() {
    const { method, regime, verdict } = chosen;
    const seen = (i) => i < FIRST || !method.value || method.value === heads[i].textContent;
    heads.forEach((head, i) => (head.hidden = !seen(i)));
    let left = 0;
    for (const row of rows) {
      let some = false;
      [...row.cells].forEach((cell, i) => {
        cell.hidden = !seen(i);
        if (i < FIRST || cell.hidden) return;
        for (const span of cell.children) {
          span.hidden = Boolean(verdict.value) && verdict.value !== verdictOf(span);
          some ||= !span.hidden;
        }
      });
      row.hidden = !some || (Boolean(regime.value) && regime.value !== row.dataset.regime);
      left += row.hidden ? 0 : 1;
    }
    count.textContent = `${left} of ${rows.length} problems`;
    markAll();
  }

  heads.forEach((head, i) => {
    const button = make("button", { type: "button", className: "sort", textContent: head.textContent });
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.ariaSort ? head.ariaSort !== "descending" : i >= FIRST;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.ariaSort = down ? "descending" : "ascending";
      const key = keys[head.textContent] ?? ((row) => weights(row.cells[i]));
      const keyed = rows.map((row) => [key(row), row]);
      const order = (a, b) =>
        typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
      keyed.sort(([a], [b]) => (down ? order(b, a) : order(a, b)));
      body.append(...keyed.map(([, row]) => row));
    });
  });
  filter();

  // A link to a case that is folded away or filtered out must still lead there.
  const reveal = () => {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place) return;
    if (place.closest("[hidden]") && table.contains(place)) {
      Object.values(chosen).forEach((select) => (select.value = ""));
      filter();
    }
    for (let fold = place.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    place.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
