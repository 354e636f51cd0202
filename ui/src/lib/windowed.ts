// Long lists: only the rows that can be seen are in the document. Rows have one height; a few may be
// taller by what was unfolded below them.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** The rows that are in the document, and the heights of what is above and below them. */
export interface Shown {
  first: number;
  end: number;
  above: number;
  below: number;
}

const spare = 10; // rows above and below those that can be seen

/** The heights of rows. extra are those of what is unfolded below rows, by index. */
export class Heights {
  private readonly sorted: [number, number][];
  constructor(
    readonly count: number,
    readonly row: number,
    extra: ReadonlyMap<number, number>,
  ) {
    this.sorted = [...extra].filter(([i]) => i >= 0 && i < count).sort(([a], [b]) => a - b);
  }
  /** Returns where a row begins. */
  top(index: number): number {
    let y = index * this.row;
    for (const [i, height] of this.sorted) {
      if (i >= index) break;
      y += height;
    }
    return y;
  }
  /** Returns the row at a place. */
  at(y: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.top(middle + 1) <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Returns the rows to show of a list that scrolls with the window. The element holds all rows. */
export function useWindowed(element: RefObject<HTMLElement | null>, heights: Heights): Shown {
  // As if the element began at the top of the window: the first drawing has rows already.
  const [range, setRange] = useState(() => ({ first: 0, end: heights.at(innerHeight) + 1 + spare }));
  const whole = heights.top(heights.count);
  const latest = useRef(heights);
  latest.current = heights;
  useLayoutEffect(() => {
    let frame = 0;
    const look = (): void => {
      frame = 0;
      const heights = latest.current;
      const top = -(element.current?.getBoundingClientRect().top ?? 0);
      const first = heights.at(top);
      const end = Math.min(heights.count, heights.at(top + innerHeight) + 1);
      // Rows are exchanged only when those that can be seen are not all there.
      setRange((r) => (r.first <= first && r.end >= end && r.end - r.first <= end - first + 4 * spare ? r : { first: Math.max(0, first - spare), end: end + spare }));
    };
    const later = (): void => {
      frame ||= requestAnimationFrame(look);
    };
    look();
    addEventListener("scroll", later, { passive: true });
    addEventListener("resize", later);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", later);
      removeEventListener("resize", later);
    };
  }, [heights.count, heights.row, whole]);
  const first = Math.min(range.first, heights.count);
  const end = Math.min(Math.max(range.end, first), heights.count);
  return { first, end, above: heights.top(first), below: whole - heights.top(end) };
}

/** Scrolls so that a row of the element can be seen. */
export function reveal(element: HTMLElement | null, heights: Heights, index: number): void {
  if (!element) return;
  const top = element.getBoundingClientRect().top + heights.top(index);
  const head = 110; // what stays above the rows
  if (top < head) scrollBy(0, top - head);
  else if (top + heights.row > innerHeight - 20) scrollBy(0, top + heights.row - innerHeight + 20);
}
