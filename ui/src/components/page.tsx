// What the pages of schedules, batches and others have in common.
import type { ComponentChildren, JSX } from "preact";

/** The head of a page: its title, and what can be done. */
export function PageHead({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <header class="page-head">
      <h1>{title}</h1>
      <div class="actions">{children}</div>
    </header>
  );
}

/** A fact with its name in a list of facts; nothing if there is no value. */
export function Fact({ name, value }: { name: string; value: string | undefined }): JSX.Element | null {
  if (!value) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
