import assert from "node:assert/strict";
import { test } from "node:test";
import { closePage, openPage, shoot } from "./browser.mjs";
import { largeImport } from "./seed.mjs";
import { browser, server, setUp } from "./setup.mjs";

let run;
setUp(async (server) => {
  run = await largeImport(server, 4400);
});

const mostNodes = 1500;
const nodes = (page) => page.evaluate(() => document.querySelectorAll("*").length);

const loads = 9;

/** Notes in the page when it has painted the first events, not the empty frame, in milliseconds since the navigation. */
function watchPaint() {
  new MutationObserver((_, observer) => {
    if (!document.querySelector(".event-row, .timeline-row")) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => (globalThis.paintedAt = performance.now())));
  }).observe(document, { childList: true, subtree: true });
}

// Speed is printed. It is a test only on a machine that is known: WEFT_UI_PERF=1.
test("a run with 10,000 events is small in the document, and drawn soon", async () => {
  assert.ok(run.events >= 10_000, `the run has ${run.events} events`);
  const address = `#/workflows/${run.workflowId}/${run.runId}`;
  const times = [];
  for (let i = 0; i < loads; i++) {
    const page = await openPage(browser, server, address, { init: watchPaint });
    times.push(await page.waitForFunction(() => globalThis.paintedAt).then((at) => at.jsonValue()));
    assert.ok((await nodes(page)) < mostNodes, `the first paint has ${await nodes(page)} nodes`);
    if (i === loads - 1) {
      await page.goto(`${server.url}/${address}/events/${run.events}`);
      await page.locator(`[data-event="${run.events}"]`).waitFor();
      assert.ok((await nodes(page)) < mostNodes, `the whole run has ${await nodes(page)} nodes`);
      await shoot(page, "run-large");
      await scroll(page);
    }
    await closePage(page);
  }
  const median = times.sort((a, b) => a - b)[Math.floor(loads / 2)];
  console.log(`# ${run.events} events: the first is painted after ${Math.round(median)} ms (median of ${loads}: ${times.map(Math.round).join(", ")})`);
  if (process.env.WEFT_UI_PERF === "1") assert.ok(median < 300, `the first paint took ${median} ms`);
});

/** Scrolls through the whole run, and prints the longest time between two frames. */
async function scroll(page) {
  const [longest, most] = await page.evaluate(async () => {
    let longest = 0;
    let most = 0;
    let before = performance.now();
    for (let y = 0; y < document.documentElement.scrollHeight; y += 3000) {
      scrollTo(0, y);
      await new Promise((done) => requestAnimationFrame(done));
      longest = Math.max(longest, performance.now() - before);
      most = Math.max(most, document.querySelectorAll("*").length);
      before = performance.now();
    }
    return [longest, most];
  });
  console.log(`# while it scrolls, a frame takes ${Math.round(longest)} ms at most, with ${most} nodes`);
  assert.ok(most < mostNodes);
}
