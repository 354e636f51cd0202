import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { Server as Listener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { renderToStaticMarkup } from "react-dom/server";
import { Weft } from "weft-client";

import { serve, type Server } from "../../../clients/typescript/test/server.js";
import type { Refusal } from "../src/answers.js";
import { Cart } from "../src/cart.js";
import { createShop } from "../src/server.js";
import { AddItem } from "../src/shop.js";

let server: Server;
let listener: Listener;
let shop: string;
before(async () => {
  server = await serve();
  const app = createShop(new Weft(server.url), join(import.meta.dirname, "assets"));
  await new Promise<void>((resolve) => (listener = app.listen(0, "127.0.0.1", () => resolve())));
  shop = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
});
after(async () => {
  listener.close();
  listener.closeAllConnections();
  await server.stop();
});

async function post(path: string, body: unknown = {}): Promise<[number, unknown]> {
  const response = await fetch(shop + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  return [response.status, await response.json()];
}

async function page(owner: string): Promise<string> {
  const response = await fetch(`${shop}/${owner}`);
  assert.equal(response.status, 200);
  return response.text();
}

test("a cart is filled and checked out", async () => {
  assert.match(await page("ada"), /The cart is empty\./);
  assert.deepEqual(await post("/ada/items", { sku: "tea", quantity: 2 }), [200, { kind: "done", result: null }]);
  assert.match(await page("ada"), /<li>2 × tea<\/li>.*2 items, 9\.00 €/);
  const [status, bought] = await post("/ada/checkout");
  assert.equal(status, 200);
  assert.equal((bought as { result: { cents: number } }).result.cents, 900);
});

test("what the shop refuses is shown at its field", async () => {
  const refusals: Refusal[] = [
    { kind: "refused", field: "quantity", message: "the quantity must be between 1 and 99" },
    { kind: "refused", field: "sku", message: "there is no such sku: we sell tea, coffee, cup and kettle" },
  ];
  assert.deepEqual(await post("/bob/items", { sku: "tea", quantity: 100 }), [422, refusals[0]]);
  assert.deepEqual(await post("/bob/items", { sku: "gold", quantity: 1 }), [422, refusals[1]]);
  for (const refused of refusals) {
    const form = renderToStaticMarkup(<AddItem add={async () => false} refused={refused} />);
    const fields = form.match(/<p>.*?<\/p>/g) ?? [];
    assert.equal(fields.length, 2);
    for (const field of fields) {
      const wrong = field.includes(`name="${refused.field}"`);
      assert.equal(field.includes('aria-invalid="true"'), wrong);
      assert.equal(field.includes(refused.message), wrong);
    }
  }
});

test("what does not fit the contract is refused", async () => {
  const [status, refused] = await post("/carol/items", { sku: "tea", quantity: "many" });
  assert.equal(status, 422);
  assert.match((refused as Refusal).message, /input\.quantity: want integer, got string/);
  const form = renderToStaticMarkup(<AddItem add={async () => false} refused={refused as Refusal} />);
  assert.match(form, /<p role="alert">.*want integer/);
});

test("a checkout fails", async () => {
  await post("/mallory/items", { sku: "tea", quantity: 1 });
  assert.deepEqual(await post("/mallory/checkout"), [422, { kind: "refused", message: "the card was declined" }]);
});

test("no text of a person becomes a part of the page", async () => {
  await new Cart(new Weft(server.url), "cart-dora").note("</script><b>", { start: Cart.withStart({ owner: "dora" }) });
  const html = await page("dora");
  assert.match(html, /\\u003c\/script>\\u003cb>/);
  assert.doesNotMatch(html, /<b>/);
  assert.match(await (await fetch(`${shop}/assets/page.js`)).text(), /hydrate/);
});

test("src/cart.ts is generated from the contract", async () => {
  const folder = await mkdtemp(join(tmpdir(), "weft-"));
  const out = join(folder, "cart.ts");
  execFileSync(process.env["WEFT_BINARY"]!, ["generate", "typescript", "--from", "../cart/contract.json", "--out", out]);
  assert.equal(await readFile("src/cart.ts", "utf8"), await readFile(out, "utf8"), "generate it again: README.md has the command");
  await rm(folder, { recursive: true });
});
