// The timeline of a run, to scale. Only the rows that can be seen are in the document, and the
// overview is drawn of columns, so that a run with 10,000 events is as quick as one with ten.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Description, HistoryEvent } from "../api/types.js";
import { Icon } from "../components/icon.js";
import { Empty } from "../components/notice.js";
import { ago, clock, count, duration, plural, tickText } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { useMedia } from "../lib/media.js";
import { now } from "../lib/now.js";
import { runHref } from "../lib/route.js";
import { Heights, reveal, useWindowed } from "../lib/windowed.js";
import { KindToggles } from "./kind-toggles.js";
import { type Kind, kinds } from "./kinds.js";
import { type Item, Timeline } from "./timeline-model.js";

const rowHeight = 30;
const columns = 160; // of the overview
const none: ReadonlyMap<number, number> = new Map();

/** A period that is shown. */
interface Range {
  from: number;
  to: number;
}

/** The timeline. */
export function TimelineView({ events, d, eventHref }: { events: readonly HistoryEvent[]; d: Description | undefined; eventHref: (id: number) => string }): JSX.Element {
  const model = useMemo(() => new Timeline(), []);
  model.take(events);
  if (d) model.describe(d);
  const open = d ? d.status === "running" : true;
  const [zoom, setZoom] = useState<Range>();
  const [hidden, setHidden] = useState<ReadonlySet<Kind>>(new Set());
  // A run of days needs no new drawing each second.
  const present = useComputed(() => {
    const step = Math.max(1000, (now.value - model.begin) / 1000);
    return Math.ceil(now.value / step) * step;
  });
  const end = open ? Math.max(model.last, present.value) : model.last;
  const whole: Range = { from: model.begin, to: Math.max(model.begin + 1, end) };
  const range = zoom ?? whole;
  const items = useMemo(() => (hidden.size === 0 ? model.items : model.items.filter((i) => !hidden.has(i.kind))), [model.items.length, hidden]);
  const visible = zoom ? items.filter((i) => i.from <= range.to && (i.to ?? end) >= range.from) : items;
  const body = useRef<HTMLDivElement>(null);
  const heights = new Heights(visible.length, rowHeight, none);
  const shown = useWindowed(body, heights);
  const [chosen, setChosen] = useState(-1);
  const move = (to: number): void => {
    const index = Math.max(0, Math.min(visible.length - 1, to));
    setChosen(index);
    reveal(body.current, heights, index);
    requestAnimationFrame(() => body.current?.querySelector<HTMLElement>(`[data-item="${visible[index]?.id}"]`)?.focus({ preventScroll: true }));
  };
  const scale = (by: number): void => {
    const middle = (range.from + range.to) / 2;
    const half = ((range.to - range.from) * by) / 2;
    setZoom(half * 2 >= whole.to - whole.from ? undefined : { from: Math.max(whole.from, middle - half), to: Math.min(whole.to, middle + half) });
  };
  useKeys("Timeline", [
    { keys: "j", does: "Next row", run: () => move(chosen + 1) },
    { keys: "k", does: "Previous row", run: () => move(chosen - 1) },
    { keys: "+", does: "Zoom in", run: () => scale(0.5) },
    { keys: "-", does: "Zoom out", run: () => scale(2) },
    { keys: "0", does: "The whole run", run: () => setZoom(undefined) },
  ]);
  if (model.items.length === 0) return <Empty title="The run has started nothing yet" />;
  return (
    <div class="timeline">
      <div class="events-tools">
        <KindToggles what="rows" present={(k) => hidden.has(k) || model.items.some((i) => i.kind === k)} hidden={hidden} setHidden={setHidden} />
        <span class="dim num">{plural(visible.length, "row")}</span>
        <div class="zoom">
          <button type="button" class="small" aria-label="Zoom out" disabled={!zoom} onClick={() => scale(2)}>
            <Icon name="minus" size={13} />
          </button>
          <button type="button" class="small" aria-label="Zoom in" onClick={() => scale(0.5)}>
            <Icon name="plus" size={13} />
          </button>
          <button type="button" class="small" disabled={!zoom} onClick={() => setZoom(undefined)}>
            All
          </button>
        </div>
      </div>
      <div class="timeline-box">
        <Overview model={model} items={items} whole={whole} range={range} end={end} onZoom={setZoom} />
        <Axis range={range} begin={model.begin} />
        <div ref={body} role="list" aria-label="Timeline">
          <div style={{ height: `${shown.above}px` }} />
          {visible.slice(shown.first, shown.end).map((item) => (
            <Row key={item.id} item={item} range={range} end={end} begin={model.begin} eventHref={eventHref} />
          ))}
          <div style={{ height: `${shown.below}px` }} />
        </div>
        {visible.length === 0 && <NoRows zoomed={zoom !== undefined} whole={() => setZoom(undefined)} />}
      </div>
    </div>
  );
}

/** Says that no row is shown, and what to do. */
function NoRows({ zoomed, whole }: { zoomed: boolean; whole: () => void }): JSX.Element {
  if (!zoomed) return <Empty title="All rows are hidden" />;
  return (
    <Empty title="Nothing was under way in this period">
      <button type="button" onClick={whole}>
        Show the whole run
      </button>
    </Empty>
  );
}

/** How much of the run happens when: a column's height is how many items are under way. A drag zooms. */
function Overview({ model, items, whole, range, end, onZoom }: { model: Timeline; items: Item[]; whole: Range; range: Range; end: number; onZoom: (r: Range | undefined) => void }): JSX.Element {
  const svg = useRef<SVGSVGElement>(null);
  const [drag, setDrag] = useState<Range>();
  const span = whole.to - whole.from;
  const density = useMemo(() => {
    const change = new Array<number>(columns + 1).fill(0);
    const at = (t: number): number => Math.max(0, Math.min(columns - 1, Math.floor(((t - whole.from) / span) * columns)));
    for (const i of items) {
      const first = at(i.from);
      const last = at(i.to ?? end);
      change[first] = (change[first] ?? 0) + 1;
      change[last + 1] = (change[last + 1] ?? 0) - 1;
    }
    let sum = 0;
    return change.slice(0, columns).map((c) => (sum += c));
  }, [items, items.length, model.last, Math.round(span / 1000)]);
  const most = Math.max(1, ...density);
  const path = density.map((n, x) => (n > 0 ? `M${x} 30h1v${-Math.max(2, (n / most) * 28).toFixed(1)}h-1z` : "")).join("");
  const failed = model.tasks.filter((t) => t.failed).slice(0, 100);
  const timeAt = (e: PointerEvent): number => {
    const box = svg.current?.getBoundingClientRect();
    return box ? whole.from + Math.max(0, Math.min(1, (e.clientX - box.left) / box.width)) * span : whole.from;
  };
  const x = (t: number): number => ((t - whole.from) / span) * columns;
  const marked = drag ? { from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) } : range;
  return (
    <div class="overview">
      <span class="dim timeline-label">
        {count(items.length)} in {duration(span)}
      </span>
      <svg
        ref={svg}
        viewBox={`0 0 ${columns} 30`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`How much is under way: ${most} at most. Drag to zoom, or press + and -.`}
        onPointerDown={(e) => {
          e.currentTarget.setPointerCapture(e.pointerId);
          setDrag({ from: timeAt(e), to: timeAt(e) });
        }}
        onPointerMove={(e) => drag && setDrag({ from: drag.from, to: timeAt(e) })}
        onPointerUp={() => {
          if (drag && marked.to - marked.from > span / 200) onZoom(marked);
          else if (drag) onZoom(undefined);
          setDrag(undefined);
        }}
      >
        <path class="density" d={path} />
        {failed.map((t, i) => (
          <rect key={i} class="mark bad" x={x(t.at)} y="0" width="0.6" height="30" />
        ))}
        <rect class="outside" x="0" y="0" width={Math.max(0, x(marked.from))} height="30" />
        <rect class="outside" x={Math.min(columns, x(marked.to))} y="0" width={Math.max(0, columns - x(marked.to))} height="30" />
      </svg>
    </div>
  );
}

/** Returns moments that divide a range evenly, at round spans since the beginning of the run. */
function ticks(range: Range, begin: number, most: number): number[] {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 2 * 864e5, 7 * 864e5, 30 * 864e5, 90 * 864e5, 365 * 864e5];
  const step = steps.find((s) => (range.to - range.from) / s <= most) ?? 10 * 365 * 864e5;
  const all: number[] = [];
  for (let t = begin + Math.ceil((range.from - begin) / step) * step; t <= range.to && all.length < 10; t += step) all.push(t);
  return all;
}

const percent = (t: number, r: Range): number => ((t - r.from) / Math.max(1, r.to - r.from)) * 100;

function Axis({ range, begin }: { range: Range; begin: number }): JSX.Element {
  const narrow = useMedia("(max-width: 720px)");
  return (
    <div class="axis" aria-hidden="true">
      <span class="timeline-label" />
      <div class="axis-ticks">
        {ticks(range, begin, narrow ? 3 : 7).map((t) => (
          <span key={t} class={percent(t, range) > (narrow ? 80 : 94) ? "tick last" : "tick"} style={{ left: `${percent(t, range)}%` }}>
            {t === begin ? "0" : tickText(t - begin)}
          </span>
        ))}
      </div>
    </div>
  );
}

/** Returns how many attempts an item had: of a task all have failed, and of a pending activity the last one is under way or follows. */
function attemptsOf(item: Item): string {
  if (item.kind === "task") return `${item.attempts} attempts failed`;
  return item.to === undefined ? `attempt ${item.attempts}` : `${item.attempts} attempts`;
}

/** Returns what an item is and how it went, in words. */
function story(item: Item, begin: number, end: number): string {
  const spent = duration((item.to ?? end) - item.from);
  const parts = [
    item.label,
    item.outcome,
    item.point ? `at ${duration(item.from - begin)}` : item.to === undefined ? `for ${spent} so far` : `took ${spent}`,
    item.attempts > 1 ? attemptsOf(item) : "",
    item.backoff ? `of it about ${duration(item.backoff)} between attempts` : "",
    item.due !== undefined && item.to === undefined ? `${item.kind !== "timer" ? "next attempt" : item.due < end ? "was due" : "fires"} ${ago(item.due, end)}` : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

function Row({ item, range, end, begin, eventHref }: { item: Item; range: Range; end: number; begin: number; eventHref: (id: number) => string }): JSX.Element {
  const clamp = (p: number): number => Math.max(0, Math.min(100, p));
  const from = clamp(percent(item.from, range));
  const to = clamp(percent(item.to ?? end, range));
  const pending = item.to === undefined;
  const waits = pending && item.failedAt !== undefined ? clamp(percent(item.failedAt, range)) : undefined;
  const about = item.point ? item.outcome : pending ? (item.attempts > 1 ? `${attemptsOf(item)} · ` : "") + (item.due !== undefined ? `${item.kind === "task" ? "next " : ""}${ago(item.due, end)}` : item.outcome) : `${duration((item.to ?? end) - item.from)}${item.attempts > 1 ? ` · ${attemptsOf(item)}` : ""}`;
  const text = story(item, begin, end);
  // The text stands beside the bar where there is room, and otherwise on the end of it.
  const side = to <= 60 ? "" : from >= 30 ? " before" : " on";
  return (
    <div role="listitem" class="timeline-row">
      <span class="timeline-label">
        <Icon name={kinds[item.kind].icon} size={13} />
        <a class="ellipsis" href={eventHref(item.id)} data-item={item.id} title={`${text}\n${clock(item.from)}`}>
          {item.label}
        </a>
        {item.workflowId && (
          <a class="to-run" href={runHref(item.workflowId, item.runId)} aria-label={`Open ${item.workflowId}`} title={`Open ${item.workflowId}`}>
            <Icon name="arrow" size={13} />
          </a>
        )}
      </span>
      <span class="lane">
        <svg width="100%" height={rowHeight} role="img" aria-label={text}>
          {item.point ? (
            <circle class={`mark ${item.tone}`} cx={`${from}%`} cy={rowHeight / 2} r="4.5" />
          ) : (
            <>
              <rect class={`mark ${item.tone}${pending ? " pending" : ""}`} x={`${from}%`} y="8" style={{ width: `max(3px, ${(waits ?? to) - from}%)` }} height="14" rx="3" />
              {waits !== undefined && <rect class="backoff" x={`${waits}%`} y="8" style={{ width: `max(3px, ${to - waits}%)` }} height="14" rx="3" />}
              {item.attempts > 1 && !pending && item.tone === "good" && <rect class="mark warn" x={`${from}%`} y="18" style={{ width: `max(3px, ${((to - from) * Math.min(1, (item.backoff ?? 0) / Math.max(1, (item.to ?? end) - item.from))).toFixed(2)}%)` }} height="4" rx="2" />}
            </>
          )}
        </svg>
        <span class={`lane-text ${item.tone}${side}`} style={side === " before" ? { right: `calc(${100 - from}% + 8px)` } : side ? { right: `calc(${100 - to}% + 6px)`, maxWidth: `${(to - from) * 0.7}%` } : { left: `calc(max(${to}%, ${from}% + 3px) + 8px)` }}>
          {about}
        </span>
      </span>
    </div>
  );
}
