import { join } from "node:path";

import { Weft } from "weft-client";

import { createShop } from "./server.js";

const weft = new Weft(process.env["WEFT_URL"] ?? "http://127.0.0.1:8080");
const port = Number(process.env["PORT"] ?? 3000);
createShop(weft, join(import.meta.dirname, "assets")).listen(port, "127.0.0.1", () => console.log(`The shop is at http://127.0.0.1:${port}/ada`));
