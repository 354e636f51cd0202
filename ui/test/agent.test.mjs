// The page of examples/agent.
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { checkAccess, checkWidth, closePage, openBrowser, openPage, shoot } from "./browser.mjs";
import { api, startProgram } from "./server.mjs";

let server;
let browser;
before(async () => {
  const program = fileURLToPath(new URL("../../bin/agent", import.meta.url));
  server = await startProgram(program, { AGENT_PAGE: "127.0.0.1:0" });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const button = (page, name) => page.getByRole("button", { name, exact: true });
const steps = (page) => page.getByRole("listitem").allTextContents();

test("a person steers an agent while it works", async () => {
  const page = await openPage(browser, server, "");
  await page.getByLabel("Goal").fill("a trip to Lisbon");
  await button(page, "Start").click();
  await button(page, "Approve").waitFor();
  const first = ["thought I look for: a trip to Lisbon", "found a trip to Lisbon, for 50 €", "thought I want to book: a trip to Lisbon, for 50 €", "asked a trip to Lisbon, for 50 €"];
  assert.deepEqual(await steps(page), first);
  await checkAccess(page, "an agent that asks");
  await checkWidth(page, "an agent that asks");
  await shoot(page, "agent");

  await button(page, "Refuse").click();
  await page.getByRole("alert").getByText("say what to change", { exact: true }).waitFor();
  await page.getByLabel("What to change, if you refuse").fill("by train");
  await button(page, "Refuse").click();
  await page.getByText("refused by train", { exact: true }).waitFor();
  await page.getByText("asked a trip to Lisbon, by train, for 60 €", { exact: true }).waitFor();

  await button(page, "Interrupt").click();
  await page.getByRole("alert").getByText("say what to do instead", { exact: true }).waitFor();
  await page.getByLabel("Instruction").fill("in May");
  await button(page, "Interrupt").click();
  await page.getByText("instructed in May", { exact: true }).waitFor();
  await button(page, "Approve").waitFor({ state: "hidden" });
  await page.getByText("asked a trip to Lisbon, by train, in May, for 70 €", { exact: true }).waitFor();

  await button(page, "Approve").click();
  await page.getByText(/^done a trip to Lisbon, by train, in May, for 70 €, booking agent-/).waitFor();
  await button(page, "Interrupt").waitFor({ state: "hidden" });
  const all = await steps(page);
  assert.deepEqual(all.slice(0, 4), first);
  assert.equal(all.length, 18);

  // Whoever opens the address later sees the same steps.
  await page.reload();
  await page.getByText(/^done/).waitFor();
  assert.deepEqual(await steps(page), all);
  await closePage(page);
});

test("only the first of two decisions holds", async () => {
  await api(server, "POST", "workflows", goal("agent-1"));
  const page = await openPage(browser, server, "#agent-1");
  await button(page, "Approve").waitFor();
  await page.route("**/updates/decide", async (route) => {
    await api(server, "POST", "workflows/agent-1/updates/decide", { updateId: "refuse-1", input: { question: 1, approve: false, reason: "by train" } });
    await route.fallback();
  });
  // The next question takes the explanation away.
  const explained = page.evaluate(() => new Promise((done) => {
    const alert = document.querySelector("#decide [role=alert]");
    new MutationObserver(() => alert.textContent && done(alert.textContent)).observe(alert, { childList: true });
  }));
  await button(page, "Approve").click();
  await page.getByText("refused by train", { exact: true }).waitFor();
  assert.equal(await explained, "this question is not asked any more");
  assert.ok(!(await steps(page)).some((step) => step.startsWith("approved")));
  await closePage(page);
});

test("a stream that is cut loses and repeats nothing", async () => {
  const cutting = await cutStreams(3);
  await api(server, "POST", "workflows", goal("agent-2"));
  const page = await openPage(browser, cutting, "#agent-2");
  await button(page, "Approve").click();
  await page.getByText(/^done/).waitFor();
  const kinds = (await steps(page)).map((step) => step.split(" ")[0]);
  assert.deepEqual(kinds, ["thought", "found", "thought", "asked", "approved", "found", "thought", "done"]);
  assert.equal(cutting.left(), 0);
  page.errors = page.errors.filter((error) => !/Failed to load resource: net::/.test(error));
  await closePage(page);
  await cutting.stop();
});

test("the words of a retried attempt replace those of the one before", async () => {
  const word = (offset, execution, text) => ({ offset, value: { kind: "word", text }, activity: { scheduledEventId: 5, attempt: 1, execution } });
  const items = [word(0, "a", "I"), word(1, "a", "look"), word(2, "b", "I"), word(3, "b", "see")];
  const scripted = createServer((asked, answer) => {
    if (!asked.url.includes("/topics/")) return request(server.url + asked.url, (got) => got.pipe(answer.writeHead(got.statusCode, got.headers))).end();
    answer.writeHead(200, { "Content-Type": "text/event-stream" }).write(`event: items\ndata: ${JSON.stringify({ items })}\n\n`);
  });
  await new Promise((done) => scripted.listen(0, "127.0.0.1", done));
  const page = await openPage(browser, { url: `http://127.0.0.1:${scripted.address().port}` }, "#agent-3");
  await page.getByRole("listitem").first().waitFor();
  assert.deepEqual(await steps(page), ["… I see"]);
  await closePage(page);
  await new Promise((done) => scripted.close(done).closeAllConnections());
});

test("an explanation goes with its question", async () => {
  await api(server, "POST", "workflows", goal("agent-4"));
  const page = await openPage(browser, server, "#agent-4");
  await button(page, "Refuse").click();
  await page.getByRole("alert").getByText("say what to change", { exact: true }).waitFor();
  await button(page, "Interrupt").click();
  await page.getByRole("alert").getByText("say what to do instead", { exact: true }).waitFor();
  await api(server, "POST", "workflows/agent-4/updates/interrupt", { updateId: "interrupt-1", input: { text: "in May" } });
  await page.getByText(/^asked .*in May/).waitFor();
  assert.deepEqual(await page.locator("[role=alert]").allTextContents(), ["", "", ""]);
  await closePage(page);
});

test("that there was no answer is shown until the page is connected again", async () => {
  let stream;
  const item = { offset: 0, value: { kind: "thought", text: "I look" }, activity: { scheduledEventId: 5, attempt: 1, execution: "a" } };
  const scripted = createServer((asked, answer) => {
    if (asked.url.includes("/updates/")) return asked.socket.destroy();
    if (!asked.url.includes("/topics/")) return request(server.url + asked.url, (got) => got.pipe(answer.writeHead(got.statusCode, got.headers))).end();
    stream = answer;
    answer.writeHead(200, { "Content-Type": "text/event-stream" }).write(`retry: 1\nevent: items\ndata: ${JSON.stringify({ items: [item] })}\n\n`);
  });
  await new Promise((done) => scripted.listen(0, "127.0.0.1", done));
  const page = await openPage(browser, { url: `http://127.0.0.1:${scripted.address().port}` }, "#agent-5");
  await page.getByText("thought I look", { exact: true }).waitFor();
  await page.getByLabel("Instruction").fill("in May");
  await button(page, "Interrupt").click();
  await page.getByRole("alert").getByText(/^no answer/).waitFor();
  stream.destroy();
  await page.getByRole("alert").getByText(/^no answer/).waitFor({ state: "detached" });
  assert.equal(await page.getByLabel("Instruction").inputValue(), "in May");
  page.errors = page.errors.filter((error) => !/Failed to load resource: net::/.test(error));
  await closePage(page);
  await new Promise((done) => scripted.close(done).closeAllConnections());
});

const goal = (workflowId) => ({ workflowId, type: "agent", input: { text: "a trip to Lisbon" } });

/** Serves what the server serves, and cuts some streams in the middle of an event, or right behind it. */
async function cutStreams(cuts) {
  const proxy = createServer((asked, answer) => {
    const onward = request(server.url + asked.url, { method: asked.method, headers: asked.headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.on("data", (data) => {
        const cut = cuts > 0 && data.includes("event: items");
        if (!cut) return answer.write(data);
        answer.write(data.subarray(0, cuts % 2 ? data.length : data.length / 2), () => answer.destroy());
        onward.destroy();
        cuts--;
      });
      got.on("end", () => answer.end());
    });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    asked.pipe(onward);
  });
  await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
  const stop = () => new Promise((done) => proxy.close(done).closeAllConnections());
  return { url: `http://127.0.0.1:${proxy.address().port}`, left: () => cuts, stop };
}
