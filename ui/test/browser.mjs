// A browser for the tests. Each page fails its test if the console has an error.
import { AxeBuilder } from "@axe-core/playwright";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const shots = path.join(path.dirname(fileURLToPath(import.meta.url)), "shots");

/** Opens a browser. Chromium is the machine's own: Debian's package chromium, or CHROMIUM. */
export async function openBrowser() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) throw new Error(`there is no browser at ${executablePath}: install Debian's package chromium, or set CHROMIUM`);
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath, args });
}

/**
 * What the console may say: a server without a route answers 404, and a refused request is one that the page shows.
 * Answers of 500 and more are errors by themselves, with their texts.
 */
const expected = /Failed to load resource: the server responded with a status of (4(00|04|09|22)|5\d\d)/;

/**
 * How many requests of a page a slow machine may answer with 503: Weft itself, which is busy, or an API gateway before it.
 * The page asks again. What it cannot send again fails the test elsewhere.
 */
const mostBusy = 3;

/** Opens a page of the server in a new context, without animations. init runs in it first. errors are those of the console. */
export async function openPage(browser, server, hash, { theme = "light", width = 1440, height = 900, init, ...more } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, timezoneId: "UTC", locale: "en-US", reducedMotion: "reduce", ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  page.on("console", (m) => {
    if ((m.type() === "error" || m.type() === "warning") && !expected.test(m.text())) page.errors.push(m.text());
  });
  let busy = 0;
  page.on("response", async (response) => {
    if (response.status() < 500) return;
    const text = `${response.request().method()} ${response.url()}: ${response.status()} ${await response.text().catch(String)}`;
    if (response.status() === 503 && ++busy <= mostBusy) console.log(`the page asks again: ${text}`);
    else page.errors.push(text);
  });
  if (init) await page.addInitScript(init);
  await page.goto(`${server.url}/${hash}`);
  return page;
}

/** Closes a page, and fails if its console had errors. */
export async function closePage(page) {
  await page.context().close();
  assert.deepEqual(page.errors, []);
}

/** Fails if axe finds a violation of WCAG 2.2 AA on the page. */
export async function checkAccess(page, what) {
  const { violations } = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]).analyze();
  const found = violations.map((v) => `${v.id}: ${v.help}\n${v.nodes.slice(0, 4).map((n) => `    ${n.target.join(" ")}: ${n.failureSummary?.split("\n").slice(1, 3).join(" ")}`).join("\n")}`);
  assert.equal(found.join("\n"), "", what);
}

/** Fails if the page is wider than its window. */
export async function checkWidth(page, what) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(over <= 0, `${what} is ${over} px wider than its window`);
}

/** Fills in the field of a payload that is one value, as soon as the form knows its type. */
export async function fillValue(form, label, text) {
  await form.getByRole("button", { name: "Edit as JSON", exact: true }).waitFor();
  await form.getByLabel(label, { exact: true }).fill(text);
}

/** Takes a screenshot for people to look at. */
export async function shoot(page, name) {
  await mkdir(shots, { recursive: true });
  await page.screenshot({ path: path.join(shots, `${name}.png`) });
}
