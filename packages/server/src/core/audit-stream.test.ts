import assert from "node:assert/strict";
import { test } from "node:test";
import { parseStreamFormat } from "./audit-stream.ts";

test("the formats of a stream are cloudevents and ocsf", () => {
  assert.equal(parseStreamFormat("cloudevents"), "cloudevents");
  assert.equal(parseStreamFormat("ocsf"), "ocsf");
  for (const text of ["", "OCSF", "json"]) assert.equal(parseStreamFormat(text), undefined);
});
