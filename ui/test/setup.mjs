// The server and the browser of the tests of a file. Each file runs in a process of its own.
import { after, before } from "node:test";
import { openBrowser } from "./browser.mjs";
import { startServer } from "./server.mjs";

export let server;
export let browser;

/** Starts both before the first test of the file, calls prepare with the server, and stops both after the last test. */
export function setUp(prepare = async () => {}) {
  before(async () => {
    server = await startServer();
    browser = await openBrowser();
    await prepare(server);
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
}
