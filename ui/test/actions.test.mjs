import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccess, checkWidth, closePage, fillValue, openPage, shoot } from "./browser.mjs";
import { completedOrder, stuckSubscription, waitingOrder } from "./seed.mjs";
import { api, startServer, until } from "./server.mjs";
import { browser, server, setUp } from "./setup.mjs";

setUp();

const address = (run, part = "") => `#/workflows/${run.workflowId}/${run.runId}${part}`;
const describe = (run) => api(server, "GET", `workflows/${run.workflowId}?runId=${run.runId}`);
const history = async (run) => (await api(server, "GET", `workflows/${run.workflowId}/history?runId=${run.runId}`)).events;
const button = (within, name) => within.getByRole("button", { name, exact: true });

/** Opens the page of a run, and the form of one of its buttons. */
async function openForm(run, name, part = "") {
  const page = await openPage(browser, server, address(run, part));
  await button(page, name).click();
  return { page, form: page.getByRole("dialog") };
}

/** Opens the page of a run, and the form of an entry of its menu. */
async function openMenu(run, name, part = "") {
  const { page } = await openForm(run, "Actions", part);
  await page.getByRole("menuitem", { name }).click();
  return { page, form: page.getByRole("dialog") };
}

/** Waits for the message about an action. */
const said = (page, text) => page.locator(".toast").getByText(text).waitFor();

/** Starts an import, which waits for the signal "delivered". */
async function start(workflowId, input = 0, more = {}) {
  const { runId } = await api(server, "POST", "workflows", { workflowId, type: "import", input, ...more });
  return { workflowId, runId };
}

test("a workflow is started", async () => {
  const page = await openPage(browser, server, "#/runs");
  await page.getByText("There are no runs yet").waitFor();
  await page.keyboard.press("s");
  const form = page.getByRole("dialog", { name: "Start a workflow" });
  await form.getByLabel("Type").fill("import");
  await form.getByLabel("Workflow id").fill("started-1");
  await button(form, "Edit as JSON").click();
  await form.getByLabel("Input").fill("{rows: 2}");
  await button(form, "Start").click();
  await form.getByText(/This is not JSON: .* A text needs quotes/).waitFor();
  assert.deepEqual((await api(server, "GET", "workflows")).workflows, [], "a form with bad JSON was sent");
  await form.getByLabel("Input").fill("1");
  await button(form, "Edit in fields").click();
  await form.getByLabel("Input").fill("two");
  await button(form, "Start").click();
  await form.getByText("want integer, got two").waitFor();
  assert.deepEqual((await api(server, "GET", "workflows")).workflows, [], "a form with a text for a number was sent");
  await form.getByLabel("Input").fill("2");
  await form.getByText("More options").click();
  await form.getByLabel("Search attributes").fill('{"Region": {"keyword": "eu"}}');
  await form.getByLabel("Memo").fill('{"by": "a test"}');
  await form.getByLabel("Run timeout").fill("1h");
  await checkAccess(page, "the form of a start");
  await shoot(page, "start");
  await button(form, "Start").click();
  await said(page, "started-1 was started");
  await page.getByRole("heading", { level: 1, name: "started-1" }).waitFor();
  const d = await api(server, "GET", "workflows/started-1");
  assert.deepEqual([d.type, d.memo, d.searchAttributes], ["import", { by: "a test" }, { Region: { keyword: "eu" } }]);
  const [started] = await history(d);
  assert.deepEqual([started.attributes.input, started.attributes.runTimeout], [2, "1h0m0s"]);
  await closePage(page);
});

test("a refused start says why", async () => {
  await start("taken");
  const page = await openPage(browser, server, "#/runs");
  await button(page, "Start").click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Type").fill("import");
  await form.getByLabel("Workflow id").fill("taken");
  await button(form, "Start").click();
  const alert = form.getByRole("alert");
  await alert.getByText(/open/).first().waitFor();
  await alert.getByText("writes=0").waitFor();
  await checkAccess(page, "a refused start");
  await shoot(page, "start-refused");
  await closePage(page);
});

test("a signal is sent, by the name that the code waits for", async () => {
  const run = await start("signaled");
  const { page, form } = await openForm(run, "Signal");
  await form.getByText("The code waits for delivered.").waitFor();
  assert.equal(await form.getByLabel("Signal").inputValue(), "delivered");
  await fillValue(form, "Input", "at the door");
  await shoot(page, "signal");
  await button(form, "Send").click();
  await said(page, "Signal delivered sent");
  await page.locator(".run-title .badge").getByText("Completed").waitFor();
  const signal = (await history(run)).find((e) => e.type === "WorkflowExecutionSignaled");
  assert.equal(signal.attributes.input, "at the door");
  await closePage(page);
});

test("updates are completed, refused, and accepted", async () => {
  const run = await waitingOrder(server, "updated");
  const { page, form } = await openForm(run, "Update");
  await form.getByText(/^The code handles .*addItem/).waitFor();
  await button(form, "Edit as JSON").waitFor();
  await form.getByLabel("Update", { exact: true }).selectOption("addItem");
  await form.getByLabel("sku").fill("tea");
  await form.getByLabel("quantity").fill("2");
  await button(form, "Send").click();
  await form.locator(".outcome").getByText("Completed").waitFor();
  assert.equal((await form.locator(".outcome pre").innerText()).trim(), "5");

  const before = (await describe(run)).historyLength;
  await form.getByLabel("quantity").fill("500");
  await button(form, "Send").click();
  const outcome = form.locator(".outcome");
  await outcome.getByText("Refused").waitFor();
  await outcome.getByText("the quantity must be between 1 and 99").waitFor();
  await outcome.getByText(/^writes=0, reads=\d+, messages=0$/).waitFor();
  await checkAccess(page, "a refused update");
  await shoot(page, "update-refused");
  assert.ok(!(await history(run)).slice(before).some((e) => e.type.startsWith("WorkflowExecutionUpdate")));

  await button(form, "Edit as JSON").click(); // what the form refuses is sent, and the server says the same
  await form.getByLabel("Input").fill('{"sku": "tea", "quantity": "2"}');
  await form.locator(".field-problem", { hasText: "quantity: want integer, got string" }).waitFor();
  await button(form, "Send").click();
  await outcome.getByText("input.quantity: want integer, got string").waitFor();
  await outcome.getByText(/^writes=0, reads=\d+, messages=0$/).waitFor();
  await button(form, "Edit in fields").click();
  assert.equal(await form.getByLabel("quantity").inputValue(), '"2"');
  await form.locator(".field-problem", { hasText: "want integer, got string" }).waitFor();

  await form.getByLabel("Update", { exact: true }).selectOption("approve");
  await form.getByLabel("Input").fill("Grace");
  await form.getByLabel("Wait until it is").selectOption("accepted");
  await button(form, "Send").click();
  await outcome.getByText("Accepted").waitFor();
  await api(server, "POST", "workflows/updated/signals/paid", { input: "cash" });
  await outcome.getByText("Completed").waitFor();
  await form.getByText("Grace after").waitFor();
  await closePage(page);
});

test("an unknown query is refused with the reason", async () => {
  const run = await start("asked");
  const { page, form } = await openForm(run, "Query");
  await form.getByText("The code answers status.").waitFor();
  assert.equal(await form.getByLabel("Query").inputValue(), "status");
  await button(form, "Ask").click();
  await form.locator(".outcome").getByText("waiting for the delivery").waitFor();
  await form.getByText(/^writes=0, /).waitFor();
  await shoot(page, "query");
  await button(form, "Back").click();
  await page.route("**/v1/types/*", (route) => route.fulfill({ status: 404, contentType: "application/problem+json", json: { type: "urn:weft:problem:not-found", title: "Not found", status: 404, detail: "unknown" } })); // a form that knows the names offers no others
  await button(page, "Query").click();
  await form.getByLabel("Query").fill("nothing");
  await button(form, "Ask").click();
  await form.getByRole("alert").getByText(`takes ["status"]`).waitFor();
  assert.equal(await form.locator(".outcome").count(), 0);
  await closePage(page);
});

test("a run is canceled, with a reason", async () => {
  const run = await start("canceled");
  const { page, form } = await openMenu(run, "Cancel…");
  await form.getByText("decides what it does").waitFor();
  await form.getByLabel("Reason").fill("nobody wants it");
  await button(form, "Cancel the run").click();
  await said(page, "The run was asked to end");
  await page.locator(".run-title .badge").getByText("Canceled").waitFor();
  const requested = (await history(run)).find((e) => e.type === "WorkflowExecutionCancelRequested");
  assert.equal(requested.attributes.reason, "nobody wants it");
  await closePage(page);
});

test("a run is terminated only once it is confirmed", async () => {
  const run = await start("terminated");
  const { page, form } = await openMenu(run, "Terminate…");
  await checkAccess(page, "the confirmation");
  await shoot(page, "terminate");
  await button(form, "Back").click();
  await form.waitFor({ state: "detached" });
  assert.equal((await describe(run)).status, "running");
  await page.waitForFunction(() => document.activeElement?.textContent?.trim() === "Actions"); // it gets the focus when the dialog has gone
  await page.keyboard.press("a"); // opens the menu
  await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "menuitem");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await form.getByLabel("Reason").fill("it is enough");
  await page.keyboard.press("Enter");
  await said(page, "The run was terminated");
  await page.locator(".run-title .badge").getByText("Terminated").waitFor();
  await closePage(page);
});

test("a run that closed recently is not deleted", async () => {
  const run = await start("deleted");
  await api(server, "POST", "workflows/deleted/terminate", {});
  const { page, form } = await openMenu(run, "Delete…");
  await button(form, "Delete the run").click();
  await form.getByRole("alert").getByText("The run has closed too recently").waitFor();
  assert.equal((await describe(run)).status, "terminated");
  await closePage(page);
});

test("a run that closed a while ago is deleted", async () => {
  const before = await startServer();
  const { runId } = await api(before, "POST", "workflows", { workflowId: "old", type: "import", input: 0 });
  await api(before, "POST", "workflows/old/terminate", {});
  const server = await before.later("3h");
  try {
    const page = await openPage(browser, server, `#/workflows/old/${runId}`);
    await button(page, "Actions").click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await button(page.getByRole("dialog"), "Delete the run").click();
    await said(page, "The run was deleted");
    await page.waitForURL(/#\/runs$/);
    assert.equal((await api(server, "GET", `workflows/old?runId=${runId}`, undefined, 404)).status, 404);
    await closePage(page);
  } finally {
    await server.stop();
  }
});

test("a run is reset to the task of an event", async () => {
  const run = await start("reset");
  await api(server, "POST", "workflows/reset/signals/other", { input: 1 });
  const all = await until("the signal's task", () => history(run), (events) => events.filter((e) => e.type === "WorkflowTaskCompleted").length > 1);
  const task = all.find((e) => e.type === "WorkflowTaskStarted");
  const { page, form } = await openMenu(run, "Reset…", `/events/${task.id + 1}`);
  assert.equal(await form.getByRole("textbox", { name: "Event" }).inputValue(), String(task.id + 1));
  await form.getByText(`began with event ${task.id} `).waitFor();
  await form.getByLabel("Keep later signals").uncheck();
  await form.getByLabel("Reason").fill("once more");
  await checkAccess(page, "the form of a reset");
  await shoot(page, "reset");
  await button(form, "Reset the run").click();
  await said(page, "The run was reset");
  await page.waitForURL(/workflows\/reset\/2-/);
  const latest = await api(server, "GET", "workflows/reset");
  assert.equal(latest.resetFromRunId, run.runId);
  assert.ok(!(await history(latest)).some((e) => e.type === "WorkflowExecutionSignaled"));
  assert.equal((await describe(run)).status, "terminated");
  await closePage(page);
});

test("a stuck run is retried, and says why it is still stuck", async () => {
  const run = await stuckSubscription(server, "stuck");
  const { page } = await openForm(run, "Retry now");
  const toast = page.locator(".toast.bad");
  await toast.getByText("The run is still stuck").waitFor();
  await toast.getByText(/nil map/).waitFor();
  await toast.getByText("writes=").waitFor();
  await shoot(page, "retry-stuck");
  await closePage(page);
});

test("a pending activity is retried, completed and failed by hand", async () => {
  const run = await waitingOrder(server, "by-hand");
  const page = await openPage(browser, server, address(run));
  const pending = page.locator(".run-side .pending");
  const { eventId, attempt } = (await describe(run)).pendingActivities[0];
  await pending.getByRole("button", { name: `Retry now chargeCard, event ${eventId}` }).click();
  await said(page, /Attempt \d+ of chargeCard begins/);
  await until("another attempt", () => describe(run), (d) => d.pendingActivities[0].attempt > attempt);
  await shoot(page, "pending");
  await pending.getByRole("button", { name: "Complete chargeCard" }).click();
  const form = page.getByRole("dialog");
  await fillValue(form, "Result", "paid in cash");
  await form.getByLabel("Reason").fill("the gateway is down");
  await checkAccess(page, "the form of a completion by hand");
  await shoot(page, "complete-by-hand");
  await button(form, "Complete it").click();
  await said(page, "chargeCard was completed by hand");
  await pending.getByText("chargeCard").waitFor({ state: "detached" });
  const completed = (await history(run)).find((e) => e.type === "ActivityTaskCompleted" && e.attributes.scheduledEventId === eventId);
  assert.equal(completed.attributes.result, "paid in cash");
  await closePage(page);

  const other = await waitingOrder(server, "by-hand-2");
  const { page: second, form: fail } = await openForm(other, `Fail chargeCard, event ${(await describe(other)).pendingActivities[0].eventId}`);
  assert.equal(await fail.getByLabel("Error type").inputValue(), "gateway");
  await fail.getByLabel("Message").fill("nobody answers");
  await button(fail, "Fail it").click();
  await said(second, "chargeCard was failed by hand");
  assert.ok((await history(other)).some((e) => e.type === "ActivityTaskFailed" && e.attributes.failure.message === "nobody answers"));
  await closePage(second);
});

test("an update in flight is failed", async () => {
  const run = await waitingOrder(server, "in-flight");
  const { page, form } = await openMenu(run, "Fail an update…");
  await form.getByLabel("Reason").fill("it takes too long");
  await button(form, "Fail the update").click();
  await said(page, "Update approve-1 was ended");
  assert.deepEqual((await describe(run)).updatesInFlight, []);
  await closePage(page);
});

test("a run is paused and resumed", async () => {
  const run = await start("paused");
  const { page, form } = await openMenu(run, "Pause…");
  await form.getByLabel("Reason").fill("the bank is closed");
  await checkAccess(page, "the form of a pause");
  await button(form, "Pause the run").click();
  await said(page, "The run is paused");
  await page.locator(".run-title .badge").getByText("Paused").waitFor();
  assert.equal((await describe(run)).paused.reason, "the bank is closed");
  await button(page, "Update").click();
  await form.getByLabel("Update", { exact: true }).fill("addItem");
  await button(form, "Send").click();
  await form.getByRole("alert").getByText("paused").first().waitFor();
  await form.getByRole("alert").getByText("writes=0").waitFor();
  await button(form, "Back").click();
  await button(page, "Resume").click();
  await button(form, "Resume the run").click();
  await said(page, "The run goes on");
  await until("the resume", () => describe(run), (d) => d.paused === undefined);
  await page.locator(".run-title .badge").getByText("Paused").waitFor({ state: "detached" });
  await closePage(page);
});

test("a run is moved to the build here", async () => {
  const run = await start("moved");
  const { page, form } = await openMenu(run, "Move to a build…");
  await button(form, "Move").click();
  await said(page, /The run is pinned to/);
  await page.locator(".facts").getByText("Pinned to build").waitFor();
  assert.ok((await describe(run)).build);
  await closePage(page);
});

test("a closed run has the actions of closed runs", async () => {
  const run = await completedOrder(server, "closed");
  const page = await openPage(browser, server, address(run));
  await button(page, "Actions").click();
  assert.deepEqual(await page.getByRole("menuitem").allInnerTexts(), ["Reset…", "Delete…"].map((t) => t));
  assert.equal(await button(page, "Signal").count(), 0);
  await closePage(page);
});

test("a request without an answer says so", async () => {
  const run = await start("silent");
  const { page, form } = await openForm(run, "Signal");
  await form.getByText("The code waits for").waitFor();
  await fillValue(form, "Input", "at the door");
  await page.route("**/signals/**", (route) => route.abort());
  await button(form, "Send").click();
  await form.getByRole("alert").getByText("it is not known whether it did this").waitFor();
  await page.unroute("**/signals/**");
  await button(form, "Send").click();
  await said(page, "Signal delivered sent");
  page.errors = page.errors.filter((e) => !e.includes("ERR_FAILED"));
  await closePage(page);
});

test("the actions can be used by everybody", async () => {
  const run = await waitingOrder(server, "for-all");
  for (const theme of ["light", "dark"]) {
    const page = await openPage(browser, server, address(run), { theme });
    await page.locator(".run-side .pending").waitFor();
    await button(page, "Actions").click();
    await page.getByRole("menu").waitFor();
    await checkAccess(page, `the actions, ${theme}`);
    await shoot(page, `actions-${theme}`);
    await page.keyboard.press("Escape");
    await button(page, "Update").click();
    await checkAccess(page, `the form of an update, ${theme}`);
    await shoot(page, `update-${theme}`);
    await closePage(page);
  }
  const page = await openPage(browser, server, address(run), { width: 390, height: 844 });
  await page.locator(".run-side .pending").waitFor();
  await button(page, "Actions").click();
  const menu = await page.getByRole("menu").boundingBox();
  assert.ok(menu.x >= 0 && menu.x + menu.width <= 390, "the menu is beside the window");
  await checkWidth(page, "the actions at 390 px");
  await checkAccess(page, "the actions at 390 px");
  await shoot(page, "actions-390");
  await page.getByRole("menuitem", { name: "Reset…" }).click();
  await checkWidth(page, "the form of a reset at 390 px");
  await checkAccess(page, "the form of a reset at 390 px");
  await shoot(page, "reset-390");
  await closePage(page);
});
