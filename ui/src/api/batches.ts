// Requests about batches.
import type { components } from "./schema.js";
import { type Answer, at, get, post } from "./http.js";

type Schemas = components["schemas"];

export type Batch = Schemas["BatchDescription"];
export type BatchAction = Schemas["BatchAction"];
export type BatchGroup = Schemas["BatchGroup"];
export type BatchSummary = Schemas["BatchSummary"];
export type StartBatch = Schemas["StartBatchRequest"];
export type Kind = BatchAction["kind"];

/** Reads a page of batches, those started last first. */
export function listBatches(pageToken: string | undefined, abort?: AbortSignal): Promise<Schemas["BatchListResponse"]> {
  return get("batches", { pageToken }, abort);
}

/** Describes a batch: how far it is, and its last problems. */
export function describeBatch(id: string, abort?: AbortSignal): Promise<Batch> {
  return get(at`batches/${id}`, {}, abort);
}

/** Starts a batch. */
export function startBatch(body: StartBatch): Promise<Answer<Schemas["StartBatchResponse"]>> {
  return post("batches", body);
}

/** Stops a batch. */
export function stopBatch(id: string, reason: string | undefined, requestId: string): Promise<Answer<unknown>> {
  return post(at`batches/${id}/stop`, { reason, requestId });
}

/** Changes how many runs a batch acts on in a second; 0 is no limit. */
export function setBatchRate(id: string, rate: number, requestId: string): Promise<Answer<unknown>> {
  return post(at`batches/${id}/rate`, { rate, requestId });
}

/** Reports whether a batch still does something. */
export function isOpen(b: Batch): boolean {
  return b.state === "running" || b.state === "stopping";
}

/** Waits until a batch has ended. */
export async function endOf(id: string, abort: AbortSignal): Promise<Batch> {
  for (;;) {
    const b = await describeBatch(id, abort);
    if (!isOpen(b)) return b;
    await new Promise((done) => setTimeout(done, 300));
  }
}
