// The title of the browser's tab.
import { useEffect } from "preact/hooks";

/** Gives the tab the title of a page. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Weft`;
  }, [title]);
}
