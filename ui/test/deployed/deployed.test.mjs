// Drives the page of a deployment (localstack/check/sam): as the api function serves it, and as
// `weft ui` does. WEFT_UI_DEPLOYMENT is the address of the deployment's API, to which `weft ui`
// signs its requests, and which this test also asks without it. Its program has the workflow of
// localstack/check/steered.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { checkAccess, closePage, fillValue, openBrowser, openPage, shoot } from "../browser.mjs";
import { api, until } from "../server.mjs";

const deployment = { url: process.env.WEFT_UI_DEPLOYMENT };
const weft = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..", "..", "bin", "weft");

let browser;
let proxy; // weft ui, with the cookie of the browser that it let in

before(async () => {
  assert.ok(deployment.url, "WEFT_UI_DEPLOYMENT is the address of no API: make deploy-check ONLY=sam sets it");
  browser = await openBrowser();
  proxy = await startProxy();
});
after(async () => {
  await browser?.close();
  await proxy?.stop();
});

/** Starts weft ui, and opens the address that it prints. */
async function startProxy() {
  const child = spawn(weft, ["ui", "--url", deployment.url, "--auth", "aws"], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((done) => child.once("exit", done));
  let address;
  for await (const line of createInterface({ input: child.stdout })) {
    address = /http:\S+\?key=\S+/.exec(line)?.[0];
    if (address) break;
  }
  assert.ok(address, "weft ui printed no address");
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(address);
  await page.getByRole("heading", { name: "Runs" }).first().waitFor();
  const url = page.url().replace(/\/(#.*)?$/, "");
  assert.ok(!url.includes("key="), `the key is still in the address ${url}`);
  const storageState = await context.storageState();
  await context.close();
  return {
    url,
    storageState,
    async stop() {
      child.kill("SIGINT");
      assert.equal(await ended, 0, "weft ui did not end well");
    },
  };
}

const address = (run) => `#/workflows/${run.workflowId}/${run.runId}`;
const describeRun = (run) => api(deployment, "GET", `workflows/${run.workflowId}?runId=${run.runId}`);
const button = (within, name) => within.getByRole("button", { name, exact: true });
const said = (page, text) => page.locator(".toast").getByText(text).waitFor();
const badge = (page, text) => page.locator(".run-title .badge").getByText(text).waitFor();

/** Starts a run. */
async function start(workflowId, input = "waits") {
  const { runId } = await api(deployment, "POST", "workflows", { workflowId, type: "steered", input });
  return { workflowId, runId };
}

/** Opens the page of weft ui. */
const open = (hash) => openPage(browser, proxy, hash, { storageState: proxy.storageState });

/** Opens the page of a run. menu opens the form of an entry of its menu. */
async function openRun(run) {
  const page = await open(address(run));
  const form = page.getByRole("dialog");
  await page.locator(".run-title").waitFor();
  return {
    page,
    form,
    async menu(name) {
      await button(page, "Actions").click();
      await page.getByRole("menuitem", { name }).click();
    },
  };
}

// Most of the time is spent waiting for functions, so three tests run at once.
describe("the page of a deployment", { concurrency: 3 }, () => {
  test("the api function serves the page, and a workflow is started there", async () => {
    const page = await openPage(browser, { url: deployment.url }, "#/runs");
    await button(page, "Start").waitFor(); // from then on there is the shortcut
    await page.keyboard.press("s");
    const form = page.getByRole("dialog", { name: "Start a workflow" });
    await form.getByLabel("Type").fill("steered");
    await form.getByLabel("Workflow id").fill("ui-started");
    await fillValue(form, "Input", "waits");
    await button(form, "Start").click();
    await said(page, "ui-started was started");
    await page.getByRole("heading", { level: 1, name: "ui-started" }).waitFor();
    await page.getByText("go", { exact: true }).first().waitFor(); // what its code waits for
    await shoot(page, "deployed-started");
    await page.goto(deployment.url); // without the final slash
    await page.getByRole("link", { name: "ui-started" }).first().waitFor();
    assert.equal(new URL(page.url()).pathname, `${new URL(deployment.url).pathname}/`);
    await checkAccess(page, "the list of a deployment");
    await closePage(page);
  });

  test("a signal, updates and a query", async () => {
    const run = await start("ui-asked");
    const { page, form } = await openRun(run);
    await button(page, "Update").click();
    await form.locator("option", { hasText: "rename" }).waitFor({ state: "attached" });
    await form.getByLabel("Update", { exact: true }).selectOption("rename");
    await fillValue(form, "Input", "ada");
    await button(form, "Send").click();
    const outcome = form.locator(".outcome");
    await outcome.getByText("Completed").waitFor();
    const written = (await describeRun(run)).historyLength;
    await form.getByLabel("Input").fill("");
    await button(form, "Send").click();
    await outcome.getByText("Refused").waitFor();
    await outcome.getByText("a name has 1 to 20 letters").waitFor();
    await outcome.getByText(/^writes=0, reads=\d+, messages=0$/).waitFor();
    assert.equal((await describeRun(run)).historyLength, written);
    await shoot(page, "deployed-refused");
    await button(form, "Back").click();

    await button(page, "Query").click();
    await form.getByText("It takes no input.").waitFor();
    assert.equal(await form.getByLabel("Query").inputValue(), "status");
    await button(form, "Ask").click();
    await outcome.getByText("waiting for go").waitFor();
    await form.getByText(/^writes=0, /).waitFor();
    await button(form, "Back").click();

    await button(page, "Signal").click();
    await form.getByText("The code waits for go.").waitFor();
    await fillValue(form, "Input", "on");
    await button(form, "Send").click();
    await said(page, "Signal go sent");
    await badge(page, "Completed");
    await closePage(page);
  });

  test("pause, resume, move and cancel", async () => {
    const run = await start("ui-paused");
    const { page, form, menu } = await openRun(run);
    await menu("Pause…");
    await form.getByLabel("Reason").fill("the bank is closed");
    await button(form, "Pause the run").click();
    await badge(page, "Paused");
    assert.equal((await describeRun(run)).paused.reason, "the bank is closed");
    await button(page, "Resume").click();
    await button(form, "Resume the run").click();
    await said(page, "The run goes on");
    await until("the resumption", () => describeRun(run), (d) => d.paused === undefined);

    await menu("Move to a build…");
    await button(form, "Move").click();
    await said(page, /The run is pinned to/);
    assert.ok((await describeRun(run)).build);

    await menu("Cancel…");
    await form.getByLabel("Reason").fill("nobody wants it");
    await button(form, "Cancel the run").click();
    await badge(page, "Canceled");
    await closePage(page);
  });

  test("reset, terminate and delete", async () => {
    const run = await start("ui-reset");
    const { page, form, menu } = await openRun(run);
    await until("the first task", () => describeRun(run), (d) => d.historyLength > 3);
    await menu("Reset…");
    await form.getByLabel("Reason").fill("once more");
    await button(form, "Reset the run").click();
    await said(page, "The run was reset");
    await page.waitForURL(/workflows\/ui-reset\/2-/);
    const latest = await api(deployment, "GET", "workflows/ui-reset");
    assert.deepEqual([latest.resetFromRunId, (await describeRun(run)).status], [run.runId, "terminated"]);

    await menu("Terminate…");
    await form.getByLabel("Reason").fill("it is enough");
    await button(form, "Terminate the run").click();
    await badge(page, "Terminated");
    await menu("Delete…");
    await button(form, "Delete the run").click();
    await form.getByRole("alert").getByText("The run has closed too recently").waitFor();
    await closePage(page);
  });

  test("an activity is retried, completed and failed by hand", async () => {
    const run = await start("ui-pays", "pays");
    const failed = (least) => until("a failed attempt", () => describeRun(run), (d) => d.pendingActivities[0]?.attempt > least && d.pendingActivities[0].lastFailure);
    const { eventId, attempt } = (await failed(1)).pendingActivities[0];
    const { page, form } = await openRun(run);
    const pending = page.locator(".run-side .pending");
    await pending.getByText("the bank is closed").first().waitFor();
    await pending.getByRole("button", { name: `Retry now steered.pay, event ${eventId}` }).click();
    await said(page, /Attempt \d+ of steered.pay begins/);
    await failed(attempt);
    await pending.getByRole("button", { name: "Complete steered.pay" }).click();
    await fillValue(form, "Result", "paid in cash");
    await form.getByLabel("Reason").fill("the bank is closed");
    await button(form, "Complete it").click();
    await said(page, "steered.pay was completed by hand");
    await until("the code's next wait", () => describeRun(run), (d) => d.pendingActivities.length === 0);
    await closePage(page);

    const other = await start("ui-pays-2", "pays");
    await until("the activity", () => describeRun(other), (d) => d.pendingActivities.length > 0);
    const second = await openRun(other);
    await second.page.locator(".run-side .pending").getByRole("button", { name: "Fail steered.pay" }).click();
    await second.form.getByLabel("Message").fill("nobody answers");
    await button(second.form, "Fail it").click();
    await said(second.page, "steered.pay was failed by hand");
    await badge(second.page, "Failed");
    await closePage(second.page);
  });

  test("a stuck run is retried, and an update in flight is failed", async () => {
    const run = await start("ui-stuck", "panics");
    await until("the panic", () => describeRun(run), (d) => d.stuckTask !== undefined);
    const { page, form, menu } = await openRun(run);
    await button(page, "Retry now").click();
    const toast = page.locator(".toast.bad");
    await toast.getByText("The run is still stuck").waitFor();
    await toast.getByText(/bad code/).waitFor();
    await menu("Terminate…"); // or its task would be retried for as long as the check lasts
    await button(form, "Terminate the run").click();
    await badge(page, "Terminated");
    await closePage(page);

    const waiting = await start("ui-in-flight");
    await api(deployment, "POST", "workflows/ui-in-flight/updates/approve", { updateId: "approve-1", input: "grace", waitFor: "accepted" });
    const second = await openRun(waiting);
    await second.menu("Fail an update…");
    await second.form.getByLabel("Reason").fill("it takes too long");
    await button(second.form, "Fail the update").click();
    await said(second.page, "Update approve-1 was ended");
    assert.deepEqual((await describeRun(waiting)).updatesInFlight, []);
    await closePage(second.page);
  });

  test("a schedule is created, paused, triggered, backfilled, resumed and deleted", async () => {
    const page = await open("#/schedules");
    await page.getByText("There are no schedules yet").waitFor();
    await page.keyboard.press("c");
    const form = page.getByRole("dialog");
    await form.getByLabel("Schedule id").fill("ui-nightly");
    await form.getByLabel("Workflow type").fill("steered");
    await form.getByLabel("Cron").fill("30 2 * * *");
    await fillValue(form, "Input", "waits");
    await button(form, "Create").click();
    await said(page, "ui-nightly was created");
    await button(page, "Pause").click();
    await button(form, "Pause").click();
    await page.getByText("None while it is paused.").waitFor();
    await button(page, "Start a run").click();
    await form.getByLabel("If an earlier run is open").selectOption("allowAll");
    await button(form, "Start a run").click();
    await page.getByRole("region", { name: "Open and buffered runs" }).getByText("Running").waitFor();
    await button(page, "Actions").click();
    await page.getByRole("menuitem", { name: "Backfill…" }).click();
    await form.getByLabel("From").fill("2026-11-20T00:00:00Z");
    await form.getByLabel("Until").fill("2026-11-21T00:00:00Z");
    await form.getByLabel("If an earlier run is open").selectOption("allowAll");
    await button(form, "Start the runs").click();
    await said(page, "ui-nightly starts the runs of the period");
    await until("both runs", () => api(deployment, "GET", "schedules/ui-nightly"), (d) => d.started === 2);
    await button(page, "Resume").click();
    await button(form, "Resume").click();
    await page.getByRole("region", { name: "Next times" }).getByRole("listitem").first().waitFor();
    await button(page, "Actions").click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await button(form, "Delete the schedule").click();
    await said(page, "ui-nightly was deleted");
    await closePage(page);
  });

  test("a batch counts, signals and cancels, and another one is stopped", async () => {
    const ids = ["ui-batch-1", "ui-batch-2", "ui-batch-3"];
    const runs = await Promise.all(ids.map((id) => start(id)));
    const states = () => Promise.all(runs.map(async (r) => (await describeRun(r)).status));
    const filter = (...some) => `WorkflowId IN (${some.map((id) => `'${id}'`).join(", ")})`;
    const page = await open("#/runs?type=steered");
    await page.getByRole("link", { name: "ui-batch-3" }).first().waitFor();
    await page.keyboard.press("a");
    const form = page.getByRole("dialog");
    await form.getByLabel("Runs", { exact: true }).fill(filter(...ids.slice(0, 2)));
    await form.getByLabel("Reason").fill("the shop closes");
    await button(form, "Count the runs").click();
    await form.getByText("2 runs match:").waitFor();
    assert.deepEqual(await states(), ["running", "running", "running"]);
    await button(form, "Cancel 2 runs").click();
    await page.getByText("2 of 2 runs").waitFor();
    await page.getByText("Completed", { exact: true }).waitFor();
    await until("the cancellation", states, (all) => all.join() === "canceled,canceled,running");
    await shoot(page, "deployed-batch");

    await page.goto(`${proxy.url}/#/batches`);
    await button(page, "Start").click();
    await form.getByLabel("What is done").selectOption("signal");
    await form.getByLabel("Runs", { exact: true }).fill(filter(ids[2]));
    await form.getByLabel("Signal", { exact: true }).fill("go");
    await form.getByLabel("Input").fill('"on"');
    await button(form, "Count the runs").click();
    await button(form, "Signal 1 run").click();
    await page.getByText("1 of 1 run", { exact: true }).waitFor();
    await until("the end of the run", states, (all) => all[2] === "completed");

    await start("ui-batch-4");
    await start("ui-batch-5");
    const slow = { batchId: "ui-slow", filter: filter("ui-batch-4", "ui-batch-5"), action: { kind: "terminate", reason: "it is enough" }, rate: 0.01 };
    await until("both runs in the list", () => api(deployment, "GET", `counts?filter=${encodeURIComponent(slow.filter)}`), (c) => c.count === 2);
    await api(deployment, "POST", "batches", slow);
    await page.goto(`${proxy.url}/#/batches/ui-slow`);
    await button(page, "Stop").click();
    await form.getByLabel("Reason").fill("it is open again");
    await button(form, "Stop the batch").click();
    await page.getByText("Stopped", { exact: true }).waitFor();
    const { counts } = await api(deployment, "GET", "batches/ui-slow");
    assert.ok(counts.done < 2, JSON.stringify(counts));
    await closePage(page);
  });

  test("the queues, the builds, the deployment and a filter", async () => {
    await start("ui-listed");
    const page = await open("#/queues");
    await page.locator("table.queues tbody tr").nth(4).waitFor(); // with that of the labels
    const names = await page.locator("table.queues tbody td.primary strong").allInnerTexts();
    assert.deepEqual(names.sort(), ["activities", "labels", "timers", "unreadable", "workflow"]);
    assert.ok((await page.locator("table.queues tbody td").allInnerTexts()).includes("0"), "no queue says what it holds");
    await checkAccess(page, "the queues of a deployment");
    await shoot(page, "deployed-queues");
    await page.goto(`${proxy.url}/#/builds`);
    await page.getByText("Answers here").waitFor();
    await page.goto(`${proxy.url}/#/deployment`);
    await page.getByText("steered.pay").waitFor();
    await page.goto(`${proxy.url}/#/runs?type=steered`);
    await page.getByRole("link", { name: "ui-listed" }).first().waitFor();
    assert.equal(await page.getByRole("link", { name: "labels" }).count(), 0);
    await closePage(page);
  });
});
