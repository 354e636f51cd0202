// Texts of times, durations and sizes.
import { signal } from "@preact/signals";

/** Whether moments are shown in UTC instead of the browser's time zone. */
export const utc = signal(localStorage.getItem("weft.utc") === "true");

/** Switches between UTC and the browser's time zone, and remembers it. */
export function toggleUtc(): void {
  utc.value = !utc.value;
  localStorage.setItem("weft.utc", String(utc.value));
}

const pad = (n: number, digits = 2): string => String(n).padStart(digits, "0");

/** Returns a span of milliseconds in at most two units: 850 ms, 1.25 s, 3 m 12 s, 2 h 5 m, 4 d 3 h. */
export function duration(ms: number): string {
  const span = Math.max(0, ms);
  if (span < 1) return "0 ms";
  if (span < 1000) return `${Math.round(span)} ms`;
  if (span < 10_000) return `${(Math.floor(span / 10) / 100).toFixed(2)} s`;
  const s = Math.floor(span / 1000);
  if (s < 60) return `${s} s`;
  const two = (big: number, unit: string, small: number, smallUnit: string): string =>
    small > 0 ? `${big} ${unit} ${small} ${smallUnit}` : `${big} ${unit}`;
  if (s < 3600) return two(Math.floor(s / 60), "m", s % 60, "s");
  if (s < 86_400) return two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "m");
  return two(Math.floor(s / 86_400), "d", Math.floor((s % 86_400) / 3600), "h");
}

/** Returns a span without zeros behind the point: 5 s, not 5.00 s. */
export function tickText(ms: number): string {
  return duration(ms).replace(/(\.\d)0 s$/, "$1 s").replace(/\.0 s$/, " s");
}

/** Returns how long ago a moment was, or in how long it will be. */
export function ago(at: number, now: number): string {
  const past = now - at;
  if (Math.abs(past) < 1000) return "now";
  const text = coarse(Math.abs(past));
  return past > 0 ? `${text} ago` : `in ${text}`;
}

/** Returns a span in its largest unit. */
function coarse(ms: number): string {
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

/** Returns the zone of the browser at a moment, as UTC+5:30. Intl, which knows its name, takes milliseconds to begin. */
function zone(d: Date): string {
  const minutes = -d.getTimezoneOffset();
  const [h, m] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return minutes === 0 ? "UTC" : `UTC${minutes < 0 ? "-" : "+"}${h}${m ? `:${pad(m)}` : ""}`;
}

/** Returns a moment with its zone, as 2026-11-27 10:14:03 UTC-5, with milliseconds if asked. */
export function stamp(at: number, millis = false): string {
  const d = new Date(at);
  if (Number.isNaN(d.getTime())) return "an unknown time";
  const text = utc.value
    ? `${d.getUTCFullYear()}-${pad(d.getUTCMonth() + 1)}-${pad(d.getUTCDate())} ${pad(d.getUTCHours())}:${pad(d.getUTCMinutes())}:${pad(d.getUTCSeconds())}`
    : `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
  return text + (millis ? `.${pad(d.getMilliseconds(), 3)}` : "") + ` ${utc.value ? "UTC" : zone(d)}`;
}

/** Returns the time of day of a moment, with milliseconds and the zone. */
export function clock(at: number): string {
  return stamp(at, true).slice(11);
}

/** Returns a number of bytes: 812 B, 1.4 KiB, 3.0 MiB. */
export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KiB`;
  return `${(n / 1024 / 1024).toFixed(1)} MiB`;
}

/** Returns a number with commas between its thousands. */
export function count(n: number): string {
  return String(n).replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ",")); // Intl takes milliseconds to begin
}

/** Returns a number and its noun: 1 event, 2 events. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Returns dollars with as many digits as a tiny sum needs. */
export function dollars(n: number): string {
  if (n === 0) return "$0";
  if (n >= 1) return `$${n.toFixed(2)}`;
  return `$${n.toFixed(Math.min(12, 2 - Math.floor(Math.log10(n))))}`;
}

/** Reads a duration in Go's form (1h30m, 250ms). Returns milliseconds, or undefined if it is none. */
export function parseDuration(text: string | undefined): number | undefined {
  if (!text) return undefined;
  const units: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)/g)];
  if (parts.length === 0) return text === "0" ? 0 : undefined;
  return parts.reduce((sum, p) => sum + Number(p[1]) * (units[p[2] ?? ""] ?? 0), 0);
}

/** Returns a moment of the API in milliseconds since 1970. */
export function millis(time: string): number {
  return Date.parse(time);
}

/** Returns words for a name in camel case: timedOut is "Timed out". */
export function words(name: string): string {
  const text = name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns a duration in Go's form without the units that are zero: 1h30m0s is 1h30m. */
export function shortDuration(text: string): string {
  return text.replace(/(?<=[hm])0s$/, "").replace(/(?<=h)0m$/, "");
}
