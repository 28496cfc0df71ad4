/**
 * Writes the reference pages that are made from tables in the code: `npm run docs`.
 */

import { writeFileSync } from "node:fs";
import { CONFIG_PAGE } from "./pages.ts";

writeFileSync(CONFIG_PAGE.file, CONFIG_PAGE.text());
