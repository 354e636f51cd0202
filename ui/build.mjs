// Builds the web page into internal/page/dist, or with --check compares that folder with what the
// sources give. esbuild's output depends only on its version and on the sources, so the files are
// committed, and a program with the page is built without Node.js.
import { build } from "esbuild";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = path.dirname(fileURLToPath(import.meta.url));
const dist = path.join(here, "..", "internal", "page", "dist");
const mostBytes = 250 * 1024; // of all files, compressed: internal/page tests a smaller budget

/** Returns the files of the page by their names. */
async function built() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: { app: "src/main.tsx", style: "src/styles/main.css", icon: "src/icon.svg" },
    entryNames: "[name]-[hash]",
    outdir: dist,
    bundle: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".svg": "copy" },
    minify: true,
    legalComments: "none",
    charset: "utf8",
    define: { "process.env.NODE_ENV": '"production"' },
    write: false,
    logLevel: "warning",
  });
  const files = new Map(result.outputFiles.map((f) => [path.basename(f.path), Buffer.from(f.contents)]));
  const named = (pattern) => [...files.keys()].find((name) => pattern.test(name));
  let html = await readFile(path.join(here, "src", "index.html"), "utf8");
  for (const [place, pattern] of [["APP", /^app-.*\.js$/], ["STYLE", /^style-.*\.css$/], ["ICON", /^icon-.*\.svg$/]]) {
    html = html.replace(place, "ui/" + named(pattern));
  }
  files.set("index.html", Buffer.from(html));
  files.set("manifest.json", Buffer.from(JSON.stringify([...files.keys()].sort(), null, 2) + "\n"));
  return files;
}

/** Returns how dist differs from the files. */
async function differences(files) {
  const there = await readdir(dist).catch(() => []);
  const found = there.filter((name) => !files.has(name)).map((name) => `${name} is left over`);
  for (const [name, bytes] of files) {
    const old = await readFile(path.join(dist, name)).catch(() => undefined);
    if (!old) found.push(`${name} is missing`);
    else if (!old.equals(bytes)) found.push(`${name} differs`);
  }
  return found;
}

const files = await built();
let packed = 0;
for (const bytes of files.values()) packed += gzipSync(bytes, { level: 9 }).length;
const size = `${(packed / 1024).toFixed(1)} KiB compressed`;
if (packed > mostBytes) {
  console.error(`the page has ${size}: at most ${mostBytes / 1024} are allowed`);
  process.exit(1);
}
if (process.argv.includes("--check")) {
  const found = await differences(files);
  if (found.length > 0) {
    console.error(`internal/page/dist is not built from ui/: ${found.join(", ")}. Run make ui, and commit the files.`);
    process.exit(1);
  }
  console.log(`internal/page/dist is built from ui/: ${size}`);
} else {
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });
  for (const [name, bytes] of files) await writeFile(path.join(dist, name), bytes);
  console.log(`internal/page/dist: ${size}`);
}
