/**
 * Client of Weft's HTTP API, for browsers and Node.js. See README.md.
 *
 * @packageDocumentation
 */
export { NoAnswer } from "./again.js";
export {
  Weft,
  type Accepted,
  type Answer,
  type CallOptions,
  type Costed,
  type DeclaredError,
  type Ended,
  type Memo,
  type Options,
  type OtherError,
  type Outcome,
  type Page,
  type ReadOptions,
  type Rejected,
  type Run,
  type SearchAttributes,
  type SignalOptions,
  type StartOptions,
  type TopicOptions,
  type TopicPage,
  type WebhookSecrets,
} from "./client.js";
export { addCosts, costOf, noCost, type Cost } from "./cost.js";
export { Problem, UnexpectedAnswer, WeftError, type ProblemType } from "./problem.js";
export { DeadlinePassed, type WaitOptions } from "./wait.js";
export { Workflow, type AttributesOf, type InputOf, type MemoOf, type None, type ResultOf, type StartOf } from "./workflow.js";
export type { components, operations, paths } from "./schema.js";
import type { components } from "./schema.js";

/** An error of workflow or activity code, or of the server that runs it. */
export type Failure = components["schemas"]["Failure"];
/** The description of a run. */
export type Description = components["schemas"]["Description"];
/** Where the code of a run waits, and for what. */
export type Waits = components["schemas"]["Waits"];
/** An event in the history of a run. Its `type` names the kind. */
export type HistoryEvent = components["schemas"]["HistoryEvent"];
