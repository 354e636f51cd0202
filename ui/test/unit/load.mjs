// Loads modules of the page's sources into Node.js.
import { build } from "esbuild";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");

// What the modules ask the browser for when they are loaded.
globalThis.localStorage ??= { getItem: () => null, setItem: () => undefined };

/** Returns what a module of src exports. */
export async function load(file) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [path.join("src", file)],
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    jsx: "automatic",
    jsxImportSource: "preact",
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
