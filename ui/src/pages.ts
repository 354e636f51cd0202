// The pages. Each has a pattern of its places, and an entry in the navigation if it has a label.
import type { JSX } from "preact";
import type { IconName } from "./components/icon.js";
import type { Params } from "./lib/route.js";
import { BatchesPage, BatchPage } from "./pages/batches.js";
import { BuildsPage } from "./pages/builds.js";
import { DeploymentPage } from "./pages/deployment.js";
import { ListPage } from "./pages/list.js";
import { QueuesPage } from "./pages/queues.js";
import { RunPage } from "./pages/run.js";
import { SchedulePage, SchedulesPage } from "./pages/schedules.js";

/** A page. */
export interface Page {
  pattern: string;
  component: (props: { params: Params }) => JSX.Element;
  /** The entry in the navigation, and the second key of its shortcut: g r. */
  nav?: { label: string; icon: IconName; key: string };
}

/** All pages. The first one is shown at #/. */
export const pages: Page[] = [
  { pattern: "runs", component: ListPage, nav: { label: "Runs", icon: "list", key: "r" } },
  { pattern: "workflows/:workflow/:run?/:part?/:item?", component: RunPage },
  { pattern: "schedules", component: SchedulesPage, nav: { label: "Schedules", icon: "clock", key: "s" } },
  { pattern: "schedules/:schedule", component: SchedulePage },
  { pattern: "batches", component: BatchesPage, nav: { label: "Batches", icon: "filter", key: "a" } },
  { pattern: "batches/:batch", component: BatchPage },
  { pattern: "queues", component: QueuesPage, nav: { label: "Queues", icon: "record", key: "q" } },
  { pattern: "builds", component: BuildsPage, nav: { label: "Builds", icon: "branch", key: "b" } },
  { pattern: "deployment", component: DeploymentPage, nav: { label: "Deployment", icon: "code", key: "d" } },
];
