import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { noCost, Problem, UnexpectedAnswer, Weft, type Outcome } from "../src/index.js";
import { serve, type Server } from "./server.js";

let server: Server;
before(async () => (server = await serve()));
after(() => server.stop());

interface Total {
  items: number;
  cents: number;
}

/** Starts a cart, and returns a client. */
async function cart(id: string, owner = "ada"): Promise<Weft> {
  const weft = new Weft(server.url);
  await weft.start(id, "cart", { owner });
  return weft;
}

test("call returns the result of an update, or the reason of its rejection", async () => {
  const weft = await cart("cart-1");
  const added: Outcome<Total> = await weft.call<Total>("cart-1", "addItem", { sku: "tea", quantity: 2 }, { id: "add-1" });
  assert(added.stage === "completed");
  assert.deepEqual(added.result, { items: 2, cents: 900 } satisfies Total);
  assert.equal(added.updateId, "add-1");

  const refused = await weft.call<Total>("cart-1", "addItem", { sku: "tea", quantity: 100 });
  assert(refused.stage === "rejected");
  assert.equal(refused.failure.type, "badQuantity");
  assert.match(refused.failure.message ?? "", /between 1 and 99/);

  const unknown = await weft.call("cart-1", "a/b?c", {});
  assert(unknown.stage === "rejected");
  assert.match(unknown.failure.message ?? "", /no such update: "a\/b\?c"/);
  assert(unknown.known?.includes("addItem"));
  const wrong = await weft.call("cart-1", "addItem", { sku: "tea", quantity: "1" });
  assert(wrong.stage === "rejected" && wrong.at === "input.quantity");
  assert.equal((await weft.query<{ total: Total }>("cart-1", "cart")).result.total.items, 2);
});

test("call returns the error of a handler, and result the failure of a run", async () => {
  const weft = await cart("cart-2", "mallory");
  await weft.signal("cart-2", "note", "hurry");
  await weft.call("cart-2", "addItem", { sku: "kettle", quantity: 1 });
  const declined = await weft.call("cart-2", "checkout");
  assert(declined.stage === "failed");
  assert.equal(declined.failure.activityType, "charge");
  assert.equal(declined.failure.cause?.type, "declined");

  const { response } = await weft.api.POST("/v1/workflows/{workflowId}/terminate", { params: { path: { workflowId: "cart-2" } } });
  assert.equal(response.status, 200);
  const ended = await weft.result("cart-2");
  assert(ended.status === "terminated");
  assert.equal(ended.failure.kind, "terminated");
});

test("run starts a workflow and returns its result in one request", async () => {
  let requests = 0;
  const counting = (request: Request) => (requests++, fetch(request));
  const weft = new Weft(server.url, { fetch: counting });
  const ended = await weft.run<object>("fanout-run-1", "fanout", ["a", "b"]);
  assert(ended.status === "completed");
  assert.equal(requests, 1);
});

test("send returns when an update is accepted, and outcome when it has ended", async () => {
  const weft = await cart("cart-3");
  await weft.call("cart-3", "addItem", { sku: "tea", quantity: 2 });
  const sent = await weft.send("cart-3", "checkout", undefined, { id: "checkout-1" });
  assert(sent.stage === "accepted");
  const receipt = await weft.outcome<{ cents: number }>("cart-3", sent.updateId, { runId: sent.runId });
  assert(receipt.stage === "completed");
  assert.equal(receipt.result.cents, 900);
  const cost = noCost();
  assert.deepEqual({ ...(await weft.result("cart-3")), cost }, { status: "completed", runId: sent.runId, result: receipt.result, cost });
  const repeated = await weft.call("cart-3", "checkout", undefined, { id: "checkout-1" });
  assert.deepEqual({ ...repeated, cost }, { ...receipt, cost }, "a repeated update has the same outcome");
});

test("an update starts its run if none is open", async () => {
  const weft = new Weft(server.url);
  const start = { type: "cart", input: { owner: "ada" } };
  const first = await weft.call<Total>("cart-4", "addItem", { sku: "tea", quantity: 1 }, { start });
  const second = await weft.call<Total>("cart-4", "addItem", { sku: "tea", quantity: 1 }, { start });
  assert(first.stage === "completed" && second.stage === "completed");
  assert.deepEqual([first.started, second.started, second.result.items], [true, false, 2]);
});

/** Records each request before it is sent. */
class Wire {
  readonly sent: { method: string; path: string; body: string }[] = [];
  readonly #waiting = new Set<() => void>();

  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    this.sent.push({ method: request.method, path: pathname + search, body: await request.clone().text() });
    this.#waiting.forEach((look) => look());
    return fetch(request);
  };

  /** Resolves when a request has been sent whose method and path match the pattern. */
  until(pattern: RegExp): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.sent.some(({ method, path }) => pattern.test(`${method} ${path}`))) {
          this.#waiting.delete(look);
          resolve();
        }
      };
      this.#waiting.add(look);
      look();
    });
  }
}

test("a call that outlasts its request polls with the update's id and run", async () => {
  const wire = new Wire();
  const weft = new Weft(server.url, { fetch: wire.fetch });
  const { runId } = await weft.start("desk-1", "approval");
  const call = weft.call<{ approved: boolean }>("desk-1", "approval.handIn", { who: "ada", cents: 100 }, { id: "e1", timeout: "0s" });
  const poll = `/v1/workflows/desk-1/updates/e1?runId=${runId}&wait=20s`;
  await wire.until(/^GET /);
  await weft.signal("desk-1", "approval.answer", { approved: true, why: "of course" });
  const { cost, ...outcome } = await call;
  assert.deepEqual(outcome, { stage: "completed", updateId: "e1", runId, result: { approved: true, why: "of course" } });
  assert(cost.reads + cost.writes > 0);
  assert.equal(wire.sent.filter(({ path }) => path.includes("/updates/approval.handIn")).length, 1);
  assert(wire.sent.filter(({ method }) => method === "GET").every(({ path }) => path === poll));
});

test("whoever aborts stops waiting, and nothing else", async () => {
  const wire = new Wire();
  const weft = new Weft(server.url, { fetch: wire.fetch });
  await weft.start("desk-2", "approval");
  const leaving = new AbortController();
  const { signal } = leaving;
  const call = weft.call("desk-2", "approval.handIn", { who: "ada", cents: 100 }, { id: "e1", timeout: "0s", signal });
  await wire.until(/^GET /);
  leaving.abort();
  await assert.rejects(call, { name: "AbortError" });
  await weft.signal("desk-2", "approval.answer", { approved: false, why: "no" });
  const outcome = await weft.outcome<{ approved: boolean }>("desk-2", "e1");
  assert(outcome.stage === "completed" && !outcome.result.approved);
  await assert.rejects(weft.query("desk-2", "x", null, { signal }), { name: "AbortError" });
});

test("a refusal rejects with a Problem of its type", async () => {
  const weft = await cart("cart-5");
  const refusals: [() => Promise<unknown>, Problem["type"], number][] = [
    [() => weft.call("nobody", "addItem", {}), "urn:weft:problem:not-found", 404],
    [() => weft.start("cart-5", "cart"), "urn:weft:problem:already-open", 409],
    [() => weft.start("a/b", "cart"), "urn:weft:problem:invalid", 400],
    [() => weft.outcome("cart-5", "never"), "urn:weft:problem:not-found", 404],
    [() => weft.start("cart-6", "cart", { owner: "x".repeat(6_000_000) }), "urn:weft:problem:too-large", 413],
  ];
  for (const [ask, type, status] of refusals) {
    await assert.rejects(ask, (error) => {
      assert(error instanceof Problem && error.type === type && error.status === status && error.detail !== "", String(error));
      return true;
    });
  }
});

test("a wrong request is refused with the place of the error, and an unknown name with those that exist", async () => {
  const weft = await cart("cart-8");
  await assert.rejects(weft.start("cart-9", "cart", { owner: 1 }), (error) => error instanceof Problem && error.at === "input.owner");
  await assert.rejects(weft.signal("cart-8", "not"), (error) => error instanceof Problem && error.known.includes("note"));
});

test("an update that is wrong does not start its run", async () => {
  const weft = new Weft(server.url);
  const refused = await weft.call("cart-10", "addItems", { sku: "tea", quantity: 1 }, { start: { type: "cart", input: { owner: "ada" } } });
  assert(refused.stage === "rejected" && refused.runId === undefined);
});

test("an answer that is not Weft's rejects with UnexpectedAnswer", async () => {
  for (const page of ["<html>sign in</html>", "", "{}", "null", "[]", '{"stage":"done"}']) {
    const weft = new Weft("http://weft.test", { fetch: async () => new Response(page, { status: 200 }) });
    const asks = [
      () => weft.call("a", "b"),
      () => weft.start("a", "b"),
      () => weft.result("a"),
      () => weft.outcome("a", "b"),
      () => weft.query("a", "b"),
    ];
    for (const ask of asks) {
      await assert.rejects(ask, UnexpectedAnswer, page);
    }
  }
});

test("every operation is typed", async () => {
  const weft = await cart("cart-7");
  const { data } = await weft.api.GET("/v1/workflows/{workflowId}/history", { params: { path: { workflowId: "cart-7" } } });
  const [first] = data?.events ?? [];
  assert(first?.type === "WorkflowExecutionStarted");
  assert.equal(first.attributes.workflowType, "cart");
  const list = await weft.api.GET("/v1/workflows", { params: { query: { status: "running", type: "cart" } } });
  assert(list.data?.workflows.some(({ workflowId }) => workflowId === "cart-7"));
  const schedule = { spec: { cron: ["0 0 29 2 *"] }, action: { type: "cart", input: { owner: "ada" } } };
  await weft.api.POST("/v1/schedules", { body: { scheduleId: "leap", schedule } });
  const leap = await weft.api.GET("/v1/schedules/{scheduleId}", { params: { path: { scheduleId: "leap" } } });
  assert.deepEqual(leap.data?.schedule.spec.cron, schedule.spec.cron);
  const moved = await weft.api.POST("/v1/workflows/{workflowId}/move", { params: { path: { workflowId: "cart-7" } }, body: { unpin: true } });
  assert.equal(moved.response.status, 200);

  const never = async (): Promise<void> => {
    // @ts-expect-error there is no such path
    await weft.api.GET("/v1/workflow");
    // @ts-expect-error there is no such state
    await weft.api.GET("/v1/workflows", { params: { query: { status: "open" } } });
    // @ts-expect-error a start has a type
    await weft.api.POST("/v1/workflows", { body: {} });
    const outcome = await weft.call<Total>("cart-7", "addItem");
    // @ts-expect-error a refused update has no result
    outcome.result;
  };
  assert.equal(typeof never, "function");
});
