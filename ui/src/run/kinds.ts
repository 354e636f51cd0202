// The kinds of events, with how they are shown.
import type { Tone } from "../components/badge.js";
import type { IconName } from "../components/icon.js";
import type { HistoryEvent } from "../api/types.js";

export type Kind = "run" | "task" | "activity" | "timer" | "child" | "signal" | "update" | "marker" | "external";

/** All kinds, in the order in which they are offered. */
export const kinds: Record<Kind, { label: string; icon: IconName }> = {
  run: { label: "Run", icon: "dot" },
  activity: { label: "Activities", icon: "activity" },
  timer: { label: "Timers", icon: "clock" },
  child: { label: "Children", icon: "branch" },
  signal: { label: "Signals", icon: "signal" },
  update: { label: "Updates", icon: "update" },
  marker: { label: "Markers", icon: "record" },
  external: { label: "To others", icon: "external" },
  task: { label: "Tasks", icon: "code" },
};

/** Returns the kind of an event. */
export function kindOf(type: HistoryEvent["type"]): Kind {
  if (type.startsWith("ActivityTask")) return "activity";
  if (type.startsWith("WorkflowTask")) return "task";
  if (type.startsWith("Timer")) return "timer";
  if (type.startsWith("WorkflowExecutionUpdate")) return "update";
  if (type.includes("ChildWorkflow")) return "child";
  if (type.includes("External")) return "external";
  if (type === "WorkflowExecutionSignaled") return "signal";
  if (type === "MarkerRecorded") return "marker";
  return "run";
}

/** Returns the tone of an event: how what it reports went. */
export function toneOf(e: HistoryEvent): Tone {
  const { type } = e;
  if (type === "WorkflowTaskFailed" && e.attributes.failure.kind === "reset") return "quiet";
  if (type.endsWith("Failed")) return "bad";
  if (type.endsWith("TimedOut") || type.endsWith("Terminated")) return "warn";
  if (type.endsWith("Completed") && type !== "WorkflowTaskCompleted") return "good";
  return "quiet";
}
