// The frame of the page: the navigation, and the page of the present place.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { answers } from "./api/http.js";
import { Help } from "./components/help.js";
import { Icon } from "./components/icon.js";
import { Empty } from "./components/notice.js";
import { Toasts } from "./components/toast.js";
import { toggleUtc, utc } from "./lib/format.js";
import { useKeys } from "./lib/keys.js";
import { live } from "./lib/live.js";
import { go, href, match, place } from "./lib/route.js";
import { nextTheme, theme } from "./lib/theme.js";
import { pages } from "./pages.js";

/** The whole page. */
export function App(): JSX.Element {
  const [help, setHelp] = useState(false);
  useKeys("Everywhere", [
    { keys: "?", does: "Show this help", run: () => setHelp(true) },
    ...pages.flatMap((p) => (p.nav ? [{ keys: `g ${p.nav.key}`, does: `Go to ${p.nav.label}`, run: () => go(href([p.pattern])) }] : [])),
    { keys: "l", does: "Pause or resume refreshing", run: () => (live.value = !live.value) },
    { keys: "t", does: "Change the theme", run: nextTheme },
    { keys: "u", does: "Times in UTC or local", run: toggleUtc },
  ]);
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => skip(e)}>
        Skip to the content
      </a>
      <Bar onHelp={() => setHelp(true)} />
      <main id="main" tabIndex={-1}>
        <Current />
      </main>
      <Toasts />
      {help && <Help onClose={() => setHelp(false)} />}
    </>
  );
}

/** Moves the focus to the content, without a change of the fragment, which is the place. */
function skip(e: Event): void {
  e.preventDefault();
  document.getElementById("main")?.focus();
}

/** The bar at the top. */
function Bar({ onHelp }: { onHelp: () => void }): JSX.Element {
  const section = place.value.segments[0] ?? "runs";
  const themes = { system: "system", light: "sun", dark: "moon" } as const;
  return (
    <header class="bar">
      <a class="brand" href="#/" aria-label="Weft: runs">
        <Mark /> weft
      </a>
      <nav aria-label="Main">
        {pages.map(
          (p) =>
            p.nav && (
              <a key={p.pattern} href={href([p.pattern])} aria-current={section === p.pattern ? "page" : undefined}>
                <Icon name={p.nav.icon} /> {p.nav.label}
              </a>
            ),
        )}
      </nav>
      <div class="bar-tools">
        <button
          type="button"
          class={live.value ? (answers.value ? "ghost live" : "ghost live bad") : "ghost live off"}
          aria-pressed={live.value}
          title={live.value ? (answers.value ? "The page refreshes itself. Click to pause." : "The server does not answer. The page tries again. Click to pause.") : "The page does not refresh itself. Click to resume."}
          onClick={() => (live.value = !live.value)}
        >
          <span class="pulse" aria-hidden="true" />
          {live.value ? (answers.value ? "Live" : "No answer") : "Paused"}
        </button>
        <button type="button" class="ghost" title="Times in UTC, or in your time zone" aria-pressed={utc.value} onClick={toggleUtc}>
          {utc.value ? "UTC" : "Local time"}
        </button>
        <button type="button" class="ghost icon-only" title={`Theme: ${theme.value}`} aria-label={`Theme: ${theme.value}`} onClick={nextTheme}>
          <Icon name={themes[theme.value]} />
        </button>
        <button type="button" class="ghost icon-only" title="Keyboard (?)" aria-label="Keyboard shortcuts" onClick={onHelp}>
          <Icon name="keyboard" />
        </button>
      </div>
    </header>
  );
}

/** The mark of the product: threads that cross. */
function Mark(): JSX.Element {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <g fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round">
        <path d="M2 6.5h3.500M9 6.5h9M2 13.5h9M14.5 13.5H18M7 18v-8M7 6.5V2M13 18v-4.5M13 10V2" />
      </g>
    </svg>
  );
}

/** The page of the present place. */
function Current(): JSX.Element {
  const { segments } = place.value;
  useEffect(() => {
    if (segments.length === 0) go(href(["runs"]), true);
  }, [segments.length]);
  const at = segments.length === 0 ? ["runs"] : segments;
  for (const page of pages) {
    const params = match(page.pattern, at);
    if (params) return <page.component key={page.pattern} params={params} />;
  }
  return (
    <Empty title="There is no such page">
      <a href="#/">Go to the runs</a>
    </Empty>
  );
}
