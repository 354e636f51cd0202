// Badges of states. A badge has a colour, an icon and a text, so that none of them is the only sign.
import type { JSX } from "preact";
import type { Status } from "../api/types.js";
import { words } from "../lib/format.js";
import { Icon, type IconName } from "./icon.js";

export type Tone = "running" | "good" | "bad" | "warn" | "quiet";

interface Look {
  tone: Tone;
  icon: IconName;
}

const statuses: Record<Status, Look> = {
  running: { tone: "running", icon: "play" },
  completed: { tone: "good", icon: "check" },
  failed: { tone: "bad", icon: "cross" },
  canceled: { tone: "quiet", icon: "slash" },
  terminated: { tone: "warn", icon: "stop" },
  timedOut: { tone: "warn", icon: "clock" },
  continuedAsNew: { tone: "quiet", icon: "arrow" },
};

/** The statuses in the order in which they are offered. */
export const allStatuses = Object.keys(statuses) as Status[];

const states: Record<string, Look> = {
  stuck: { tone: "bad", icon: "alert" },
  paused: { tone: "quiet", icon: "pause" },
  retrying: { tone: "warn", icon: "retry" },
  runnable: { tone: "running", icon: "activity" },
  delayed: { tone: "quiet", icon: "clock" },
  waiting: { tone: "quiet", icon: "hourglass" },
};

/** Shows a text with a tone and an icon. */
export function Badge({ tone, icon, children, title }: { tone: Tone; icon: IconName; children: string; title?: string }): JSX.Element {
  return (
    <span class={`badge ${tone}`} title={title}>
      <Icon name={icon} size={12} />
      {children}
    </span>
  );
}

/** Shows the status of a run. */
export function StatusBadge({ status }: { status: Status }): JSX.Element {
  const look = statuses[status] ?? { tone: "quiet", icon: "dot" };
  return <Badge {...look}>{words(status)}</Badge>;
}

/** The close reasons that Weft sets, in words; others are types of errors. */
const reasons: Record<string, string> = { runTimeout: "run timeout", executionTimeout: "execution timeout" };

/** Returns a close reason in words. */
export function reasonText(reason: string): string {
  return reasons[reason] ?? reason;
}

const deliveries: Record<string, Look> = {
  delivering: { tone: "running", icon: "retry" },
  delivered: { tone: "good", icon: "check" },
  failed: { tone: "bad", icon: "cross" },
};

/** Shows where a notification stands. */
export function NotificationBadge({ state }: { state: string }): JSX.Element {
  return <Badge {...(deliveries[state] ?? { tone: "quiet", icon: "hourglass" })}>{words(state)}</Badge>;
}

/** Shows the state of an open run: stuck, paused, retrying and so on. */
export function StateBadge({ state }: { state: string }): JSX.Element {
  return <Badge {...(states[state] ?? { tone: "quiet", icon: "dot" })}>{words(state)}</Badge>;
}
