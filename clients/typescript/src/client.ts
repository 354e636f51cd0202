import createClient, { type Client } from "openapi-fetch";

import { again, newID, pause, whole, type Pause } from "./again.js";
import { Problem, problemOf, UnexpectedAnswer } from "./problem.js";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];

/** Tunes a client. */
export interface Options {
  /** Added to every request, for example `Authorization`. */
  headers?: Record<string, string>;
  /** Sends the requests; the default is the global fetch. To reach a deployment on AWS, give one that signs them. */
  fetch?: (request: Request) => Promise<Response>;
  /** Waits between attempts and polls; the default waits in real time. It is for tests. */
  pause?: Pause;
}

/** Tunes a request that reads. */
export interface ReadOptions {
  /** Names a run; absent, the latest. */
  runId?: string;
  /** Ends only the wait: a request that was sent takes effect. */
  signal?: AbortSignal;
}

/** Tunes the start of a run. */
export interface StartOptions extends Omit<Schemas["StartRequest"], "workflowId" | "type" | "input"> {
  signal?: AbortSignal;
}

/** Tunes a signal or an update. */
export interface CallOptions extends ReadOptions {
  /** Recognises the update, or the signal, when it is sent again; absent, one is made. */
  id?: string;
  /**
   * How long one request of an update may take, as `5s`: the wait behind others included. 20s at most, which is the default. With `0s` it
   * waits for nothing.
   */
  timeout?: string;
  /** Opens a run if none is open. The idConflictPolicy is `useExisting`, unless another is given. */
  start?: Schemas["StartRequest"];
}

/** The run of a workflow. */
export type Run = Schemas["StartResponse"];

/** The run and the id of an update. */
interface Place {
  updateId: string;
  runId: string;
  /** Of an update with a start: whether it opened the run. */
  started?: boolean;
}

/** An update that was accepted. That is durable, and its outcome follows. */
export type Accepted = Place & { stage: "accepted" };

/** An update that was refused, by its validator or because its name is unknown: nothing happened. */
export type Rejected = Place & { stage: "rejected"; failure: Schemas["Failure"] };

/** The outcome of an update: its handler's result, the error that the handler returned, or a refusal. */
export type Outcome<R> =
  | (Place & { stage: "completed"; result: R })
  | (Place & { stage: "failed"; failure: Schemas["Failure"] })
  | Rejected;

/** The outcome of a run: a result, or a failure. */
export type Ended<R> =
  | { status: "completed"; runId: string; result: R }
  | { status: Exclude<Schemas["Status"], "completed" | "running" | "continuedAsNew">; runId: string; failure: Schemas["Failure"] };

/** How long one request waits for an outcome. */
const longPoll = "20s";

/** The wait between two such requests in milliseconds: a server that stops answers at once. */
const pollPause = 50;

/** What openapi-fetch returns. */
interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/**
 * A client of one deployment of Weft. Its methods send a request again while the answer is lost, busy or unknown, with the
 * same id, so that it is carried out once. They reject with a {@link Problem} where the request is refused.
 */
export class Weft {
  /** All operations of the API, typed as its OpenAPI document has them. Each request is sent once. */
  readonly api: Client<paths>;
  readonly #pause: Pause;

  /** Returns a client of the deployment at this address, for example `http://127.0.0.1:8080`. It does not connect. */
  constructor(address: string | URL, options: Options = {}) {
    const send = options.fetch ?? ((request: Request) => globalThis.fetch(request));
    this.api = createClient<paths>({ baseUrl: new URL(address).href.replace(/\/$/, ""), headers: options.headers, fetch: whole(send) });
    this.#pause = options.pause ?? pause;
  }

  /** Starts a run of a workflow type. The run is durable when the promise resolves. */
  start(workflowId: string, type: string, input?: unknown, { signal, ...options }: StartOptions = {}): Promise<Run> {
    const body = { workflowId, type, input, ...options, requestId: options.requestId ?? newID() };
    return this.#ask(() => this.api.POST("/v1/workflows", { body, signal }), isRun, signal);
  }

  /**
   * Starts a run, waits until it has ended, and says how: start and result in one request, if the run ends within 20 seconds. It follows
   * the run as result does.
   */
  async run<R>(workflowId: string, type: string, input?: unknown, { signal, ...options }: StartOptions = {}): Promise<Ended<R>> {
    const body = { workflowId, type, input, ...options, requestId: options.requestId ?? newID() };
    const params = { query: { wait: longPoll } };
    const { runId, outcome } = await this.#ask(() => this.api.POST("/v1/workflows", { params, body, signal }), isRun, signal);
    const ended = outcome && endOf<R>(outcome);
    return ended ?? this.result<R>(workflowId, { runId: outcome?.newRunId ?? runId, signal });
  }

  /** Sends a signal. It is durable when the promise resolves. */
  async signal(workflowId: string, signal: string, input?: unknown, options: Omit<CallOptions, "timeout"> = {}): Promise<void> {
    const params = { path: { workflowId, signal }, query: { runId: options.runId } };
    const body = { input, requestId: options.id ?? newID(), start: withID(options.start) };
    const send = () => this.api.POST("/v1/workflows/{workflowId}/signals/{signal}", { params, body, signal: options.signal });
    await this.#ask(send, () => true, options.signal);
  }

  /** Asks a query. Nothing is written. */
  async query<R>(workflowId: string, query: string, input?: unknown, options: ReadOptions = {}): Promise<R> {
    const params = { path: { workflowId, query }, query: { runId: options.runId } };
    const send = () => this.api.POST("/v1/workflows/{workflowId}/queries/{query}", { params, body: { input }, signal: options.signal });
    const answer = await this.#ask(send, (a) => "result" in a, options.signal);
    return answer.result as R;
  }

  /** Sends an update and waits for its outcome, for as long as that takes. */
  async call<R>(workflowId: string, update: string, input?: unknown, options: CallOptions = {}): Promise<Outcome<R>> {
    const sent = await this.#update(workflowId, update, input, "completed", options);
    switch (sent.stage) {
      case "completed":
        return outcome<R>(sent);
      case "rejected":
        return sent;
      default:
        return withStarted(await this.outcome<R>(workflowId, sent.updateId, { ...options, runId: sent.runId }), sent.started);
    }
  }

  /** Sends an update, and resolves when it has been accepted, which is durable, or rejected. {@link outcome} waits for the rest. */
  async send(workflowId: string, update: string, input?: unknown, options: CallOptions = {}): Promise<Accepted | Rejected> {
    const sent = await this.#update(workflowId, update, input, "accepted", options);
    if (sent.stage === "rejected") {
      return sent;
    }
    return withStarted({ stage: "accepted" as const, updateId: sent.updateId, runId: sent.runId }, sent.started);
  }

  #update(workflowId: string, update: string, input: unknown, waitFor: "accepted" | "completed", options: CallOptions) {
    const params = { path: { workflowId, update }, query: { runId: options.runId } };
    const { timeout, signal } = options;
    const body = { updateId: options.id ?? newID(), input, waitFor, timeout, start: withID(options.start) };
    const send = async (): Promise<Answer<Schemas["UpdateCompleted"] | Schemas["UpdateAccepted"] | Schemas["UpdateRejected"]>> => {
      const answer = await this.api.POST("/v1/workflows/{workflowId}/updates/{update}", { params, body, signal });
      return isRejection(answer.error) ? { data: answer.error, response: answer.response } : answer;
    };
    return this.#ask(send, (a) => isStage(a.stage) || a.stage === "rejected", signal);
  }

  /** Waits for the outcome of an accepted update, whoever sent it. */
  async outcome<R>(workflowId: string, updateId: string, { runId, signal }: ReadOptions = {}): Promise<Outcome<R>> {
    for (;;) {
      const params = { path: { workflowId, update: updateId }, query: { runId, wait: longPoll } };
      const poll = () => this.api.GET("/v1/workflows/{workflowId}/updates/{update}", { params, signal });
      const answer = await this.#ask(poll, (a) => isStage(a.stage), signal);
      if (answer.stage === "completed") {
        return outcome<R>(answer);
      }
      runId = answer.runId; // the same run, also if another one is started
      await this.#pause(pollPause, signal);
    }
  }

  /** Waits until a run has ended, for as long as that takes. After a continue-as-new it waits for the next run. */
  async result<R>(workflowId: string, { runId, signal }: ReadOptions = {}): Promise<Ended<R>> {
    for (;;) {
      const params = { path: { workflowId }, query: { runId, wait: longPoll } };
      const poll = () => this.api.GET("/v1/workflows/{workflowId}/result", { params, signal });
      const answer = await this.#ask(poll, (a) => isRun(a) && typeof a.status === "string", signal);
      const ended = endOf<R>(answer);
      if (ended !== undefined) {
        return ended;
      }
      if (answer.newRunId !== undefined) {
        runId = answer.newRunId;
        continue;
      }
      runId = answer.runId;
      await this.#pause(pollPause, signal);
    }
  }

  /** Sends a request until it is answered, and returns the answer if it is well-formed. */
  #ask<T>(send: () => Promise<Answer<T>>, isAnswer: (answer: T) => boolean, signal?: AbortSignal): Promise<T> {
    const once = async (): Promise<T> => {
      const { data, error, response } = await read(send);
      if (typeof data === "object" && data !== null && isAnswer(data)) {
        return data;
      }
      if (response.ok) {
        throw new UnexpectedAnswer(`the server answered ${response.status}, and it is not Weft's answer: check the address`);
      }
      throw problemOf(response, error);
    };
    return again(once, this.#pause, signal);
  }
}

/** Sends a request whose answer may not be JSON. It throws UnexpectedAnswer then. */
async function read<T>(send: () => Promise<Answer<T>>): Promise<Answer<T>> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new UnexpectedAnswer("the server's answer is not JSON: check the address", { cause: error });
    }
    throw error;
  }
}

function isRun(answer: Partial<Run>): boolean {
  return typeof answer.runId === "string";
}

function isStage(stage: unknown): boolean {
  return stage === "accepted" || stage === "admitted" || stage === "completed";
}

function isRejection(answer: unknown): answer is Schemas["UpdateRejected"] {
  return typeof answer === "object" && answer !== null && "stage" in answer && answer.stage === "rejected" && "failure" in answer;
}

/** Returns the outcome in an answer. */
function outcome<R>(answer: Schemas["UpdateCompleted"]): Outcome<R> {
  const { updateId, runId, failure } = answer;
  const what = failure === undefined ? { stage: "completed" as const, result: answer.result as R } : { stage: "failed" as const, failure };
  return withStarted({ updateId, runId, ...what }, answer.started);
}

/** Returns the outcome of a run, or undefined if it is open or another run follows it. */
function endOf<R>({ status, runId, result, failure, newRunId }: Schemas["ResultResponse"]): Ended<R> | undefined {
  if (status === "completed" && newRunId === undefined) {
    return { status, runId, result: result as R };
  }
  if (newRunId === undefined && status !== "running" && status !== "completed" && status !== "continuedAsNew" && failure !== undefined) {
    return { status, runId, failure };
  }
  return undefined;
}

/** Returns the same with the ids of its start. */
function withStarted<T extends Place>(place: T, started: boolean | undefined): T {
  return started === undefined ? place : { ...place, started };
}

/** Returns a start that can be sent again. */
function withID(start: Schemas["StartRequest"] | undefined): Schemas["StartRequest"] | undefined {
  return start && { idConflictPolicy: "useExisting", ...start, requestId: start.requestId ?? newID() };
}
