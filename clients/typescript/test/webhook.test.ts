import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";

import { UnexpectedAnswer, Weft } from "../src/index.js";
import { InvalidWebhook, verifyWebhook, type Ending, type WebhookHeaders } from "../src/webhook.js";
import { serve, type Server } from "./server.js";

let server: Server;
before(async () => (server = await serve()));
after(() => server.stop());

// The vector of the libraries of Standard Webhooks.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const body = '{"test": 2432232314}';
const now = new Date(1614265330_000);
const headers = {
  "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": "1614265330",
  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};

test("the vector of Standard Webhooks verifies", async () => {
  const all: [string | string[], WebhookHeaders, string | Uint8Array][] = [
    [secret, headers, body],
    [secret.replace("whsec_", ""), headers, body],
    [["whsec_AAAA", secret], headers, body],
    [secret, new Headers(headers), new TextEncoder().encode(body)],
    [secret, { "Webhook-Id": headers["webhook-id"], "Webhook-Timestamp": ["1614265330"], "Webhook-Signature": headers["webhook-signature"] }, body],
    [secret, { ...headers, "webhook-signature": `v1,AAAA v1a,x! v1,! ${headers["webhook-signature"]}` }, body],
    [secret, { ...headers, "webhook-signature": "v1,AAAA ".repeat(15) + headers["webhook-signature"] }, body],
  ];
  for (const [secrets, given, text] of all) {
    assert.deepEqual(await verifyWebhook<unknown>(secrets, given, text, now), { test: 2432232314 });
  }
  for (const off of [-300, 300]) {
    await verifyWebhook(secret, headers, body, new Date(now.getTime() + off * 1000));
  }
});

test("a request that the secret has not signed is refused", async () => {
  const refused: [string, string | string[], WebhookHeaders, string, number, RegExp][] = [
    ["another secret", "whsec_AAAA", headers, body, 0, /not signed with this secret/],
    ["no secret", [], headers, body, 0, /not signed with this secret/],
    ["another body", secret, headers, body + " ", 0, /changed on the way/],
    ["another id", secret, { ...headers, "webhook-id": "msg_1" }, body, 0, /changed on the way/],
    ["another time", secret, { ...headers, "webhook-timestamp": "1614265331" }, body, 0, /changed on the way/],
    ["another version", secret, { ...headers, "webhook-signature": headers["webhook-signature"].replace("v1,", "v1a,") }, body, 0, /changed on the way/],
    ["a part of the signature", secret, { ...headers, "webhook-signature": headers["webhook-signature"].slice(0, 20) }, body, 0, /changed on the way/],
    ["17 signatures", secret, { ...headers, "webhook-signature": "v1,AAAA ".repeat(16) + headers["webhook-signature"] }, body, 0, /more than 16 signatures/],
    ["no body", secret, headers, "", 0, /changed on the way/],
    ["late", secret, headers, body, 301, /clock is wrong/],
    ["early", secret, headers, body, -301, /clock is wrong/],
    ["no number", secret, { ...headers, "webhook-timestamp": "1614265330.5" }, body, 0, /no number/],
    ["odd bytes in the id", secret, { ...headers, "webhook-id": "a\udcff\0\n" }, body, 0, /changed on the way/],
    ["odd bytes in the time", secret, { ...headers, "webhook-timestamp": "1614265330\udcff" }, body, 0, /no number/],
    ["a time in other digits", secret, { ...headers, "webhook-timestamp": "\u0661614265330" }, body, 0, /no number/],
    ["a time without bound", secret, { ...headers, "webhook-timestamp": "9".repeat(5000) }, body, 0, /clock is wrong/],
    ["odd bytes in the signature", secret, { ...headers, "webhook-signature": "v1,\udcff v1,\ud800 é" }, body, 0, /changed on the way/],
    ["bytes outside of UTF-8", secret, new Headers({ ...headers, "webhook-signature": "v1,\xff" }), body, 0, /changed on the way/],
    ["odd bytes in the body", secret, headers, "\ud800", 0, /changed on the way/],
    ["no text", secret, { ...headers, "webhook-id": [5] } as unknown as WebhookHeaders, body, 0, /lacks one of/],
    ["nothing", secret, { ...headers, "webhook-signature": null } as unknown as WebhookHeaders, body, 0, /lacks one of/],
    ["an empty list", secret, { ...headers, "webhook-signature": [] }, body, 0, /lacks one of/],
    ["no id", secret, { ...headers, "webhook-id": undefined }, body, 0, /lacks one of/],
    ["no time", secret, { ...headers, "webhook-timestamp": "" }, body, 0, /lacks one of/],
    ["no signature", secret, new Headers(), body, 0, /lacks one of/],
  ];
  for (const [name, secrets, given, text, off, want] of refused) {
    const verified = verifyWebhook(secrets, given, text, new Date(now.getTime() + off * 1000));
    await assert.rejects(verified, (error) => error instanceof InvalidWebhook && want.test(error.message), name);
  }
  for (const wrong of ["", "whsec_", "whsec_hunter2!"]) {
    await assert.rejects(verifyWebhook(wrong, headers, body, now), (error) => error instanceof TypeError && !error.message.includes("hunter2"));
  }
});

test("an answer without secrets is none", async () => {
  const weft = new Weft("https://weft.test", { fetch: () => Promise.resolve(Response.json({ origin: "https://a.example", secrets: [] })) });
  await assert.rejects(weft.webhookSecret("https://a.example"), UnexpectedAnswer);
});

test("a receiver verifies the notification that a run has ended", async () => {
  const weft = new Weft(server.url);
  const got: { headers: IncomingHttpHeaders; body: Buffer }[] = [];
  const failures = [500]; // the first answer
  const receiver = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      got.push({ headers: request.headers, body: Buffer.concat(parts) });
      response.writeHead(failures.pop() ?? 204).end();
      receiver.emit("got");
    });
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  try {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/endings?token=1`;
    const { origin, secrets, cost } = await weft.webhookSecret(url);
    assert.equal(origin, new URL(url).origin);
    assert.equal(secrets.length, 1);
    assert(cost.reads >= 0);

    const twice = new Promise<void>((resolve) => receiver.on("got", () => got.length === 2 && resolve()));
    const run = await weft.start("fanout-notify-1", "fanout", ["a"], { notify: [{ url, result: true }] });
    const ended = await weft.result<object>("fanout-notify-1");
    assert(ended.status === "completed");
    await twice;
    for (const { headers, body } of got) {
      const ending: Ending<object> = await verifyWebhook<object>(secrets, headers, body);
      assert.equal(ending.type, "workflow.completed");
      const { id, ...rest } = ending.data;
      assert.equal(id, headers["webhook-id"]);
      assert.deepEqual(rest, { workflowId: "fanout-notify-1", runId: run.runId, workflowType: "fanout", status: "completed", result: ended.result });
      await assert.rejects(verifyWebhook((await weft.webhookSecret("https://elsewhere.example")).secrets, headers, body), InvalidWebhook);
    }
    assert.deepEqual(got[0]?.body, got[1]?.body, "each attempt has the same body");

    const refused = weft.start("fanout-notify-2", "fanout", ["a"], { notify: [{ url: "ftp://a.example" }] });
    await assert.rejects(refused, (error) => error instanceof Error && "at" in error && error.at === "notify[0].url");
  } finally {
    receiver.close();
  }
});
