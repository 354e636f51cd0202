import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The origin that the server allows. */
export const shop = "https://shop.test";

/** A running local server with the example workflows. */
export interface Server {
  url: string;
  stop(): Promise<void>;
}

/**
 * Starts the program that WEFT_BINARY names on a free port, and waits until it prints its address.
 */
export async function serve(): Promise<Server> {
  const binary = process.env["WEFT_BINARY"];
  if (binary === undefined) {
    throw new Error("WEFT_BINARY is not set: run make test-ts");
  }
  const data = await mkdtemp(join(tmpdir(), "weft-"));
  const program = spawn(binary, ["dev", "--addr", "127.0.0.1:0", "--data", join(data, "data"), "--cors-origins", shop]);
  let complaints = "";
  program.stderr.on("data", (text: Buffer) => (complaints += text.toString()));
  const ended = new Promise<number | null>((resolve) => program.on("close", resolve));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: program.stdout }).on("line", (line) => {
      const found = /http:\/\/[0-9.:]+/.exec(line);
      if (found) {
        resolve(found[0]);
      }
    });
    program.on("error", reject);
    void ended.then((code) => reject(new Error(`${binary} ended with ${code}: ${complaints}`)));
  });
  const stop = async (): Promise<void> => {
    program.kill("SIGINT");
    const code = await ended;
    await rm(data, { recursive: true });
    if (code !== 0) {
      throw new Error(`${binary} ended with ${code}: ${complaints}`);
    }
  };
  return { url, stop };
}
