// Buttons that hide and show the kinds of events.
import type { JSX } from "preact";
import { Icon } from "../components/icon.js";
import { type Kind, kinds } from "./kinds.js";

/** One button for each kind that is present. what names what they hide: events, or rows. */
export function KindToggles({
  what,
  present,
  hidden,
  setHidden,
}: {
  what: string;
  present: (k: Kind) => boolean;
  hidden: ReadonlySet<Kind>;
  setHidden: (hidden: ReadonlySet<Kind>) => void;
}): JSX.Element {
  return (
    <div class="kinds" role="group" aria-label={`Kinds of ${what}`}>
      {(Object.keys(kinds) as Kind[]).filter(present).map((k) => (
        <button
          key={k}
          type="button"
          class="small toggle"
          aria-pressed={!hidden.has(k)}
          onClick={() => {
            const next = new Set(hidden);
            if (!next.delete(k)) next.add(k);
            setHidden(next);
          }}
        >
          <Icon name={kinds[k].icon} size={13} /> {kinds[k].label}
        </button>
      ))}
    </div>
  );
}
