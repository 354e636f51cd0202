// The filter of the list: what was clicked, and what was typed.
import { decode } from "./address.js";

/** What is chosen in the list. The address has it. */
export interface Choice {
  /** The text of the filter box: an expression, or the beginning of a workflow id. */
  text: string;
  statuses: string[];
  /** Facts of open runs that have to hold: Stuck, Retrying, Paused. */
  facts: string[];
  types: string[];
  /** Why runs have closed. */
  reasons: string[];
  /** How long ago runs were started at most: 1h, 24h, 7d. */
  within: string;
  /** Whether Weft's own workflows are shown: those of schedules, batches and notifications. */
  own: boolean;
  /** Whether the text may name search attributes that no recent run has. */
  unknown: boolean;
}

/** What chooses all runs. Whether Weft's own are shown is left as it is. */
export const allRuns = { text: "", statuses: [], facts: [], types: [], reasons: [], within: "", unknown: false } satisfies Partial<Choice>;

/** The facts that can be chosen, with how they are shown. */
export const facts = ["Stuck", "Retrying", "Paused"] as const;

/** The periods that can be chosen, in milliseconds. */
export const periods: Record<string, { label: string; ms: number }> = {
  "1h": { label: "Last hour", ms: 3_600_000 },
  "24h": { label: "Last 24 hours", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 7 * 86_400_000 },
  "30d": { label: "Last 30 days", ms: 30 * 86_400_000 },
};

const list = (text: string | null): string[] => (text ? text.split(",").map(decode) : []);

/** Reads the choice of an address. */
export function choiceOf(query: URLSearchParams): Choice {
  return {
    text: query.get("q") ?? "",
    statuses: list(query.get("status")),
    facts: list(query.get("state")).filter((f) => (facts as readonly string[]).includes(f)),
    types: list(query.get("type")),
    reasons: list(query.get("reason")),
    within: query.get("within") ?? "",
    own: query.get("own") === "shown",
    unknown: query.get("unknown") === "allow",
  };
}

const join = (names: string[]): string | undefined => (names.length > 0 ? names.map(encodeURIComponent).join(",") : undefined);

/** Returns the parameters of the address of a choice, those of the first page. */
export function queryOf(c: Choice): Record<string, string | undefined> {
  return {
    q: c.text || undefined,
    status: join(c.statuses),
    state: join(c.facts),
    type: join(c.types),
    reason: join(c.reasons),
    within: c.within || undefined,
    own: c.own ? "shown" : undefined,
    unknown: c.unknown ? "allow" : undefined,
    page: undefined,
  };
}

/** Reports whether nothing is chosen. */
export function isEmpty(c: Choice): boolean {
  return !c.text && c.statuses.length + c.facts.length + c.types.length + c.reasons.length === 0 && !c.within;
}

/** Quotes a text of a filter: quotes in it are doubled. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const idPattern = /^[A-Za-z0-9._:-]{1,255}$/;

/** Returns the condition that a text of the filter box means. One word is the beginning of an id. */
export function conditionOf(text: string): string {
  const trimmed = text.trim();
  return idPattern.test(trimmed) && !facts.some((f) => f.toLowerCase() === trimmed.toLowerCase()) ? `WorkflowId STARTS_WITH ${quote(trimmed)}` : trimmed;
}

const oneOf = (name: string, values: string[]): string => (values.length === 1 ? `${name} = ${quote(values[0] ?? "")}` : `${name} IN (${values.map(quote).join(", ")})`);

/** Returns an expression in which each text is as many quotes. */
const withoutTexts = (expression: string): string => expression.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, (text) => "'".repeat(text.length));

/** Splits an expression into its conditions and the order at its end. */
function split(expression: string): [conditions: string, order: string] {
  const at = withoutTexts(expression).search(/\bORDER\s+BY\b/i);
  return at < 0 ? [expression, ""] : [expression.slice(0, at).trim(), expression.slice(at)];
}

/** Returns an expression that can be a part of a longer one. Those that AND joins need no parentheses. */
function grouped(expression: string): string {
  return /\b(OR|NOT)\b/i.test(withoutTexts(expression).replace(/\bIS\s+NOT\b/gi, "IS")) ? `(${expression})` : expression;
}

/**
 * Returns the filter of a choice. A period begins at a whole minute, so that the pages of a list have
 * the same filter. without leaves out a group, to count what else could be chosen in it. An order is
 * left out with any of them: only a list has one.
 */
export function filterOf(c: Choice, now: number, without?: Group): string {
  const all: string[] = [];
  const [conditions, order] = split(conditionOf(c.text));
  if (conditions) all.push(grouped(conditions));
  if (c.statuses.length > 0 && without !== "statuses") all.push(oneOf("ExecutionStatus", c.statuses));
  if (without !== "facts") all.push(...c.facts);
  if (c.types.length > 0 && without !== "types") all.push(oneOf("WorkflowType", c.types));
  if (c.reasons.length > 0 && without !== "reasons") all.push(oneOf("CloseReason", c.reasons));
  const period = Object.hasOwn(periods, c.within) ? periods[c.within] : undefined;
  if (period) all.push(`StartTime >= ${quote(new Date(Math.floor((now - period.ms) / 60_000) * 60_000).toISOString())}`);
  return [all.join(" AND "), without === undefined ? order : ""].filter(Boolean).join(" ");
}

/** What filterOf can leave out: a group of choices, or only the order. */
export type Group = "statuses" | "facts" | "types" | "reasons" | "order";

/** The type of the workflows of schedules. Their ids begin with it, and a colon. */
export const scheduleType = "weft.schedule";

const ownTypes = [scheduleType, "weft.batch", "weft.notify"];

/**
 * Returns the filter of a choice as filterOf does, without Weft's own workflows unless they are shown,
 * or a type or the text names them.
 */
export function shownFilterOf(c: Choice, now: number, without?: Group): string {
  if (c.own || c.types.some((t) => ownTypes.includes(t)) || /\bweft\./i.test(c.text)) return filterOf(c, now, without);
  const [conditions, order] = split(filterOf(c, now, without));
  const others = ownTypes.map((t) => `WorkflowType != ${quote(t)}`);
  return [[conditions, ...others].filter(Boolean).join(" AND "), order].filter(Boolean).join(" ");
}

/** Reports whether the server reads the activities of each open run to apply a filter. */
export function readsActivities(filter: string): boolean {
  return /\b(Retrying|FailingActivity)\b/i.test(withoutTexts(filter));
}

/** Adds a value to those chosen, or takes it away. */
export function toggled(values: string[], value: string): string[] {
  return values.includes(value) ? values.filter((v) => v !== value) : [...values, value];
}

/** Returns the workflow type of the runs if they have one only, by what was counted, or by the filter. Otherwise it is empty. */
export function onlyType(filter: string, groups: readonly { type: string }[] | undefined): string {
  if (groups && groups.length > 0) return groups.every((g) => g.type === groups[0]?.type) ? (groups[0]?.type ?? "") : "";
  if (/\b(OR|NOT)\b/i.test(filter)) return "";
  return /(?:^|\bAND )WorkflowType = '([^']+)'(?= AND |$)/.exec(filter)?.[1] ?? "";
}
