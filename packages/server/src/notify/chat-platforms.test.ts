/**
 * Rules for every chat platform: text of agents and users stays text, limits are kept, buttons
 * return what they were made for, and forged or malformed events have no effect.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ADDRESSES,
  DISCORD,
  idOf,
  type Json,
  KITS,
  type Kit,
  MATTERMOST,
  NOTE_FORM,
  NOW,
  noteReply,
  outsideCode,
  parsed,
  received,
  TELEGRAM,
} from "../../test/support/chat-kits.ts";
import type { ButtonPressed, ChatEvent, ChatReply } from "../core/chat.ts";
import type { CallMessage, DecisionMessage, ResolvedMessage } from "./channel-message.ts";

const NONCE = "AbCdEfGhIjKlMnOpQrSt_-";
const REQUEST = "019b76da-a800-7192-983d-6d45f646e87e";
const DIGEST = "0".repeat(64);

// Messages. --------------------------------------------------------------------------------------

const CALL: CallMessage = {
  kind: "call",
  id: "an-id",
  now: NOW,
  requestId: REQUEST,
  isReminder: false,
  isEscalation: false,
  escalatedTo: [],
  tool: "deploy",
  server: undefined,
  instance: { id: "an-instance", name: "agent" },
  createdAt: NOW,
  deadlineAt: NOW + 3_600_000,
  note: undefined,
  because: "no-policy",
  approvals: { needed: 1, given: 0, from: [], confirm: "click", isNoteRequired: false },
  argumentsText: "{}",
  buttons: { nonce: NONCE, argumentsSha256: DIGEST, canApprove: true },
};

const HOSTILE = [
  "<!channel>",
  "@everyone @here @all",
  "<@423456789012345678>",
  "<https://evil.example|Approve>",
  "[text](https://evil.example)",
  "https://evil.example",
  "<b>evil</b>",
  '<a href="tg://user?id=777">evil</a>',
  "</code></pre><b>evil</b>",
  "&lt;evil&gt;",
  "`` ` ```",
  "``````evil",
  "**evil** __evil__ ~~evil~~ ||evil||",
  "a\n# evil",
  "\u202Eevil",
  "zero\u200Bwidth",
  "\ud800",
  "\u0000",
  "a:AbCdEfGhIjKlMnOpQrSt_-",
];

function hostileCall(hostile: string): CallMessage {
  return {
    ...CALL,
    tool: hostile,
    server: hostile,
    instance: { id: "an-instance", name: hostile },
    note: hostile,
    because: "rule",
    escalatedTo: [`group:${hostile}`],
    isEscalation: true,
    approvals: { ...CALL.approvals, from: [[hostile]] },
    argumentsText: JSON.stringify({ a: hostile }),
  };
}

function resolvedOf(call: CallMessage, { post }: Kit): ResolvedMessage {
  const outcome = {
    status: "denied",
    decidedAt: NOW,
    actor: "reviewer:a",
    decider: call.tool,
    note: call.tool,
  } as const;
  return { kind: "resolved", id: "a", now: NOW, post, call, outcome };
}

function decisionOf(call: CallMessage, kit: Kit): DecisionMessage {
  const { outcome } = resolvedOf(call, kit);
  return { kind: "decision", id: "a", now: NOW, call, outcome, thread: kit.post };
}

function bodiesOf(kit: Kit, call: CallMessage): string[] {
  const { platform, target, post } = kit;
  const refreshed = { kind: "refreshed", id: "a", now: NOW, post, call } as const;
  return [
    platform.postCall(target, call, ADDRESSES).body,
    platform.updateCall(target, refreshed, ADDRESSES).body,
    platform.updateCall(target, resolvedOf(call, kit), ADDRESSES).body,
    platform.postCall(target, decisionOf(call, kit), ADDRESSES).body,
  ];
}

function pressed(kit: Kit, label: string): ButtonPressed {
  const [body = ""] = bodiesOf(kit, CALL);
  const event = eventOf(kit, kit.press(body, label));
  assert.ok(typeof event === "object" && event.kind === "pressed", JSON.stringify(event));
  return event;
}

function eventOf(kit: Kit, event: unknown): ChatEvent | string {
  const { platform, target } = kit;
  return kit.sign === undefined
    ? platform.readPayload(target, event)
    : platform.receive(target, kit.sign(event));
}

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

for (const [name, kit] of KITS) {
  test(`[ours.chat.platforms] ${name}: names, notes and arguments create no mention, link or markup`, () => {
    for (const hostile of HOSTILE) {
      for (const body of bodiesOf(kit, hostileCall(hostile))) {
        const { marked, plain } = kit.read(body);
        assert.doesNotMatch(marked, /evil|everyone|channel>|AbCdEf|\]\(|`/, marked);
        for (const line of [...marked.split("\n"), ...plain]) assert.doesNotMatch(line, UNSEEN);
        assert.equal(plain.length, 1, body);
      }
    }
  });

  test(`[ours.chat.platforms] ${name}: the longest texts stay within its limits, and whole arguments are shown`, () => {
    for (const character of ["`", "&", "<", "\u202E", "😀", "x", "*"]) {
      const call = { ...hostileCall(character.repeat(3_000)), isReminder: true };
      for (const body of bodiesOf(kit, call)) kit.read(body);
      const argumentsText = JSON.stringify({ a: character.repeat(1_500) });
      kit.read(bodiesOf(kit, { ...call, argumentsText })[0] ?? "");
    }
    const argumentsText = JSON.stringify({ a: "x".repeat(1_900) });
    const { plain, labels } = kit.read(bodiesOf(kit, { ...CALL, argumentsText })[0] ?? "");
    assert.deepEqual(plain, [argumentsText]);
    assert.deepEqual(labels, ["Approve", "Deny"]);
  });

  test(`[ours.chat.platforms] ${name}: arguments that a message cannot show have no Approve`, () => {
    const argumentsText = JSON.stringify({ a: "`".repeat(1_900) });
    const { plain, labels } = kit.read(bodiesOf(kit, { ...CALL, argumentsText })[0] ?? "");
    const ticks = plain.join().match(/`|\\u\{0060\}/g)?.length;
    assert.ok(ticks === 1_900 || !labels.includes("Approve"), `${ticks} ${labels}`);
  });

  test(`[ours.chat.platforms] ${name}: a message has only the buttons that have an effect`, () => {
    const labels = (buttons: CallMessage["buttons"]) =>
      bodiesOf(kit, { ...CALL, buttons }).map((body) => kit.read(body).labels);
    const buttons = { nonce: NONCE, argumentsSha256: DIGEST, canApprove: true };
    const both = ["Approve", "Deny"];
    assert.deepEqual(labels(buttons), [both, both, [], []]);
    assert.deepEqual(labels({ ...buttons, canApprove: false }), [["Deny"], ["Deny"], [], []]);
    assert.deepEqual(labels(undefined), [[], [], [], []]);
  });

  test(`[ours.chat.platforms] ${name}: a pressed button returns its nonce, verdict, message and user`, () => {
    for (const [label, verdict] of [["Approve", "approve"] as const, ["Deny", "deny"] as const]) {
      const event = pressed(kit, label);
      assert.equal(event.verdict, verdict);
      assert.equal(event.value.nonce, NONCE);
      assert.deepEqual(event.post, kit.post);
      const { teamId, userId } = event.user;
      assert.deepEqual({ teamId, userId }, kit.user);
      assert.ok(event.id.length > 0);
    }
  });

  test(`[ours.chat.platforms] ${name}: a note returns with its button, and a blank one is none`, () => {
    const event = pressed(kit, "Deny");
    const noted = kit.sendNote(event, "  not on <b>Friday</b> ");
    assert.ok(typeof noted === "object" && noted.kind === "note_sent", JSON.stringify(noted));
    const { verdict, value, post, note } = noted;
    assert.deepEqual([verdict, value.nonce, post], ["deny", NONCE, kit.post]);
    assert.equal(note, "not on <b>Friday</b>");
    assert.equal(noted.user.userId, kit.user.userId);
    const blank = kit.sendNote(event, name === "telegram" ? "-" : "   ");
    assert.ok(typeof blank === "object" && blank.kind === "note_sent");
    assert.equal(blank.note, undefined);
  });

  test(`[ours.chat.platforms] ${name}: a forged, changed or old event is rejected`, () => {
    const [body = ""] = bodiesOf(kit, CALL);
    const event = kit.press(body, "Approve");
    const { platform, target } = kit;
    if (kit.sign === undefined) {
      assert.equal(platform.receive(target, received({}, JSON.stringify(event))), "forged");
      return;
    }
    assert.equal(platform.receive(target, kit.sign(event, { secret: "other" })), "forged");
    if (name === "mattermost") return;
    for (const at of [NOW - 301_000, NOW + 301_000]) {
      assert.equal(platform.receive(target, kit.sign(event, { at })), "forged");
    }
    const good = kit.sign(event);
    const changed = { ...good, body: Buffer.concat([good.body, Buffer.from(" ")]) };
    assert.equal(platform.receive(target, changed), "forged");
    for (const header of Object.keys(good.headers)) {
      const headers = { ...good.headers, [header]: "0" };
      assert.equal(platform.receive(target, { ...good, headers }), "forged");
      assert.equal(
        platform.receive(target, { ...good, headers: { ...headers, [header]: undefined } }),
        "forged",
      );
    }
  });

  test(`[ours.chat.platforms] ${name}: a malformed event decides nothing and throws nothing`, () => {
    const [body = ""] = bodiesOf(kit, CALL);
    const event = kit.press(body, "Approve");
    for (const changed of mutationsOf(event)) {
      const read = eventOf(kit, changed);
      if (typeof read === "string" || read.kind !== "pressed") continue;
      // The mutation concerned a field without meaning.
      assert.equal(read.value.nonce, NONCE, JSON.stringify(changed));
      assert.match(read.verdict, /^(approve|deny)$/);
    }
    const { platform, target } = kit;
    for (const payload of [null, undefined, 1, "x", [], {}, { type: 7 }, { update_id: "1" }]) {
      assert.ok(["invalid", "ignored"].includes(kindOf(platform.readPayload(target, payload))));
    }
    for (const text of ["", "{", "[]", "null", "payload=%7B", "\u0000", "{}"]) {
      const kind = kindOf(platform.receive(target, received({}, text)));
      assert.ok(["invalid", "forged"].includes(kind), `${text}: ${kind}`);
    }
  });

  test(`[ours.chat.platforms] ${name}: replies contain no markup of names, and bodies no secret`, () => {
    const { platform, target, secrets } = kit;
    const event = pressed(kit, "Deny");
    const note = kit.sendNote(event, "a") as ChatEvent;
    const code: ChatEvent = { ...(note as ButtonPressed), kind: "code_sent", code: "A" };
    const bodies: string[] = bodiesOf(kit, CALL);
    for (const text of [...HOSTILE, "long ".repeat(100)]) {
      const replies: ChatReply[] = [
        { kind: "none" },
        { kind: "done", text },
        { kind: "refused", text },
        { kind: "code_form", text },
        { kind: "note_form", verdict: "deny", isRequired: true, title: text.slice(0, 5) },
      ];
      for (const reply of replies) {
        for (const each of [event, note, code]) {
          if (reply.kind.endsWith("_form") && each !== event) continue;
          const { body, calls } = platform.answer(target, each, reply, ADDRESSES);
          const made = [...calls.map((call) => call.body), JSON.stringify(body ?? {})];
          bodies.push(...made);
          for (const shown of made) assertReplyIsText(name, shown);
        }
      }
    }
    for (const body of bodies) {
      for (const secret of secrets) assert.ok(!body.includes(secret), body);
    }
  });
}

function kindOf(event: ChatEvent | string): string {
  return typeof event === "string" ? event : event.kind;
}

/** Only texts that the platform interprets as markup count. */
function assertReplyIsText(name: string, body: string): void {
  const { text, parse_mode, data, ephemeral_text, callback_query_id } = parsed(body);
  if (name === "slack_app" && text !== undefined) assert.doesNotMatch(text, /[<>]/);
  if (name === "telegram" && callback_query_id !== undefined) assert.ok(text.length <= 200);
  if (name === "telegram" && parse_mode !== undefined) {
    const outside = text.replace(/<code>[^<]*<\/code>/g, "");
    assert.doesNotMatch(outside, /[<>]|evil|everyone/);
  }
  if (data?.content !== undefined) assert.doesNotMatch(outsideCode(data.content), /./);
  if (ephemeral_text !== undefined) assert.doesNotMatch(outsideCode(ephemeral_text), /./);
}

/** Copies of a value, each with one member removed or replaced. */
function* mutationsOf(value: unknown): Generator<unknown> {
  const replacements = [undefined, null, 7, -1.5, "", "x".repeat(20_000), [], {}, true];
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    const copyWith = (changed: unknown) => {
      if (Array.isArray(value)) return value.map((each, i) => (String(i) === key ? changed : each));
      return { ...value, [key]: changed };
    };
    for (const replacement of replacements) yield copyWith(replacement);
    for (const inner of mutationsOf(member)) yield copyWith(inner);
  }
}

test("[ours.chat.platforms] telegram: a note counts only as a reply to the bot, by the user who pressed", () => {
  const event = pressed(TELEGRAM, "Deny");
  assert.equal(kindOf(TELEGRAM.sendNote(event, "a", "778")), "ignored");
  const { calls } = TELEGRAM.platform.answer(TELEGRAM.target, event, NOTE_FORM, ADDRESSES);
  const asked = parsed(calls[0]?.body ?? "").text.replace(/<[^>]*>/g, "") as string;
  const read = (reply: object) => kindOf(TELEGRAM.platform.readPayload(TELEGRAM.target, reply));
  assert.equal(read(noteReply(asked, "a", 777)), "note_sent");
  assert.equal(read(noteReply(asked, "a", 777, 1234567891)), "ignored");
  assert.equal(read(noteReply(asked.replace(/\nd\./, "\na."), "a", 777)), "ignored");
  assert.equal(read(noteReply(asked.replace(".42.", ".43."), "a", 777)), "ignored");
});

test("[ours.chat.platforms] telegram: codes are read in private chats and from the command", () => {
  const from = { id: 777, is_bot: false, username: "ana" };
  const send = (text: string, type = "private", changes: object = {}) => {
    const chat = { id: type === "private" ? 777 : -100, type };
    const message = { message_id: 1, chat, from, text, ...changes };
    const event = TELEGRAM.platform.readPayload(TELEGRAM.target, { update_id: 1, message });
    return typeof event === "object" && event.kind === "code_sent" ? event.code : kindOf(event);
  };
  assert.equal(send("abcde-23456"), "ABCDE23456");
  assert.equal(send("hello"), "ignored");
  assert.equal(send("abcde-23456", "group"), "ignored");
  assert.equal(send("/link abcde23456", "group"), "abcde23456");
  assert.equal(send("/link@a_bot abcde23456"), "abcde23456");
  for (const command of ["/link", "/start", "/link@a_bot"])
    assert.equal(send(command), "link_wanted");
  assert.equal(send("/linked"), "ignored");
  assert.equal(send("/link abcde23456", "group", { sender_chat: { id: -100 } }), "ignored");
  assert.equal(send("/link", "private", { from: { ...from, is_bot: true } }), "ignored");
});

test("[ours.chat.platforms] mattermost: a dialog belongs to the user who opened it, for an hour", () => {
  const event = pressed(MATTERMOST, "Deny");
  assert.equal(MATTERMOST.sendNote(event, "a", idOf("b")), "forged");
  const { calls } = MATTERMOST.platform.answer(MATTERMOST.target, event, NOTE_FORM, ADDRESSES);
  const { dialog } = parsed(calls[0]?.body ?? "");
  const send = (changes: object, now = NOW) => {
    const { callback_id, state } = dialog;
    const common = { type: "dialog_submission", callback_id, state, user_id: idOf("a") };
    const body = Buffer.from(JSON.stringify({ ...common, submission: { text: "a" }, ...changes }));
    return kindOf(MATTERMOST.platform.receive(MATTERMOST.target, { headers: {}, body, now }));
  };
  assert.equal(send({}), "note_sent");
  assert.equal(send({ cancelled: true }), "ignored");
  assert.equal(send({}, NOW + 3_600_001), "forged");
  assert.equal(send({ callback_id: "countersign_code" }), "forged");
  assert.equal(send({ state: dialog.state.replace('"deny"', '"approve"') }), "forged");
  assert.equal(send({ state: dialog.state.replace(idOf("p"), idOf("q")) }), "forged");
  // The key of a button is not in the dialog.
  const [body = ""] = bodiesOf(MATTERMOST, CALL);
  const { context } = MATTERMOST.press(body, "Deny") as Json;
  assert.ok(!JSON.stringify(dialog).includes(context.key));
  const swapped = {
    ...(MATTERMOST.press(body, "Deny") as Json),
    context: { ...context, verdict: "approve" },
  };
  assert.equal(eventOf(MATTERMOST, swapped), "forged");
});

test("[ours.chat.platforms] discord: a signed ping is answered, and a form is not opened after a form", () => {
  const ping = eventOf(DISCORD, { type: 1 });
  assert.deepEqual(ping, { kind: "ping" });
  const { platform, target } = DISCORD;
  const answer = platform.answer(target, { kind: "ping" }, { kind: "none" }, ADDRESSES);
  assert.deepEqual(answer, { body: { type: 1 }, calls: [] });
  const note = DISCORD.sendNote(pressed(DISCORD, "Deny"), "a") as ChatEvent;
  const reply = { kind: "code_form", text: "Link it." } as const;
  const { body } = platform.answer(target, note, reply, ADDRESSES);
  assert.equal((body as Json).type, 4);
});
