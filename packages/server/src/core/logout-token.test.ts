import assert from "node:assert/strict";
import { test } from "node:test";
import { endsSession, readLogoutToken, toEpochMs } from "./logout-token.ts";

const EVENT = "http://schemas.openid.net/event/backchannel-logout";

const TOKEN = { iat: 1_700_000_000, jti: "one", events: { [EVENT]: {} }, sub: "ana-1", sid: "s" };

const SESSION = { method: "oidc", providerSessionHash: "a", providerIssuedAt: 1_000 };

test("[ours.oidc.back-channel-logout] a logout token names a session, a user or both", () => {
  const issuedAt = 1_700_000_000_000;
  assert.deepEqual(readLogoutToken(TOKEN), { sid: "s", sub: "ana-1", issuedAt });
  const { sid: _, ...ofUser } = TOKEN;
  assert.deepEqual(readLogoutToken(ofUser), { sid: undefined, sub: "ana-1", issuedAt });
  const { sub: __, ...ofSession } = TOKEN;
  assert.deepEqual(readLogoutToken(ofSession), { sid: "s", sub: undefined, issuedAt });
  assert.equal(toEpochMs(1.5), 1_500);
});

test("[ours.oidc.back-channel-logout] other claims are not a logout token", () => {
  const wrong = [
    { nonce: "" },
    { jti: "" },
    { iat: "1700000000" },
    { events: null },
    { events: [] },
    { events: { [EVENT]: null } },
    { events: { [EVENT]: [] } },
    { events: Object.create({ [EVENT]: {} }) },
    { sid: 1 },
    { sub: "" },
    { sub: "a".repeat(256) },
    { sid: undefined, sub: undefined },
  ];
  for (const claims of wrong) {
    const read = () => readLogoutToken({ ...TOKEN, ...claims });
    assert.throws(read, { code: "invalid_credential" }, JSON.stringify(claims));
  }
});

test("[ours.oidc.back-channel-logout] a logout ends sessions of the provider that started before it or in the same second", () => {
  const logout = { hash: "a", issuedAt: 1_000 };
  const ended = (change: Partial<typeof logout>, session: object = {}) =>
    endsSession({ ...logout, ...change }, { ...SESSION, ...session });
  assert.equal(ended({}), true);
  assert.equal(ended({ issuedAt: 999 }), false);
  assert.equal(ended({ hash: "b" }), false);
  assert.equal(ended({ hash: "b" }, { providerSessionHash: null }), true);
  assert.equal(ended({ issuedAt: 0 }, { providerIssuedAt: null }), true);
  assert.equal(endsSession({ ...logout, hash: undefined }, SESSION), true);
  assert.equal(ended({}, { method: "passkey" }), false);
});
