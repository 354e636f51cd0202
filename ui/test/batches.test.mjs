// Batches: acting on all runs of the list, and the pages of batches.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccess, checkWidth, closePage, openPage, shoot } from "./browser.mjs";
import { api, until } from "./server.mjs";
import { browser, server, setUp } from "./setup.mjs";

const orders = 12;

setUp(async (server) => {
  for (let i = 0; i < orders; i++) {
    await api(server, "POST", "workflows", { workflowId: `order-${i}`, type: "order", input: { buyer: "Ada", items: [{ sku: "tea", quantity: 1 }], failures: 0, hold: true } });
  }
  await until("the orders in the list", () => api(server, "GET", "counts"), (c) => c.count >= orders);
});

const button = (within, name) => within.getByRole("button", { name, exact: true });
const status = async (id) => (await api(server, "GET", `workflows/${id}`)).status;

test("all runs of the list are canceled, after a dry run", async () => {
  const page = await openPage(browser, server, "#/runs?type=order&status=running");
  await page.getByText("order-11").first().waitFor();
  await page.keyboard.press("a");
  const form = page.getByRole("dialog");
  assert.equal(await form.getByLabel("Runs", { exact: true }).inputValue(), "ExecutionStatus = 'running' AND WorkflowType = 'order'");
  await form.getByLabel("Runs", { exact: true }).fill("WorkflowType =");
  await button(form, "Count the runs").click();
  await form.getByRole("alert").getByText("the filter cannot be read").waitFor();
  await form.getByLabel("Runs", { exact: true }).fill("WorkflowId IN ('order-0', 'order-1', 'order-2')");
  await form.getByLabel("Reason").fill("the shop closes");
  await button(form, "Count the runs").click();
  await form.getByText("3 runs match:").waitFor();
  assert.equal(await status("order-0"), "running"); // it has only counted
  await checkAccess(page, "the form of a batch");
  await shoot(page, "batch-form");
  await form.getByLabel("Runs", { exact: true }).fill("WorkflowId IN ('order-0', 'order-1')"); // another filter is counted again
  await button(form, "Count the runs").click();
  await form.getByText("2 runs match:").waitFor();
  await button(form, "Cancel 2 runs").click();
  await page.getByText("2 of 2 runs").waitFor();
  await page.getByText("Completed", { exact: true }).waitFor();
  await until("the cancellation", () => Promise.all([status("order-0"), status("order-1")]), (all) => all.every((s) => s === "canceled"));
  assert.equal(await status("order-2"), "running");
  await page.getByRole("link", { name: "Batches" }).first().click();
  await page.getByRole("row").filter({ hasText: "Cancel" }).getByText("2 of 2", { exact: true }).waitFor();
  await page.getByRole("row").filter({ hasText: "Dry run" }).getByText("3 counted", { exact: true }).waitFor();
  await closePage(page);
});

test("the button has the number of runs that the action is possible for", async () => {
  for (const id of ["order-8", "order-9"]) await api(server, "POST", `workflows/${id}/terminate`, {});
  const page = await openPage(browser, server, "#/batches");
  await page.getByRole("heading", { level: 1, name: "Batches" }).waitFor();
  await page.keyboard.press("c");
  const form = page.getByRole("dialog");
  await form.getByLabel("Runs", { exact: true }).fill("WorkflowId IN ('order-7', 'order-8', 'order-9')");
  await button(form, "Count the runs").click();
  await form.getByText("3 runs match:").waitFor();
  await button(form, "Cancel 1 run").waitFor();
  await form.getByText("2 of them are closed: nothing is done with them.").waitFor();
  for (const [kind, label] of [["terminate", "Terminate 1 run"], ["pause", "Pause 1 run"], ["reset", "Reset 3 runs"], ["delete", "Delete 2 runs"]]) {
    await form.getByLabel("What is done").selectOption(kind);
    await button(form, label).waitFor();
  }
  await form.getByText("1 of them is open: nothing is done with it.").waitFor();
  await closePage(page);
});

test("a batch is slowed down, and stopped", async () => {
  const { batchId } = await api(server, "POST", "batches", { batchId: "pauses", filter: "WorkflowType = 'order' AND ExecutionStatus = 'Running'", action: { kind: "pause", reason: "the bank is closed" }, rate: 0.5 });
  const page = await openPage(browser, server, `#/batches/${batchId}?of=10`);
  await page.getByText("Running", { exact: true }).waitFor();
  const form = page.getByRole("dialog");
  await button(page, "Rate").click();
  await form.getByLabel("Runs a second").fill("5000");
  await button(form, "Change").click();
  await form.getByRole("alert").getByText("give 0.01 to 1000").waitFor();
  await form.getByLabel("Runs a second").fill("0.02");
  await button(form, "Change").click();
  await page.getByText("0.02 a second").waitFor();
  await page.getByText("of 10 runs").waitFor();
  await shoot(page, "batch-runs");
  await button(page, "Stop").click();
  await form.getByLabel("Reason").fill("it is open again");
  await checkAccess(page, "the stop of a batch");
  await button(form, "Stop the batch").click();
  await page.getByText("Stopped", { exact: true }).waitFor();
  await page.getByText("it is open again").waitFor();
  const { state, counts } = await api(server, "GET", "batches/pauses");
  assert.equal(state, "stopped");
  assert.ok(counts.done >= 1 && counts.done < orders - 2, JSON.stringify(counts));
  await closePage(page);
});

test("a signal, and runs that are refused", async () => {
  const page = await openPage(browser, server, "#/batches");
  await page.getByText("pauses").first().waitFor();
  await page.keyboard.press("c");
  const form = page.getByRole("dialog");
  await form.getByLabel("What is done").selectOption("delete");
  await form.getByLabel("Runs", { exact: true }).fill("WorkflowId = 'order-5'");
  await button(form, "Count the runs").click();
  await button(form, "Delete 0 runs").click();
  await page.getByRole("region", { name: "The last that it could not act on" }).getByText("is open: terminate it").waitFor();
  assert.equal(await page.getByRole("link", { name: "order-5", exact: true }).getAttribute("href").then((to) => to.startsWith("#/workflows/order-5/")), true);
  await page.getByRole("link", { name: "Batches" }).first().click();
  await button(page, "Start").click();
  await form.getByLabel("What is done").selectOption("signal");
  await form.getByLabel("Runs", { exact: true }).fill("WorkflowId = 'order-11'");
  await form.getByLabel("Signal", { exact: true }).fill("note");
  await form.getByLabel("Input").fill('"ring twice"');
  await button(form, "Count the runs").click();
  await button(form, "Signal 1 run").click();
  await page.getByText("1 of 1 run", { exact: true }).waitFor();
  await closePage(page);
});

test("batches can be read by everybody", async () => {
  for (const [hash, name, ready] of [
    ["#/batches", "batches", (page) => page.getByText("pauses").first().waitFor()],
    ["#/batches/pauses", "batch", (page) => page.getByText("Stopped", { exact: true }).waitFor()],
  ]) {
    for (const theme of ["light", "dark"]) {
      const page = await openPage(browser, server, hash, { theme });
      await ready(page);
      await checkAccess(page, `${name}, ${theme}`);
      await shoot(page, `${name}-${theme}`);
      await closePage(page);
    }
    const page = await openPage(browser, server, hash, { width: 390, height: 844 });
    await ready(page);
    await checkWidth(page, `${name} at 390 px`);
    await checkAccess(page, `${name} at 390 px`);
    await shoot(page, `${name}-390`);
    await closePage(page);
  }
});
