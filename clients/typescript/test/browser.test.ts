import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createContext, runInContext } from "node:vm";

import { build } from "esbuild";

import type * as client from "../src/index.js";
import { serve, shop, type Server } from "./server.js";

let server: Server;
before(async () => (server = await serve()));
after(() => server.stop());

/** Returns the client as a web page loads it: one script, in a context without Node.js. */
async function page(origin: string): Promise<typeof client> {
  const bundle = await build({
    entryPoints: [new URL("../src/index.js", import.meta.url).pathname],
    bundle: true,
    minify: true,
    write: false,
    platform: "browser", // the build fails if the client uses Node.js
    format: "iife",
    globalName: "weft",
    target: "es2022",
  });
  const script = bundle.outputFiles[0];
  assert(script !== undefined && script.contents.length < 20_000, `the script has ${script?.contents.length} bytes`);
  // A browser sends these headers with each request.
  const asked = (request: Request): Promise<Response> => {
    request.headers.set("Origin", origin);
    request.headers.set("Sec-Fetch-Site", "cross-site");
    return fetch(request);
  };
  const world = { fetch: asked, AbortController, crypto, FormData, Headers, Request, Response, URL, URLSearchParams, setTimeout, clearTimeout };
  return runInContext(`${script.text}; weft`, createContext({ ...world, window: {} }));
}

test("a web page sends an update", async () => {
  const { Weft } = await page(shop);
  const weft = new Weft(server.url);
  await weft.start("cart-1", "cart", { owner: "ada" });
  const added = await weft.call<{ items: number }>("cart-1", "addItem", { sku: "tea", quantity: 2 });
  assert(added.stage === "completed" && added.result.items === 2);
  const refused = await weft.call("cart-1", "addItem", { sku: "tea", quantity: 100 });
  assert(refused.stage === "rejected" && refused.failure.type === "badQuantity");
});

test("the server answers a preflight request", async () => {
  const headers = { Origin: shop, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type" };
  const preflight = await fetch(`${server.url}/v1/workflows`, { method: "OPTIONS", headers });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get("Access-Control-Allow-Origin"), shop);
  assert.equal(preflight.headers.get("Access-Control-Allow-Headers"), "content-type");
});

test("a page of another origin is refused", async () => {
  const { Problem, Weft } = await page("https://elsewhere.test");
  await assert.rejects(new Weft(server.url).start("cart-2", "cart"), (error) => error instanceof Problem && error.type === "urn:weft:problem:forbidden");
});
