// Takes the README's screenshots into docs/images: make ui-shots.
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { closePage, openBrowser, openPage } from "./test/browser.mjs";
import { completedOrder, seed, stuckSubscription } from "./test/seed.mjs";
import { startServer } from "./test/server.mjs";

const images = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "docs", "images");
await mkdir(images, { recursive: true });

const server = await startServer();
const browser = await openBrowser();
try {
  const { waiting } = await seed(server);
  await stuckSubscription(server, "subscription-8");
  await completedOrder(server, "order-1043");
  const shoot = async (name, hash, shown, size) => {
    const page = await openPage(browser, server, hash, size);
    await page.getByText(shown).first().waitFor();
    await page.waitForLoadState("networkidle", { timeout: 3000 }).catch(() => {}); // a long poll may stay open
    await page.screenshot({ path: path.join(images, `${name}.png`) });
    await closePage(page);
  };
  await shoot("runs", `#/runs?${new URLSearchParams({ q: "NOT WorkflowType = 'shipment'" })}`, "subscription-8", { width: 1280, height: 720 });
  await shoot("run", `#/workflows/${waiting.workflowId}/${waiting.runId}`, "addItem", { width: 1280, height: 900 });
} finally {
  await browser.close();
  await server.stop();
}
