import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccess, checkWidth, closePage, openPage, shoot } from "./browser.mjs";
import { seed } from "./seed.mjs";
import { api, until } from "./server.mjs";
import { browser, server, setUp } from "./setup.mjs";

let runs;
setUp(async (server) => {
  runs = await seed(server);
});

const address = (run, part = "") => `#/workflows/${run.workflowId}/${run.runId}${part}`;

test("a link to a workflow goes to its latest run", async () => {
  const page = await openPage(browser, server, `#/workflows/${runs.completed.workflowId}`);
  await page.waitForURL(new RegExp(runs.completed.runId));
  await page.getByRole("heading", { level: 1, name: runs.completed.workflowId }).waitFor();
  await closePage(page);
});

test("events are found, unfolded, and linked", async () => {
  const page = await openPage(browser, server, address(runs.waiting, "/events/1"));
  const details = page.locator(".event-details");
  await details.getByRole("button", { name: /Show all/ }).click();
  await details.getByText("ring twice, the bell is broken").waitFor();
  await page.getByRole("button", { name: "Tasks", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".event-row").length > 5 && ![...document.querySelectorAll(".event-row")].some((r) => r.textContent.includes("WorkflowTask")));
  await page.getByRole("searchbox", { name: "Find in events" }).fill("addItem");
  await page.waitForFunction(() => document.querySelectorAll(".event-row").length === 2);
  await page.locator(".event-row").last().click();
  await details.getByText("add-1").first().waitFor();
  const accepted = details.getByRole("link", { name: /^#\d+$/ }).first();
  const id = (await accepted.innerText()).slice(1);
  await accepted.click();
  await page.waitForURL(new RegExp(`/events/${id}$`));
  await closePage(page);
});

test("typing in the search of the events keeps the focus there", async () => {
  const page = await openPage(browser, server, address(runs.completed, "/events"));
  const named = page.getByRole("button", { name: "ActivityTaskCompleted", exact: true }).first();
  await named.click();
  await page.locator(".event-details").waitFor();
  const search = page.getByRole("searchbox", { name: "Find in events" });
  await search.click();
  for (const letter of "ActivityTaskCompleted") {
    await page.keyboard.type(letter);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))); // effects have run
  }
  assert.equal(await search.inputValue(), "ActivityTaskCompleted");
  await search.fill("");
  await search.blur();
  await page.keyboard.press("j"); // the next event after the one that was clicked
  await page.waitForFunction(() => document.activeElement?.hasAttribute("data-event"));
  await closePage(page);
});

test("a zoomed timeline without rows says so", async () => {
  const { runId } = await api(server, "POST", "workflows", { workflowId: "idle", type: "import", input: 2 });
  const page = await openPage(browser, server, `#/workflows/idle/${runId}`);
  await page.locator(".timeline-row").first().waitFor();
  const zoom = page.getByRole("button", { name: "Zoom in" });
  const none = page.getByText("Nothing was under way in this period");
  await until("a period without rows", async () => (await zoom.click(), none.isVisible()), Boolean);
  await page.getByRole("button", { name: "Show the whole run" }).click();
  await page.locator(".timeline-row").first().waitFor();
  await page.getByRole("button", { name: "Activities" }).click();
  await page.getByText("All rows are hidden").waitFor();
  await closePage(page);
});

test("a run says who is notified of its end, without the path of the URL", async () => {
  const { runId } = await api(server, "POST", "workflows", { workflowId: "notifying", type: "import", input: 2, notify: [{ url: "http://127.0.0.1:9/hunter2" }] });
  const page = await openPage(browser, server, `#/workflows/notifying/${runId}`);
  const card = page.locator("section.card", { hasText: "Notifications of the end" });
  await card.getByText("http://127.0.0.1:9").waitFor();
  await card.getByText("pending").waitFor();
  assert(!(await card.innerText()).includes("hunter2"));
  await checkAccess(page);
  await api(server, "POST", "workflows/notifying/terminate", {});
  await card.getByText("delivering").waitFor(); // nobody listens there
  await card.getByRole("link", { name: "http://127.0.0.1:9" }).click();
  await page.getByRole("heading", { level: 1, name: `weft.notify:${runId}:2` }).waitFor();
  // It takes neither updates nor signals, and nobody pauses it.
  await page.getByRole("button", { name: "Actions" }).click();
  await page.getByRole("menuitem", { name: "Terminate…" }).waitFor();
  assert.deepEqual(await page.getByRole("menuitem").allInnerTexts(), ["Cancel…", "Terminate…"]);
  assert.equal(await page.getByRole("button", { name: "Signal" }).count(), 0);
  await closePage(page);
});

test("the timeline has what the run started, and what is pending", async () => {
  const page = await openPage(browser, server, address(runs.waiting));
  const lanes = page.getByRole("list", { name: "Timeline" });
  await lanes.getByRole("img", { name: /^chargeCard · gateway: .* · attempt \d+ · next attempt/ }).waitFor();
  await lanes.getByRole("img", { name: /^chargeCard · completed · took .* · 3 attempts · of it about 900 ms between attempts/ }).waitFor();
  for (const name of [/^lookUpPrice \(local\) · completed/, /^sendReceipt · mailboxFull/, /^shipment order-1042-shipment · running/, /^Timer · pending .* · fires in 1 d/, /^Update approve · in flight/, /^Update addItem · completed/]) {
    await lanes.getByRole("img", { name }).first().waitFor();
  }
  const rows = await page.locator(".timeline-row").count();
  await page.getByRole("button", { name: "Markers" }).click();
  await page.waitForFunction((n) => document.querySelectorAll(".timeline-row").length === n, rows - 3);
  await page.keyboard.press("j");
  await page.waitForFunction(() => document.activeElement?.hasAttribute("data-item")); // from the next frame on
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/events\/\d+$/);
  await page.locator(".event-details").waitFor();
  await closePage(page);
});

test("the page says where the code waits, and goes to the children's children", async () => {
  const page = await openPage(browser, server, address(runs.waiting));
  const waits = page.locator(".card", { hasText: "Where the code waits" });
  await waits.getByText(/uiserver\/main\.go:\d+/).first().waitFor();
  await waits.getByText("signal paid").waitFor();
  await waits.getByRole("heading", { name: /update approve/ }).waitFor();
  await waits.getByText("handles updates addItem, approve").waitFor();
  const relatives = page.locator(".card", { hasText: "Parent and children" });
  await relatives.getByRole("button", { name: "Children of order-1042-shipment", exact: true }).click();
  await relatives.getByRole("button", { name: "Children of order-1042-shipment-leg", exact: true }).click();
  await relatives.getByRole("link", { name: "order-1042-shipment-leg-leg" }).click();
  await page.getByRole("heading", { level: 1, name: "order-1042-shipment-leg-leg" }).waitFor();
  await page.locator(".run-side").getByRole("link", { name: "order-1042-shipment-leg", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "order-1042-shipment-leg", exact: true }).waitFor();
  await closePage(page);
});

test("a stuck run says why, how often, and where", async () => {
  const page = await openPage(browser, server, address(runs.stuck));
  await page.getByText(/The run is stuck: its code fails at uiserver\/main\.go:\d+/).waitFor();
  await page.getByText("assignment to entry in nil map").first().waitFor();
  await page.getByText(/\d+ attempts? failed, the first/).waitFor();
  const lanes = page.getByRole("list", { name: "Timeline" });
  await lanes.getByRole("img", { name: /^Task failed · .* so far · \d+ attempts failed · next attempt/ }).waitFor();
  const waits = page.locator(".card", { hasText: "Where the code waited before it failed" });
  await waits.getByText(/^The code waits nowhere: its task fails at uiserver\/main\.go:\d+\. These are the places before that task/).waitFor();
  await waits.getByText("activity reserveStock").waitFor();
  await page.locator(".notice summary").click();
  await page.locator(".notice pre").getByText("runSubscription").waitFor();
  await closePage(page);
});

test("the end of a failed run says what has failed, and the cause", async () => {
  await api(server, "POST", "workflows", { workflowId: "no-glass", type: "order", input: { buyer: "Ada", items: [{ sku: "glass", quantity: 1 }], failures: 0, hold: false } });
  await api(server, "GET", "workflows/no-glass/result?wait=20s", undefined, 500);
  const page = await openPage(browser, server, "#/workflows/no-glass");
  const end = page.locator(".in-out");
  await end.getByText(/^Activity lookUpPrice failed/).waitFor();
  await end.locator(".cause", { hasText: "Cause:" }).getByText("unknownSKU", { exact: true }).waitFor();
  await closePage(page);
});

test("a text that looks like markup stays a text", async () => {
  const text = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>";
  await api(server, "POST", "workflows", { workflowId: "markup", type: "order", input: { buyer: text, items: [{ sku: text, quantity: 1 }], failures: 0, hold: false }, memo: { [text]: text }, searchAttributes: { Region: { keyword: text } } });
  const page = await openPage(browser, server, "#/workflows/markup");
  await page.getByText("unknownSKU").first().waitFor();
  await page.getByText(text).first().waitFor();
  await page.goto(`${server.url}/#/runs?q=markup`);
  await page.getByRole("button", { name: `Region ${text}` }).waitFor();
  assert.equal(await page.locator("img, main script").count(), 0);
  assert.equal(await page.title(), "Runs · Weft");
  await closePage(page);
});

test("a run that is watched shows what happens to it", async () => {
  const { runId } = await api(server, "POST", "workflows", { workflowId: "watched", type: "import", input: 2 });
  const page = await openPage(browser, server, `#/workflows/watched/${runId}`);
  await page.locator(".card", { hasText: "Where the code waits" }).getByText("signal delivered").waitFor();
  await page.locator(".card", { hasText: "Where the code waits" }).getByText("answers query status").waitFor();
  await api(server, "POST", "workflows/watched/signals/delivered", { input: "now" });
  await page.getByRole("list", { name: "Timeline" }).getByRole("img", { name: /^Signal delivered/ }).waitFor();
  await page.locator(".run-title").getByText("Completed").waitFor();
  await page.locator(".in-out").getByRole("group", { name: "Result" }).getByText("2").waitFor();
  await closePage(page);
});

test("a run can be read by everybody", async () => {
  for (const [name, run] of Object.entries(runs)) {
    for (const theme of ["light", "dark"]) {
      const page = await openPage(browser, server, address(run), { theme });
      await page.locator(".timeline-row").first().waitFor();
      await page.getByText("The code is asked…").waitFor({ state: "detached" });
      await checkAccess(page, `${name}, ${theme}`);
      await shoot(page, `run-${name}-${theme}`);
      await closePage(page);
    }
    const page = await openPage(browser, server, address(run, "/events/1"), { width: 390, height: 844 });
    await page.locator(".event-details").waitFor();
    await checkWidth(page, `${name} at 390 px`);
    await checkAccess(page, `${name} at 390 px`);
    await shoot(page, `run-${name}-390`);
    await closePage(page);
  }
});

test("what is not there is said", async () => {
  const page = await openPage(browser, server, "#/workflows/nobody");
  await page.getByRole("alert").getByText("Not found").waitFor();
  await page.goto(`${server.url}/#/nowhere`);
  await page.getByText("There is no such page").waitFor();
  await closePage(page);
});
