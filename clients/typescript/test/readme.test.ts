import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { Weft } from "../src/index.js";
import { verifyWebhook } from "../src/webhook.js";
import { Cart } from "./generated/cart.js";
import { serve, type Server } from "./server.js";

let server: Server;
before(async () => (server = await serve()));
after(() => server.stop());

interface Total {
  items: number;
}

test("the example of the README", async () => {
  const shown: unknown[] = [];
  const show = (total: Total): unknown => shown.push(total.items);
  const explain = (...why: unknown[]): unknown => shown.push(...why);
  const at = Weft;
  {
    class Weft extends at {
      constructor(_: string) {
        super(server.url); // another process may use port 8080
      }
    }

    const weft = new Weft("http://127.0.0.1:8080");
    await weft.start("cart-42", "cart", { owner: "ada" });

    const added = await weft.call<Total>("cart-42", "addItem", { sku: "tea", quantity: 2 });
    switch (added.stage) {
      case "completed":
        show(added.result); // a Total
        break;
      case "failed": // the handler returned an error
      case "rejected": // the validator refused: nothing happened
        explain(added.failure.type, added.failure.message);
    }
  }
  assert.deepEqual(shown, [2]);
});

test("the example of docs/local-server.md", async () => {
  const weft = new Weft(server.url);
  await weft.start("show-7", "tickets", 100);
  const sold = await weft.call<string>("show-7", "buy", { buyer: "ada", seats: 2 }); // completed, failed or rejected, typed
  assert(sold.stage === "completed" && sold.result.startsWith("ticket show-7"));
});

test("the example of docs/clients.md", async () => {
  const weft = new Weft(server.url);
  const shown: unknown[] = [];
  const show = (...what: unknown[]): unknown => shown.push(...what);
  const explain = (why: string): unknown => shown.push(why);
  const cart = await Cart.start(weft, "cart-7", { owner: "ada" });
  const added = await cart.addItem({ sku: "tea", quantity: 2 });
  if (added.stage === "completed") {
    show(added.result.cents, added.cost.writes);
  } else if (added.error.type === "unknownSKU") {
    explain("we do not sell that");
  } else {
    explain(added.error.message);
  }
  assert.equal(shown[0], 900);
  const item = { sku: "coffee", quantity: 1 };
  await new Cart(weft, "cart-7").addItem(item, { start: Cart.withStart({ owner: "ada" }) });
});

test("the README's example of a receiver", async () => {
  const secret = "whsec_AAAA";
  const body = '{"type":"workflow.completed","data":{"id":"weft_1_2","workflowId":"cart-42"}}';
  const timestamp = Math.floor(Date.now() / 1000).toString();
  const signature = createHmac("sha256", Buffer.from("AAAA", "base64")).update(`weft_1_2.${timestamp}.${body}`).digest("base64");
  const request = { headers: { "webhook-id": "weft_1_2", "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` } };
  const settled: string[] = [];
  const settle = (id: string): unknown => settled.push(id);
  const firstTime = (id: string): boolean => id === "weft_1_2";

  const ending = await verifyWebhook(secret, request.headers, body);
  if (ending.type === "workflow.completed" && firstTime(ending.data.id)) {
    settle(ending.data.workflowId);
  }
  assert.deepEqual(settled, ["cart-42"]);
});

test("the README's example with a token", async () => {
  const token = "secret";
  const address = "https://weft.test";
  const weft = new Weft(address, { headers: { Authorization: `Bearer ${token}` } });
  weft.api.use({ onRequest: ({ request }) => Response.json({ result: request.headers.get("Authorization") }) });
  assert.equal((await weft.query("a", "b")).result, "Bearer secret");
});

test("the examples of the documents are in these tests", async () => {
  const lines = (text: string): string => text.replace(/^ +/gm, "").replace(/\n+/g, "\n");
  const tests = lines(await readFile(new URL("../../test/readme.test.ts", import.meta.url), "utf8"));
  let found = 0;
  for (const readme of ["../../README.md", "../../../../docs/local-server.md", "../../../../docs/clients.md"]) {
    for (const [, block = ""] of (await readFile(new URL(readme, import.meta.url), "utf8")).matchAll(/```ts\n(.*?)```/gs)) {
      if (block.includes("AwsClient")) {
        continue; // its library is not installed
      }
      const code = lines(block.replace(/^import .*\n/, ""));
      assert(tests.includes(code.trim()), `no test has this code of ${readme}:\n${block}`);
      found++;
    }
  }
  assert.equal(found, 6);
});
