// The types of the API, by short names. They are generated from openapi.yaml (npm run generate).
import type { components } from "./schema.js";

type Schemas = components["schemas"];

export type Status = Schemas["Status"];
export type Summary = Schemas["WorkflowSummary"];
export type Description = Schemas["Description"];
export type HistoryEvent = Schemas["HistoryEvent"];
export type History = Schemas["HistoryResponse"];
export type Result = Schemas["ResultResponse"];
export type Failure = Schemas["Failure"];
export type ProblemDocument = Schemas["Problem"];
export type PendingActivity = Schemas["PendingActivity"];
export type PendingTimer = Schemas["PendingTimer"];
export type PendingChild = Schemas["PendingChild"];
export type StuckTask = Schemas["StuckTask"];
export type Waits = Schemas["Waits"];
export type Coroutine = Schemas["Coroutine"];
export type WaitsFor = Schemas["WaitsFor"];
export type ChainedRun = Schemas["ChainedRun"];
export type Runs = Schemas["RunsResponse"];
export type AttributeValue = Schemas["AttributeValue"];
export type Cost = Schemas["Cost"];
export type CostSum = Schemas["CostSum"];
export type Costs = Schemas["CostsResponse"];
export type RetryPolicy = Schemas["RetryPolicy"];

/** An event of one type. */
export type EventOf<T extends HistoryEvent["type"]> = Extract<HistoryEvent, { type: T }>;
