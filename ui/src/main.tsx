// Weft's web page.
import { awaitEarly } from "./api/early.js"; // first: see there
import { render } from "preact";
import { App } from "./app.js";
import { drawFirst } from "./lib/drawn.js";

const root = document.getElementById("app");
const answered = await awaitEarly();
if (root) {
  const draw = (): void => render(<App />, root);
  if (answered) drawFirst(draw);
  else draw();
}
