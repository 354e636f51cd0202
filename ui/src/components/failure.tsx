// Failures: what failed, why, what caused it, and where.
import type { JSX } from "preact";
import type { Failure } from "../api/types.js";
import { words } from "../lib/format.js";

/** Returns a failure in one line: the innermost reason, after its type. */
export function failureText(f: Failure): string {
  const inner = innermost(f);
  const kind = inner.type || (inner.timeout ? `${words(inner.timeout)} timeout` : inner.kind === "application" ? "" : words(inner.kind));
  return [kind, inner.message].filter(Boolean).join(": ") || words(f.kind);
}

function innermost(f: Failure): Failure {
  return f.cause ? innermost(f.cause) : f;
}

/** Returns what has failed, or how, in a few words. */
function titleOf(f: Failure): string {
  if (f.type) return f.type;
  if (f.timeout) return `${words(f.timeout)} timeout`;
  if (f.kind === "activity" && f.activityType) return `Activity ${f.activityType} failed`;
  if (f.kind === "childWorkflow" && f.workflowType) return `Child ${f.workflowType} failed`;
  return f.kind === "application" ? "Error" : words(f.kind);
}

/** Shows a failure with its causes. Its stack is folded. */
export function FailureView({ failure, open }: { failure: Failure; open?: boolean }): JSX.Element {
  const title = titleOf(failure);
  const about = [
    failure.activityType && !title.includes(failure.activityType) && `activity ${failure.activityType}`,
    failure.workflowType && !title.includes(failure.workflowType) && `child ${failure.workflowType}`,
    failure.workflowId,
    failure.eventId && `event ${failure.eventId}`,
    failure.nonRetryable && "not retried",
  ].filter(Boolean);
  return (
    <div class="failure">
      <div>
        <strong>{title}</strong>
        {about.length > 0 && <span class="dim"> · {about.join(" · ")}</span>}
      </div>
      {failure.message && <p class="message">{failure.message}</p>}
      {failure.stack && (
        <details open={open}>
          <summary>Stack</summary>
          <pre tabIndex={0} role="group" aria-label="Stack">
            {failure.stack}
          </pre>
        </details>
      )}
      {failure.cause && (
        <div class="cause">
          <span class="dim">Cause:</span>
          <FailureView failure={failure.cause} />
        </div>
      )}
    </div>
  );
}
