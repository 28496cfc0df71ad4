/**
 * Writes the reference pages that are made from tables in the code: `npm run docs`.
 */

import { writeFileSync } from "node:fs";
import { PAGES } from "./pages.ts";

for (const { file, text } of PAGES) writeFileSync(file, await text());
