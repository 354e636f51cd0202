// One line about an event.
import type { HistoryEvent } from "../api/types.js";
import { failureText } from "../components/failure.js";
import { shortJson } from "../components/payload.js";
import { clock, millis } from "../lib/format.js";

/** Returns what an event says, in one line. of finds the event that another refers to. */
export function summaryOf(e: HistoryEvent, of: (id: number) => HistoryEvent | undefined): string {
  switch (e.type) {
    case "WorkflowExecutionStarted":
      return join(e.attributes.workflowType, shortJson(e.attributes.input));
    case "WorkflowExecutionCompleted":
      return shortJson(e.attributes.result);
    case "WorkflowExecutionFailed":
      return failureText(e.attributes.failure);
    case "WorkflowExecutionCanceled":
      return e.attributes.failure ? failureText(e.attributes.failure) : "";
    case "WorkflowExecutionTerminated":
    case "WorkflowExecutionCancelRequested":
      return e.attributes.reason ?? "";
    case "WorkflowExecutionTimedOut":
      return e.attributes.executionTimeout ? `execution timeout ${e.attributes.executionTimeout}` : `run timeout ${e.attributes.runTimeout ?? ""}`;
    case "WorkflowExecutionContinuedAsNew":
      return join(`in ${e.attributes.newExecutionRunId}`, shortJson(e.attributes.input));
    case "WorkflowExecutionSignaled":
      return join(e.attributes.signalName, shortJson(e.attributes.input));
    case "WorkflowExecutionOptionsUpdated":
      return e.attributes.build ? `pinned to ${e.attributes.build}` : "no longer pinned";
    case "WorkflowExecutionUpdateAdmitted":
    case "WorkflowExecutionUpdateAccepted":
      return join(e.attributes.updateName, shortJson(e.attributes.input));
    case "WorkflowExecutionUpdateCompleted":
      return join(updateName(of(e.attributes.acceptedEventId)), e.attributes.failure ? failureText(e.attributes.failure) : shortJson(e.attributes.result));
    case "WorkflowExecutionUpdateFailed":
      return join(updateName(of(e.attributes.acceptedEventId)), failureText(e.attributes.failure));
    case "WorkflowTaskScheduled":
      return join(e.attributes.kind === "normal" ? "" : e.attributes.kind, e.attributes.attempt > 1 ? `attempt ${e.attributes.attempt}` : "");
    case "WorkflowTaskStarted":
      return e.attributes.suggestContinueAsNew ? "suggests to continue as new" : "";
    case "WorkflowTaskCompleted":
      return e.attributes.build ? `build ${e.attributes.build}` : "";
    case "WorkflowTaskFailed":
      return failureText(e.attributes.failure);
    case "ActivityTaskScheduled":
      return join(e.attributes.activityType, shortJson(e.attributes.input));
    case "ActivityTaskCompleted":
      return join(activityType(of(e.attributes.scheduledEventId)), attempts(e.attributes.attempt), shortJson(e.attributes.result));
    case "ActivityTaskFailed":
    case "ActivityTaskTimedOut":
      return join(activityType(of(e.attributes.scheduledEventId)), attempts(e.attributes.attempt), failureText(e.attributes.failure));
    case "ActivityTaskCancelRequested":
      return activityType(of(e.attributes.scheduledEventId));
    case "ActivityTaskCanceled":
      return join(activityType(of(e.attributes.scheduledEventId)), attempts(e.attributes.attempt));
    case "TimerStarted":
      return `until ${clock(millis(e.attributes.fireAt))}`;
    case "TimerFired":
    case "TimerCanceled":
      return "";
    case "MarkerRecorded":
      return join(
        e.attributes.markerName === "LocalActivity" ? (e.attributes.activityType ?? "") : join(e.attributes.markerName, e.attributes.id ?? ""),
        attempts(e.attributes.attempt),
        e.attributes.failure ? failureText(e.attributes.failure) : shortJson(e.attributes.details),
      );
    case "UpsertWorkflowSearchAttributes":
      return join(Object.keys(e.attributes.searchAttributes ?? {}).join(", "), e.attributes.removed ? `without ${e.attributes.removed.join(", ")}` : "");
    case "StartChildWorkflowExecutionInitiated":
      return join(e.attributes.workflowType, e.attributes.workflowId);
    default:
      return brief(e.attributes as Record<string, unknown>);
  }
}

function join(...parts: string[]): string {
  return parts.filter(Boolean).join("  ·  ");
}

function attempts(attempt: number | undefined): string {
  return attempt && attempt > 1 ? `attempt ${attempt}` : "";
}

function updateName(e: HistoryEvent | undefined): string {
  return e && "updateName" in e.attributes ? (e.attributes.updateName ?? "") : "";
}

function activityType(e: HistoryEvent | undefined): string {
  return e && "activityType" in e.attributes ? (e.attributes.activityType ?? "") : "";
}

/** Returns the members of other events that say the most. */
function brief(attributes: Record<string, unknown>): string {
  const named = ["workflowType", "workflowId", "signalName", "reason"].map((n) => attributes[n]).filter((v) => typeof v === "string");
  return join(...named);
}
