import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import fc from "fast-check";
import { cancel, startScene } from "./support/scene.ts";
import { startLongPoll } from "./support/start-long-poll.ts";
import type { Answer } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, instance, reviewer } = scene;

/** The answer has the arguments and the context as exactly these texts. */
function assertShows(answer: Answer, args: string, context: string): void {
  const { text } = answer;
  assert.ok(answer.status === 200 || answer.status === 201, text);
  assert.ok(text.includes(`"arguments":${args},"timeout":`), `other arguments than ${args}`);
  assert.ok(text.includes(`"context":${context},"status":`), `another context than ${context}`);
}

/** Submits the texts and holds every answer that shows them against them. */
async function assertExact(args: string, context = args): Promise<void> {
  const body = `{"context": ${context} , "timeout":"1h","tool":"t","arguments":\n${args}\t}`;
  const call = { token: instance.token, key: server.freshKey(), body };
  const created = await server.call<ApprovalRequest>("POST", "/v1/requests", call);
  assertShows(created, args, context);
  const { id } = created.json;
  const { token } = instance;
  assertShows(await server.call("POST", "/v1/requests", call), args, context);
  assertShows(await server.call("GET", `/v1/requests/${id}`, { token }), args, context);
  const path = `/review/v1/requests/${id}`;
  const shown = await server.call("GET", path, { token: reviewer });
  assertShows(shown, args, context);
  const digest = createHash("sha256").update(args).digest("hex");
  assert.equal((shown.json as Record<string, unknown>).arguments_sha256, digest);

  const { answer } = await startLongPoll(server, token, id);
  assertShows(await cancel(server, token, id), args, context);
  assertShows(await answer, args, context);
  assertShows(await cancel(server, token, id), args, context);
  assertShows(await server.call("POST", "/v1/requests", call), args, context);
  assertShows(await server.call("GET", path, { token: reviewer }), args, context);
}

test("[scalar.arguments.numbers] [scalar.arguments.spelling] [scalar.arguments.exact] [scalar.context.exact] numbers of any size and spelling come out as they went in", async () => {
  const tokens =
    "0 -0 -0.0 0.00 1 1.0 1.00 1E2 1e2 1e+2 1e-2 1E+02 0e0 -0E-0 9007199254740992 " +
    "9007199254740993 -9223372036854775809 123456789012345678901234567890 1e308 1e309 -1e400 " +
    "1e-400 5e-324 0.1000000000000000055511151231257827 0.30000000000000004";
  await assertExact(`{"n":[${tokens.split(" ").join()}]}`);
  await assertExact(`{"n":${"7".repeat(1_000)}}`, `{"n":-0.${"0".repeat(996)}1}`);
});

test("[scalar.arguments.strings] [scalar.arguments.exact] [scalar.context.exact] strings keep their escapes and their bare characters", async () => {
  await assertExact('{"s":"\\u0000\\u0001\\u001f\\u007f\\/\\"\\\\\\b\\f\\n\\r\\t"}');
  await assertExact('{"s":["\\u00e9","\\u00E9","é","e\u0301","\\u0061","a","/","\\/"]}');
  await assertExact('{"s":["\\ud83d\\ude00","\\uD83D\\uDE00","😀","\ufeff","\ufffd","\u007f"]}');
  await assertExact('{"\\u006b\\n":1,"\\u0000":2,"ﬁ":3,"fi":4,"😀":5}');
  await assertExact('{"s":"\u2028\u2029\u0085\u200b\u202e\ufdd0\u{10ffff}"}');
});

test("[scalar.arguments.strings] __proto__ and constructor are ordinary keys", async () => {
  await assertExact('{"__proto__":{"a":1},"constructor":{"prototype":[]},"toString":null}');
  await assertExact('{"a":{"__proto__":null,"hasOwnProperty":1}}', '{"\\u005f_proto__":"x"}');
});

test("[ours.json.key-order] keys come out in the order they went in, numbers as keys included", async () => {
  await assertExact('{"z":1,"10":2,"9":3,"a":4,"01":5,"-1":6,"":7,"Z":8}', '{"b":1,"a":2}');
});

test("[scalar.arguments.exact] [scalar.context.exact] white space inside is kept", async () => {
  await assertExact('{ "a" :\t[ 1 ,\r\n 2 ] , "b" : { } , "c":[ ]}', "{\n}");
  await assertExact("{}", "{ }");
});

test("[scalar.arguments.exact] text that means something to others is only text", async () => {
  await assertExact('{"q":"\'; drop table request; -- $1 ? :a @b","$1":"{{x}}","%s":"%00"}');
  await assertExact('{"h":"</script><img src=x onerror=alert(1)>","u":"\\u001b[2J&amp;"}');
});

test("[scalar.arguments.exact] [scalar.arguments.nesting] [scalar.context.exact] types are kept in every nesting", async () => {
  const deep = `${"[".repeat(90)}null${"]".repeat(90)}`;
  const args = '{"a":[1,"1",true,"true",null,"null",[],{},[[]],[{}],""]}';
  await assertExact(args, `{"d":${deep}}`);
});

test("[scalar.arguments.exact] a large body comes out whole", async () => {
  const words = Array.from({ length: 20_000 }, (_, i) => `"k${i}":${i}.${i}0`).join();
  await assertExact(`{${words}}`, `{"s":"${"é".repeat(100_000)}"}`);
});

/** JSON texts in unusual spellings. */
const { object } = fc.letrec<{ value: string; object: string }>((tie) => {
  const space = fc.constantFrom("", "", " ", "\n", "\t");
  const key = fc.string({ unit: "binary", maxLength: 4 }).map((text) => JSON.stringify(text));
  return {
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom("1.0", "-0", "1E+2", "1e-9999", "true", "null", '"\\u0041"', '"\\/"'),
      fc.bigInt().map(String),
      fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
      fc.array(tie("value"), { maxLength: 3 }).map((items) => `[${items.join(" , ")}]`),
      tie("object"),
    ),
    object: fc
      .uniqueArray(fc.tuple(key, space, tie("value")), { maxLength: 3, selector: ([name]) => name })
      .map((members) => {
        return `{${members.map(([name, gap, value]) => `${gap}${name}${gap}:${value}`).join()}}`;
      }),
  };
});

test("[scalar.arguments.exact] [scalar.context.exact] any object comes out byte for byte", async () => {
  const property = fc.asyncProperty(object, object, (args, context) => assertExact(args, context));
  await fc.assert(property, { numRuns: 40 });
});
