import assert from "node:assert/strict";
import { test } from "node:test";
import { matchesScimFilter, parseFilter, requiredValue } from "./scim-filter.ts";
import { USER_SCHEMA } from "./scim-schema.ts";

const ANA = {
  id: "Id-1",
  externalId: "X1",
  userName: "Ana@example.com",
  active: true,
  name: { familyName: "Lima" },
  emails: [
    { value: "ana@example.com", type: "work", primary: true },
    { value: "ana@home.example", type: "home" },
  ],
  meta: { lastModified: "2026-11-28T10:00:00.000Z" },
};

function matches(filter: string): boolean {
  return matchesScimFilter(USER_SCHEMA, parseFilter(filter), ANA);
}

test("[ours.scim.protocol] operators compare as RFC 7644 states, with and before or", () => {
  const rows: readonly (readonly [string, boolean])[] = [
    ['userName eq "ANA@example.com"', true],
    ['USERNAME EQ "ana@example.com"', true],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName sw "ana"', true],
    ['externalId eq "x1"', false],
    ['userName ne "ana@example.com"', false],
    ['name.familyName co "IM"', true],
    ['name.familyName ew "ma" and active eq true', true],
    ["active eq false", false],
    ["displayName pr", false],
    ["displayName eq null", true],
    ["name pr", true],
    ['emails eq "ana@home.example"', true],
    ['emails.type eq "home"', true],
    ['emails[type eq "home" and primary eq true]', false],
    ['emails[type eq "work" and primary eq true]', true],
    ['userName eq "x" and userName eq "y" or active eq true', true],
    ['userName eq "x" and (userName eq "y" or active eq true)', false],
    ['not (userName eq "x")', true],
    ['meta.lastModified gt "2026-11-28T09:00:00Z"', true],
    ['meta.lastModified le "2026-11-28T10:00:00Z"', true],
    ['userName eq "a \\"quoted\\" name"', false],
  ];
  for (const [filter, expected] of rows) assert.equal(matches(filter), expected, filter);
});

test("[ours.scim.protocol] an invalid filter is rejected, also where the other side decides", () => {
  const wrong = [
    "",
    "userName",
    "userName eq",
    "userName eq ana",
    'userName is "x"',
    'userName eq "x',
    '(userName eq "x"',
    'userName eq "x" userName pr',
    'active eq false and shoeSize eq "1"',
    'active eq true or shoeSize eq "1"',
    'emails[color eq "red"]',
    `${"not (".repeat(30)}active pr${")".repeat(30)}`,
    `userName eq "${"x".repeat(5_000)}"`,
    'externalId eq "\\u0000"',
  ];
  for (const filter of wrong) {
    assert.throws(() => matches(filter), { scimType: "invalidFilter" }, filter);
  }
});

test("a required value is one that every match must have", () => {
  const required = (filter: string) => requiredValue(USER_SCHEMA, parseFilter(filter), "userName");
  assert.equal(required('USERNAME eq "a"'), "a");
  assert.equal(required('active eq true and userName eq "a"'), "a");
  assert.equal(required('active eq true or userName eq "a"'), undefined);
  assert.equal(required('not (userName eq "a")'), undefined);
  assert.equal(required('userName sw "a"'), undefined);
});
