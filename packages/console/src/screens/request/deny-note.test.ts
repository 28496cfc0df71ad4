import assert from "node:assert/strict";
import { test } from "node:test";
import { noteOfDenial } from "./deny-note.ts";

test("[ours.request.question] a question contains the way to answer, and a reason is sent unchanged", () => {
  assert.equal(noteOfDenial({ reason: " No. ", isQuestion: false }), " No. ");
  assert.equal(
    noteOfDenial({ reason: " Which region? ", isQuestion: true }),
    "Question from the reviewer: Which region?\n" +
      "Answer the question in your explanation of the call, and request the call again.",
  );
});
