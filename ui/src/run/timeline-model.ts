// What the timeline shows: an item for everything that a run started or received, made of its events.
import type { Tone } from "../components/badge.js";
import type { Description, HistoryEvent, RetryPolicy } from "../api/types.js";
import { failureText } from "../components/failure.js";
import { millis, parseDuration, words } from "../lib/format.js";
import type { Kind } from "./kinds.js";

/** Something with a beginning and perhaps an end. What has one moment only is a point. */
export interface Item {
  /** The event that began it. */
  id: number;
  kind: Kind;
  label: string;
  from: number;
  /** When it ended; undefined if it is pending. */
  to: number | undefined;
  point: boolean;
  tone: Tone;
  /** How it went, in a few words. */
  outcome: string;
  attempts: number;
  /** The workflow that it is about. */
  workflowId?: string;
  runId?: string;
  /** When a pending timer fires, or a pending activity's next attempt begins. */
  due?: number | undefined;
  /** How long the waits between the attempts took, by the retry policy. */
  backoff?: number | undefined;
  /** When the last attempt failed, if another is to follow. */
  failedAt?: number | undefined;
}

/** Returns the wait before an attempt by a retry policy. */
export function backoffBefore(attempt: number, policy: RetryPolicy | undefined): number {
  if (attempt < 2) return 0;
  const initial = parseDuration(policy?.initialInterval) ?? 1000;
  const most = parseDuration(policy?.maximumInterval) ?? 100 * initial;
  return Math.min(most, initial * (policy?.backoffCoefficient ?? 2) ** (attempt - 2));
}

/** Makes a point of the item of a failed task again, as the events have it. */
function toPoint(item: Item): void {
  Object.assign(item, { point: true, to: item.from, attempts: 0, due: undefined });
}

/** The items of a run, which grow with its events. */
export class Timeline {
  readonly items: Item[] = [];
  /** The moments at which the code ran, and whether it failed. */
  readonly tasks: { at: number; failed: boolean }[] = [];
  begin = 0;
  /** The last event's moment, and whether the run has closed with it. */
  last = 0;
  private read = 0;
  private readonly open = new Map<number, Item>();
  /** The pause that has not ended, and the last failed task, after which no other was committed. */
  private pause: number | undefined;
  private failed: Item | undefined;
  private readonly policies = new Map<number, RetryPolicy | undefined>();

  /** Takes the events that were not taken yet. */
  take(events: readonly HistoryEvent[]): void {
    for (; this.read < events.length; this.read++) {
      const e = events[this.read];
      if (!e) return;
      const at = millis(e.time);
      if (e.id === 1) this.begin = at;
      this.last = Math.max(this.last, at);
      this.add(e, at);
    }
  }

  private start(e: HistoryEvent, at: number, kind: Kind, label: string, more: Partial<Item> = {}): void {
    const item: Item = { id: e.id, kind, label, from: at, to: undefined, point: false, tone: "running", outcome: "pending", attempts: 0, ...more };
    this.items.push(item);
    if (!item.point) this.open.set(e.id, item);
  }

  private point(e: HistoryEvent, at: number, kind: Kind, label: string, tone: Tone = "quiet", outcome = ""): void {
    this.start(e, at, kind, label, { to: at, point: true, tone, outcome });
  }

  private end(id: number, at: number, tone: Tone, outcome: string, more: Partial<Item> = {}): void {
    const item = this.open.get(id);
    if (!item) return;
    Object.assign(item, { to: at, tone, outcome }, more);
    this.open.delete(id);
  }

  private endActivity(id: number, at: number, tone: Tone, outcome: string, attempts: number | undefined): void {
    let backoff = 0;
    for (let n = 2; n <= Math.min(attempts ?? 0, 1000); n++) backoff += backoffBefore(n, this.policies.get(id));
    this.end(id, at, tone, outcome, { attempts: attempts ?? 0, backoff });
  }

  private endPause(at: number, outcome: string): void {
    if (this.pause === undefined) return;
    const reason = this.open.get(this.pause)?.outcome ?? "";
    this.end(this.pause, at, "quiet", reason === "until it is resumed" ? outcome : `${reason} · ${outcome}`);
    this.pause = undefined;
  }

  private add(e: HistoryEvent, at: number): void {
    switch (e.type) {
      case "WorkflowTaskScheduled":
        // The failed attempts after the first are not events: this one says how many there were.
        if (this.failed && e.attributes.attempt > 2) Object.assign(this.failed, { point: false, to: at, attempts: e.attributes.attempt - 1, due: undefined });
        else if (this.failed) toPoint(this.failed);
        this.failed = undefined;
        break;
      case "WorkflowTaskStarted":
        this.tasks.push({ at, failed: false });
        break;
      case "WorkflowTaskFailed":
        if (e.attributes.failure.kind === "reset") {
          this.point(e, at, "task", "Reset", "quiet", failureText(e.attributes.failure));
          break;
        }
        this.tasks.push({ at, failed: true });
        this.point(e, at, "task", "Task failed", "bad", failureText(e.attributes.failure));
        this.failed = this.items.at(-1);
        break;
      case "ActivityTaskScheduled":
        this.policies.set(e.id, e.attributes.retryPolicy);
        this.start(e, at, "activity", e.attributes.activityType);
        break;
      case "ActivityTaskCompleted":
        this.endActivity(e.attributes.scheduledEventId, at, "good", "completed", e.attributes.attempt);
        break;
      case "ActivityTaskFailed":
        this.endActivity(e.attributes.scheduledEventId, at, "bad", failureText(e.attributes.failure), e.attributes.attempt);
        break;
      case "ActivityTaskTimedOut":
        this.endActivity(e.attributes.scheduledEventId, at, "warn", failureText(e.attributes.failure), e.attributes.attempt);
        break;
      case "ActivityTaskCanceled":
        this.endActivity(e.attributes.scheduledEventId, at, "quiet", "canceled", e.attributes.attempt);
        break;
      case "TimerStarted":
        this.start(e, at, "timer", "Timer", { due: millis(e.attributes.fireAt) });
        break;
      case "TimerFired":
        this.end(e.attributes.startedEventId, at, "good", "fired");
        break;
      case "TimerCanceled":
        this.end(e.attributes.startedEventId, at, "quiet", "canceled");
        break;
      case "StartChildWorkflowExecutionInitiated":
        this.start(e, at, "child", `${e.attributes.workflowType} ${e.attributes.workflowId}`, { workflowId: e.attributes.workflowId });
        break;
      case "ChildWorkflowExecutionStarted": {
        const child = this.open.get(e.attributes.initiatedEventId);
        if (child && e.attributes.runId) child.runId = e.attributes.runId;
        break;
      }
      case "StartChildWorkflowExecutionFailed":
        this.end(e.attributes.initiatedEventId, at, "bad", "not started");
        break;
      case "ChildWorkflowExecutionCompleted":
        this.end(e.attributes.initiatedEventId, at, "good", "completed");
        break;
      case "ChildWorkflowExecutionFailed":
        this.end(e.attributes.initiatedEventId, at, "bad", "failed");
        break;
      case "ChildWorkflowExecutionCanceled":
        this.end(e.attributes.initiatedEventId, at, "quiet", "canceled");
        break;
      case "ChildWorkflowExecutionTimedOut":
        this.end(e.attributes.initiatedEventId, at, "warn", "timed out");
        break;
      case "ChildWorkflowExecutionTerminated":
        this.end(e.attributes.initiatedEventId, at, "warn", "terminated");
        break;
      case "WorkflowExecutionSignaled":
        this.point(e, at, "signal", `Signal ${e.attributes.signalName}`, "running", "received");
        break;
      case "WorkflowExecutionUpdateAccepted":
        this.start(e, at, "update", `Update ${e.attributes.updateName}`, { outcome: "in flight" });
        break;
      case "WorkflowExecutionUpdateCompleted":
        this.end(e.attributes.acceptedEventId, at, e.attributes.failure ? "bad" : "good", e.attributes.failure ? failureText(e.attributes.failure) : "completed");
        break;
      case "WorkflowExecutionUpdateFailed":
        this.end(e.attributes.acceptedEventId, at, "bad", failureText(e.attributes.failure));
        break;
      case "MarkerRecorded":
        if (e.attributes.markerName === "LocalActivity" && !e.attributes.retryAt) {
          this.point(e, at, "marker", `${e.attributes.activityType ?? "Local activity"} (local)`, e.attributes.failure ? "bad" : "good", e.attributes.failure ? failureText(e.attributes.failure) : "completed");
        }
        break;
      case "SignalExternalWorkflowExecutionInitiated":
        this.start(e, at, "external", `Signal to ${e.attributes.workflowId}`, { workflowId: e.attributes.workflowId });
        break;
      case "RequestCancelExternalWorkflowExecutionInitiated":
        this.start(e, at, "external", `Cancel ${e.attributes.workflowId}`, { workflowId: e.attributes.workflowId });
        break;
      case "ExternalWorkflowExecutionSignaled":
      case "ExternalWorkflowExecutionCancelRequested":
        this.end(e.attributes.initiatedEventId, at, "good", "delivered");
        break;
      case "SignalExternalWorkflowExecutionFailed":
      case "RequestCancelExternalWorkflowExecutionFailed":
        this.end(e.attributes.initiatedEventId, at, "bad", "not delivered");
        break;
      case "WorkflowExecutionCancelRequested":
        this.point(e, at, "run", "Cancel requested", "warn", e.attributes.reason ?? "");
        break;
      case "WorkflowExecutionPaused":
        this.start(e, at, "run", "Paused", { tone: "quiet", outcome: e.attributes.reason || "until it is resumed" });
        this.pause = e.id;
        break;
      case "WorkflowExecutionUnpaused":
        this.endPause(at, "resumed");
        break;
      case "WorkflowExecutionCompleted":
      case "WorkflowExecutionFailed":
      case "WorkflowExecutionCanceled":
      case "WorkflowExecutionTerminated":
      case "WorkflowExecutionTimedOut":
      case "WorkflowExecutionContinuedAsNew":
        this.endPause(at, "until the run closed");
        break;
    }
  }

  /** Adds what only a description says of what is pending: attempts, failures, and when the next one begins. */
  describe(d: Description): void {
    const s = d.stuckTask;
    if (this.failed && s && !s.speculative) {
      Object.assign(this.failed, { point: false, to: undefined, attempts: s.attempt, outcome: failureText(s.failure), due: s.nextAttemptAt ? millis(s.nextAttemptAt) : undefined });
    } else if (this.failed) toPoint(this.failed);
    for (const c of d.pendingChildren) {
      const item = this.open.get(c.eventId);
      const how = c.state ?? c.status;
      if (!item || !how) continue;
      item.outcome = words(how).toLowerCase();
      item.tone = how === "stuck" || how === "failed" ? "bad" : "running";
    }
    for (const a of d.pendingActivities) {
      const item = this.open.get(a.eventId);
      if (!item) continue;
      item.attempts = a.attempt;
      item.tone = a.lastFailure ? "warn" : "running";
      item.outcome = a.lastFailure ? failureText(a.lastFailure) : a.held ? `held: ${a.held}` : "runs";
      item.due = a.nextAttemptAt ? millis(a.nextAttemptAt) : undefined;
      item.failedAt = item.due === undefined ? undefined : Math.max(item.from, item.due - backoffBefore(a.attempt, this.policies.get(a.eventId)));
    }
  }
}
