// The events of a run, as a table. Only the rows that can be seen are in the document.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { HistoryEvent } from "../api/types.js";
import { Icon } from "../components/icon.js";
import { Empty } from "../components/notice.js";
import { count, duration, millis, stamp } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { useMedia } from "../lib/media.js";
import { Heights, reveal, useWindowed } from "../lib/windowed.js";
import { Attributes } from "./attributes.js";
import { KindToggles } from "./kind-toggles.js";
import { type Kind, kindOf, kinds, toneOf } from "./kinds.js";
import { summaryOf } from "./summary.js";

/** The table of events. at is the event that the address names; it is unfolded. */
export function EventTable({
  events,
  more,
  total,
  workflowId,
  at,
  eventHref,
}: {
  events: readonly HistoryEvent[];
  more: boolean;
  total: number;
  workflowId: string;
  at: number | undefined;
  eventHref: (id: number) => string;
}): JSX.Element {
  const [hidden, setHidden] = useState<ReadonlySet<Kind>>(new Set());
  const [text, setText] = useState("");
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set(at ? [at] : []));
  const [extra, setExtra] = useState<ReadonlyMap<number, number>>(new Map());
  const [selected, setSelected] = useState<number>();
  const unfocused = useRef<number>(undefined); // an event that was selected, and has not got the focus yet
  const body = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const narrow = useMedia("(max-width: 720px)");
  const of = (id: number): HistoryEvent | undefined => events[id - 1];

  const visible = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    if (hidden.size === 0 && !wanted) return events;
    return events.filter((e) => !hidden.has(kindOf(e.type)) && (!wanted || `${e.id} ${e.type} ${summaryOf(e, of)}`.toLowerCase().includes(wanted)));
  }, [events, events.length, hidden, text]);
  const indexOf = (id: number): number => (visible === events ? id - 1 : visible.findIndex((e) => e.id === id));
  const unfolded = new Map([...open].map((id) => [indexOf(id), extra.get(id) ?? 160] as const));
  const heights = new Heights(visible.length, narrow ? 52 : 34, unfolded);
  const shown = useWindowed(body, heights);
  const present = useMemo(() => new Set(events.map((e) => kindOf(e.type))), [events, events.length]);

  const toggle = (id: number): void => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const focusRow = (): void => {
    const row = unfocused.current === undefined ? undefined : body.current?.querySelector<HTMLElement>(`[data-event="${unfocused.current}"]`);
    if (!row) return;
    unfocused.current = undefined;
    row.focus({ preventScroll: true });
  };
  const choose = (id: number | undefined): void => {
    setSelected(id);
    unfocused.current = id;
    if (id === selected) focusRow();
  };
  const select = (index: number): void => {
    const to = Math.max(0, Math.min(visible.length - 1, index));
    choose(visible[to]?.id);
    reveal(body.current, heights, to);
  };
  const chosen = selected === undefined ? -1 : indexOf(selected);
  useKeys("Events", [
    { keys: "j", does: "Next event", run: () => select(chosen + 1) },
    { keys: "k", does: "Previous event", run: () => select(chosen - 1) },
    { keys: "o", does: "Unfold or fold the event", run: () => selected !== undefined && toggle(selected) },
    { keys: "/", does: "Find in events", run: () => search.current?.select() },
  ]);
  // The row of the selected event may be in the document only after the window has scrolled. It gets the focus once: a
  // row that comes back later must not take it from what has it then.
  useEffect(focusRow);
  // An address that names an event shows it, as soon as it was read.
  const reached = at !== undefined && at <= events.length;
  useLayoutEffect(() => {
    if (!reached || at === undefined) return;
    setOpen((o) => new Set(o).add(at));
    choose(indexOf(at) < 0 ? undefined : at);
    reveal(body.current, heights, indexOf(at));
  }, [at, reached]);

  const begin = events[0] ? millis(events[0].time) : 0;
  return (
    <div class="events">
      <div class="events-tools">
        <div class="filter-box">
          <Icon name="search" />
          <input ref={search} type="search" value={text} placeholder="Find in events" aria-label="Find in events" onFocus={() => (unfocused.current = undefined)} onInput={(e) => setText(e.currentTarget.value)} />
        </div>
        <KindToggles what="events" present={(k) => present.has(k)} hidden={hidden} setHidden={setHidden} />
        <span class="dim num" role="status">
          {visible.length === events.length ? "" : `${count(visible.length)} of `}
          {count(more ? total : events.length)} events{more ? `, ${count(events.length)} read` : ""}
        </span>
      </div>
      <div class="event-rows" role="table" aria-label="Events" aria-rowcount={visible.length + 1}>
        <div class="event-head" role="row" aria-rowindex={1}>
          <span role="columnheader">#</span>
          <span role="columnheader">Time</span>
          <span role="columnheader">Event</span>
          <span role="columnheader">Details</span>
        </div>
        <div ref={body} role="rowgroup">
          <div style={{ height: `${shown.above}px` }} />
          {visible.slice(shown.first, shown.end).map((e, i) => (
            <Row
              key={e.id}
              event={e}
              index={shown.first + i}
              begin={begin}
              text={summaryOf(e, of)}
              open={open.has(e.id)}
              toggle={() => {
                choose(e.id);
                toggle(e.id);
              }}
              measured={(height) => setExtra((m) => (m.get(e.id) === height ? m : new Map(m).set(e.id, height)))}
              workflowId={workflowId}
              eventHref={eventHref}
            />
          ))}
          <div style={{ height: `${shown.below}px` }} />
        </div>
        {visible.length === 0 && events.length > 0 && <Empty title="No event matches" />}
      </div>
    </div>
  );
}

function Row({
  event,
  index,
  begin,
  text,
  open,
  toggle,
  measured,
  workflowId,
  eventHref,
}: {
  event: HistoryEvent;
  index: number;
  begin: number;
  text: string;
  open: boolean;
  toggle: () => void;
  measured: (height: number) => void;
  workflowId: string;
  eventHref: (id: number) => string;
}): JSX.Element {
  const details = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = details.current;
    if (!element) return;
    const look = (): void => measured(element.offsetHeight);
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, [open]);
  const at = millis(event.time);
  return (
    <>
      <div role="row" aria-rowindex={index + 2} class={open ? "event-row open" : "event-row"} onClick={toggle}>
        <span role="cell" class="num dim">
          {event.id}
        </span>
        <span role="cell" class="num dim" title={stamp(at, true)}>
          {index === 0 && at === begin ? "0 ms" : `+${duration(at - begin)}`}
        </span>
        <span role="cell" class="event-type">
          <Icon name={kinds[kindOf(event.type)].icon} size={14} />
          <button
            type="button"
            class={`link ${toneOf(event)}`}
            data-event={event.id}
            aria-expanded={open}
            onClick={(e) => {
              e.stopPropagation();
              toggle();
            }}
          >
            {event.type}
          </button>
        </span>
        <span role="cell" class="event-text mono">
          {text}
        </span>
      </div>
      {open && (
        <div role="row" class="event-details" ref={details}>
          <div role="cell">
            <p class="event-about dim">
              <span>{stamp(at, true)}</span>
              <a href={eventHref(event.id)}>Link to this event</a>
            </p>
            <Attributes of={event.attributes as Record<string, unknown>} workflowId={workflowId} eventHref={eventHref} />
          </div>
        </div>
      )}
    </>
  );
}
