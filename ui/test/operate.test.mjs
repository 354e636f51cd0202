// The pages of schedules, queues, builds and the deployment.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccess, checkWidth, closePage, openPage, shoot } from "./browser.mjs";
import { api, until } from "./server.mjs";
import { browser, server, setUp } from "./setup.mjs";

setUp();

const button = (within, name) => within.getByRole("button", { name, exact: true });
const describe = (id) => api(server, "GET", `schedules/${id}`);
const said = (page, text) => page.locator(".toast").getByText(text).waitFor();

/** Looks at a page in light, dark and narrow. ready waits for its content. */
async function look(hash, name, ready) {
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

test("the times of a schedule have their zone", async () => {
  await api(server, "POST", "schedules", { scheduleId: "at-three", schedule: { spec: { cron: ["0 3 * * *"] }, action: { type: "import", input: 0 } } });
  const page = await openPage(browser, server, "#/schedules/at-three", { timezoneId: "America/New_York" });
  await page.getByText("0 3 * * * (UTC)", { exact: true }).waitFor();
  const next = page.getByRole("region", { name: "Next times" }).getByRole("listitem").first();
  await next.getByText(/ 2[23]:00:00 UTC-[45]$/).waitFor();
  await page.getByRole("button", { name: "Local time" }).click();
  await next.getByText(/ 03:00:00 UTC$/).waitFor();
  await closePage(page);
  await api(server, "DELETE", "schedules/at-three");
});

test("a schedule is created, paused, resumed, triggered, changed and deleted", async () => {
  const page = await openPage(browser, server, "#/schedules");
  await page.getByText("There are no schedules yet").waitFor();
  await page.keyboard.press("c");
  const form = page.getByRole("dialog");
  await form.getByLabel("Schedule id").fill("nightly");
  await form.getByLabel("Workflow type").fill("import");
  await button(form, "Create").click();
  await form.getByRole("alert").getByText("The schedule has no moments").waitFor();
  await form.getByLabel("Cron").fill("30 2 * * *\n61 * * * *");
  await form.getByLabel("Input").fill("1");
  await button(form, "Create").click();
  await form.getByRole("alert").getByText("61 * * * *").waitFor(); // the server's reason
  await form.getByLabel("Cron").fill("30 2 * * *");
  await form.getByLabel("Intervals").fill("6h + 15m");
  await form.getByLabel("Time zone").fill("Europe/Berlin");
  await checkAccess(page, "the form of a schedule");
  await shoot(page, "schedule-create");
  await button(form, "Create").click();
  await said(page, "nightly was created");
  await page.getByRole("heading", { level: 1, name: "nightly" }).waitFor();
  const { schedule } = await describe("nightly");
  assert.deepEqual(schedule.spec, { cron: ["30 2 * * *"], intervals: [{ every: "6h0m0s", offset: "15m0s" }], timeZone: "Europe/Berlin" });
  assert.equal(await page.getByRole("region", { name: "Next times" }).getByRole("listitem").count(), 10);

  await button(page, "Pause").click();
  await form.getByLabel("Note").fill("a day off");
  await button(form, "Pause").click();
  await page.getByText("None while it is paused.").waitFor();
  assert.deepEqual(await describe("nightly").then((d) => [d.schedule.paused, d.schedule.note]), [true, "a day off"]);

  await button(page, "Start a run").click();
  await form.getByLabel("If an earlier run is open").selectOption("allowAll");
  await button(form, "Start a run").click();
  await page.getByRole("region", { name: "Open and buffered runs" }).getByText("Running").waitFor();

  await button(page, "Resume").click();
  await button(form, "Resume").click();
  await page.getByRole("region", { name: "Next times" }).getByRole("listitem").first().waitFor();
  assert.ok(!(await describe("nightly")).schedule.paused);

  await button(page, "Actions").click();
  await page.getByRole("menuitem", { name: "Change…" }).click();
  assert.equal(await form.getByLabel("Intervals").inputValue(), "6h + 15m");
  await form.getByLabel("Intervals").fill("");
  await form.getByLabel("While an earlier run is open").selectOption("allowAll");
  await button(form, "Change").click();
  await said(page, "nightly was changed");
  const changed = (await describe("nightly")).schedule;
  assert.deepEqual([changed.spec.intervals, changed.overlapPolicy, changed.action.input], [undefined, "allowAll", 1]);

  await button(page, "Actions").click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await checkAccess(page, "the confirmation of a deletion");
  await button(form, "Delete the schedule").click();
  await said(page, "nightly was deleted");
  await page.getByText("There are no schedules yet").waitFor();
  await closePage(page);
});

test("a schedule is backfilled", async () => {
  await api(server, "POST", "schedules", { scheduleId: "hourly", schedule: { spec: { cron: ["0 * * * *"] }, action: { type: "import", input: 0 }, paused: true, overlapPolicy: "skip" } });
  const page = await openPage(browser, server, "#/schedules/hourly");
  await button(page, "Actions").click();
  await page.getByRole("menuitem", { name: "Backfill…" }).click();
  const form = page.getByRole("dialog");
  await form.getByLabel("From").fill("yesterday");
  await button(form, "Start the runs").click();
  await form.getByRole("alert").getByText(/startAt|date|time/).first().waitFor();
  await form.getByLabel("From").fill("2026-11-20T08:00:00Z");
  await form.getByLabel("Until").fill("2026-11-20T10:00:00Z");
  await form.getByLabel("If an earlier run is open").selectOption("allowAll");
  await shoot(page, "backfill");
  await button(form, "Start the runs").click();
  await said(page, "hourly starts the runs of the period");
  await until("the runs", () => describe("hourly"), (d) => d.started === 3);
  await page.getByRole("region", { name: "Last runs" }).getByRole("listitem").nth(2).waitFor();
  await page.getByRole("region", { name: "Last runs" }).getByRole("link").first().click();
  await page.getByRole("heading", { level: 1, name: /^hourly-/ }).waitFor();
  await closePage(page);
});

test("only the schedules that can be seen are described", async () => {
  const many = 60;
  for (let i = 0; i < many; i++) {
    const schedule = { spec: { intervals: [{ every: "24h" }] }, action: { type: "import", input: 0 }, paused: true };
    await api(server, "POST", "schedules", { scheduleId: `many-${String(i).padStart(2, "0")}`, schedule });
  }
  const page = await openPage(browser, server, "#/runs", { height: 500 });
  const described = new Set();
  page.on("request", (r) => {
    const id = /\/v1\/schedules\/([^?]+)/.exec(r.url())?.[1];
    if (id) described.add(id);
  });
  await page.goto(`${server.url}/#/schedules`);
  await page.getByRole("row", { name: /many-59/ }).getByText("every 24h").waitFor(); // the newest is the first
  await page.waitForLoadState("networkidle");
  assert.ok(described.has("many-59") && described.size < many / 2, `${described.size} of ${many} are described`);
  await page.getByRole("row", { name: /many-00/ }).scrollIntoViewIfNeeded();
  await page.getByRole("row", { name: /many-00/ }).getByText("every 24h").waitFor();
  await closePage(page);
  for (let i = 0; i < many; i++) await api(server, "DELETE", `schedules/many-${String(i).padStart(2, "0")}`);
});

test("schedules can be read by everybody", async () => {
  await api(server, "POST", "schedules", { scheduleId: "reports", schedule: { spec: { intervals: [{ every: "90m" }] }, action: { type: "import", input: 0 }, note: "for the board" } });
  await look("#/schedules", "schedules", (page) => page.getByText("every 1h30m").waitFor());
  await look("#/schedules/hourly", "schedule", (page) => page.getByRole("region", { name: "Last runs" }).waitFor());
});

const letters = [
  { workflowId: "order-1042", runId: "1-36bcfdb0adcc78cc", kind: "activity", eventId: 14, attempt: 3, firstSent: "2026-11-27T09:00:00Z" },
  { workflowId: "order-1043", runId: "1-36bcfdb0adcc78cd", kind: "activity", eventId: 9, attempt: 1, firstSent: "2026-11-27T09:10:00Z" },
];

/** Answers with dead letters, which the server has only after minutes of failures. */
async function withDeadLetters(page) {
  const answer = await api(server, "GET", "queues");
  answer.queues[0] = { ...answer.queues[0], messages: { waiting: 12345, inFlight: 64, delayed: 3 }, dead: { waiting: 2, inFlight: 0, delayed: 0 }, deadLetters: letters, rate: { perSecond: 50, burst: 5 } };
  answer.queues[1] = { ...answer.queues[1], dead: { waiting: 1, inFlight: 0, delayed: 0 } };
  delete answer.queues[2].messages;
  delete answer.queues[2].dead;
  answer.queues[2].problem = "the right sqs:GetQueueAttributes is missing";
  await page.route("**/v1/queues", (route) => route.fulfill({ json: answer }).catch(() => undefined)); // the page may be closed by then
  await page.reload();
}

test("queues have what they hold, and dead letters are moved back", async () => {
  const page = await openPage(browser, server, "#/queues");
  await page.getByText("There are none.").waitFor();
  const names = await page.locator("table.queues tbody td.primary strong").allInnerTexts();
  assert.deepEqual(names, ["activities", "timers", "workflow"]);
  await withDeadLetters(page);
  await page.getByText("50/s, 5 at once").waitFor();
  await page.getByText("the right sqs:GetQueueAttributes is missing").waitFor();
  await page.getByText("This deployment does not show them").waitFor();
  const link = page.getByRole("region", { name: "Dead letters of activities" }).getByRole("link", { name: "order-1042" });
  assert.equal(await link.getAttribute("href"), "#/workflows/order-1042/1-36bcfdb0adcc78cc/events/14");
  const sent = page.waitForRequest((r) => r.method() === "POST");
  await page.getByRole("button", { name: "Redrive the dead letters of activities" }).click();
  const form = page.getByRole("dialog");
  await form.getByText("2 dead letters").waitFor();
  await checkAccess(page, "the confirmation of a redrive");
  await button(form, "Move them back").click();
  await said(page, "The dead letters move back");
  assert.match((await sent).url(), /\/v1\/queues\/activities\/redrive$/);
  await closePage(page);
});

test("queues can be read by everybody", async () => {
  await look("#/queues", "queues", async (page) => {
    await withDeadLetters(page);
    await page.getByText("This deployment does not show them").waitFor();
  });
});

test("the open runs of a build are moved", async () => {
  for (let i = 0; i < 3; i++) {
    await api(server, "POST", "workflows", { workflowId: `pinned-${i}`, type: "import", input: 0 });
    await api(server, "POST", `workflows/pinned-${i}/move`, {});
  }
  const { here } = await api(server, "GET", "builds");
  await look("#/builds", "builds", (page) => page.getByRole("link", { name: "3 runs" }).waitFor());
  const page = await openPage(browser, server, "#/builds");
  await page.getByText("Answers here").waitFor();
  await page.getByRole("button", { name: `Move runs of ${here}` }).click();
  const form = page.getByRole("dialog");
  await button(form, "Count the runs").click();
  await form.getByText("3 runs match:").waitFor();
  await checkAccess(page, "runs that are to be moved");
  await shoot(page, "move");
  await button(form, "Move 3 runs").click();
  await page.getByText("3 of 3 runs").waitFor();
  await page.getByText("Completed", { exact: true }).waitFor();
  for (let i = 0; i < 3; i++) assert.equal((await api(server, "GET", `workflows/pinned-${i}`)).build, undefined);
  await closePage(page);
});

test("the deployment shows what its runs have cost, by type and over a period", async () => {
  const { runId } = await api(server, "POST", "workflows", { workflowId: "priced", type: "import", input: 1 });
  await api(server, "POST", "workflows/priced/terminate", {});
  const { cost } = await api(server, "GET", `workflows/priced?runId=${runId}`);
  const sums = await api(server, "GET", "costs?groupBy=WorkflowType");
  const sum = sums.groups.find((g) => g.value === "import");
  assert.ok(sum.runs > 0 && sum.cost.writes >= cost.writes && sum.cost.dollars >= cost.dollars, JSON.stringify(sum));
  const page = await openPage(browser, server, "#/deployment");
  const card = page.getByRole("region", { name: "Costs" });
  const row = card.getByRole("row").filter({ has: page.getByRole("link", { name: "import", exact: true }) });
  await row.waitFor();
  assert.deepEqual(
    (await row.getByRole("cell").allTextContents()).slice(1, 4).map((text) => Number(text.replaceAll(",", ""))),
    [sum.runs, sum.cost.writes, sum.cost.messages],
  );
  await card.getByText(`On AWS, at list prices of ${cost.prices}`).waitFor();
  await card.getByText(/^\d+ closed runs?\./).waitFor();
  const asked = page.waitForRequest((r) => r.url().includes("/v1/costs?"));
  await card.getByLabel("Runs that started in").selectOption("24h");
  const after = new URL((await asked).url()).searchParams.get("startedAfter");
  assert.ok(Math.abs(Date.now() - 86_400_000 - Date.parse(after)) < 120_000, after);
  await row.waitFor();

  await page.goto(`${page.url().replace(/#.*/, "")}#/workflows/priced/${runId}`);
  const side = page.getByRole("complementary", { name: "About the run" });
  await side.getByRole("heading", { name: "Cost", exact: true }).waitFor();
  const figures = Object.fromEntries(await side.locator(".small-facts div").evaluateAll((all) => all.map((d) => [d.querySelector("dt").textContent, d.querySelector("dd").textContent])));
  assert.equal(figures["Writes"], String(cost.writes));
  assert.equal(figures["Messages"], String(cost.messages));
  assert.equal(figures["Reads"], `0 to ${cost.reads.most}`);
  await side.getByText("Estimated: ").waitFor();
  await closePage(page);
});

test("the deployment shows its types, and starts one", async () => {
  await look("#/deployment", "deployment", (page) => page.getByRole("region", { name: "4 workflow types" }).waitFor());
  const page = await openPage(browser, server, "#/deployment");
  await page.getByRole("region", { name: "6 activity types" }).getByText("lookUpPrice").waitFor();
  await page.getByRole("button", { name: "Start import" }).click();
  const form = page.getByRole("dialog");
  assert.equal(await form.getByLabel("Type").inputValue(), "import");
  await form.getByLabel("Workflow id").fill("from-types");
  await button(form, "Start").click();
  await page.getByRole("heading", { level: 1, name: "from-types" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await page.getByRole("region", { name: "4 workflow types" }).getByRole("link", { name: "import", exact: true }).click();
  await page.waitForURL(/#\/runs\?type=import/);
  await closePage(page);
});
