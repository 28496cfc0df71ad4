/** Compares contract/extensions.yaml with the tables of its operations, and checks its examples. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AGENT_OPERATIONS } from "@countersign/protocol";
import { examplesUnder, keysOf, loadExtensions, operationsOf, type Place } from "./load-openapi.ts";

describe("the extensions", () => {
  const described = loadExtensions();

  test("[ours.extensions.off] the description has every operation, with the extension that enables it", () => {
    const declared: Record<string, unknown> = {};
    for (const [name, { pointer, value }] of operationsOf(described, "paths")) {
      const [path = "", method = ""] = pointer.split("/").slice(2);
      const { "x-extension": extension } = value as Record<string, unknown>;
      const at = `${method} ${path.replaceAll("~1", "/")}`;
      const statuses = keysOf(described.child({ pointer, value }, "responses")?.value).map(Number);
      declared[name] = { at, extension, statuses };
    }
    const expected = Object.entries(AGENT_OPERATIONS).map(([name, operation]) => {
      const { extension, method, path, success, errors } = operation;
      const at = `${method.toLowerCase()} ${path.replace(":id", "{id}")}`;
      return [name, { at, extension, statuses: [...success, ...errors] }];
    });
    assert.deepEqual(declared, Object.fromEntries(expected));
  });

  test("have examples, and every example is valid", () => {
    const places = [
      ["paths"],
      ["components", "responses", "ConsumedApproval"],
      ["components", "responses", "ConsumedRequest"],
    ];
    const examples = places.flatMap((keys) => {
      const place = keys.reduce<Place>((at, key) => {
        return described.child(at, key) ?? assert.fail(`nothing at ${keys.join("/")}`);
      }, described.root);
      return [...examplesUnder(described, place)];
    });
    const faults = examples.flatMap(({ schema, pointer, value }) =>
      described.violations(schema, value, `${pointer} `),
    );
    assert.deepEqual(faults, []);
    assert.ok(examples.length >= 4, String(examples.length));
  });
});
