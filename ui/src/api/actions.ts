// Requests that change something, or run the code of a workflow.
import type { components } from "./schema.js";
import { type Answer, at, get, post, remove } from "./http.js";
import { waitedSince } from "./pauses.js";

type Schemas = components["schemas"];

export type StartRequest = Schemas["StartRequest"];
export type ResetRequest = Schemas["ResetRequest"];
export type FailByHand = Schemas["FailByHandRequest"];
export type MoveRequest = Schemas["MoveRequest"];
/** What an update came to: it completed, was accepted, or was refused. */
export type UpdateAnswer = Schemas["UpdateCompleted"] | Schemas["UpdateAccepted"] | Schemas["UpdateRejected"];

/** A run that requests go to. */
export interface RunKey {
  workflowId: string;
  runId: string;
}

/** Starts a run. */
export function startRun(body: StartRequest): Promise<Answer<Schemas["StartResponse"]>> {
  return post("workflows", body);
}

/** Sends a signal to a run. */
export function signalRun({ workflowId, runId }: RunKey, name: string, input: unknown, requestId: string): Promise<Answer<unknown>> {
  return post(at`workflows/${workflowId}/signals/${name}`, { input, requestId }, { runId });
}

/** Asks a query of a run. */
export function queryRun({ workflowId, runId }: RunKey, name: string, input: unknown): Promise<Answer<Schemas["QueryResponse"]>> {
  return post(at`workflows/${workflowId}/queries/${name}`, { input }, { runId });
}

/** Sends an update to a run, and waits for it as long as the server allows. */
export function updateRun({ workflowId, runId }: RunKey, name: string, body: Schemas["UpdateRequest"]): Promise<Answer<UpdateAnswer>> {
  return post(at`workflows/${workflowId}/updates/${name}`, body, { runId });
}

/** Waits until an accepted update has completed, or the server ends the wait. The caller has waited since a time. */
export function pollUpdate({ workflowId, runId }: RunKey, updateId: string, abort: AbortSignal, since: number): Promise<UpdateAnswer> {
  return get(at`workflows/${workflowId}/updates/${updateId}`, { runId, wait: "20s" }, abort, waitedSince(since));
}

/** Fails an accepted update. */
export function failUpdate({ workflowId, runId }: RunKey, updateId: string, reason: string | undefined): Promise<Answer<UpdateAnswer>> {
  return post(at`workflows/${workflowId}/updates/${updateId}/fail`, { reason }, { runId });
}

/** Asks a run to end. */
export function cancelRun({ workflowId, runId }: RunKey, reason: string | undefined): Promise<Answer<unknown>> {
  return post(at`workflows/${workflowId}/cancel`, { reason }, { runId });
}

/** Ends a run at once. */
export function terminateRun({ workflowId, runId }: RunKey, reason: string | undefined): Promise<Answer<unknown>> {
  return post(at`workflows/${workflowId}/terminate`, { reason }, { runId });
}

/** Pauses an open run, or lets a paused one go on. */
export function pauseRun({ workflowId, runId }: RunKey, pause: boolean, body: Schemas["PauseRequest"]): Promise<Answer<Schemas["PauseResponse"]>> {
  return post(at`workflows/${workflowId}/${pause ? "pause" : "resume"}`, body, { runId });
}

/** Deletes a closed run. */
export function deleteRun({ workflowId, runId }: RunKey): Promise<Answer<unknown>> {
  return remove(at`workflows/${workflowId}`, { runId });
}

/** Opens a run that continues from an earlier task of this one. */
export function resetRun({ workflowId, runId }: RunKey, body: ResetRequest): Promise<Answer<RunKey>> {
  return post(at`workflows/${workflowId}/reset`, body, { runId });
}

/** Moves a run to a build, or to none. */
export function moveRun({ workflowId, runId }: RunKey, body: MoveRequest): Promise<Answer<Schemas["MoveResponse"]>> {
  return post(at`workflows/${workflowId}/move`, body, { runId });
}

/** Retries the failed task of a stuck run. */
export function retryRun({ workflowId, runId }: RunKey): Promise<Answer<unknown>> {
  return post(at`workflows/${workflowId}/retry`, {}, { runId });
}

/** Begins the next attempt at an activity at once. */
export function retryActivity({ workflowId, runId }: RunKey, eventId: number): Promise<Answer<Schemas["RetryActivityResponse"]>> {
  return post(at`workflows/${workflowId}/activities/${String(eventId)}/retry`, {}, { runId });
}

/** Ends a pending activity with a result. */
export function completeActivity({ workflowId, runId }: RunKey, eventId: number, body: Schemas["CompleteByHandRequest"]): Promise<Answer<Schemas["ByHandResponse"]>> {
  return post(at`workflows/${workflowId}/activities/${String(eventId)}/complete`, body, { runId });
}

/** Ends a pending activity with an error. */
export function failActivity({ workflowId, runId }: RunKey, eventId: number, body: FailByHand): Promise<Answer<Schemas["ByHandResponse"]>> {
  return post(at`workflows/${workflowId}/activities/${String(eventId)}/fail`, body, { runId });
}
