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

/** Shows a failure with its causes. Its stack is folded. */
export function FailureView({ failure, open }: { failure: Failure; open?: boolean }): JSX.Element {
  const about = [
    failure.activityType && `activity ${failure.activityType}`,
    failure.workflowType && `child ${failure.workflowType}`,
    failure.workflowId,
    failure.eventId && `event ${failure.eventId}`,
    failure.nonRetryable && "not retried",
  ].filter(Boolean);
  return (
    <div class="failure">
      <div>
        <strong>{failure.type || (failure.timeout ? `${words(failure.timeout)} timeout` : words(failure.kind))}</strong>
        {about.length > 0 && <span class="dim"> {about.join(" · ")}</span>}
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
          <span class="dim">because of</span>
          <FailureView failure={failure.cause} />
        </div>
      )}
    </div>
  );
}
