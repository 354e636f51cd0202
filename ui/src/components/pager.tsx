// The buttons that go through the pages of a list.
import type { JSX } from "preact";
import { Icon } from "./icon.js";

/** Shows the buttons if there is more than one page. token is that of the page that is shown, next that of the page after it. */
export function Pager({ token, next, onNext }: { token: string | undefined; next: string | undefined; onNext: () => void }): JSX.Element | null {
  if (!token && !next) return null;
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" disabled={!token} onClick={() => history.back()}>
        <Icon name="up" size={14} /> Newer
      </button>
      <button type="button" disabled={!next} onClick={onNext}>
        Older <Icon name="down" size={14} />
      </button>
    </nav>
  );
}
