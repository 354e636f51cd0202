// What is shown instead of data: that it loads, that there is none, and why it could not be loaded.
import type { ComponentChildren, JSX } from "preact";
import { Refused, reason } from "../api/http.js";
import { Icon } from "./icon.js";

/** Says why something could not be loaded, and offers to try again, or something else. */
export function Trouble({ error, onRetry, children }: { error: unknown; onRetry?: () => void; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="notice bad" role="alert">
      <Icon name="alert" />
      <div class="grow">
        <strong>{error instanceof Refused ? error.problem.title : "No answer"}</strong>
        <p>{reason(error)}</p>
      </div>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
      {children}
    </div>
  );
}

/** Says that there is nothing to show, and what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

/** Holds the place of lines that load. */
export function Skeleton({ lines = 3 }: { lines?: number }): JSX.Element {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} />
      ))}
    </div>
  );
}
