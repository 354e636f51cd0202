import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccess, checkWidth, closePage, openPage, shoot } from "./browser.mjs";
import { contractOf, mockContract } from "./contract.mjs";
import { waitingOrder } from "./seed.mjs";
import { api } from "./server.mjs";
import { browser, server, setUp } from "./setup.mjs";

setUp();

const button = (within, name) => within.getByRole("button", { name, exact: true });
const field = (within, name) => within.getByLabel(name, { exact: true });
const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.labels?.[0]?.textContent ?? document.activeElement?.textContent?.trim());
const problem = (status, detail, more = {}) => ({ status, contentType: "application/problem+json", headers: { "Weft-Cost": "writes=0, reads=1, messages=0" }, json: { type: "urn:weft:problem:invalid", title: "Invalid", status, detail, ...more } });

/** Opens the form of a start, of a program with the contract of the tests, or with another one of this type. */
async function openStart(type, { contract, ...options } = {}) {
  const page = await openPage(browser, server, "#/runs", options);
  await mockContract(page);
  if (contract) await page.route(`**/v1/types/${type}`, (route) => route.fulfill({ json: contract }));
  await button(page, "Start").click();
  const form = page.getByRole("dialog");
  await field(form, "Type").fill(type);
  await button(form, "Edit as JSON").waitFor();
  return { page, form };
}

/** Opens a form of a run's page, of a program with the contract of the tests. */
async function openForm(run, name, asked = []) {
  const page = await openPage(browser, server, "#/runs");
  await mockContract(page, asked);
  await page.goto(`${server.url}/#/workflows/${run.workflowId}/${run.runId}`);
  await page.getByRole("button", { name, exact: true }).click();
  return { page, form: page.getByRole("dialog") };
}

/** Answers the requests of a page to an address, and collects their bodies. */
async function answer(page, address, ...answers) {
  const bodies = [];
  await page.route(address, (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    bodies.push(route.request().postData());
    return route.fulfill(answers[Math.min(bodies.length, answers.length) - 1]);
  });
  return bodies;
}

const jsonOf = async (form) => JSON.parse(await field(form, "Input").inputValue());

test("a value is checked while it is typed", async () => {
  const { page, form } = await openStart("order");
  const bodies = await answer(page, "**/v1/workflows", problem(400, 'the start was refused: input.items[0].sku: is missing; there is "skew"', { at: "input.items[0].sku" }));
  await form.getByText("Who pays.").waitFor();
  assert.equal(await form.locator(".field-problem").count(), 0, "an untouched form has problems");

  await button(form, "Start").click();
  assert.deepEqual(bodies, [], "a form with a missing field was sent");
  await form.locator(".field-problem", { hasText: "is missing" }).waitFor();
  assert.equal(await focused(page), "buyer");
  await field(form, "buyer").fill("Ada");
  await button(form, "Add an item to items").click();
  await page.waitForFunction(() => document.activeElement?.labels?.[0]?.textContent === "sku");
  await field(form, "sku").fill("Tea");
  await form.getByText('want string that matches ^[a-z-]+$, got "Tea"').waitFor();
  assert.equal(await field(form, "sku").getAttribute("aria-invalid"), "true");
  await field(form, "sku").fill("tea");
  assert.equal(await field(form, "sku").getAttribute("aria-invalid"), "false");
  for (const [text, want] of [["x", "want integer, got x"], ["1.5", "want integer, got 1.5"], ["100", "want integer of at most 99, got 100"], ["", undefined]]) {
    await field(form, "quantity").fill(text);
    if (want) await form.getByText(want, { exact: true }).waitFor();
    else assert.equal(await field(form, "quantity").getAttribute("aria-invalid"), "false");
  }
  await field(form, "quantity").press("Enter");
  assert.deepEqual(bodies, []);
  await field(form, "quantity").fill("2");

  await button(form, "Start").click();
  await form.getByRole("alert").getByText("the start was refused").waitFor();
  await form.locator(".field-problem", { hasText: 'is missing; there is "skew"' }).waitFor();
  assert.equal(await focused(page), "sku", "the field that the server refused has not got the focus");
  await checkAccess(page, "a refused field");
  await shoot(page, "forms-refused");
  assert.deepEqual(JSON.parse(bodies[0]).input, { buyer: "Ada", items: [{ sku: "tea", quantity: 2 }], hold: false, next: null });
  await field(form, "sku").fill("teas");
  await form.locator(".field-problem").waitFor({ state: "detached" });
  await closePage(page);
});

test("a choice that has to be made is missing once it was left", async () => {
  const input = { type: "object", properties: { way: { oneOf: [{ $ref: "#/$defs/Card" }, { $ref: "#/$defs/Cash" }] } }, required: ["way"] };
  const { page, form } = await openStart("order", { contract: { ...contractOf("order"), workflows: { order: { input } } } });
  const bodies = await answer(page, "**/v1/workflows", problem(409, "it is open"));
  await field(form, "Kind of way").waitFor();
  assert.equal(await form.locator(".field-problem").count(), 0, "an untouched choice has a problem");
  await button(form, "Start").click();
  assert.deepEqual(bodies, [], "a form without the choice was sent");
  assert.deepEqual(await form.locator(".field-problem").allInnerTexts(), ["choose one"]);
  assert.equal(await focused(page), "Kind of way");
  await field(form, "Kind of way").selectOption({ index: 2 });
  await form.locator(".field-problem").waitFor({ state: "detached" });
  await button(form, "Start").click();
  await form.getByRole("alert").getByText("it is open").waitFor();
  assert.deepEqual(JSON.parse(bodies[0]).input, { way: { kind: "cash" } });
  await closePage(page);
});

test("each type has a field of its own", async () => {
  const { page, form } = await openStart("order");
  await field(form, "buyer").fill("Ada");
  for (const name of ["cents", "ratio", "due", "wait", "blob", "tags", "pair", "pay", "odd", "any"]) await button(form, `Add ${name}`).click();
  await field(form, "cents").fill("9007199254740993");
  await field(form, "ratio").fill("1.5");
  await form.getByText("want number of at most 1, got 1.5").waitFor();
  await field(form, "ratio").fill("1e-1");
  await field(form, "due").fill("tomorrow");
  await form.getByText('want date-time, got "tomorrow"').waitFor();
  await field(form, "due").fill("2026-12-01T08:00:00Z");
  await field(form, "wait").fill("1h30m");
  await field(form, "blob").fill("aGk=");
  await button(form, "Add an entry to tags").click();
  await field(form, "Name 1 of tags").fill("vip");
  await field(form, "tags.vip").fill("yes");
  await button(form, "Add an entry to tags").click();
  await field(form, "Name 2 of tags").fill("vip");
  await form.getByText("is there twice").first().waitFor();
  await field(form, "Name 2 of tags").fill("new one");
  await field(form, 'tags["new one"]').fill("");
  await field(form, "pair[0]").fill("1");
  await field(form, "pair[1]").fill("-2");
  await field(form, "Kind of pay").selectOption("card");
  await field(form, "number").fill("4111");
  await field(form, "Kind of pay").selectOption("cash");
  await field(form, "Kind of pay").selectOption("card");
  assert.equal(await field(form, "number").inputValue(), "4111", "what was typed for another choice is lost");
  await field(form, "odd").fill('{"x1": "y"');
  await form.getByText(/This is not JSON/).waitFor();
  await field(form, "odd").fill('{"x1": "y"}');
  await field(form, "any").fill("[1, null]");
  await field(form, "hold").check();
  await button(form, "Give a value to next").click();
  await form.getByLabel("buyer").nth(1).fill("Grace");
  await button(form, "Add an item to items").first().click();
  await field(form, "sku").fill("tea");
  await field(form, "quantity").fill("1");
  await button(form, "Add size").click();
  await field(form, "size").selectOption("M");
  await button(form, "Add gift").click();
  await field(form, "gift").fill("for you");
  await checkAccess(page, "all kinds of fields");

  await button(form, "Edit as JSON").click();
  const text = await field(form, "Input").inputValue();
  assert.match(text, /"cents": 9007199254740993,/);
  assert.deepEqual(JSON.parse(text), {
    buyer: "Ada",
    items: [{ sku: "tea", quantity: 1, gift: "for you", size: "M" }],
    hold: true,
    cents: JSON.parse("9007199254740993"),
    ratio: 0.1,
    due: "2026-12-01T08:00:00Z",
    wait: 5_400_000_000_000,
    blob: "aGk=",
    tags: { vip: "yes", "new one": "" },
    pair: [1, -2],
    pay: { kind: "card", number: "4111" },
    next: { buyer: "Grace", items: [], hold: false, next: null },
    odd: { x1: "y" },
    any: [1, null],
  });
  assert.equal(await form.locator(".field-problem").count(), 0);
  await closePage(page);
});

test("a value goes through JSON and back without a loss", async () => {
  const { page, form } = await openStart("order");
  const bodies = await answer(page, "**/v1/workflows", problem(409, "it is open"));
  await button(form, "Edit as JSON").click();
  const text = '{"more": {"a": [1.0, 12345678901234567890]}, "cents": 18446744073709551617, "buyer": "two\\nlines", "items": "none", "hold": false, "next": null, "tags": {"a\\u0007": "\\u0007"}}';
  await field(form, "Input").fill(text);
  await form.getByText("cents: want integer of at most 9223372036854775807, got 18446744073709551617").waitFor();
  await button(form, "Edit in fields").click();
  assert.equal(await field(form, "cents").inputValue(), "18446744073709551617");
  assert.equal(await field(form, "buyer").evaluate((e) => e.tagName), "TEXTAREA");
  assert.equal(await field(form, "items").inputValue(), '"none"', "a value of another type is not shown as JSON");
  assert.match(await field(form, "more").inputValue(), /12345678901234567890/);
  await form.getByText("want array, got string").waitFor();
  await field(form, "items").fill("[]");
  await button(form, "Add wait").click(); // the click is not lost, and what it adds stays
  await button(form, "Remove wait").click();
  await button(form, "Add an item to items").waitFor();
  await field(form, "cents").fill("9223372036854775807");
  await button(form, "Edit as JSON").click();
  assert.equal((await field(form, "Input").inputValue()).replace(/\s+/g, ""), text.replace("18446744073709551617", "9223372036854775807").replace('"none"', "[]").replace(/\s+/g, ""));

  await field(form, "Input").fill('{"a": ');
  assert.ok(await button(form, "Edit in fields").isDisabled());
  await button(form, "Start").click();
  assert.equal(await focused(page), "Input", "what is not JSON can be sent");
  await field(form, "Input").fill('{"buyer": 1}');
  await button(form, "Start").click(); // what the contract refuses can be sent as JSON: the server decides
  await form.getByRole("alert").getByText("it is open").waitFor();
  assert.deepEqual(JSON.parse(bodies[0]).input, { buyer: 1 });
  await closePage(page);
});

test("what is nested deeply, or long, is a text in the form", async () => {
  const { page, form } = await openStart("order");
  let value = null;
  for (let i = 0; i < 40; i++) value = { buyer: `b${i}`, items: [], hold: false, next: value };
  value.items = Array.from({ length: 101 }, () => ({ sku: "tea", quantity: 1 }));
  await button(form, "Edit as JSON").click();
  await field(form, "Input").fill(JSON.stringify(value));
  await button(form, "Edit in fields").click();
  assert.equal(await field(form, "buyer").count(), 13);
  assert.equal(JSON.parse(await field(form, "items").first().inputValue()).length, 101);
  assert.equal(JSON.parse(await field(form, "next").inputValue()).buyer, "b26");
  await button(form, "Edit as JSON").click();
  assert.deepEqual(await jsonOf(form), value);
  await closePage(page);
});

test("entries and optional fields are added and removed with the keyboard", async () => {
  const { page, form } = await openStart("order");
  await button(form, "Add an item to items").press("Enter");
  await page.waitForFunction(() => document.activeElement?.labels?.[0]?.textContent === "sku");
  await page.keyboard.type("tea");
  await button(form, "Add note").press("Enter");
  await page.waitForFunction(() => document.activeElement?.labels?.[0]?.textContent === "note");
  await button(form, "Remove note").press("Enter");
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Add note");
  await button(form, "Remove items[0]").press("Enter");
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Add an item to items");
  await button(form, "Set items to null").press("Enter");
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Give a value to items");
  await button(form, "Edit as JSON").click();
  assert.deepEqual(await jsonOf(form), { items: null, hold: false, next: null });
  await closePage(page);
});

test("updates are chosen by name, and a rejected one marks its field", async () => {
  const run = await waitingOrder(server, "forms-update");
  const { page, form } = await openForm(run, "Update");
  const update = form.getByLabel("Update", { exact: true });
  await update.locator("option", { hasText: "touch" }).waitFor({ state: "attached" });
  assert.deepEqual((await update.locator("option").allInnerTexts()).filter((o) => o !== "Choose…"), ["addItem", "approve", "touch"]);
  const details = (value) => Buffer.from(JSON.stringify(value)).toString("base64");
  const rejected = (failure) => ({ status: 422, headers: { "Weft-Cost": "writes=0, reads=1, messages=0" }, json: { workflowId: run.workflowId, runId: run.runId, updateId: "u", stage: "rejected", failure: { kind: "application", ...failure } } });
  const bodies = await answer(
    page,
    "**/v1/workflows/*/updates/*",
    rejected({ type: "BadInput", message: "input.quantity: there is not so much tea", details: details({ at: "input.quantity" }) }),
    rejected({ type: "UnknownUpdate", message: "there is no update addItem", details: details({ known: ["add", "touch"] }) }),
  );
  await update.selectOption("touch");
  await form.getByText("It takes no input.").waitFor();
  await update.selectOption("approve");
  await field(form, "Input").fill("Grace");
  await update.selectOption("addItem");
  await form.getByText(/^AddItem adds an item\. The code handles/).waitFor();
  await field(form, "sku").waitFor();
  await update.selectOption("approve");
  assert.equal(await field(form, "Input").inputValue(), "Grace", "the input of another update is lost");
  await update.selectOption("addItem");
  await field(form, "sku").fill("tea");
  await field(form, "quantity").fill("9");
  await button(form, "Send").click();
  await form.locator(".outcome").getByText("Refused").waitFor();
  await form.locator(".field-problem", { hasText: "there is not so much tea" }).waitFor();
  assert.equal(await field(form, "quantity").getAttribute("aria-invalid"), "true");
  await checkAccess(page, "a rejected update");
  await shoot(page, "forms-update");
  await field(form, "quantity").fill("8");
  assert.equal(await field(form, "quantity").getAttribute("aria-invalid"), "false");
  await button(form, "Send").click();
  await form.locator(".field-problem", { hasText: "There are add, touch." }).waitFor();
  assert.deepEqual(bodies.map((b) => JSON.parse(b).input), [{ sku: "tea", quantity: 9 }, { sku: "tea", quantity: 8 }]);
  await update.selectOption("touch");
  await form.locator(".field-problem").waitFor({ state: "detached" });
  await closePage(page);
});

test("dynamic kinds take any name, with JSON", async () => {
  const run = await waitingOrder(server, "forms-query");
  const { page, form } = await openForm(run, "Query");
  const bodies = await answer(page, "**/v1/workflows/*/queries/*", { json: { result: 1 } });
  const query = form.getByLabel("Query", { exact: true });
  await query.fill("itemsOf");
  await field(form, "Input").and(form.locator("input")).fill("tea");
  await button(form, "Ask").click();
  await form.locator(".outcome").waitFor();
  await query.fill("another");
  await field(form, "Input").and(form.locator("textarea")).fill('{"a": 1}');
  await button(form, "Ask").click();
  await form.getByRole("group", { name: "The answer of another" }).waitFor();
  await query.fill("status");
  await form.getByText("It takes no input.").waitFor();
  await button(form, "Ask").click();
  await form.getByRole("group", { name: "The answer of status" }).waitFor();
  assert.deepEqual(bodies.map((b) => JSON.parse(b).input), ["tea", { a: 1 }, undefined]);
  await closePage(page);
});

test("a pinned run has the forms of its build", async () => {
  const run = await waitingOrder(server, "forms-pinned");
  await api(server, "POST", `workflows/forms-pinned/move?runId=${run.runId}`, {});
  const { build } = await api(server, "GET", "workflows/forms-pinned");
  const asked = [];
  const { page, form } = await openForm(run, "Signal", asked);
  await field(form, "Input").and(form.locator("input")).fill("in cash");
  await button(form, "Send").click();
  await page.locator(".toast").getByText("Signal paid sent").waitFor();
  assert.deepEqual([...new Set(asked)], [`types/order?build=${build}`]);

  await page.getByRole("button", { name: /^Complete chargeCard/ }).click();
  const bodies = await answer(page, "**/v1/workflows/*/activities/*/complete*", problem(400, "result.kind: want \"cash\", got \"card\"", { at: "result.kind" }));
  await button(form, "Edit as JSON").waitFor();
  await button(form, "Complete it").click();
  await form.locator(".field-problem", { hasText: 'want "cash"' }).waitFor();
  assert.deepEqual(JSON.parse(bodies[0]).result, { kind: "cash" });
  assert.equal(asked.at(-1), `types/chargeCard?build=${build}`);
  await closePage(page);
});

test("a signal that was set aside is corrected in the fields of its type", async () => {
  const run = await waitingOrder(server, "forms-corrected");
  await api(server, "POST", "workflows/forms-corrected/signals/paid", { input: "cash" });
  const { id } = (await api(server, "GET", "workflows/forms-corrected/history")).events.find((e) => e.type === "WorkflowExecutionSignaled");
  const page = await openPage(browser, server, "#/runs");
  await mockContract(page);
  await page.route(/\/v1\/workflows\/forms-corrected(\?.*)?$/, async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, json: { ...(await response.json()), unreadSignals: [{ name: "paid", count: 0, setAside: 1, setAsideEvents: [id] }] } });
  });
  await page.goto(`${server.url}/#/workflows/${run.workflowId}/${run.runId}`);
  await button(page, "Send a corrected value").click();
  const form = page.getByRole("dialog");
  const input = field(form, "Input").and(form.locator("input"));
  await input.waitFor();
  assert.deepEqual([await form.getByLabel("Signal", { exact: true }).inputValue(), await input.inputValue()], ["paid", "cash"]);
  await closePage(page);
});

test("nothing moves below a pressed pointer", async () => {
  const run = await waitingOrder(server, "forms-pressed");
  const page = await openPage(browser, server, "#/runs");
  await mockContract(page);
  const unreadSignals = [{ name: "paid", count: 0, setAside: 1, setAsideEvents: [1] }];
  const updatesInFlight = Array.from({ length: 9 }, (_, i) => ({ updateId: `pressed-${i}`, name: "touch", acceptedEventId: 1 }));
  const d = { ...(await api(server, "GET", "workflows/forms-pressed")), updatesInFlight: [], unreadSignals };
  let drawn = false;
  let ask;
  const asked = new Promise((done) => (ask = done));
  let answer;
  const answered = new Promise((done) => (answer = done));
  await page.route(/\/v1\/workflows\/forms-pressed(\?.*)?$/, async (route) => {
    if (!drawn) return route.fulfill({ json: d });
    ask();
    await answered;
    return route.fulfill({ json: { ...d, updatesInFlight } });
  });
  await page.goto(`${server.url}/#/workflows/${run.workflowId}/${run.runId}`);
  const send = button(page, "Send a corrected value");
  await page.getByText("handles updates addItem, approve").waitFor();
  drawn = true;
  await asked;
  for (let pressed = false; !pressed; ) {
    await send.hover();
    await page.mouse.down();
    pressed = await send.evaluate((e) => e.matches(":active"));
    if (!pressed) await page.mouse.up(); // the button moved before the press
  }
  const described = page.waitForResponse(/forms-pressed(\?.*)?$/);
  answer();
  await described;
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.equal(await page.getByText("pressed-8").count(), 0, "the page has moved below the pointer");
  await page.mouse.up();
  await field(page.getByRole("dialog"), "Signal").waitFor();
  await page.getByText("pressed-8").waitFor();
  await closePage(page);
});

test("the inputs of schedules and of signals of batches have fields", async () => {
  const page = await openPage(browser, server, "#/schedules");
  await mockContract(page);
  const created = await answer(page, "**/v1/schedules", problem(400, "action.input: want integer of at most 3, got 4", { at: "action.input" }));
  await button(page, "Create").click();
  const form = page.getByRole("dialog");
  await field(form, "Schedule id").fill("nightly");
  await field(form, "Workflow type").fill("import");
  await field(form, "Cron").fill("0 3 * * *");
  const input = field(form, "Input").and(form.locator("input"));
  await input.fill("x");
  await form.getByText("want integer, got x").waitFor();
  await input.fill("4");
  await button(form, "Create").click();
  await form.locator(".field-problem", { hasText: "at most 3" }).waitFor();
  assert.equal(JSON.parse(created[0]).schedule.action.input, 4);
  await closePage(page);

  const list = await openPage(browser, server, "#/runs?type=order");
  await mockContract(list);
  await list.keyboard.press("a");
  const batch = list.getByRole("dialog");
  await field(batch, "What is done").selectOption("signal");
  const signal = batch.getByLabel("Signal", { exact: true });
  await signal.locator("option", { hasText: "paid" }).waitFor({ state: "attached" });
  assert.equal(await signal.inputValue(), "paid");
  await field(batch, "Input").and(batch.locator("input")).fill("cash");
  await checkAccess(list, "the form of a batch");
  await closePage(list);
});

test("a server without contracts is asked once, and has JSON", async () => {
  const page = await openPage(browser, server, "#/runs");
  const asked = [];
  await page.route("**/v1/types/*", (route) => {
    asked.push(route.request().url());
    return route.fulfill(problem(404, "there is nothing at /v1/types/order", { type: "urn:weft:problem:not-found" }));
  });
  for (let i = 0; i < 2; i++) {
    await button(page, "Start").click();
    const form = page.getByRole("dialog");
    const answered = i === 0 ? page.waitForResponse("**/v1/types/order") : undefined;
    await field(form, "Type").fill("order");
    await field(form, "Input").fill('{"buyer": "Ada"}');
    await answered;
    await button(form, "Back").click();
  }
  assert.equal(asked.length, 1);
  await closePage(page);
});

test("a contract of a later format, or of another build, is left alone", async () => {
  const run = await waitingOrder(server, "forms-other");
  for (const reply of [{ json: { ...contractOf("order"), weftContract: 2 } }, problem(409, "another build runs it"), problem(400, "there is no parameter \"build\"")]) {
    const page = await openPage(browser, server, "#/runs");
    await page.route("**/v1/types/*", (route) => route.fulfill(reply));
    await page.goto(`${server.url}/#/workflows/${run.workflowId}/${run.runId}`);
    await button(page, "Update").click();
    const form = page.getByRole("dialog");
    await form.getByText(/^The code handles/).waitFor();
    assert.equal(await form.getByLabel("Update", { exact: true }).evaluate((e) => e.tagName), "INPUT");
    assert.equal(await field(form, "Input").evaluate((e) => e.tagName), "TEXTAREA");
    await closePage(page);
  }
});

test("the fields can be used by everybody", async () => {
  for (const options of [{ theme: "light" }, { theme: "dark" }, { width: 390, height: 844 }]) {
    const { page, form } = await openStart("order", options);
    const what = JSON.stringify(options);
    for (const name of ["tags", "pair", "pay"]) await button(form, `Add ${name}`).click();
    await button(form, "Add an entry to tags").click();
    await button(form, "Add an item to items").click();
    await field(form, "quantity").fill("x");
    await field(form, "Kind of pay").selectOption("card");
    await button(form, "Start").click();
    await checkAccess(page, `the fields, ${what}`);
    await checkWidth(page, `the fields, ${what}`);
    assert.ok(await form.evaluate((d) => d.scrollWidth <= d.clientWidth), `the form is wider than its dialog, ${what}`);
    await shoot(page, `forms-${options.theme ?? options.width}`);
    await closePage(page);
  }
});
