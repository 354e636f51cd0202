// What is out of sight needs no reads.
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Reports whether an element is in the window, or at most half its height away from it. */
export function useVisible(element: RefObject<Element | null>): boolean {
  const [visible, setVisible] = useState(false);
  useEffect(() => {
    if (!element.current) return;
    const observer = new IntersectionObserver((entries) => setVisible(entries.at(-1)?.isIntersecting ?? false), { rootMargin: "50% 0px" });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return visible;
}
