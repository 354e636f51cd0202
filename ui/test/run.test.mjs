import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkAccess, checkWidth, closePage, openBrowser, openPage, shoot } from "./browser.mjs";
import { seed } from "./seed.mjs";
import { startServer } from "./server.mjs";

let server;
let browser;
let runs;
before(async () => {
  server = await startServer();
  browser = await openBrowser();
  runs = await seed(server);
});
after(async () => {
  await browser?.close();
  await server?.stop();
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
  await page.getByRole("button", { name: "Tasks" }).click();
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

test("a run can be read by everybody", async () => {
  for (const [name, run] of Object.entries(runs)) {
    for (const theme of ["light", "dark"]) {
      const page = await openPage(browser, server, address(run), { theme });
      await page.locator(".event-row").first().waitFor();
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
