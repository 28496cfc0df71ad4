/**
 * The text of settings files: what is put in, and that everything else stays letter for letter.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Agent, CLAUDE_CODE, CODEX } from "@countersign/agents";
import fc from "fast-check";
import { parse } from "jsonc-parser";
import { hookCommand } from "../src/install/hook-command.ts";
import {
  handlersIn,
  insertHandler,
  ownHandlers,
  removeHandlers,
} from "../src/install/json-settings.ts";
import { findSettingsFault } from "../src/install/settings-fault.ts";
import { UnusableSettings } from "../src/install/settings-handler.ts";

const PLACE = {
  node: "/opt/no de/node",
  script: "/opt/it's/countersign.js",
  profile: "/p.json",
  home: "/srv/it's",
  caFile: undefined,
  environment: false,
  program: "countersign-agent-hooks",
};

const EVENT = "PreToolUse";
const SHAPE = { isGrouped: true, head: {} };

function handler(agent = CLAUDE_CODE): Record<string, unknown> {
  const { denied } = agent.events[0].output;
  const command = hookCommand({ ...PLACE, agent: agent.name, denied, isPrompt: false });
  return { type: "command", command, timeout: 700 };
}

function inserting(text: string, agent?: Agent) {
  return insertHandler(text, EVENT, handler(agent), SHAPE);
}

function removing(text: string, ...inserted: string[]) {
  return removeHandlers(text, [EVENT], { name: CLAUDE_CODE.name, settings: SHAPE }, inserted);
}

function handlers(text: string) {
  return handlersIn(text, [EVENT], SHAPE);
}

function own(text: string, agent = CLAUDE_CODE) {
  return ownHandlers(text, [EVENT], { name: agent.name, settings: SHAPE });
}

/** Files as people and agents write them. */
const CORPUS: Readonly<Record<string, string>> = {
  "an empty object": "{}",
  "an empty object with a line end": "{}\n",
  "an empty object over two lines": "{\n}\n",
  "spaces between the brackets": "{ }\n",
  "a byte order mark": '\uFEFF{"model":"opus"}\n',
  "one line": '{"model":"opus","env":{"A":"1"}}',
  "two spaces": '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls:*)"]\n  }\n}\n',
  "four spaces, no line end": '{\n    "model": "opus"\n}',
  tabs: '{\n\t"model": "opus"\n}\n',
  "lines as on Windows": '{\r\n  "model": "opus",\r\n  "hooks": {}\r\n}\r\n',
  comments: '// mine\n{\n  /* a */ "model": "opus" // why\n  // end\n}\n// after\n',
  "a comma too many": '{\n  "model": "opus",\n}\n',
  "a comma too many in the list": '{"hooks": {"PreToolUse": [{"hooks": []},]}}',
  "a comment in an empty one": "{ /* nothing */ }\n",
  "no hooks yet": '{\n  "hooks": {}\n}\n',
  "other events": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}}\n',
  "an empty list": '{\n  "hooks": {\n    "PreToolUse": []\n  }\n}\n',
  "other hooks": `{
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "a" }] },
      { "hooks": [{ "type": "http", "url": "http://x" }] }
    ],
    "Stop": []
  },
  "model": "opus"
}
`,
  "numbers and escapes": '{"a": 1.0, "b": 12345678901234567890, "c": "\\u0041\\/", "d": -0}\n',
  "odd keys": '{"__proto__": {"x": 1}, "": 2, "hooks ": 3}\n',
  "a name that looks like ours": '{"note": "countersign-hook claude-code"}\n',
};

test("[ours.adapters.settings.whole] an insertion appears once, and its removal restores the original text", () => {
  for (const [name, text] of Object.entries(CORPUS)) {
    const { text: made, inserted } = inserting(text);
    assert.equal(made.replace(inserted, ""), text, name);
    const found = own(made).map(({ value }) => ({ ...value }));
    assert.deepEqual(found, [handler()], name);
    assert.equal(handlers(made).length, handlers(text).length + 1, name);
    const lastGroup = Math.max(...handlers(made).map(({ group }) => group));
    assert.equal(own(made)[0]?.group, lastGroup, name);
    assert.equal(removing(made, inserted), text, name);
  }
});

test("[ours.adapters.settings.whole] hooks of two agents in one file leave each other alone", () => {
  for (const [name, text] of Object.entries(CORPUS)) {
    const first = inserting(text);
    const second = inserting(first.text, CODEX);
    const left = removing(second.text);
    assert.equal(own(left, CODEX).length, 1, name);
    assert.equal(own(left).length, 0, name);
  }
});

/** The text that a program produces when it parses and writes the JSON. */
function asWritten(text: string) {
  return JSON.parse(JSON.stringify(parse(text.replace(/^\uFEFF/, ""))));
}

test("[ours.adapters.settings.whole] uninstall removes only the hook from a file that its agent rewrote", () => {
  for (const [name, text] of Object.entries(CORPUS)) {
    const { text: made, inserted } = inserting(text);
    const rewritten = { ...parse(made.replace(/^\uFEFF/, "")), added: true };
    const anew = `${JSON.stringify(rewritten, null, 4)}\n`;
    const left = removing(anew, inserted);
    assert.deepEqual(own(left), [], name);
    // Containers that were created for the hook may stay, empty.
    const { hooks: { PreToolUse = [], ...events } = {}, ...rest } = parse(left);
    const { hooks: { PreToolUse: before = [], ...eventsBefore } = {}, ...restBefore } =
      asWritten(text);
    assert.deepEqual([PreToolUse, events], [before, eventsBefore], name);
    assert.deepEqual(rest, { ...restBefore, added: true }, name);
  }
});

test("[ours.adapters.settings.whole] uninstall removes only the hook from a group with other hooks", () => {
  const other = { type: "command", command: "b" };
  const text = JSON.stringify({ hooks: { PreToolUse: [{ hooks: [other, handler(), other] }] } });
  const left = JSON.parse(removing(text));
  assert.deepEqual(left, { hooks: { PreToolUse: [{ hooks: [other, other] }] } });
});

test("[ours.adapters.settings.whole] uninstall restores the exact text of any JSON object", () => {
  const spaces = fc.constantFrom(undefined, 1, 2, "\t");
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), spaces, (value, space) => {
      fc.pre(!("hooks" in value));
      const text = JSON.stringify(value, null, space);
      const { text: made, inserted } = inserting(text);
      assert.equal(own(made).length, 1);
      assert.equal(removing(made, inserted), text);
    }),
    { numRuns: 300 },
  );
});

test("[ours.adapters.settings.refused] a file that the agent ignores as a whole is recognized", () => {
  const agents = [CLAUDE_CODE, CODEX];
  const pre = (handler: string) => `{"hooks": {"PreToolUse": [{"hooks": [${handler}]}]}}`;
  // As Claude Code 2.1.330 and Codex 0.169.0 treat them.
  const files: readonly (readonly [string, RegExp | undefined, RegExp | undefined])[] = [
    ['{"hooks": {}}', undefined, undefined],
    ["", undefined, undefined],
    ['// mine\n{"hooks": {}}', /line 1 is not strict JSON/, /line 1 is not strict JSON/],
    ['{\n"hooks": {},\n}', /line 3 is not strict JSON/, /line 3 is not strict JSON/],
    ['{"hooks": {"PreToolUse": [{"hooks": []},]}}', /strict JSON/, /strict JSON/],
    ['{"hooks": {}} x', /strict JSON/, /strict JSON/],
    ['{"description": "a\tb"}', /strict JSON/, /strict JSON/],
    ["[]", /not a JSON object/, /not a JSON object/],
    ['\uFEFF{"hooks": {}}', undefined, /byte order mark/],
    ['{"model": "opus"}', undefined, /unknown member "model"/],
    ['{"model": 5}', /model must be of type string, not number/, /unknown member/],
    ['{"env": {"A": 1}, "nope": 5}', undefined, /unknown member/],
    ['{"permissions": {"allow": "x"}}', /permissions.allow must be of type array/, /unknown/],
    ['{"disableAllHooks": "x"}', /disableAllHooks must be of type boolean/, /unknown/],
    ['{"description": 5}', undefined, /description must be of type string/],
    ['{"hooks": []}', undefined, /hooks must be of type object, not array/],
    ['{"hooks": {"PreToolUse": {}}}', /PreToolUse must be of type array/, /must be of type array/],
    ['{"hooks": {"PreToolUse": [5]}}', /PreToolUse.0 must be an object/, /must be an object/],
    ['{"hooks": {"PreToolUse": [{}]}}', /PreToolUse.0.hooks must be an array/, /must be an array/],
    ['{"hooks": {"PreToolUse": [{"matcher": 5, "hooks": []}]}}', /matcher must/, /matcher must/],
    [pre('{"type": "cmd"}'), /hooks.0.type must be one of command/, /type must be one of command/],
    [pre('{"type": "command"}'), /command must be a string/, /command must be a string/],
    [pre('{"type": "command", "command": "x", "timeout": "5"}'), /timeout must/, /timeout must/],
    [pre('{"type": "command", "command": "x", "async": 1}'), /async must/, /async must/],
    ['{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}', undefined, /command must be/],
  ];
  for (const [text, ...expected] of files) {
    for (const [index, agent] of agents.entries()) {
      const wanted = expected[index];
      assert.match(findSettingsFault(text, agent) ?? "none", wanted ?? /^none$/, text);
    }
  }
});

test("[ours.adapters.settings.refused] unreadable or ambiguous settings are not changed", () => {
  const files: Readonly<Record<string, RegExp>> = {
    "{": /line 1 is not JSON/,
    '{\n"a": 1\n"b": 2}': /line 3 is not JSON/,
    "[]": /not a JSON object/,
    '"text"': /not a JSON object/,
    '{"hooks": []}': /hooks is not an object/,
    '{"hooks": null}': /hooks is neither/,
    '{"hooks": {"PreToolUse": {}}}': /PreToolUse is not a list/,
    '{"hooks": {}, "hooks": {}}': /hooks occurs twice/,
    '{"hooks": {"PreToolUse": [], "PreToolUse": []}}': /PreToolUse occurs twice/,
  };
  for (const [text, message] of Object.entries(files)) {
    const refusal = (error: unknown) => {
      return error instanceof UnusableSettings && message.test(error.message);
    };
    assert.throws(() => inserting(text), refusal, text);
    assert.throws(() => removing(text), refusal, text);
  }
});
