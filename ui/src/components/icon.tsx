// Icons, drawn with lines on a grid of 16. They are decoration: a text always says the same.
import type { JSX } from "preact";

const paths = {
  activity: "M8.8 1.8 3.5 9h4l-.4 5.2L12.5 7h-4z",
  alert: "M8 2.2 1.8 13.3h12.4zM8 6.5v3.3M8 11.6v.1",
  arrow: "M3 8h10M9.5 4.5 13 8l-3.5 3.5",
  branch: "M4.5 5v6M4.5 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3m0 9a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3m7-7a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3m0 0c0 2.5-7 1.5-7 4",
  check: "m3 8.5 3.3 3.3L13 4.7",
  chevron: "m6 3.5 4.5 4.5L6 12.5",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 4.7V8l2.3 1.5",
  code: "m5 4.5-3.5 3.5L5 11.5m6-7 3.5 3.5-3.5 3.5",
  copy: "M6 5.5h7v8H6zM3.5 10.5v-8h7",
  cross: "m4 4 8 8m0-8-8 8",
  dot: "M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4",
  down: "m3.5 6 4.5 4.5L12.5 6",
  external: "M6.5 3.5h-3v9h9v-3M9.5 3h3.5v3.5M13 3 7.5 8.5",
  filter: "M2 4h12M4.5 8h7M7 12h2",
  hourglass: "M4.5 2h7M4.5 14h7M5.2 2v2.5L8 8l2.8-3.5V2M5.2 14v-2.5L8 8l2.8 3.5V14",
  keyboard: "M1.5 4h13v8h-13zM4 6.5h.1M6.7 6.5h.1M9.3 6.5h.1M12 6.5h.1M5 9.5h6",
  list: "M5.5 4H14M5.5 8H14M5.5 12H14M2.3 4h.1M2.3 8h.1M2.3 12h.1",
  menu: "M2 4.5h12M2 8h12M2 11.5h12",
  minus: "M3 8h10",
  moon: "M13 9.8A5.5 5.5 0 0 1 6.2 3a5.5 5.5 0 1 0 6.8 6.8",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.2v9.6L12.5 8z",
  plus: "M3 8h10M8 3v10",
  record: "M2.5 3.5h11v9h-11zM5 7.5h6M5 10h3.5",
  refresh: "M13.2 8A5.2 5.2 0 1 1 11.5 4.2M13.5 2v3h-3",
  retry: "M2.8 8A5.2 5.2 0 1 0 4.5 4.2M2.5 2v3h3",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9m3.3-1.2L14 14",
  signal: "M8 9a1 1 0 1 0 0-2 1 1 0 0 0 0 2M5.2 10.8a4 4 0 0 1 0-5.6m5.6 0a4 4 0 0 1 0 5.6M3.1 12.9a7 7 0 0 1 0-9.8m9.8 0a7 7 0 0 1 0 9.8",
  slash: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M3.8 12.2l8.4-8.4",
  stop: "M4 4h8v8H4z",
  sun: "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  system: "M2 3h12v8H2zM5.5 13.5h5M8 11v2.5",
  up: "m3.5 10 4.5-4.5L12.5 10",
  update: "M2 5.5h10.5M9.5 2.5l3 3-3 3M14 10.5H3.5M6.5 7.5l-3 3 3 3",
} as const;

export type IconName = keyof typeof paths;

/** Draws an icon. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
