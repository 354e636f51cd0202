// Starts the server of the tests on a free port, in memory of a new data directory.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const uiserver = process.env.WEFT_UISERVER ?? path.join(root, "bin", "uiserver");

/** A server that runs, with its address. */
export async function startServer(...flags) {
  return startOn(await mkdtemp(path.join(tmpdir(), "weft-ui-")), {}, uiserver, ...flags);
}

/** Starts a program that is a server, with more variables. The first line that it prints has the address. */
export async function startProgram(program, more) {
  return startOn(await mkdtemp(path.join(tmpdir(), "weft-ui-")), more, program);
}

/** Starts a program on a data directory, with more variables. */
async function startOn(data, more, program, ...flags) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("WEFT_")));
  const child = spawn(program, ["--addr", "127.0.0.1:0", "--data", data, ...flags], { stdio: ["ignore", "pipe", "pipe"], env: { ...env, ...more } });
  let log = "";
  child.stderr.on("data", (text) => (log = (log + text).slice(-20_000)));
  const ended = new Promise((done) => child.once("exit", done));
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([new Promise((done) => lines.once("line", done)), ended.then(() => undefined)]);
  const url = /https?:\/\/[^\s]+:\d+/.exec(first ?? "")?.[0];
  if (!url) throw new Error(`the server did not start: ${first}\n${log}`);
  let output = first + "\n";
  lines.on("line", (line) => (output += line + "\n"));
  return {
    url,
    output: () => output,
    log: () => log,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      await rm(data, { recursive: true, force: true });
    },
    /** Stops the server, and returns another one with the same data, whose clock is ahead by a time such as 1h. */
    async later(ahead) {
      child.kill("SIGTERM");
      await ended;
      return startOn(data, { UISERVER_AHEAD: ahead }, program);
    },
  };
}

/** Sends a request to the API, and returns the answer. It throws unless the status is a success or expected. */
export async function api(server, method, to, body, ...expected) {
  const response = await fetch(`${server.url}/v1/${to}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const text = await response.text();
  if (!response.ok && !expected.includes(response.status)) throw new Error(`${method} ${to}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}

/** Asks until an answer meets a condition. */
export async function until(what, ask, meets) {
  for (let last; ; ) {
    last = await ask();
    if (meets(last)) return last;
    await new Promise((done) => setTimeout(done, 50));
    if (performance.now() > until.limit) throw new Error(`${what} did not happen: ${JSON.stringify(last)?.slice(0, 2000)}`);
  }
}
until.limit = 280_000; // since the process began; the tests' own time-out is a little longer
