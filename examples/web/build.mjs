// Builds the page for browsers, and the server and its test for Node.js.
import { build } from "esbuild";

const common = { bundle: true, format: "esm", target: "es2022", jsx: "automatic", logLevel: "warning" };
await build({ ...common, entryPoints: ["src/page.tsx"], outdir: "dist/assets", platform: "browser", minify: true, define: { "process.env.NODE_ENV": '"production"' } });
await build({ ...common, entryPoints: ["src/main.ts", "test/web.test.tsx"], outdir: "dist", entryNames: "[name]", platform: "node", packages: "external" });
