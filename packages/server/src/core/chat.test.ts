import assert from "node:assert/strict";
import { test } from "node:test";
import { chatOrigin, isChatKind, readCode, writeCode } from "./chat.ts";

test("[ours.chat.code] a code has ten characters, and none that are easily confused", () => {
  const every = Array.from({ length: 256 }, (_, byte) => byte);
  for (let from = 0; from < every.length; from += 8) {
    const code = writeCode(Uint8Array.from([...every, ...every].slice(from, from + 16)));
    assert.match(code, /^[2-9A-HJ-NP-Z]{10}$/);
    assert.equal(readCode(code), code);
  }
});

test("[ours.chat.code] a code is read in lower case and with separators, and other text is not a code", () => {
  const code = writeCode(new Uint8Array(16));
  assert.equal(readCode(` ${code.slice(0, 5).toLowerCase()}-${code.slice(5)} `), code);
  for (const text of ["", code.slice(1), `${code}2`, "0000000000", "IIIIIIIIII", "ÄAAAAAAAAA"]) {
    assert.equal(readCode(text), undefined, text);
  }
});

test("[ours.chat.decide] the audit log names platform, team, user and message", () => {
  const user = { teamId: "T1", userId: "U1", name: "ana" };
  const post = { id: "1.2", place: "C1" };
  assert.equal(chatOrigin("slack_app", user, post), "slack_app:T1:U1:C1:1.2");
});

test("[ours.chat.input] people decide in chats only", () => {
  assert.equal(isChatKind("slack_app"), true);
  assert.equal(isChatKind("mattermost"), true);
  for (const kind of ["slack", "webhook", "email", "ntfy", "teams"] as const) {
    assert.equal(isChatKind(kind), false, kind);
  }
});
