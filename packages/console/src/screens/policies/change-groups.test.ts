import assert from "node:assert/strict";
import { test } from "node:test";
import type { SimulatedChange } from "@countersign/review-api";
import { groupChanges } from "./change-groups.ts";

const CHANGE: SimulatedChange = {
  event: "changed",
  id: "1",
  tool: "mail.send",
  instance: { id: "i", name: "bot" },
  created_at: "2026-01-01T00:00:00Z",
  was: "ask",
  would_be: "deny",
  because: "r",
  rules: [],
  errors: [],
  status: "approved",
};

test("changes of one tool, server and kind are one group, and the largest group is first", () => {
  const groups = groupChanges([
    { ...CHANGE, server: "pg" },
    CHANGE,
    { ...CHANGE, was: "approve" },
    { ...CHANGE, id: "2" },
    { ...CHANGE, would_be: "ask", differs: ["quorum", "from"] },
  ]);
  assert.deepEqual(
    groups.map(({ first, words, calls }) => [first.server, words, calls.length]),
    [
      [undefined, "ask to deny", 2],
      ["pg", "ask to deny", 1],
      [undefined, "approve to deny", 1],
      [undefined, "different approval: number of approvers, approvers", 1],
    ],
  );
});
