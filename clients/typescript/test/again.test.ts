import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { pause } from "../src/again.js";
import { NoAnswer, noCost, Problem, Weft, type Options } from "../src/index.js";
import { serve, type Server } from "./server.js";

let server: Server;
before(async () => (server = await serve()));
after(() => server.stop());

/** Handles a request instead of fetch. */
type Fault = (request: Request) => Promise<Response>;

const lostBefore: Fault = async () => {
  throw new TypeError("the line is dead");
};
const lostAfter: Fault = async (request) => {
  await fetch(request);
  throw new TypeError("the line is dead");
};
/** The answer breaks off in the middle of its body. */
const cutOff: Fault = async (request) => {
  const answer = await fetch(request);
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("{"));
      controller.error(new TypeError("terminated"));
    },
  });
  return new Response(body, answer);
};
const answers =
  (status: number, body: string, headers: Record<string, string> = {}): Fault =>
  async () =>
    new Response(body, { status, headers });
const busy = answers(503, '{"type":"urn:weft:problem:busy","title":"Busy","status":503,"detail":"x"}', { "Retry-After": "7" });
const unknown = answers(503, '{"type":"urn:weft:problem:outcome-unknown","title":"Unknown","status":503,"detail":"x"}');

/**
 * Returns a client whose first requests have these faults, the bodies that it sends, and its
 * pauses.
 */
function faulty(...faults: Fault[]): { weft: Weft; bodies: string[]; pauses: number[] } {
  const bodies: string[] = [];
  const pauses: number[] = [];
  const options: Options = {
    fetch: async (request) => {
      bodies.push(await request.clone().text());
      return (faults.shift() ?? fetch)(request);
    },
    pause: async (ms) => void pauses.push(ms),
  };
  return { weft: new Weft(server.url, options), bodies, pauses };
}

test("a lost, busy or unknown request is repeated unchanged, and takes effect once", async () => {
  await new Weft(server.url).start("cart-1", "cart", { owner: "ada" });
  let items = 0;
  for (const faults of [
    [],
    [lostBefore],
    [lostAfter],
    [cutOff],
    [busy],
    [unknown, lostAfter, lostBefore, cutOff],
    [answers(502, "<html>bad gateway</html>")],
    [lostAfter, answers(504, "")],
    [answers(429, '{"message":"Too Many Requests"}')],
  ]) {
    const sent = faults.length + 1;
    const { weft, bodies } = faulty(...faults);
    const added = await weft.call<{ items: number }>("cart-1", "addItem", { sku: "tea", quantity: 1 });
    assert(added.stage === "completed");
    assert.equal(added.result.items, ++items);
    assert.equal(bodies.length, sent);
    assert.equal(new Set(bodies).size, 1, "each attempt sends the same id");
  }
});

test("starts, signals and queries are repeated, too", async () => {
  const { weft } = faulty(lostAfter, lostAfter);
  const { runId } = await weft.start("cart-2", "cart", { owner: "ada" });
  const signals = faulty(lostAfter, busy);
  await signals.weft.signal("cart-2", "note", "once");
  assert.equal(new Set(signals.bodies).size, 1);
  assert.deepEqual((await faulty(busy).weft.query<{ notes: string[] }>("cart-2", "cart")).result.notes, ["once"]);
  const description = await weft.api.GET("/v1/workflows/{workflowId}", { params: { path: { workflowId: "cart-2" } } });
  assert.equal(description.data?.runId, runId);
});

test("the wait grows, and is at least as long as the server asks", async () => {
  const { weft, pauses } = faulty(lostBefore, lostBefore, lostBefore, busy);
  await weft.start("cart-3", "cart");
  for (const [i, most] of [50, 100, 200].entries()) {
    assert(pauses[i]! >= most / 2 && pauses[i]! <= most, `${pauses}`);
  }
  assert.equal(pauses[3], 7000);
});

test("after twelve attempts the client rejects with the last error", async () => {
  for (const [fault, type] of [
    [busy, "urn:weft:problem:busy"],
    [unknown, "urn:weft:problem:outcome-unknown"],
    [answers(503, "down for maintenance"), "urn:weft:problem:outcome-unknown"],
  ] as const) {
    const { weft, bodies } = faulty(...Array<Fault>(100).fill(fault));
    await assert.rejects(weft.call("cart-1", "addItem", {}), (error) => error instanceof Problem && error.type === type);
    assert.equal(bodies.length, 12);
  }
  const { weft, bodies } = faulty(...Array<Fault>(100).fill(lostBefore));
  await assert.rejects(weft.call("cart-1", "addItem", {}), (error) => error instanceof NoAnswer && error.cause instanceof TypeError);
  assert.equal(bodies.length, 12);
});

test("a request that cannot succeed is not repeated", async () => {
  for (const [status, type] of [
    [400, "urn:weft:problem:internal"],
    [403, "urn:weft:problem:forbidden"],
    [404, "urn:weft:problem:internal"],
  ] as const) {
    const { weft, bodies } = faulty(answers(status, "<html>no</html>"));
    await assert.rejects(weft.start("x", "cart"), (error) => error instanceof Problem && error.type === type && error.status === status);
    assert.equal(bodies.length, 1);
  }
});

test("an abort ends the wait for the next attempt", async () => {
  const leaving = new AbortController();
  const weft = new Weft(server.url, {
    fetch: answers(503, "", { "Retry-After": "60" }),
    pause(ms, signal) {
      const waiting = pause(ms, signal);
      leaving.abort(new Error("the user has left"));
      return waiting;
    },
  });
  await assert.rejects(weft.start("x", "cart", null, { signal: leaving.signal }), /the user has left/);
  await assert.rejects(weft.start("x", "cart", null, { signal: leaving.signal }), /the user has left/, "an aborted signal sends nothing");
});

test("a wait stays with its run, and follows it when it continues as new", async () => {
  const first = "1-6f1a9ac0be13a5d2";
  const second = "2-0d3ab1aa5fb0c972";
  const said = [
    { updateId: "u1", runId: first, stage: "accepted" },
    { updateId: "u1", runId: first, stage: "admitted" },
    { updateId: "u1", runId: first, stage: "completed", result: 1 },
    { workflowId: "a", runId: first, status: "running" },
    { workflowId: "a", runId: first, status: "continuedAsNew", newRunId: second },
    { workflowId: "a", runId: second, status: "failed", failure: { kind: "application" } },
  ];
  const asked: string[] = [];
  const weft = new Weft("http://weft.test/live/", {
    async fetch(request) {
      asked.push(request.url.replace("http://weft.test/live/v1/workflows/a/", ""));
      return Response.json(said.shift());
    },
    pause: async () => undefined,
  });
  const cost = noCost();
  assert.deepEqual(await weft.outcome("a", "u1"), { stage: "completed", updateId: "u1", runId: first, result: 1, cost });
  assert.deepEqual(await weft.result("a"), { status: "failed", runId: second, failure: { kind: "application" }, cost });
  const updates = ["updates/u1?wait=20s", `updates/u1?runId=${first}&wait=20s`, `updates/u1?runId=${first}&wait=20s`];
  assert.deepEqual(asked, [...updates, "result?wait=20s", `result?runId=${first}&wait=20s`, `result?runId=${second}&wait=20s`]);
});

test("a pause ends by the clock", async () => {
  await pause(1, new AbortController().signal);
  await pause(1);
});

test("a call pauses as the answers say, and says how long it has waited", async () => {
  const open = (retryAfter: string): Fault => answers(202, JSON.stringify({ workflowId: "a", runId: "1-0123456789abcdef", status: "running", retryAfter }), { "Content-Type": "application/json" });
  const ended = answers(200, '{"workflowId":"a","runId":"1-0123456789abcdef","status":"completed","result":7}', { "Content-Type": "application/json" });
  const faults = [open("1m10.5s"), open("2h0m0s"), open("soon"), ended];
  const waited: (string | null)[] = [];
  const pauses: number[] = [];
  const weft = new Weft("http://weft.test", {
    fetch: async (request) => {
      waited.push(request.headers.get("Weft-Waited"));
      return (faults.shift() ?? ended)(request);
    },
    pause: async (ms) => void pauses.push(ms),
  });
  const { result } = await weft.result<number>("a") as { result: number };
  assert.equal(result, 7);
  const [first = 0, second = 0, third = 0] = pauses;
  assert.ok(first >= 63_450 && first <= 77_550, String(pauses));
  assert.ok(second >= 270_000 && second <= 300_000, String(pauses));
  assert.equal(third, 50);
  waited.slice(1).forEach((text, i) => {
    const sum = pauses.slice(0, i + 1).reduce((a, b) => a + b);
    assert.ok(Number(text?.replace("ms", "")) >= Math.trunc(sum), `${text} after ${sum}`);
  });
});

test("a call that waits goes on while it is refused for lack of capacity", async () => {
  const ended = answers(200, '{"workflowId":"a","runId":"1-0123456789abcdef","status":"completed","result":7}', { "Content-Type": "application/json" });
  for (const full of [busy, answers(429, '{"message":"Too Many Requests"}')]) {
    const pauses: number[] = [];
    let n = 0;
    const weft = new Weft("http://weft.test", {
      fetch: async (request) => (n++ < 100 ? full : ended)(request),
      pause: async (ms) => void pauses.push(ms),
    });
    await weft.result("a");
    assert.equal(n, 101);
    assert.ok(Math.max(...pauses) >= 30_000 && Math.max(...pauses) <= 60_000, String(pauses));
  }
});
