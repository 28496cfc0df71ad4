/**
 * Names, notes and arguments that try to be more than text, in every kind of channel.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallMessage } from "./channel-message.ts";
import { formatMessage, formatTimeLeft, quotePlain } from "./format-message.ts";
import {
  encodeHeader,
  ntfyMessage,
  slackMessage,
  teamsMessage,
  webhookMessage,
} from "./http-kinds.ts";
import { slackPlatform } from "./slack-app.ts";

const BASE = "https://countersign.example";

const ADDRESSES = {
  projectUrl: BASE,
  apiUrl: "https://slack.example/api",
  eventsUrl: `${BASE}/chat/a-project/a-channel`,
};

const CALL: CallMessage = {
  kind: "call",
  id: "an-id",
  now: 1_000_000,
  requestId: "a-request",
  isReminder: false,
  isEscalation: false,
  escalatedTo: [],
  tool: "deploy",
  server: undefined,
  instance: { id: "an-instance", name: "agent" },
  createdAt: 1_000_000,
  deadlineAt: 1_000_000 + 3_600_000,
  note: undefined,
  because: "no-policy",
  approvals: { needed: 1, given: 0, from: [], confirm: "click", isNoteRequired: false },
  argumentsText: undefined,
  buttons: undefined,
};

/** Names that an agent may choose for its tool or itself. */
const HOSTILE = [
  "<!channel>",
  "<!here|here>",
  "<https://evil.example|Approve>",
  "@all",
  "a & b",
  "`` ` ``",
  "a\r\nBcc: evil@example.com",
  "a\nTime left: 9h",
  "\u202Egpj.exe",
  "zero\u200Bwidth",
  "https://evil.example/approve",
  "www.evil.example",
  '" is approved. "',
  "\ud800",
  "\u0000",
  "=?UTF-8?B?4oCu?=",
  "<script>alert(1)</script>",
  "[text](https://evil.example)",
  "ä".repeat(500),
];

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

function callOf(hostile: string): CallMessage {
  return {
    ...CALL,
    tool: hostile,
    server: hostile,
    instance: { id: "an-instance", name: hostile },
    note: hostile,
    because: "rule",
    argumentsText: JSON.stringify({ a: hostile }),
  };
}

test("[ours.notify.hostile] a name in a Slack or Mattermost message creates no mention, link or formatting", () => {
  for (const hostile of HOSTILE) {
    const { body } = slackMessage(callOf(hostile), BASE);
    const { text } = JSON.parse(body) as { text: string };
    const lines = text.split("\n");
    assert.equal(lines.length, 6, text);
    assert.doesNotMatch(text, /[<>]/, text);
    assert.doesNotMatch(text, /&(?!amp;|lt;|gt;)/, text);
    for (const line of lines) assert.doesNotMatch(line, UNSEEN);
    // The whole text is in code format, without active markup.
    const outside = lines
      .slice(0, -1)
      .join("\n")
      .replace(/`[^`\n]*`/g, "");
    assert.doesNotMatch(outside, /[`@*_~[\]]|evil|script|www/, text);
    assert.equal(lines.at(-1), `${BASE}/inbox/a-request`);
  }
});

test("[ours.notify.hostile] a name in a message of a Slack app creates no mention, link or formatting", () => {
  const target = { kind: "slack_app", token: "xoxb-1", slackChannel: "C0OPS00001" } as const;
  const post = { id: "1.1", place: target.slackChannel };
  for (const hostile of HOSTILE) {
    const call = callOf(hostile);
    const outcome = {
      status: "denied",
      decidedAt: call.now,
      actor: "reviewer:a",
      decider: hostile,
      note: hostile,
    } as const;
    const resolved = { kind: "resolved", id: "a", now: call.now, post, call, outcome } as const;
    const bodies = [
      slackPlatform.postCall(target, call, ADDRESSES).body,
      slackPlatform.updateCall(target, resolved, ADDRESSES).body,
    ];
    for (const body of bodies) {
      const { text, blocks } = JSON.parse(body) as { text: string; blocks: SlackBlock[] };
      const marked = [text, ...blocks.flatMap((block) => block.text?.text ?? [])];
      for (const line of marked.slice(0, -1)) {
        assert.doesNotMatch(line, /[<>\n]/, line);
        assert.doesNotMatch(line, UNSEEN);
        const outside = line.replace(/`[^`\n]*`/g, "");
        assert.doesNotMatch(outside, /[`@*_~[\]]|evil|script|www/, line);
      }
      assert.equal(marked.at(-1), `${BASE}/inbox/a-request`);
      // Slack parses no markup in preformatted rich text.
      const [shown] = blocks.flatMap(({ elements }) => elements ?? []);
      assert.equal(shown?.type, "rich_text_preformatted");
      assert.deepEqual(Object.keys(shown?.elements[0] ?? {}).sort(), ["text", "type"]);
      assert.doesNotMatch(shown?.elements[0]?.text ?? "", UNSEEN);
    }
  }
});

interface SlackBlock {
  readonly text?: { readonly type: string; readonly text: string };
  readonly elements?: readonly {
    readonly type: string;
    readonly elements: readonly { readonly type: string; readonly text: string }[];
  }[];
}

test("[ours.notify.hostile] a name in a Teams card is in a text run, which has no markup", () => {
  for (const hostile of HOSTILE) {
    const { body } = teamsMessage(callOf(hostile), BASE);
    assert.ok(Buffer.byteLength(body) < 28_000);
    const [attachment] = (JSON.parse(body) as TeamsMessage).attachments;
    const { body: blocks, actions } = attachment?.content ?? assert.fail();
    for (const { type, inlines } of blocks) {
      assert.equal(type, "RichTextBlock");
      for (const run of inlines) {
        assert.equal(run.type, "TextRun");
        assert.doesNotMatch(run.text, UNSEEN);
        assert.doesNotMatch(run.text, /https:\/\/evil/);
      }
    }
    assert.deepEqual(actions, [
      {
        type: "Action.OpenUrl",
        title: "Open in Countersign",
        url: `${BASE}/inbox/a-request`,
      },
    ]);
  }
});

interface TeamsMessage {
  readonly attachments: readonly {
    readonly content: {
      readonly body: readonly {
        readonly type: string;
        readonly inlines: readonly { readonly type: string; readonly text: string }[];
      }[];
      readonly actions: readonly object[];
    };
  }[];
}

test("[ours.notify.hostile] headers for ntfy are ASCII, one line each, and say what the name is", () => {
  for (const hostile of HOSTILE) {
    const { headers, body } = ntfyMessage(callOf(hostile), BASE, "tk_x");
    for (const value of Object.values(headers)) assert.match(value, /^[\x20-\x7e]+$/);
    assert.doesNotMatch(body.replaceAll("\n", ""), UNSEEN);
    assert.equal(body.split("\n").length, 5, body);
    const title = decodeWords(headers.title ?? "");
    assert.doesNotMatch(title, UNSEEN);
    assert.doesNotMatch(title + body, /:\/\/|www\./i);
    assert.ok(Buffer.byteLength(body) <= 4_096, `${Buffer.byteLength(body)}`);
    assert.equal(headers.click, `${BASE}/inbox/a-request`);
    assert.equal(headers.authorization, "Bearer tk_x");
  }
  assert.equal(encodeHeader("plain"), "plain");
  const long = "ä€😀".repeat(40);
  assert.equal(decodeWords(encodeHeader(long)), long);
  for (const word of encodeHeader(long).split(" ")) assert.ok(word.length <= 75, word);
});

function decodeWords(text: string): string {
  return text
    .replace(/\?= =\?/g, "?==?")
    .replace(/=\?UTF-8\?B\?([^?]*)\?=/g, (_, encoded) => Buffer.from(encoded, "base64").toString());
}

test("[ours.notify.hostile] in plain words nothing ends its quotes, its line or becomes a link", () => {
  for (const hostile of HOSTILE) {
    const { title, lines } = formatMessage(callOf(hostile), {
      quote: quotePlain,
      argumentsBytesMax: 10_000,
    });
    assert.doesNotMatch(title, UNSEEN);
    assert.ok(title.length <= 250, title);
    for (const line of lines) {
      assert.doesNotMatch(line, UNSEEN);
      assert.doesNotMatch(line, /:\/\/|www\./i);
      assert.equal((line.match(/"/g)?.length ?? 0) % 2, 0, line);
    }
  }
  const style = { quote: quotePlain, argumentsBytesMax: 1_000 };
  const { title, lines } = formatMessage({ ...CALL, tool: "p\u0430ypal" }, style);
  assert.match(title, /^"p\\u\{0430\}ypal"/);
  assert.match(lines.at(-1) ?? "", /^Contains confusable characters\./);
  assert.doesNotMatch(formatMessage(callOf("paypal"), style).lines.join(), /confusable/);
  const [first] = formatMessage(
    { ...CALL, tool: "\u202Eexe" },
    {
      quote: quotePlain,
      argumentsBytesMax: 1,
    },
  ).lines;
  assert.match(first ?? "", /^"\\u\{202E\}exe" of /);
});

test("[ours.extensions.server.identity] a message names the server of the tool, if the call does", () => {
  const style = { quote: quotePlain, argumentsBytesMax: 0 };
  const named = formatMessage({ ...CALL, server: "production" }, style);
  assert.equal(named.title, '"deploy" on "production" waits: 1h left');
  assert.equal(named.lines[0], '"deploy" on "production" of "agent" waits for a decision.');
  assert.equal(formatMessage(CALL, style).title, '"deploy" waits: 1h left');
  const { body } = webhookMessage(CALL, BASE, () => "v1,x");
  assert.ok(!("server" in JSON.parse(body).request));
});

test("[ours.notify.hostile] programs get unchanged names, and a text line that is safe to display", () => {
  for (const hostile of HOSTILE) {
    const { body } = webhookMessage(callOf(hostile), BASE, () => "v1,x");
    const event = JSON.parse(body);
    assert.equal(event.request.tool, hostile);
    assert.equal(event.request.server, hostile);
    assert.equal(event.request.instance.name, hostile);
    assert.doesNotMatch(event.text, UNSEEN);
  }
});

test("[ours.notify.arguments] arguments are left out, unless the channel shows them; what is cut is said", () => {
  const long = JSON.stringify({ text: "\u202E".repeat(2_000), end: "rm -rf" });
  const { text } = JSON.parse(slackMessage({ ...CALL, argumentsText: long }, BASE).body);
  const [line] = text.split("\n").filter((each: string) => each.startsWith("Arguments"));
  const [, shown] = /^Arguments, only the first (\d+) of 2026 characters: `/.exec(line) ?? [];
  assert.ok(shown !== undefined, line);
  assert.equal([...line.matchAll(/\\u\{202E\}/g)].length, Number(shown) - '{"text":"'.length);
  assert.doesNotMatch(slackMessage(CALL, BASE).body, /Arguments/);
  assert.doesNotMatch(webhookMessage(CALL, BASE, () => "").body, /arguments/);
  const huge = `{"a":"${"x".repeat(20_000)}"}`;
  const { request } = JSON.parse(
    webhookMessage({ ...CALL, argumentsText: huge }, BASE, () => "").body,
  );
  assert.equal(request.arguments_text, huge.slice(0, 8_192));
  assert.deepEqual([request.arguments_whole, request.arguments_chars], [false, huge.length]);
});

test("[ours.notify.priority] a topic of ntfy rings louder the less time is left", () => {
  const priorityAt = (leftMs: number) => {
    return ntfyMessage({ ...CALL, deadlineAt: CALL.now + leftMs }, BASE, undefined).headers
      .priority;
  };
  const minutes = [60, 16, 15, 6, 5, 1].map((each) => priorityAt(each * 60_000));
  assert.deepEqual(minutes, ["3", "3", "4", "4", "5", "5"]);
  const lefts = [0, 45_999, 200_000, 300_000, 3_599_000, 3_600_000, 7_500_000].map(formatTimeLeft);
  assert.deepEqual(lefts, ["0s", "45s", "3m 20s", "5m", "59m", "1h", "2h 5m"]);
});

test("[ours.policy.tool-change] a message states that the definition of the tool changed", () => {
  const style = { quote: quotePlain, argumentsBytesMax: 0 };
  const { lines } = formatMessage({ ...CALL, because: "tool_definition_change" }, style);
  assert.ok(lines.includes("Why: the definition of the tool changed"), lines.join("\n"));
});
