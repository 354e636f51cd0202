import { costOf, noCost, type Cost } from "./cost.js";
import type { components } from "./schema.js";

type Document = components["schemas"]["Problem"];

/** The base of the errors of the client. */
export abstract class WeftError extends Error {
  /** What the call has cost until it failed: all its attempts and polls that were answered. */
  cost: Cost = noCost();
}

/** The kind of a refusal. */
export type ProblemType = Document["type"];

/**
 * A refusal of a request. The request has no effect, unless the type is
 * `urn:weft:problem:outcome-unknown`.
 */
export class Problem extends WeftError {
  override readonly name = "Problem";
  readonly type: ProblemType;
  readonly status: number;
  /** What is wrong, and what to do about it. */
  readonly detail: string;
  /** The failure of the code that the request ran, if there is one. */
  readonly failure: components["schemas"]["Failure"] | undefined;
  /** The place in the request that is wrong, as in `input.items[3].sku`, if the refusal is about one. */
  readonly at: string | undefined;
  /** The names that exist, if the request has one that does not. */
  readonly known: readonly string[];
  /**
   * How many milliseconds to wait before sending the request again; 0 if the answer does not say.
   */
  readonly retryAfter: number;

  constructor(document: Document, retryAfter = 0, cost = noCost()) {
    super(`${document.title}: ${document.detail}`);
    this.type = document.type;
    this.status = document.status;
    this.detail = document.detail;
    this.failure = document.failure;
    this.at = document.at;
    this.known = document.known ?? [];
    this.retryAfter = retryAfter;
    this.cost = cost;
  }

  /** Whether the request can succeed if it is repeated with the same id. */
  get again(): boolean {
    return this.type === "urn:weft:problem:busy" || this.type === "urn:weft:problem:outcome-unknown";
  }
}

/** An answer with a status of success that Weft did not send, for example the page of a proxy. */
export class UnexpectedAnswer extends WeftError {
  override readonly name = "UnexpectedAnswer";
}

/** The longest wait that the client grants a server, in milliseconds. */
const longestRetryAfter = 60_000;

/** Returns the Problem of a refusal. A refusal by a proxy or a gateway becomes a Problem, too. */
export function problemOf(response: Response, body: unknown): Problem {
  const seconds = Number(response.headers.get("Retry-After"));
  const retryAfter = seconds > 0 ? Math.min(seconds * 1000, longestRetryAfter) : 0;
  return new Problem(isDocument(body) ? { ...body, status: response.status } : foreign(response), retryAfter, costOf(response));
}

function isDocument(body: unknown): body is Document {
  const type = (body as Partial<Document> | null | undefined)?.type;
  return typeof type === "string" && type.startsWith("urn:weft:problem:");
}

/** Returns a document for a refusal that Weft did not send. */
function foreign(response: Response): Document {
  const detail = `the server answered ${response.status} ${response.statusText}`.trim();
  switch (response.status) {
    case 429: // refused before it reached the server
      return { type: "urn:weft:problem:busy", title: "Busy", status: 429, detail };
    case 500:
    case 502:
    case 503:
    case 504:
      return { type: "urn:weft:problem:outcome-unknown", title: "The outcome is not known", status: response.status, detail };
    case 401:
    case 403:
      return { type: "urn:weft:problem:forbidden", title: "Not allowed", status: response.status, detail };
    default:
      return { type: "urn:weft:problem:internal", title: "Internal error", status: response.status, detail };
  }
}
