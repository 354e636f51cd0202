// What the tests of this folder use.
export { parseJson } from "../lib/exact.js";
export * from "./check.js";
export * from "./model.js";
export * from "./node.js";
export * from "./shape.js";
