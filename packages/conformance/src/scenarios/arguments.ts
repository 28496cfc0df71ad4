/** Lossless arguments and context: the provider returns exactly the submitted values. */

import {
  equalJson,
  JsonArray,
  JsonNumber,
  JsonObject,
  type JsonValue,
  parseJson,
} from "@countersign/protocol";
import type { RequirementId } from "../contract/index.ts";
import { expectRefusal, expectStatus, type Kit, type OwnInstance, requestOf } from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

const LIMITS = { depthMax: 5_000, numberCharsMax: 100_000 };

type Field = "arguments" | "context";

/** A submission with the exact text of an object. */
function bodyWith(field: Field, object: string): string {
  const rest = field === "arguments" ? "" : ',"arguments":{}';
  return `{"tool":"conformance.exact","timeout":"10m","${field}":${object}${rest}}`;
}

/** Every answer that shows the request: that of the creation, of a read, of a replay. */
async function* echoes(
  kit: Kit,
  instance: OwnInstance,
  body: string,
  field: Field,
  rule: RequirementId,
): AsyncGenerator<JsonObject> {
  const call = { token: instance.token, key: kit.key(), body };
  const created = await kit.call("createApprovalRequest", call);
  expectStatus(created, 201, rule);
  const replayed = await kit.call("createApprovalRequest", call);
  expectStatus(replayed, 200, rule);
  const read = await kit.read(instance, requestOf(created).id);
  for (const request of [requestOf(created), read, requestOf(replayed)]) {
    const object = request[field];
    expect(object !== undefined, rule, `${field} is missing in the answer`);
    yield object;
  }
}

/** Objects come back equal: keys, types, strings by code point, numbers by exact value. */
async function expectEqual(
  kit: Kit,
  objects: readonly string[],
  rule: RequirementId,
  field: Field = "arguments",
): Promise<void> {
  const instance = await kit.provision();
  for (const object of objects) {
    const sent = parseJson(object, LIMITS);
    for await (const shown of echoes(kit, instance, bodyWith(field, object), field, rule)) {
      const message = `${brief(object)} came back as ${brief(shown.source)}`;
      expect(equalJson(sent, shown), rule, message);
    }
  }
}

/** Every number of a value, in its order. */
function numbersIn(value: JsonValue): string[] {
  if (value instanceof JsonNumber) return [value.source];
  if (value instanceof JsonArray) return value.items.flatMap(numbersIn);
  return value instanceof JsonObject ? [...value.members.values()].flatMap(numbersIn) : [];
}

function brief(text: string): string {
  const shown = text.length > 120 ? `${text.slice(0, 117)}...` : text;
  // Invisible characters would make the report unclear.
  return JSON.stringify(shown).slice(1, -1);
}

function nested(depth: number): string {
  return `{"a":${"[".repeat(depth)}{"b":1}${"]".repeat(depth)}}`;
}

const NUMBERS = [
  "9007199254740991",
  "9007199254740993",
  "-9007199254740993",
  "123456789012345678901234567890",
  "0.1",
  "0.10000000000000000000000001",
  "3.141592653589793238462643383279",
  "1e400",
  "-1e400",
  "1e-400",
  "4.9e-324",
  "1E2",
  "1e+2",
  "0",
  "-0",
  "0.0",
  "1.0",
  "1.10",
] as const;

const STRINGS = [
  '{"e":"\\u00e9","decomposed":"e\\u0301","ligature":"\\ufb01","kelvin":"\\u212a"}',
  '{"nul":"\\u0000","controls":"\\u0001\\b\\f\\n\\r\\t\\u001f\\u007f\\u0085"}',
  '{"bidi":"\\u202eabc\\u202c","zero":"\\u200b\\u200d\\ufeff","line":"\\u2028\\u2029"}',
  '{"astral":"\\ud83d\\ude00","raw":"😀 𝒳 漢字 עברית","last":"\\udbff\\udfff"}',
  '{"quote":"\\"\\\\\\/","html":"<script>&amp;\'`%{x}","sql":"\'; drop table x; --"}',
  '{"":"an empty key"," ":"a space","\\u0000":"nul","e\\u0301":1,"\\u00e9":2}',
  '{"__proto__":{"x":1},"constructor":1,"toString":"x","hasOwnProperty":null,"length":0}',
  '{"a":1,"A":2,"á":3,"10":"ten","9":"nine","01":"leading"}',
] as const;

export const ARGUMENTS: readonly Scenario[] = [
  scenario(
    "arguments.values",
    "Values of every type come back as they were sent",
    ["scalar.arguments.exact"],
    (kit) => {
      const objects = [
        "{}",
        '{"null":null,"true":true,"false":false,"zero":0,"empty":"","list":[],"object":{}}',
        '{"string":"1","number":1,"boolean":"true","nothing":"null"}',
        '{"list":[1,"1",null,[],[[]],{},{"a":[{"b":null}]}],"order":[3,1,2]}',
        ' {\n\t"spaced" : [ 1 ,\r\n2 ] } ',
      ];
      return expectEqual(kit, objects, "scalar.arguments.exact");
    },
  ),
  scenario(
    "arguments.numbers",
    "Numbers come back with their exact value, however large or fine",
    ["scalar.arguments.numbers"],
    (kit) => {
      const objects = [`{"list":[${NUMBERS.join()}]}`, '{"id":9007199254740993}'];
      return expectEqual(kit, objects, "scalar.arguments.numbers");
    },
  ),
  scenario(
    "arguments.spelling",
    "Numbers come back as they were spelled",
    ["scalar.arguments.spelling"],
    async (kit) => {
      const rule = "scalar.arguments.spelling";
      const instance = await kit.provision();
      const body = bodyWith("arguments", `{"list":[${NUMBERS.join()}]}`);
      for await (const shown of echoes(kit, instance, body, "arguments", rule)) {
        for (const [index, source] of numbersIn(shown).entries()) {
          const sent = NUMBERS[index];
          expect(source === sent, rule, `${sent} came back as ${source}`);
        }
      }
    },
  ),
  scenario(
    "arguments.strings",
    "Strings and keys come back with every character",
    ["scalar.arguments.strings"],
    (kit) => expectEqual(kit, STRINGS, "scalar.arguments.strings"),
  ),
  scenario(
    "arguments.nesting",
    "Nesting comes back whole; what is too deep is refused, not cut",
    ["scalar.arguments.nesting"],
    async (kit) => {
      const rule = "scalar.arguments.nesting";
      await expectEqual(kit, [nested(8), nested(24)], rule);
      const instance = await kit.provision();
      for (const depth of [80, 1_000]) {
        const body = bodyWith("arguments", nested(depth));
        const call = { token: instance.token, key: kit.key(), body };
        const answer = await kit.call("createApprovalRequest", call);
        if (answer.status === 400) continue;
        expectStatus(answer, 201, rule);
        const isWhole = equalJson(parseJson(nested(depth), LIMITS), requestOf(answer).arguments);
        expect(isWhole, rule, `a nesting of ${depth} came back otherwise`);
      }
    },
  ),
  scenario(
    "arguments.long",
    "A text of 64 KiB comes back whole",
    ["scalar.arguments.exact"],
    (kit) => {
      const long = "Line of a script that is longer than a screen.\\n".repeat(1_365);
      return expectEqual(kit, [`{"script":"${long}"}`], "scalar.arguments.exact");
    },
  ),
  scenario(
    "arguments.duplicate-keys",
    "A duplicate key is rejected, or comes back twice",
    ["scalar.arguments.ambiguous"],
    async (kit) => {
      const rule = "scalar.arguments.ambiguous";
      const { token } = await kit.provision();
      for (const object of ['{"path":"one","path":"two"}', '{"a":[{"path":"one","path":"two"}]}']) {
        const call = { token, key: kit.key(), body: bodyWith("arguments", object) };
        // A strict reader would refuse an answer that repeats a key, and rightly.
        const { status, body } = await kit.client.callRaw("createApprovalRequest", call);
        const text = Buffer.from(body).toString();
        const isKept = status === 201 && text.includes('"one"') && text.includes('"two"');
        const message = `${object} answered ${status}, and one of the two is gone`;
        expect(status === 400 || isKept, rule, message);
      }
    },
  ),
  scenario(
    "arguments.lone-surrogates",
    "A lone surrogate, which parsers interpret differently, is rejected or kept",
    ["scalar.arguments.ambiguous"],
    async (kit) => {
      const { token } = await kit.provision();
      for (const text of ["\\ud800", "\\udc00x", "\\ud83d\\u0041"]) {
        const body = bodyWith("arguments", `{"text":"${text}"}`);
        const answer = await kit.client.callRaw("createApprovalRequest", {
          token,
          key: kit.key(),
          body,
        });
        const shown = Buffer.from(answer.body).toString().toLowerCase();
        const isKept = answer.status === 201 && shown.includes(text.toLowerCase());
        const message = `"${text}" answered ${answer.status}, and came back otherwise`;
        const isRight = answer.status === 400 || isKept;
        expect(isRight, "scalar.arguments.ambiguous", message);
      }
    },
  ),
  scenario(
    "arguments.duplicate-fields",
    "A duplicate field of the submission is rejected",
    ["scalar.arguments.ambiguous"],
    async (kit) => {
      const { token } = await kit.provision();
      const bodies = [
        '{"tool":"a","tool":"b","arguments":{},"timeout":"10m"}',
        '{"tool":"a","arguments":{"x":1},"arguments":{"x":2},"timeout":"10m"}',
      ];
      for (const body of bodies) {
        const call = { token, key: kit.key(), body };
        const answer = await kit.call("createApprovalRequest", call);
        expectRefusal(answer, 400, "scalar.arguments.ambiguous");
      }
    },
  ),
  scenario(
    "arguments.context",
    "A context comes back exactly as well",
    ["scalar.context.exact"],
    (kit) => {
      const objects = ["{}", `{"list":[${NUMBERS.join()}]}`, ...STRINGS];
      return expectEqual(kit, objects, "scalar.context.exact", "context");
    },
  ),
];
