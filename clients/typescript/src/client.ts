import createClient, { type Client } from "openapi-fetch";

import { again, newID, pause, whole, type Pause } from "./again.js";
import { Problem, problemOf, UnexpectedAnswer } from "./problem.js";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];

/** The options of a client. */
export interface Options {
  /** Added to every request, for example `Authorization`. */
  headers?: Record<string, string>;
  /**
   * Sends the requests. The default is the global fetch. For a deployment on AWS, pass one that
   * signs them.
   */
  fetch?: (request: Request) => Promise<Response>;
  /** Waits between attempts and polls, for tests. The default waits in real time. */
  pause?: Pause;
}

/** The options of a request that reads. */
export interface ReadOptions {
  /** The id of a run. The default is the latest run. */
  runId?: string;
  /** Ends only the wait. A request that was sent still takes effect. */
  signal?: AbortSignal;
}

/** The options of the start of a run. */
export interface StartOptions extends Omit<Schemas["StartRequest"], "workflowId" | "type" | "input"> {
  signal?: AbortSignal;
}

/** The options of a signal or an update. */
export interface CallOptions extends ReadOptions {
  /**
   * The id by which the server recognises the update or signal when it is repeated. By default the
   * client generates one.
   */
  id?: string;
  /**
   * How long one request of an update may take, for example `5s`. This includes the wait for other
   * requests. The maximum is `20s`, which is also the default. With `0s` the request does not wait.
   */
  timeout?: string;
  /** Starts a run if none is open. The default of its idConflictPolicy is `useExisting`. */
  start?: Schemas["StartRequest"];
}

/** The run of a workflow. */
export type Run = Schemas["StartResponse"];

/** The run and the id of an update. */
interface Place {
  updateId: string;
  runId: string;
  /** Whether the update started the run. Only an update with a start has it. */
  started?: boolean;
}

/** An update that was accepted. The acceptance is durable. The outcome follows. */
export type Accepted = Place & { stage: "accepted" };

/**
 * An update that was refused, by its validator or because its name is unknown. It has no effect.
 */
export type Rejected = Place & { stage: "rejected"; failure: Schemas["Failure"] };

/**
 * The outcome of an update: its handler's result, the error that the handler returned, or a
 * refusal.
 */
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

/**
 * The wait between two such requests in milliseconds, because a server that is stopping answers at
 * once.
 */
const pollPause = 50;

/** What openapi-fetch returns. */
interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/**
 * A client of one deployment of Weft. While the answer is lost, busy or unknown, its methods repeat
 * a request with the same id, so that it takes effect once. They reject with a {@link Problem} if
 * the server refuses the request.
 */
export class Weft {
  /**
   * All operations of the API, with the types of its OpenAPI document. Each request is sent once.
   */
  readonly api: Client<paths>;
  readonly #pause: Pause;

  /**
   * Returns a client of the deployment at this address, for example `http://127.0.0.1:8080`. It
   * does not connect.
   */
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
   * Starts a run, and resolves with its outcome when it has ended. That takes one request if the
   * run ends within 20 seconds. After a continue-as-new it waits for the next run.
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

  /** Sends a query, and resolves with its answer. A query writes nothing. */
  async query<R>(workflowId: string, query: string, input?: unknown, options: ReadOptions = {}): Promise<R> {
    const params = { path: { workflowId, query }, query: { runId: options.runId } };
    const send = () => this.api.POST("/v1/workflows/{workflowId}/queries/{query}", { params, body: { input }, signal: options.signal });
    const answer = await this.#ask(send, (a) => "result" in a, options.signal);
    return answer.result as R;
  }

  /** Sends an update and waits for its outcome, however long that takes. */
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

  /**
   * Sends an update, and resolves when it is durably accepted, or rejected. {@link outcome} waits
   * for its outcome.
   */
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

  /** Waits for the outcome of an accepted update. Another client may have sent it. */
  async outcome<R>(workflowId: string, updateId: string, { runId, signal }: ReadOptions = {}): Promise<Outcome<R>> {
    for (;;) {
      const params = { path: { workflowId, update: updateId }, query: { runId, wait: longPoll } };
      const poll = () => this.api.GET("/v1/workflows/{workflowId}/updates/{update}", { params, signal });
      const answer = await this.#ask(poll, (a) => isStage(a.stage), signal);
      if (answer.stage === "completed") {
        return outcome<R>(answer);
      }
      runId = answer.runId; // stay with this run even if another one is started
      await this.#pause(pollPause, signal);
    }
  }

  /**
   * Waits until a run has ended, however long that takes. After a continue-as-new it waits for the
   * next run.
   */
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

  /**
   * Sends a request, repeats it as {@link again} does, and returns the answer. It throws a Problem
   * if the server refuses the request, and UnexpectedAnswer if the answer is not one of Weft's.
   */
  #ask<T>(send: () => Promise<Answer<T>>, isAnswer: (answer: T) => boolean, signal?: AbortSignal): Promise<T> {
    const once = async (): Promise<T> => {
      const { data, error, response } = await read(send);
      if (typeof data === "object" && data !== null && isAnswer(data)) {
        return data;
      }
      if (response.ok) {
        throw new UnexpectedAnswer(`the server answered ${response.status}, but this is not an answer of Weft: check the address`);
      }
      throw problemOf(response, error);
    };
    return again(once, this.#pause, signal);
  }
}

/** Sends a request once. It throws UnexpectedAnswer if the answer is not JSON. */
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

/** Returns the outcome of a run, or undefined if the run is open or another run follows it. */
function endOf<R>({ status, runId, result, failure, newRunId }: Schemas["ResultResponse"]): Ended<R> | undefined {
  if (status === "completed" && newRunId === undefined) {
    return { status, runId, result: result as R };
  }
  if (newRunId === undefined && status !== "running" && status !== "completed" && status !== "continuedAsNew" && failure !== undefined) {
    return { status, runId, failure };
  }
  return undefined;
}

/** Returns the update with whether it started its run, if that is known. */
function withStarted<T extends Place>(place: T, started: boolean | undefined): T {
  return started === undefined ? place : { ...place, started };
}

/** Returns a start that is safe to repeat: it has a request id. */
function withID(start: Schemas["StartRequest"] | undefined): Schemas["StartRequest"] | undefined {
  return start && { idConflictPolicy: "useExisting", ...start, requestId: start.requestId ?? newID() };
}
