import assert from "node:assert/strict";
import test from "node:test";
import { kindOfActor } from "./actor.ts";

test("the kind of an actor is the word before the first colon", () => {
  assert.equal(kindOfActor("reviewer:01900000-0000-7000-8000-000000000000"), "reviewer");
  assert.equal(kindOfActor("policy:floor/no-drops:ever"), "policy");
  assert.equal(kindOfActor("system:deadline"), "system");
});
