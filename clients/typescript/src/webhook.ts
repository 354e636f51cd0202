/**
 * Verifies notifications of the ends of runs, in Node.js or wherever a receiver runs. It is a
 * module of its own, because web pages load the client.
 *
 * @packageDocumentation
 */
import { WeftError } from "./problem.js";

/** The body of a notification that a run has ended. See docs/notifications.md. */
export interface Ending<R = unknown> {
  type: `workflow.${Ending["data"]["status"]}`;
  /** When the run ended. */
  timestamp: string;
  data: {
    /** Identifies the notification. A redelivered one has the same. */
    id: string;
    workflowId: string;
    runId: string;
    workflowType: string;
    status: "completed" | "failed" | "canceled" | "terminated" | "timedOut";
    /** The type of the failure. */
    failureType?: string;
    /** The text of the failure, if the start asked for the result. */
    failureText?: string;
    /** The result, if the start asked for it. */
    result?: R;
    /** Why there is neither, although the start asked for it. */
    resultOmitted?: "tooLarge" | "deleted";
  };
}

/** A request that is no notification which this secret has signed. It may be forged. */
export class InvalidWebhook extends WeftError {
  override readonly name = "InvalidWebhook";
}

/** The headers of a request: those of the Fetch API, or those of a request in Node.js. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** How old, or how far in the future, a request may be, in seconds. */
const tolerance = 300;

/** How many signatures a request may have. A sender has one for each of its secrets. */
const mostSignatures = 16;

/**
 * Resolves with the notification in a request, and rejects with {@link InvalidWebhook} unless one of
 * these secrets has signed the request within five minutes of `now` (Standard Webhooks 1.0). `body`
 * is the whole body, as it came: a parsed one does not verify. A notification may come more than
 * once, with the same `data.id`.
 */
export async function verifyWebhook<R = unknown>(
  secret: string | readonly string[],
  headers: WebhookHeaders,
  body: string | Uint8Array,
  now = new Date(),
): Promise<Ending<R>> {
  const keys = await Promise.all((typeof secret === "string" ? [secret] : secret).map(keyOf));
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => headerOf(headers, name));
  if (!id || !timestamp || !signatures) {
    throw new InvalidWebhook("the request is not signed: it lacks one of webhook-id, webhook-timestamp and webhook-signature");
  }
  if (!/^-?\d+$/.test(timestamp)) {
    throw new InvalidWebhook("the request's webhook-timestamp is no number");
  }
  if (!(Math.abs(Math.floor(now.getTime() / 1000) - Number(timestamp)) <= tolerance)) {
    throw new InvalidWebhook("the request was signed more than 5 minutes before or after now: it is old, or a clock is wrong");
  }
  const all = signatures.split(" ");
  if (all.length > mostSignatures) {
    throw new InvalidWebhook(`the request has more than ${mostSignatures} signatures in webhook-signature`);
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const begin = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(begin.length + bytes.length);
  signed.set(begin);
  signed.set(bytes, begin.length);
  let valid = false;
  for (const key of keys) {
    const want = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed)); // once: the body may be large
    for (const given of all) {
      const signature = given.startsWith("v1,") ? decoded(given.slice("v1,".length)) : undefined;
      valid = (signature !== undefined && equal(signature, want)) || valid;
    }
  }
  if (!valid) {
    throw new InvalidWebhook("the request was not signed with this secret, or it was changed on the way");
  }
  return JSON.parse(new TextDecoder().decode(bytes)) as Ending<R>;
}

/** Returns the key of a secret. The error does not contain the secret. */
function keyOf(secret: string): Promise<CryptoKey> {
  const key = decoded(secret.replace(/^whsec_/, ""));
  if (!key?.length) {
    throw new TypeError("this is no secret of a webhook: give one as `weft webhook secret` prints it, which begins with whsec_");
  }
  return crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

/** Reports whether two signatures are equal, in a time that does not depend on their bytes. */
function equal(a: Uint8Array, b: Uint8Array): boolean {
  let differ = a.length ^ b.length;
  for (let i = 0; i < b.length; i++) {
    differ |= (a[i] ?? 0) ^ b[i]!;
  }
  return differ === 0;
}

function headerOf(headers: WebhookHeaders, name: string): string | null | undefined {
  if (headers instanceof Headers) {
    return headers.get(name);
  }
  const found = Object.keys(headers).find((key) => key.toLowerCase() === name);
  const value: unknown = found === undefined ? undefined : headers[found];
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === "string" ? first : undefined; // whatever a framework makes of odd bytes
}

/** Returns the bytes of a text in base64, or undefined if it is none. */
function decoded(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}
