// Who is notified of the end of a run, and whether they were.
import type { JSX } from "preact";
import type { Description } from "../api/types.js";
import { NotificationBadge } from "../components/badge.js";
import { runHref } from "../lib/route.js";

/** Lists notifications, with the runs that deliver them. */
export function Notifications({ all }: { all: NonNullable<Description["notifications"]> }): JSX.Element {
  return (
    <ul class="plain">
      {all.map((n) => (
        <li key={n.eventId}>
          {n.workflowId ? <a href={runHref(n.workflowId)}>{n.origin ?? "event bus"}</a> : (n.origin ?? "event bus")} <NotificationBadge state={n.state} />
        </li>
      ))}
    </ul>
  );
}
