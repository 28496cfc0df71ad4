/**
 * Bodies about reviewers and their tokens.
 */

import {
  Fields,
  JsonArray,
  type JsonValue,
  type Problem,
  parseDuration,
} from "@countersign/protocol";
import { REVIEWER_ROLES, type ReviewerRole } from "../../core/roles.ts";
import type { RoleAndGroups } from "../../operations/people/changeReviewer.ts";
import type { OwnTokenOrder } from "../../operations/tokens/issueToken.ts";

/** A name is shown on one line and told from others by eye. */
const NAME = /^[^\p{C}\p{Z}](?:[^\p{C}\p{Zl}\p{Zp}]*[^\p{C}\p{Z}])?$/u;
const NAME_CHARS_MAX = 100;

/** @throws Problem `invalid_request` naming the field */
export function parseReviewerChange(body: JsonValue): RoleAndGroups {
  const fields = new Fields(body, ["role", "groups"]);
  return { role: roleIn(fields), groups: textsIn(fields, "groups") };
}

/** @throws Problem `invalid_request` naming the field */
export function parseTokenOrder(body: JsonValue): OwnTokenOrder {
  const fields = new Fields(body, ["name", "role", "groups", "scopes", "expires_in"]);
  const name = fields.text("name", 1);
  if (name !== undefined && !isName(name)) {
    throw fields.invalid("name", `must be one line of up to ${NAME_CHARS_MAX} visible characters`);
  }
  const expiresIn = fields.text("expires_in", 1);
  const lastsMs = expiresIn === undefined ? undefined : parseDuration(expiresIn);
  if (expiresIn !== undefined && (lastsMs === undefined || lastsMs > LASTS_MS_MAX)) {
    throw fields.invalid("expires_in", "must be a duration like 720h, up to ten years");
  }
  const isWhole = fields.value("scopes") === null;
  const scopes = isWhole ? null : (textsIn(fields, "scopes") ?? null);
  return { name, role: roleIn(fields), groups: textsIn(fields, "groups"), scopes, lastsMs };
}

function isName(text: string): boolean {
  return text.length <= NAME_CHARS_MAX && NAME.test(text) && text === text.normalize("NFC");
}

const LASTS_MS_MAX = 10 * 366 * 24 * 3_600_000;

function roleIn(fields: Fields): ReviewerRole | undefined {
  const text = fields.text("role", 1);
  const role = REVIEWER_ROLES.find((known) => known === text);
  if (text === undefined || role !== undefined) return role;
  const known = `${REVIEWER_ROLES.slice(0, -1).join(", ")} or ${REVIEWER_ROLES.at(-1)}`;
  throw fields.invalid("role", `must be ${known}`);
}

function textsIn(fields: Fields, name: string): string[] | undefined {
  const value = fields.value(name);
  if (value === undefined) return undefined;
  const wrong = (): Problem => fields.invalid(name, "must be an array of texts");
  if (!(value instanceof JsonArray)) throw wrong();
  return value.items.map((item) => {
    if (typeof item !== "string") throw wrong();
    return item;
  });
}
