import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { Weft } from "weft-client";

import { Approval, Cart, type Contained, type Total } from "./generated/cart.js";
import * as hostile from "./generated/hostile.js";
import { AllTypes, Noted, type EverythingValue, type Shape } from "./generated/types.js";
import { serve, type Server } from "./server.js";

let server: Server;
before(async () => (server = await serve()));
after(() => server.stop());

test("the generated cart is called", async () => {
  const weft = new Weft(server.url);
  const cart = await Cart.start(weft, "cart-1", { owner: "ada" });
  const added = await cart.addItem({ sku: "tea", quantity: 2 }, { id: "add-1" });
  assert(added.stage === "completed");
  const total: Total = added.result;
  assert.deepEqual(total, { items: 2, cents: 900 });

  const refused = await cart.addItem({ sku: "tea", quantity: 100 });
  assert(refused.stage === "rejected" && refused.error.type === "badQuantity");
  assert.equal(refused.cost.writes, 0);
  const unknown = await cart.addItem({ sku: "unicorn", quantity: 1 });
  assert(unknown.stage === "rejected");
  switch (unknown.error.type) {
    case "unknownSKU":
      assert.match(unknown.error.message, /no such sku/);
      break;
    default:
      assert.fail(unknown.error.message);
  }

  await cart.note("hurry");
  const contents: Contained = (await cart.cart()).result;
  assert.deepEqual(contents.notes, ["hurry"]);

  const bought = await cart.checkout({ deadline: Date.now() + 60_000 });
  assert(bought.stage === "completed" && bought.result.cents === 900);
  const ended = await cart.result();
  assert(ended.status === "completed" && ended.result.parcel === bought.result.parcel);
  const repeated = await cart.addItem({ sku: "tea", quantity: 2 }, { id: "add-1" });
  assert(repeated.stage === "completed" && repeated.result.items === 2, "an id is one update, after the end too");
});

test("a handler's error is one of the declared ones", async () => {
  const cart = await Cart.start(new Weft(server.url), "cart-2", { owner: "mallory" });
  await cart.addItem({ sku: "tea", quantity: 1 });
  const declined = await cart.checkout();
  assert(declined.stage === "failed" && declined.error.type === "declined");
});

test("a lost answer of a generated class is asked for again", async () => {
  let lost = 0;
  const losing = new Weft(server.url, {
    async fetch(request) {
      const again = request.clone();
      const answer = await fetch(request);
      if (again.method === "POST" && lost++ % 2 === 0) {
        throw new TypeError("the line is dead");
      }
      return answer;
    },
    pause: async () => undefined,
  });
  const cart = await Cart.start(losing, "cart-3", { owner: "ada" });
  const first = await cart.addItem({ sku: "tea", quantity: 1 });
  const second = await cart.addItem({ sku: "tea", quantity: 1 });
  assert(first.stage === "completed" && second.stage === "completed");
  assert.equal(second.result.items, 2);
  assert(lost >= 6);
});

test("a workflow without an input has typed updates, signals and queries", async () => {
  const weft = new Weft(server.url);
  const desk = await Approval.start(weft, "desk-1");
  const handedIn = desk.approvalHandIn({ who: "ada", cents: 100 });
  for await (const { events } of desk.watch()) {
    if (events.some(({ type }) => type === "WorkflowExecutionUpdateAccepted")) {
      break;
    }
  }
  await desk.approvalAnswer({ approved: true, why: "of course" });
  const outcome = await handedIn;
  assert(outcome.stage === "completed" && outcome.result.approved);
});

test("no text of a contract leaves its place", async () => {
  assert.equal((globalThis as { pwned?: unknown }).pwned, undefined);
  const contract = JSON.parse(await readFile(new URL("../../../../internal/generate/testdata/hostile.json", import.meta.url), "utf8")) as {
    workflows: Record<string, unknown>;
  };
  const types = Object.values(hostile).map(({ type }) => type);
  assert.deepEqual(types.sort(), Object.keys(contract.workflows).sort());
});

test("a wrong use of a generated class does not compile", () => {
  const never = async (weft: Weft, cart: Cart): Promise<void> => {
    // @ts-expect-error a cart needs an owner
    await Cart.start(weft, "cart-1");
    // @ts-expect-error there is no such field
    await Cart.start(weft, "cart-1", { owner: "ada", colour: "red" });
    // @ts-expect-error an approval takes no input
    await Approval.start(weft, "desk-1", { owner: "ada" });
    // @ts-expect-error there is no such update
    await cart.addItems({ sku: "tea", quantity: 1 });
    // @ts-expect-error a field is misspelt
    await cart.addItem({ sku: "tea", quantiy: 1 });
    // @ts-expect-error a field is missing
    await cart.addItem({ sku: "tea" });
    // @ts-expect-error a quantity is a number
    await cart.addItem({ sku: "tea", quantity: "1" });
    // @ts-expect-error an option is misspelt
    await cart.addItem({ sku: "tea", quantity: 1 }, { deadlin: 1 });
    // @ts-expect-error a note is a text
    await cart.note(1);
    // @ts-expect-error a signal has no timeout
    await cart.note("x", { timeout: "1s" });
    await Cart.start(weft, "cart-1", { owner: "ada" }, { retryPolicy: { maximumAttempts: 3 } });
    // @ts-expect-error a member of the retry policy is misspelt
    await Cart.start(weft, "cart-1", { owner: "ada" }, { retryPolicy: { maximumAttemps: 3 } });
    // @ts-expect-error there is no such policy
    await Cart.start(weft, "cart-1", { owner: "ada" }, { idConflictPolicy: "use" });
    await cart.addItem({ sku: "tea", quantity: 1 }, { start: Cart.withStart({ owner: "ada" }, { memo: { note: "x" } }) });
    await cart.note("x", { start: { type: "cart", input: { owner: "ada" }, retryPolicy: { maximumAttempts: 3 } } });
    // @ts-expect-error the type is misspelt
    await cart.addItem({ sku: "tea", quantity: 1 }, { start: { type: "crt", input: { owner: "ada" } } });
    // @ts-expect-error a field of the input is misspelt
    await cart.addItem({ sku: "tea", quantity: 1 }, { start: { type: "cart", input: { ownr: "ada" } } });
    // @ts-expect-error an owner is a text
    await cart.note("x", { start: { type: "cart", input: { owner: 5 } } });
    // @ts-expect-error a start of a cart has an input
    await cart.note("x", { start: { type: "cart" } });
    // @ts-expect-error an option of the start is misspelt
    await cart.note("x", { start: { type: "cart", input: { owner: "ada" }, runTimout: "1h" } });
    // @ts-expect-error a member of its retry policy is misspelt
    await cart.note("x", { start: { type: "cart", input: { owner: "ada" }, retryPolicy: { maximumAttemps: 3 } } });
    // @ts-expect-error a cart does not start an approval
    await cart.note("x", { start: Approval.withStart() });
    // @ts-expect-error a field of the input is misspelt
    Cart.withStart({ ownr: "ada" });
    await weft.signal("cart-1", "note", "x", { start: Cart.withStart({ owner: "ada" }) });
    // @ts-expect-error an update is no query
    (await cart.cart()).stage;
    // @ts-expect-error there is no such member of the result
    (await cart.cart()).result.totals;
    const added = await cart.addItem({ sku: "tea", quantity: 1 });
    // @ts-expect-error a refused update has no result
    added.result;
    if (added.stage === "rejected") {
      // @ts-expect-error there is no such error
      assert(added.error.type !== "unknownSku");
      if (added.error.type === "unknownSKU") {
        added.error.details.sku.length;
        // @ts-expect-error its details have no such member
        added.error.details.skus;
      }
    }
    const ended = await cart.result();
    // @ts-expect-error a run that has failed has no result
    ended.result;
    if (ended.status === "completed") {
      // @ts-expect-error a receipt has no such member
      ended.result.price;
    }
  };
  const branches = async (cart: Cart): Promise<string> => {
    const added = await cart.addItem({ sku: "tea", quantity: 1 });
    switch (added.stage) {
      case "completed":
        return `${added.result.cents}`;
      case "rejected":
      case "failed":
        switch (added.error.type) {
          case "badQuantity":
          case "checkingOut":
          case undefined:
            return added.error.message;
          case "unknownSKU":
            return added.error.details.sku;
          default:
            return added.error satisfies never;
        }
      default:
        return added satisfies never;
    }
  };
  const forgotten = async (cart: Cart): Promise<string> => {
    const added = await cart.addItem({ sku: "tea", quantity: 1 });
    switch (added.stage) {
      case "completed":
        return `${added.result.cents}`;
      case "rejected":
        switch (added.error.type) {
          case "badQuantity":
          case "unknownSKU":
          case undefined:
            return added.error.message;
          default:
            // @ts-expect-error one of the errors is forgotten
            return added.error satisfies never;
        }
      default:
        // @ts-expect-error a stage is forgotten
        return added satisfies never;
    }
  };
  assert.equal(typeof branches, typeof forgotten);
  const values = async (all: EverythingValue, types: AllTypes): Promise<void> => {
    all.optional?.length;
    // @ts-expect-error it may be absent
    all.optional.length;
    // @ts-expect-error it may be null
    all.nullable.length;
    // @ts-expect-error it is not one of the values
    all.level = "higher";
    // @ts-expect-error it has two items
    all.pair = ["a", 1, 2];
    // @ts-expect-error values of the map are numbers
    all.prices = { tea: "4.50" };
    // @ts-expect-error it may be absent on each level
    all.node.next.next;
    const shape: Shape = all.shape;
    if (!Array.isArray(shape) && shape.kind === "circle") {
      shape.radius.toFixed();
      // @ts-expect-error a circle has no side
      shape.side;
    }
    for await (const { items } of types.progress({ from: 3 })) {
      items[0]?.value.percent?.toFixed();
      // @ts-expect-error a step has no such member
      items[0]?.value.percents;
    }
    // @ts-expect-error an option is misspelt
    types.progress({ form: 3 });
    // @ts-expect-error there is no such topic
    types.progres();
    // @ts-expect-error it takes no input
    void types.same({ by: "ada" });
  };
  const starts = async (weft: Weft, input: EverythingValue): Promise<void> => {
    const searchAttributes = { Region: { keyword: "eu" }, Tags: { keywordList: ["a"] }, Amount: { int: 1 }, Urgent: { bool: true } };
    await AllTypes.start(weft, "a", input, { searchAttributes, memo: { customer: { name: "Ada" }, note: "x" } });
    // @ts-expect-error an attribute is misspelt
    await AllTypes.start(weft, "a", input, { searchAttributes: { Regoin: { keyword: "eu" } } });
    // @ts-expect-error an attribute has another type
    await AllTypes.start(weft, "a", input, { searchAttributes: { Amount: { keyword: "1" } } });
    // @ts-expect-error its value has another type
    await AllTypes.run(weft, "a", input, { searchAttributes: { Amount: { int: "1" } } });
    // @ts-expect-error a field of the memo is misspelt
    AllTypes.withStart(input, { memo: { costumer: { name: "Ada" } } });
    // @ts-expect-error a field of the memo has another type
    AllTypes.withStart(input, { memo: { customer: "Ada" } });
    // @ts-expect-error an option is misspelt
    AllTypes.withStart(input, { memos: {} });
    const all = new AllTypes(weft, "a");
    await all.same({ start: AllTypes.withStart(input, { searchAttributes, memo: { note: "x" } }) });
    await all.same({ start: { type: "all-types", input, searchAttributes, memo: { note: "x" } } });
    await weft.call("a", "Same", undefined, { start: AllTypes.withStart(input, { searchAttributes }) });
    // @ts-expect-error an attribute is misspelt
    await all.same({ start: { type: "all-types", input, searchAttributes: { Regoin: { keyword: "eu" } } } });
    // @ts-expect-error a field of the memo has another type
    await all.same({ start: { type: "all-types", input, memo: { customer: "Ada" } } });
    await Noted.start(weft, "a", { memo: { note: "x" }, searchAttributes: { Any: { int: 1 } } });
    // @ts-expect-error a field of the memo is misspelt
    await Noted.start(weft, "a", { memo: { notes: "x" } });
    // What the contract does not name is not checked.
    await Cart.start(weft, "a", { owner: "ada" }, { memo: { note: "x" }, searchAttributes: { Region: { keyword: "eu" } } });
  };
  assert.equal(typeof never, typeof values);
  assert.equal(typeof starts, typeof values);
});
