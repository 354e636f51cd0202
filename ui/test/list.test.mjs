import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccess, checkWidth, closePage, openPage, shoot } from "./browser.mjs";
import { seed } from "./seed.mjs";
import { api, startServer, until } from "./server.mjs";
import { browser, server, setUp } from "./setup.mjs";

setUp(async (server) => {
  await seed(server);
});

const rows = (page) => page.locator("table.runs tbody tr");

/** Waits until the list has as many rows, and returns the texts of a column. */
async function column(page, label, count) {
  await page.waitForFunction((n) => document.querySelectorAll("table.runs tbody tr").length === n, count);
  return rows(page).locator(`[data-label="${label}"]`).allInnerTexts();
}

test("the list is filtered by clicks and by a text, and the address has the filter", async () => {
  const page = await openPage(browser, server, "#/");
  await rows(page).first().waitFor();
  await page.getByRole("checkbox", { name: "Failed" }).check();
  assert.deepEqual(new Set(await column(page, "Status", 3)), new Set(["Failed\nunknownSKU"]));
  assert.match(page.url(), /#\/runs\?status=failed$/);
  await page.getByRole("checkbox", { name: "Terminated" }).check();
  assert.deepEqual(new Set(await column(page, "Status", 4)), new Set(["Failed\nunknownSKU", "Terminated"]));
  await page.reload();
  await column(page, "Status", 4);
  await page.getByRole("button", { name: "Clear all" }).click();
  await page.keyboard.press("/");
  await page.keyboard.type("order-104");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("table.runs tbody tr").length > 1 && [...document.querySelectorAll("a.row-link")].every((a) => a.textContent.startsWith("order-104")));
  await page.getByRole("searchbox").fill("Region = 'us' AND ExecutionStatus = 'completed'");
  await page.keyboard.press("Enter");
  const types = await column(page, "Type", 6);
  assert.deepEqual(new Set(types), new Set(["order"]));
  await page.getByRole("searchbox").fill("Region ~ 'us'");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("The request is invalid").waitFor();
  await closePage(page);
});

test("an attribute and a type in the list are filters", async () => {
  const page = await openPage(browser, server, "#/runs?q=order-1041");
  await column(page, "Status", 4);
  await page.getByRole("button", { name: "Region us" }).click();
  await column(page, "Status", 1);
  assert.equal(new URLSearchParams(page.url().split("?")[1]).get("q"), "WorkflowId STARTS_WITH 'order-1041' AND Region = 'us'");
  await page.getByRole("searchbox").fill("");
  await page.getByRole("checkbox", { name: "import" }).check();
  await column(page, "Status", 4);
  await closePage(page);
});

test("the list has pages", async () => {
  for (let i = 0; i < 110; i++) await api(server, "POST", "workflows", { workflowId: `bulk-${i}`, type: "shipment", input: { to: "x", legs: 0, hold: false } });
  const page = await openPage(browser, server, "#/runs?q=bulk-");
  await rows(page).first().waitFor();
  const first = await rows(page).locator("a.row-link").allInnerTexts();
  await page.keyboard.press("n");
  await page.waitForURL(/page=/);
  await page.waitForFunction((id) => document.querySelector("a.row-link") && document.querySelector("a.row-link").textContent !== id, first[0]);
  const second = await rows(page).locator("a.row-link").allInnerTexts();
  assert.ok(first.length >= 50 && second.length > 0 && second.every((id) => !first.includes(id)));
  await page.getByRole("button", { name: "Newer" }).click();
  await page.waitForFunction((id) => document.querySelector("a.row-link")?.textContent === id, first[0]);
  await closePage(page);
});

test("the list refreshes itself, unless it is paused", async () => {
  const page = await openPage(browser, server, "#/runs?q=fresh-");
  await page.getByText("No run matches").waitFor();
  await api(server, "POST", "workflows", { workflowId: "fresh-1", type: "import", input: 0 });
  await page.getByRole("link", { name: "fresh-1", exact: true }).waitFor();
  await page.keyboard.press("l");
  await page.getByRole("button", { name: "Paused" }).waitFor();
  await api(server, "POST", "workflows", { workflowId: "fresh-2", type: "import", input: 0 });
  await page.keyboard.press("r"); // refreshes once
  await page.getByRole("link", { name: "fresh-2", exact: true }).waitFor();
  await closePage(page);
});

test("the bar says that the server does not answer", async () => {
  const page = await openPage(browser, server, "#/runs");
  const bar = page.getByRole("banner");
  await rows(page).first().waitFor();
  await bar.getByRole("button", { name: "Live" }).waitFor();
  await page.route("**/v1/**", (route) => route.abort());
  await page.keyboard.press("r");
  await bar.getByRole("button", { name: "No answer" }).waitFor();
  await checkAccess(page, "no answer");
  await page.unroute("**/v1/**");
  await bar.getByRole("button", { name: "Live" }).waitFor();
  page.errors = page.errors.filter((e) => !e.includes("ERR_FAILED"));
  await closePage(page);
});

test("the list is used without a mouse", async () => {
  const page = await openPage(browser, server, "#/runs?q=order-1042");
  await column(page, "Status", 4);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  const chosen = await page.evaluate(() => document.activeElement?.textContent);
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard" });
  await help.getByText("Next run").waitFor();
  await checkAccess(page, "the help");
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), chosen);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: chosen }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await rows(page).first().waitFor();
  await closePage(page);
});

test("a row says why its run is as it is, and which run has started it", async () => {
  const page = await openPage(browser, server, "#/runs?state=Stuck");
  assert.match((await column(page, "Status", 1))[0], /^Running\s+Stuck\s+panic, since (now|\d+ [sm])$/);
  await page.goto(`${server.url}/#/runs?state=Retrying&q=order-1042`);
  await rows(page).getByText("chargeCard").waitFor();
  await page.goto(`${server.url}/#/runs?q=order-1042-shipment-leg-leg`);
  const parent = rows(page).getByText("child of").getByRole("link", { name: "order-1042-shipment-leg", exact: true });
  await parent.click();
  await page.getByRole("heading", { level: 1, name: "order-1042-shipment-leg", exact: true }).waitFor();
  await closePage(page);
});

test("failed runs are counted by their close reasons", async () => {
  const page = await openPage(browser, server, "#/runs");
  await page.getByRole("checkbox", { name: /^Failed/ }).check();
  await page.getByRole("group", { name: "Close reason" }).getByRole("checkbox", { name: /^unknownSKU 3$/ }).check();
  await page.waitForURL(/reason=unknownSKU/);
  await column(page, "Status", 3);
  await page.goto(`${server.url}/#/runs?status=failed&reason=other`);
  await page.getByText("No run matches").waitFor();
  await closePage(page);
});

test("Weft's own workflows are shown when they are asked for", async () => {
  await api(server, "POST", "schedules", { scheduleId: "hourly", schedule: { spec: { intervals: [{ every: "1h" }] }, action: { type: "import", input: 0 } } });
  await api(server, "POST", "schedules/hourly/trigger", {});
  const started = (await until("the run of the schedule", () => api(server, "GET", "workflows?type=import&filter=" + encodeURIComponent("ParentWorkflowId = 'weft.schedule:hourly'")), (l) => l.workflows.length === 1)).workflows[0].workflowId;
  const page = await openPage(browser, server, `#/runs?q=${encodeURIComponent("NOT WorkflowType IN ('order', 'shipment', 'subscription')")}`);
  const row = rows(page).filter({ has: page.getByRole("link", { name: started, exact: true }) });
  await row.getByText("schedule").getByRole("link", { name: "hourly", exact: true }).waitFor();
  await page.getByRole("group", { name: "Type" }).getByText("import").waitFor();
  assert.equal(await page.getByText("weft.schedule").count(), 0);
  await page.getByRole("checkbox", { name: "Schedules, batches, notifications" }).check();
  await page.waitForURL(/own=shown/);
  await page.getByRole("link", { name: "weft.schedule:hourly", exact: true }).waitFor();
  await page.getByRole("group", { name: "Type" }).getByText("weft.schedule").waitFor();
  await closePage(page);
});

test("a name that no run has is refused, and allowed with a button", async () => {
  const page = await openPage(browser, server, `#/runs?q=${encodeURIComponent("Regoin = 'eu'")}`);
  const alert = page.getByRole("alert");
  await alert.getByText('Choose "Allow unknown names" if other runs have Regoin').waitFor();
  await checkAccess(page, "an unknown name");
  await alert.getByRole("button", { name: "Allow unknown names" }).click();
  await page.getByText("No run matches").waitFor();
  await page.keyboard.press("a");
  const form = page.getByRole("dialog");
  await form.getByRole("checkbox", { name: "Allow unknown names" }).uncheck();
  await form.getByRole("button", { name: "Count the runs" }).click();
  await form.getByRole("alert").getByText("none has the search attribute Regoin").waitFor();
  await form.getByRole("checkbox", { name: "Allow unknown names" }).check();
  await form.getByRole("button", { name: "Count the runs" }).click();
  await form.getByText("No run matches.").waitFor();
  await closePage(page);
});

test("the local server counts the runs that retry", async () => {
  const page = await openPage(browser, server, "#/runs");
  await page.getByRole("checkbox", { name: /^Retrying [1-9]/ }).waitFor();
  await closePage(page);
});

test("the runs of a deployment that retry are counted on a click", async () => {
  const page = await openPage(browser, server, "#/runs");
  await page.goto("about:blank"); // what the page of the local server asks is not looked at
  await page.route("**/v1/deployment", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), namespace: "default" } });
  });
  const asked = [];
  page.on("request", (r) => r.url().includes("/v1/counts") && asked.push(new URL(r.url()).searchParams.get("filter")));
  await page.goto(`${server.url}/#/runs`);
  const button = page.getByRole("button", { name: "Count Retrying" });
  await button.getByText("count", { exact: true }).waitFor();
  assert.ok(asked.some((f) => f?.includes("Stuck")) && !asked.some((f) => f?.includes("Retrying")), asked.join("\n"));
  await button.click();
  await button.getByText(/^[1-9]/).waitFor();
  assert.equal(asked.filter((f) => f?.includes("Retrying")).length, 1);
  await page.getByRole("checkbox", { name: "Retrying" }).check();
  await page.waitForURL(/state=Retrying/);
  await closePage(page);
});

test("a narrow window has the whole search and all pages", async () => {
  const page = await openPage(browser, server, "#/runs", { width: 375, height: 800 });
  await rows(page).first().waitFor();
  const width = (await page.getByRole("searchbox").boundingBox()).width;
  assert.ok(width > 300, `the search is ${width} px wide`);
  const over = await page.locator(".bar nav").evaluate((nav) => nav.scrollWidth - nav.clientWidth);
  assert.ok(over <= 0, `the pages are ${over} px wider than the bar`);
  await closePage(page);
});

test("the list can be read by everybody", async () => {
  for (const theme of ["light", "dark"]) {
    const page = await openPage(browser, server, "#/runs?q=order", { theme });
    await rows(page).first().waitFor();
    await checkAccess(page, `the list, ${theme}`);
    await shoot(page, `list-${theme}`);
    await closePage(page);
  }
  const page = await openPage(browser, server, "#/runs", { width: 390, height: 844 });
  await rows(page).first().waitFor();
  await checkWidth(page, "the list at 390 px");
  await checkAccess(page, "the list at 390 px");
  await shoot(page, "list-390");
  await page.getByText("Filters").click();
  await page.getByRole("checkbox", { name: "Completed" }).check();
  await page.waitForURL(/status=completed/);
  await closePage(page);
});

test("a server without runs says how to start one", async (t) => {
  const empty = await startServer();
  t.after(() => empty.stop());
  const page = await openPage(browser, empty, "#/runs");
  await page.getByText("There are no runs yet").waitFor();
  await checkAccess(page, "the empty list");
  await shoot(page, "list-empty");
  await closePage(page);
});
