// Weft's web page.
import "./api/early.js"; // first: see there
import { render } from "preact";
import { App } from "./app.js";

const root = document.getElementById("app");
if (root) render(<App />, root);
