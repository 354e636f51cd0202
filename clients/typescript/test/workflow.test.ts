import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  DeadlinePassed,
  NoAnswer,
  Problem,
  UnexpectedAnswer,
  Weft,
  Workflow,
  type Answer,
  type CallOptions,
  type Cost,
  type Costed,
  type DeclaredError,
  type None,
  type Outcome,
  type ReadOptions,
} from "../src/index.js";
import { serve, type Server } from "./server.js";

let server: Server;
before(async () => (server = await serve()));
after(() => server.stop());

interface Total {
  items: number;
  cents: number;
}
interface Receipt {
  cents: number;
}
type BadQuantity = DeclaredError<"badQuantity", undefined>;
type Declined = DeclaredError<"declined", { fee: number }>;

/** A class as the generator writes it. */
class Cart extends Workflow<{ owner: string }, Receipt> {
  static override readonly type = "cart";

  addItem(input: { sku: string; quantity: number }, options?: CallOptions): Promise<Outcome<Total, BadQuantity>> {
    return this.sendUpdate("addItem", ["badQuantity"], input, options);
  }

  checkout(options?: CallOptions): Promise<Outcome<Receipt, Declined>> {
    return this.sendUpdate("checkout", ["declined"], undefined, options);
  }

  cart(options?: ReadOptions): Promise<Answer<{ total: Total }>> {
    return this.sendQuery("cart", undefined, options);
  }

  note(input: string, options?: Omit<CallOptions, "timeout">): Promise<Costed> {
    return this.sendSignal("note", input, options);
  }
}

class Approval extends Workflow<None, unknown> {
  static override readonly type = "approval";
  static override readonly takesInput = false;
}

test("a class has the calls of its workflow, with their errors and costs", async () => {
  const weft = new Weft(server.url);
  const cart = await Cart.start(weft, "cart-1", { owner: "ada" });
  assert(cart.run.cost.writes > 0);
  assert.equal(cart.runId, cart.run.runId);

  const added = await cart.addItem({ sku: "tea", quantity: 2 });
  assert(added.stage === "completed");
  assert.equal(added.result.cents, 900);
  assert(added.cost.writes > 0);

  const refused = await cart.addItem({ sku: "tea", quantity: 100 });
  assert(refused.stage === "rejected");
  assert.deepEqual(refused.error, { type: "badQuantity", message: "the quantity must be between 1 and 99", details: undefined });
  assert.equal(refused.cost.writes, 0);

  const other = await cart.addItem({ sku: "unicorn", quantity: 1 });
  assert(other.stage === "rejected" && other.error.type === undefined);
  assert.equal(other.failure.type, "unknownSKU");

  assert((await cart.note("hurry")).cost.writes > 0);
  const contents = await cart.cart();
  assert.deepEqual([contents.result.total.items, contents.cost.writes], [2, 0]);

  const bought = await cart.checkout();
  assert(bought.stage === "completed");
  const ended = await cart.result();
  assert(ended.status === "completed");
  assert.deepEqual(ended.result, bought.result);
});

test("an error is found in the causes of a failure", async () => {
  const cart = await Cart.start(new Weft(server.url), "cart-2", { owner: "mallory" });
  await cart.addItem({ sku: "tea", quantity: 1 });
  const declined = await cart.checkout();
  assert(declined.stage === "failed" && declined.error.type === "declined");
  assert.equal(declined.error.message, "the card was declined");
});

test("an error has its details", async () => {
  const details = Buffer.from('{"fee":7,"why":"é"}').toString("base64");
  const failure = { kind: "activity", cause: { kind: "application", type: "declined", message: "no money", details } };
  const weft = new Weft("http://weft.test", { fetch: async () => Response.json({ stage: "completed", updateId: "u", runId: "r", failure }) });
  const declined = await new Cart(weft, "cart-3").checkout();
  assert(declined.stage === "failed" && declined.error.type === "declined");
  assert.deepEqual(declined.error.details, { fee: 7, why: "é" });
  const other = await new Cart(weft, "cart-3").addItem({ sku: "tea", quantity: 1 });
  assert(other.stage === "failed" && other.error.type === undefined);
  assert.equal(other.error.message, "no money");
});

test("an update of a class starts a run if none is open", async () => {
  const cart = new Cart(new Weft(server.url), "cart-4");
  const start = Cart.withStart({ owner: "ada" }, { memo: { note: "x" } });
  const first = await cart.addItem({ sku: "tea", quantity: 1 }, { start });
  const second = await cart.addItem({ sku: "tea", quantity: 1 }, { start });
  assert.deepEqual([first.started, second.started], [true, false]);
});

test("a type without an input is started without one", async () => {
  const weft = new Weft(server.url);
  const desk = await Approval.start(weft, "desk-1", { memo: { floor: 3 } });
  const { data } = await weft.api.GET("/v1/workflows/{workflowId}", { params: { path: { workflowId: desk.workflowId } } });
  assert.deepEqual(data?.memo, { floor: 3 });
});

test("a wrong use of a class does not compile", () => {
  const never = async (weft: Weft, cart: Cart): Promise<void> => {
    // @ts-expect-error a cart needs an owner
    await Cart.start(weft, "cart-1");
    // @ts-expect-error there is no such field
    await Cart.start(weft, "cart-1", { owned: "ada" });
    // @ts-expect-error an approval takes no input
    await Approval.start(weft, "desk-1", { owner: "ada" });
    // @ts-expect-error there is no such update
    await cart.addItems({ sku: "tea", quantity: 1 });
    // @ts-expect-error a quantity is a number
    await cart.addItem({ sku: "tea", quantity: "1" });
    const added = await cart.addItem({ sku: "tea", quantity: 1 });
    // @ts-expect-error a refused update has no result
    added.result;
    if (added.stage !== "completed") {
      // @ts-expect-error there is no such error
      assert(added.error.type !== "badQuality");
    }
    // @ts-expect-error a run that has failed has no result
    (await cart.result()).result;
  };
  assert.equal(typeof never, "function");
});

/** Returns a client whose answers these are. Their costs are 1 write, 10 writes and so on. */
function answering(...answers: (() => Promise<Response> | Response)[]): { weft: Weft; asked: string[] } {
  const asked: string[] = [];
  const weft = new Weft("http://weft.test", {
    async fetch(request) {
      asked.push(request.url.replace("http://weft.test/v1/workflows/", "") + (await request.clone().text()));
      const answer = await answers.shift()!();
      answer.headers.set("Weft-Cost", `writes=${10 ** (asked.length - 1)}, reads=2, messages=0, lost=1, blobPuts=1, blobGets=0, other=9`);
      return answer;
    },
    pause: async () => undefined,
  });
  return { weft, asked };
}

const problem = (status: number, type: string) => () =>
  Response.json({ type: `urn:weft:problem:${type}`, title: "t", detail: "d", status }, { status });
const page = (body: object) => () => Response.json(body);
const costOfThree: Cost = { writes: 111, reads: 6, messages: 0, lost: 3, blobPuts: 3, blobGets: 0 };

test("a cost is the sum of all attempts and polls", async () => {
  const place = { updateId: "u", runId: "r" };
  const { weft } = answering(problem(503, "busy"), page({ ...place, stage: "accepted" }), page({ ...place, stage: "completed", result: 1 }));
  assert.deepEqual((await weft.call("a", "b")).cost, costOfThree);

  const refused = answering(problem(503, "busy"), problem(503, "outcome-unknown"), problem(404, "not-found"));
  await assert.rejects(refused.weft.query("a", "b"), (error) => {
    assert(error instanceof Problem);
    assert.deepEqual(error.cost, costOfThree);
    return true;
  });
});

test("a deadline bounds the request, the wait and the repetitions", async () => {
  const deadline = Date.now() + 1_000_000;
  const call = answering(...Array<() => Response>(30).fill(problem(503, "busy")), page({ stage: "completed", updateId: "u", runId: "r" }));
  await call.weft.call("a", "b", undefined, { deadline });
  assert.equal(call.asked.length, 31, "with a deadline, the client repeats until then");
  assert.match(call.asked[0]!, /"timeout":"20s"/);

  const soon = answering(() => Response.json({ workflowId: "a", runId: "r", status: "completed", result: 1 }));
  await soon.weft.result("a", { deadline: new Date(Date.now() + 10_000) });
  const [, wait] = /wait=(\d+)ms$/.exec(soon.asked[0]!) ?? [];
  assert(Number(wait) > 0 && Number(wait) <= 9_500, soon.asked[0]);

  const kept = answering(page({ stage: "completed", updateId: "u", runId: "r" }));
  await kept.weft.call("a", "b", undefined, { timeout: "3s", deadline });
  assert.match(kept.asked[0]!, /"timeout":"3s"/);
});

test("at the deadline a call rejects with why it failed so far", async () => {
  const late = answering();
  await assert.rejects(late.weft.query("a", "b", undefined, { deadline: Date.now() - 1 }), (error) => error instanceof DeadlinePassed);
  assert.equal(late.asked.length, 0, "nothing is sent");
  await assert.rejects(late.weft.query("a", "b", undefined, { deadline: new Date("x") }), RangeError);

  const never = () => new Promise<Response>(() => undefined);
  const fetch = async (request: Request): Promise<Response> => {
    const aborted = new Promise<never>((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason)));
    return Promise.race([answers.shift()!(), aborted]);
  };
  const answers = [problem(503, "busy"), never];
  const weft = new Weft("http://weft.test", { fetch: async (request) => fetch(request), pause: async () => undefined });
  await assert.rejects(weft.start("a", "cart", undefined, { deadline: Date.now() + 50 }), (error) => {
    assert(error instanceof DeadlinePassed && error.cause instanceof Problem && error.cause.again);
    return true;
  });

  const leaving = new AbortController();
  leaving.abort(new Error("the user has left"));
  await assert.rejects(weft.start("a", "cart", undefined, { deadline: Date.now() + 1_000_000, signal: leaving.signal }), /the user has left/);
});

test("watch returns the history as it grows, and that of the run that follows", async () => {
  const [first, second] = ["1-6f1a9ac0be13a5d2", "2-0d3ab1aa5fb0c972"];
  const at = (runId: string, next: number, ids: number[], more: object) =>
    page({ workflowId: "a", runId, events: ids.map((id) => ({ id })), next, closed: false, ...more });
  const { weft, asked } = answering(
    at(first, 3, [1, 2], {}),
    problem(503, "busy"),
    at(first, 3, [], {}),
    at(first, 4, [3], { closed: true, newRunId: second }),
    at(second, 2, [1], {}),
    at(second, 2, [], { closed: true }),
  );
  const seen: unknown[] = [];
  for await (const { runId, events, cost } of weft.watch("a")) {
    seen.push([runId, events.map(({ id }) => id), cost.reads]);
  }
  assert.deepEqual(seen, [
    [first, [1, 2], 2],
    [first, [3], 6],
    [second, [1], 2],
    [second, [], 2],
  ]);
  const from = (run: string, next: number) => `a/history?${run && `runId=${run}&`}from=${next}&wait=20s`;
  assert.deepEqual(asked, [from("", 1), from(first, 3), from(first, 3), from(first, 3), from(second, 1), from(second, 2)]);

  const resumed = answering(at(first, 4, [], { closed: true, newRunId: second }), at(second, 2, [1], { closed: true }));
  const costs: unknown[] = [];
  for await (const { runId, cost } of resumed.weft.watch("a", { runId: first, from: 4 })) {
    costs.push(runId, cost.reads);
  }
  assert.deepEqual(costs, [second, 4]);
});

test("watch of a run on the server ends when the run has closed", async () => {
  const cart = await Cart.start(new Weft(server.url), "cart-5", { owner: "ada" });
  await cart.addItem({ sku: "tea", quantity: 1 });
  const types: string[] = [];
  for await (const { events } of cart.watch()) {
    types.push(...events.map(({ type }) => type));
    if (types.includes("WorkflowExecutionUpdateAccepted") && !types.includes("ActivityTaskScheduled")) {
      await cart.checkout();
    }
  }
  assert.equal(types[0], "WorkflowExecutionStarted");
  assert.equal(types.at(-1), "WorkflowExecutionCompleted");
});

const items = (runId: string, next: number, offsets: number[], more: object = {}) =>
  page({
    workflowId: "a",
    runId,
    topic: "t",
    items: offsets.map((offset) => ({ offset, at: "2026-11-27T21:00:00Z", value: `item ${offset}` })),
    first: 0,
    next,
    closed: false,
    ...more,
  });

test("a topic is read on across cut connections, resets and runs", async () => {
  const [first, second] = ["1-6f1a9ac0be13a5d2", "2-0d3ab1aa5fb0c972"];
  const cut = (): Response => {
    throw new TypeError("the line is dead");
  };
  const { weft, asked } = answering(
    items(first, 2, [0, 1]),
    cut,
    items(first, 2, []),
    items(first, 5, [], { withdrawn: { from: 1, before: 5 } }),
    items(first, 6, [5], { closed: true, newRunId: second }),
    cut,
    items(second, 8, [6, 7], { more: true }),
    items(second, 8, []),
    items(second, 9, [8]),
    items(second, 9, [], { closed: true }),
  );
  const seen: unknown[] = [];
  for await (const { runId, items, withdrawn, cost } of weft.topic<string>("a", "t/1", { limit: 2 })) {
    seen.push([runId, items.map(({ value }) => value), withdrawn?.from, cost.reads]);
  }
  assert.deepEqual(seen, [
    [first, ["item 0", "item 1"], undefined, 2],
    [first, [], 1, 4],
    [first, ["item 5"], undefined, 2],
    [second, ["item 6", "item 7"], undefined, 2],
    [second, ["item 8"], undefined, 4],
    [second, [], undefined, 2],
  ]);
  const from = (run: string, next: string) => `a/topics/t%2F1?${run && `runId=${run}&`}${next}limit=2`;
  const waits = (run: string, next: string) => `${from(run, next)}&wait=20s`;
  const reads = [from("", ""), waits(first, "from=2&"), waits(first, "from=2&"), waits(first, "from=2&"), waits(first, "from=5&")];
  const following = [from(second, "from=6&"), from(second, "from=6&"), from(second, "from=8&"), waits(second, "from=8&"), waits(second, "from=9&")];
  assert.deepEqual(asked, [...reads, ...following], "the first look, what is there already, and the next run are not waited for");

  const there = answering(items(first, 2, [0, 1], { more: true }), items(first, 3, [2]));
  const all: number[] = [];
  for await (const { items, cost } of there.weft.topic("a", "t", { from: 0, wait: false })) {
    all.push(...items.map(({ offset }) => offset), cost.reads);
  }
  assert.deepEqual(all, [0, 1, 2, 2, 2]);
  assert.deepEqual(there.asked, ["a/topics/t?from=0", `a/topics/t?runId=${first}&from=2`]);
});

test("a page has the cost of the empty ones before it", async () => {
  const { weft } = answering(items("1", 0, []), items("1", 0, [], { closed: true, newRunId: "2" }), items("2", 0, [], { more: true }), items("2", 1, [0], { closed: true }));
  const costs: number[] = [];
  for await (const { cost } of weft.topic("a", "t")) {
    costs.push(cost.writes);
  }
  assert.deepEqual(costs, [1111]);

  const nothing = await answering(items("1", 7, [])).weft.topic("a", "t", { from: 7, wait: false }).next();
  assert(!nothing.done);
  assert.deepEqual([nothing.value.items, nothing.value.next, nothing.value.cost.writes], [[], 7, 1]);

  const gone = answering(items("1", 0, []), items("1", 0, [], { closed: true, newRunId: "2" }), problem(404, "not-found"));
  await assert.rejects(gone.weft.topic("a", "t").next(), (error) => {
    assert(error instanceof Problem);
    assert.deepEqual(error.cost, costOfThree);
    return true;
  });
});

test("each error of the client has the cost until then", async ({ mock }) => {
  const cut = (): Response => {
    throw new TypeError("the line is dead");
  };
  const lost = answering(problem(503, "busy"), ...Array<() => Response>(11).fill(cut));
  await assert.rejects(lost.weft.start("a", "b"), (error) => error instanceof NoAnswer && error.cost.writes === 1);
  const { weft } = answering(problem(503, "busy"), page({ unknown: true }));
  await assert.rejects(weft.start("a", "b"), (error) => error instanceof UnexpectedAnswer && error.cost.writes === 11);

  // The deadline passes in the pause after the first attempt.
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const late = new Weft("http://weft.test", {
    fetch: async () => Response.json({}, { status: 503, headers: { "Weft-Cost": "writes=1" } }),
    pause: async (_, signal) => {
      mock.timers.tick(60_000);
      signal?.throwIfAborted();
    },
  });
  await assert.rejects(late.start("a", "b", undefined, { deadline: Date.now() + 60_000 }), (error) => {
    return error instanceof DeadlinePassed && error.cost.writes === 1 && error.cause instanceof Problem;
  });
});

test("a topic that a workflow does not have is refused", async () => {
  const weft = new Weft(server.url);
  await Cart.start(weft, "cart-6", { owner: "ada" });
  await assert.rejects(weft.topic("cart-6", "progress").next(), (error) => error instanceof Problem && error.status === 404);
});
