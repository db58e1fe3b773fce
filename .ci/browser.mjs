// Checks of `.ci/browser`. Arguments: Chromium, playwright-core's module, report folders. SCREENSHOTS=1 keeps pictures, for people.
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [executablePath, driver, ...folders] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(resolve(driver)));
const keepsPictures = process.env.SCREENSHOTS === "1";
const problems = [];
let checks = 0;

function check(holds, what) {
  checks += 1;
  if (!holds) problems.push(what);
}

// In the page: everything that can be seen without scrolling or clicking.
function inspect() {
  const fill = (e) => (e ? getComputedStyle(e).fill : "none");
  const colours = (sheet, ink) => ({ sheet: fill(sheet), ink: fill(ink) });
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  const links = [...document.querySelectorAll("a[href]")].map((a) => a.getAttribute("href"));
  const figures = [...document.querySelectorAll("figure[id]")].map((figure) => {
    const svg = figure.querySelector("svg");
    const sheet = svg?.querySelector("rect");
    const ink = svg?.querySelector("text");
    const box = svg?.getBoundingClientRect();
    const words = figure.querySelector("figcaption")?.textContent.trim() ?? "";
    return { id: figure.id, width: box?.width ?? 0, height: box?.height ?? 0, words: words.length, ...colours(sheet, ink) };
  });
  const root = document.documentElement;
  // What is wider than the window may scroll inside a box of its own, and nowhere else.
  const wide = [...document.querySelectorAll("body *")].filter((e) => {
    if (e.closest(".scroll, svg") && !e.matches(".scroll")) return false;
    const box = e.getBoundingClientRect();
    return box.width > 0 && (box.right > root.clientWidth + 1 || box.left < -1);
  });
  // A word of a table stands on one line: what is too wide for the window scrolls.
  const broken = [];
  for (const cell of document.querySelectorAll("table :is(th, td)")) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      for (const word of text.data.matchAll(/[\p{L}\p{N}]{2,}/gu)) {
        // A longer one is none that people write.
        if (word[0].length > 20) continue;
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (tops.size > 1) broken.push(word[0]);
      }
    }
  }
  // Nor does a sentence have a word on each line.
  const narrow = [...document.querySelectorAll("p, li, dd, td, summary, figcaption")].filter((e) => {
    const words = e.textContent.trim().split(/\s+/).length;
    if (words < 5 || e.children.length > 0) return false;
    const range = document.createRange();
    range.selectNodeContents(e);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.bottom))).size > 0.6 * words;
  });
  const unmarked = [...document.querySelectorAll(".scroll")].filter((box) => {
    return box.scrollWidth > box.clientWidth + 1 && (!box.matches(".more") || box.offsetHeight - box.clientHeight < 6);
  });
  const style = getComputedStyle(document.body);
  return {
    words: broken,
    narrow: narrow.slice(0, 5).map((e) => e.textContent.slice(0, 40)),
    used: document.querySelector("main").clientWidth / root.clientWidth,
    unmarked: unmarked.length,
    twice: ids.filter((id, i) => ids.indexOf(id) !== i),
    outside: links.filter((href) => !href.startsWith("#")),
    nowhere: links.filter((href) => href.startsWith("#") && !document.getElementById(href.slice(1))),
    links: links.length,
    times: document.getElementById("bench") !== null,
    figures,
    headline: document.querySelector("h1")?.textContent,
    overflow: root.scrollWidth - root.clientWidth,
    wide: wide.slice(0, 5).map((e) => `${e.tagName.toLowerCase()}#${e.id}.${e.className}`),
    paper: style.backgroundColor,
    ink: style.color,
  };
}

// Relative luminance of "rgb(r, g, b)", and the contrast of two: WCAG 2.2.
function luminance(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).map((v) => {
    const share = Number(v) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

async function follow(page, name, selector) {
  const link = page.locator(selector).first();
  if ((await link.count()) === 0) return;
  const href = await link.getAttribute("href");
  // What is folded is opened first, as a reader would.
  await link.evaluate((e) => {
    for (let fold = e.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  });
  await link.click();
  await page.waitForTimeout(150);
  const seen = await page.evaluate((id) => {
    const box = document.getElementById(id)?.getBoundingClientRect();
    return Boolean(box && box.height > 0 && box.bottom > 0 && box.top < innerHeight);
  }, href.slice(1));
  check(seen, `${name}: ${selector} leads to ${href}, which is then not in view`);
}

// What is shown of the table of all cases: the methods, and of each row its regime, the verdicts and the first cell.
function shownCases() {
  const table = document.querySelector("table.cases");
  const visible = (e) => e.getClientRects().length > 0;
  const rows = [...table.tBodies[0].rows].filter(visible);
  const verdict = (span) => ["fail", "unmeasured"].find((name) => span.classList.contains(name)) ?? "pass";
  return {
    methods: [...table.tHead.rows[0].cells].slice(2).filter(visible).map((head) => head.textContent),
    regimes: [...new Set(rows.map((row) => row.dataset.regime))],
    verdicts: [...new Set(rows.flatMap((row) => [...row.querySelectorAll("td span")].filter(visible).map(verdict)))],
    rows: rows.length,
    first: rows.map((row) => row.cells[2].querySelector("b")?.textContent ?? ""),
  };
}

// Filters, sorts and copies as a reader would.
async function work(page, name) {
  const table = page.locator("table.cases");
  if ((await table.count()) > 0) {
    await page.evaluate(() => (document.querySelector("#cases details").open = true));
    const whole = await page.evaluate(shownCases);
    check(whole.rows > 0 && whole.methods.length > 0, `${name}: no case is shown`);
    const method = whole.methods.at(-1);
    await page.selectOption("select[name=method]", method);
    let shown = await page.evaluate(shownCases);
    check(shown.methods.join() === method, `${name}: of ${method} alone: ${shown.methods}`);
    await page.selectOption("select[name=method]", "");
    const regime = whole.regimes.at(-1);
    await page.selectOption("select[name=regime]", regime);
    shown = await page.evaluate(shownCases);
    check(shown.regimes.join() === regime, `${name}: of ${regime} alone: ${shown.regimes}`);
    await page.selectOption("select[name=regime]", "");
    for (const verdict of whole.verdicts) {
      await page.selectOption("select[name=verdict]", verdict);
      shown = await page.evaluate(shownCases);
      check(shown.verdicts.join() === verdict, `${name}: ${verdict} alone: ${shown.verdicts}`);
    }
    await page.selectOption("select[name=verdict]", "");
    shown = await page.evaluate(shownCases);
    check(shown.rows === whole.rows, `${name}: ${shown.rows} of ${whole.rows} rows are back`);
    // By the first method's shares: passing ones in their order once what fails or was not measured is left out.
    for (const [clicks, sign] of [[1, -1], [2, 1]]) {
      await table.locator("thead button").nth(2).click();
      shown = await page.evaluate(shownCases);
      const shares = shown.first.map((text) => Number(text || NaN)).filter((share) => !Number.isNaN(share));
      const sorted = shares.every((share, i) => i === 0 || sign * (share - shares[i - 1]) >= 0);
      check(shares.length > 0 && sorted, `${name}: sorted by ${clicks} clicks: ${shares.slice(0, 9)}`);
      const other = whole.first.length > 9 && whole.first.join() === shown.first.join();
      check(!other, `${name}: ${clicks} clicks have sorted nothing`);
    }
    const last = shown.first.filter((text) => text.startsWith("FAIL")).length;
    const end = shown.first.slice(shown.first.length - last);
    check(end.every((text) => text.startsWith("FAIL")), `${name}: failures are not at one end: ${end}`);
  }
  const command = page.locator("code.command").first();
  if ((await command.count()) === 0) return;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const button = page.locator("code.command + button.copy").first();
  await button.click();
  await page.waitForTimeout(100);
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  check(copied === (await command.textContent()), `${name}: copied ${copied}`);
  check((await button.textContent()) === "copied", `${name}: nothing says that it was copied`);
}

async function look(browser, folder) {
  const shots = join(folder, "screenshots");
  rmSync(shots, { recursive: true, force: true });
  if (keepsPictures) mkdirSync(shots, { recursive: true });
  const plots = existsSync(join(folder, "plots")) ? readdirSync(join(folder, "plots")) : [];
  const address = pathToFileURL(resolve(folder, "index.html")).href;
  for (const colorScheme of ["light", "dark"]) {
    // Places have nothing to do with colours.
    for (const width of colorScheme === "dark" ? [1600] : [400, 800, 1600, 2200]) {
      const name = `${folder} ${colorScheme} ${width}`;
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 1000 } });
      const page = await context.newPage();
      page.on("console", (m) => check(!["error", "warning"].includes(m.type()), `${name}: console: ${m.text()}`));
      page.on("pageerror", (e) => check(false, `${name}: ${e.message}`));
      page.on("request", (r) => check(r.url() === address, `${name}: asked for ${r.url()}`));
      await page.goto(address);
      await page.evaluate(() => document.querySelectorAll("details").forEach((fold) => (fold.open = true)));
      await page.waitForTimeout(100);
      const found = await page.evaluate(inspect);
      await page.reload();
      check(["PASS", "FAIL", "UNMEASURED", "TIMED"].includes(found.headline), `${name}: headline ${found.headline}`);
      // A benchmark has three sections and, on the CPU, short bars.
      const [links, least] = found.times ? [2, 120] : [5, 150];
      check(found.links > links, `${name}: ${found.links} links`);
      check(found.twice.length === 0, `${name}: ids twice: ${found.twice.slice(0, 5)}`);
      check(found.outside.length === 0, `${name}: links that leave the page: ${found.outside.slice(0, 5)}`);
      check(found.nowhere.length === 0, `${name}: links to nowhere: ${found.nowhere.slice(0, 5)}`);
      check(found.overflow <= 0, `${name}: ${found.overflow} pixels wider than the window`);
      check(found.words.length === 0, `${name}: words broken in tables: ${found.words.slice(0, 5)}`);
      check(found.narrow.length === 0, `${name}: about a word a line: ${found.narrow}`);
      check(found.used > 0.85, `${name}: ${found.used} of the window is used`);
      check(found.unmarked === 0, `${name}: ${found.unmarked} boxes that scroll and do not show it`);
      check(found.wide.length === 0, `${name}: out of the window: ${found.wide}`);
      check(contrast(found.paper, found.ink) >= 7, `${name}: ink ${found.ink} on ${found.paper}`);
      const dark = luminance(found.paper) < 0.2;
      check(dark === (colorScheme === "dark"), `${name}: the paper is ${found.paper}`);
      const pictures = found.figures.map((f) => f.id.replace(/^plot-/, "") + ".svg").sort();
      check(pictures.join() === [...plots].sort().join(), `${name}: pictures ${pictures}, files ${plots}`);
      for (const f of found.figures) {
        check(f.width >= 300 && f.height >= least, `${name}: ${f.id} is ${f.width} × ${f.height}`);
        check(f.words >= 100, `${name}: ${f.id} is not explained`);
        check(luminance(f.sheet) < 0.2 === dark, `${name}: ${f.id} is drawn on ${f.sheet}`);
        check(contrast(f.sheet, f.ink) >= 7, `${name}: ${f.id} is written in ${f.ink} on ${f.sheet}`);
      }
      // The page itself, a window at a time: a full one is taller than pictures may be. Not as pieces of a
      // full page: for that the window is made tall, the bar for scrolling goes, and the page gets shorter.
      if (keepsPictures) {
        const piece = 2400;
        await page.setViewportSize({ width, height: piece });
        const height = await page.evaluate(() => document.documentElement.scrollHeight);
        for (let i = 0; i * piece < height; i++) {
          await page.evaluate((y) => window.scrollTo({ top: y, behavior: "instant" }), i * piece);
          await page.screenshot({ path: join(shots, `${colorScheme}-${width}-${i + 1}.png`) });
        }
        await page.setViewportSize({ width, height: 1000 });
      }
      await page.evaluate(() => window.scrollTo({ top: 0, behavior: "instant" }));
      await follow(page, name, "nav a[href='#formulas']");
      await follow(page, name, "#method-foh a[href='#worst-foh-complex']");
      await follow(page, name, "#matrix td a");
      await follow(page, name, "#matrix th a");
      await follow(page, name, ".suspects a");
      await follow(page, name, ".failure a[href^='#case-']");
      await follow(page, name, ".failure a[href^='#invariant-']");
      await follow(page, name, ".failure a[href^='#sweep-']");
      await follow(page, name, ".failure a[href^='#pair-']");
      await follow(page, name, "#invariants td.fail a");
      if (colorScheme === "light") await work(page, name);
      if (colorScheme === "dark" && width === 1600) {
        await page.emulateMedia({ media: "print" });
        const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        check(luminance(paper) > 0.9, `${name}: prints on ${paper}`);
        for (const f of (await page.evaluate(inspect)).figures) {
          check(luminance(f.sheet) > 0.9, `${name}: ${f.id} prints on ${f.sheet}`);
        }
        if (keepsPictures) await page.pdf({ path: join(shots, "print.pdf"), format: "A4" });
      }
      await context.close();
    }
  }
  for (const colorScheme of ["light", "dark"]) {
    for (const plot of plots) await lookAtPlot(browser, folder, plot, colorScheme);
  }
  console.log(`${folder}: looked at, ${plots.length} pictures${keepsPictures ? `, screenshots in ${shots}` : ""}`);
}

// A picture as a file of its own.
async function lookAtPlot(browser, folder, plot, colorScheme) {
  const context = await browser.newContext({ colorScheme, viewport: { width: 800, height: 600 } });
  const page = await context.newPage();
  page.on("console", (m) => check(m.type() !== "error", `${folder} ${plot}: console: ${m.text()}`));
  await page.goto(pathToFileURL(resolve(folder, "plots", plot)).href);
  const root = await page.evaluate(() => document.documentElement.tagName);
  check(root === "svg", `${folder} ${plot}: its root is ${root}`);
  const svg = page.locator("svg").first();
  const shot = `plot-${colorScheme}-${plot.replace(/\.svg$/, "")}.png`;
  if (keepsPictures) await svg.screenshot({ path: join(folder, "screenshots", shot) });
  const sheet = await page.evaluate(() => getComputedStyle(document.querySelector("rect")).fill);
  check(luminance(sheet) < 0.2 === (colorScheme === "dark"), `${folder} ${plot} ${colorScheme}: drawn on ${sheet}`);
  // No text may leave the sheet.
  const outside = await page.evaluate(() => {
    const { width, height } = document.documentElement.getBoundingClientRect();
    const leaves = (t) => {
      const box = t.getBoundingClientRect();
      return box.left < -1 || box.top < -1 || box.right > width + 1 || box.bottom > height + 1;
    };
    return [...document.querySelectorAll("text")].filter(leaves).map((t) => t.textContent.trim());
  });
  check(outside.length === 0, `${folder} ${plot}: texts beyond the edge: ${outside.slice(0, 5)}`);
  await context.close();
}

const browser = await chromium.launch({
  executablePath,
  headless: true,
  // A reader sees them.
  ignoreDefaultArgs: ["--hide-scrollbars"],
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
});
try {
  for (const folder of folders) await look(browser, folder);
} finally {
  await browser.close();
}
problems.forEach((problem) => console.error(`FAIL ${problem}`));
console.log(`${checks} checks, ${problems.length} failed`);
process.exit(problems.length === 0 ? 0 : 1);
