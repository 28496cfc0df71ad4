// Process: own
/** Times in words for a reader of German. The tests of the pages read English. */

import assert from "node:assert/strict";
import { test } from "node:test";

// The modules choose the language when they are loaded, and only in a page.
Object.defineProperty(globalThis, "document", { value: {} });
Object.defineProperty(navigator, "languages", { value: ["de-DE"] });

const { durationWords } = await import("./time-words.ts");

test("a duration has the decimal separator of the reader's language", () => {
  assert.deepEqual([0, 840, 1_999, 41_200].map(durationWords), ["0 s", "0,8 s", "2 s", "41 s"]);
});
