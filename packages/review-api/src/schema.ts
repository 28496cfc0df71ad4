/**
 * The building blocks of the reviewer API's schemas. Each message completes a sentence that starts
 * with the name of the field, as in "limit must be a whole number from 1 to 200."
 */

import {
  formatDuration,
  hasInvisible,
  parseDuration,
  parseIdentifier,
} from "@countersign/protocol";
import * as v from "valibot";
import type { ExactObject } from "./exact.ts";

/**
 * An object as an interface extends it. Declarations refer to an interface by its name, and repeat
 * every other schema wherever an answer has it.
 */
export type NamedSchema<Members extends v.ObjectEntries> = v.ObjectSchema<Members, undefined>;

/** Longer than any login and password, written in escapes. */
export const SMALL_BODY_BYTES_MAX = 8_192;

/** An identifier, in the spelling in which the server writes it. */
export function identifier(of: string) {
  const rule = `must be the id of ${of}`;
  return v.pipe(
    v.string("must be a string"),
    v.minLength(1, "must not be empty"),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const id = parseIdentifier(dataset.value);
      if (id !== undefined) return id;
      addIssue({ message: rule });
      return NEVER;
    }),
    v.metadata({ format: "uuid" }),
  );
}

/** A text that is not empty; the body limits its length. */
export const anyText = v.pipe(v.string("must be a string"), v.minLength(1, "must not be empty"));

/** A text of 1 to `charsMax` characters. */
export function text(charsMax: number) {
  return v.pipe(
    v.string("must be a string"),
    v.minLength(1, "must not be empty"),
    v.maxLength(charsMax, `must not be longer than ${charsMax} characters`),
  );
}

/** Follows a text in a pipe. PostgreSQL does not store U+0000. */
export const storable = v.check<string, string>(
  (value) => !value.includes("\0"),
  "must not contain the character U+0000",
);

/** A name of 1 to `charsMax` characters, none of which is invisible. */
export function visibleName(charsMax: number) {
  const rule = `must be 1 to ${charsMax} visible characters`;
  return v.pipe(
    anyText,
    v.check((name) => name.length <= charsMax && !hasInvisible(name), rule),
    v.metadata({ maxLength: charsMax }),
  );
}

const TEXTS = "must be an array of strings";

export const texts = v.array(v.string(TEXTS), TEXTS);

/** Names of groups; the operation checks them. */
export const groupNames = v.array(
  v.pipe(v.string(TEXTS), v.metadata({ pattern: "^[a-z0-9][a-z0-9._-]{0,63}$" })),
  TEXTS,
);

/** Like `5m`. The handler receives milliseconds. */
export function duration(msMin = 0, msMax = Number.POSITIVE_INFINITY) {
  return v.pipe(
    v.string("must be a string"),
    v.minLength(1, "must not be empty"),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const ms = parseDuration(dataset.value);
      if (ms !== undefined && ms >= msMin && ms <= msMax) return ms;
      addIssue({ message: durationRule(ms, msMin, msMax) });
      return NEVER;
    }),
    v.metadata({ pattern: "^[1-9][0-9]*[smh]$" }),
  );
}

function durationRule(ms: number | undefined, msMin: number, msMax: number): string {
  if (ms === undefined) return "must be a whole number followed by s, m or h, like 5m";
  if (msMin === 0) return `must not be longer than ${formatDuration(msMax)}`;
  return `must be a duration from ${formatDuration(msMin)} to ${formatDuration(msMax)}, like 5s`;
}

export function wholeNumber(min: number, max: number) {
  const rule = `must be a whole number from ${min} to ${max}`;
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(min, rule), v.maxValue(max, rule));
}

export const flag = v.boolean("must be true or false");

/** One of a few words. */
export function word<const Words extends readonly [string, ...string[]]>(words: Words) {
  return v.picklist(words, `must be ${listed(words)}`);
}

function listed(words: readonly string[]): string {
  if (words.length < 3) return words.join(" or ");
  return `one of ${words.join(", ")}`;
}

const isObject = (value: unknown) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A JSON object that another party declares, such as an answer of a browser's passkey. */
export const jsonObject = v.custom<Readonly<Record<string, unknown>>>(
  isObject,
  "must be a JSON object",
);

/** An object without members that it does not declare. */
export function body<const Entries extends v.ObjectEntries>(entries: Entries) {
  const schema = v.strictObject(entries);
  // The library takes an array for an object without members.
  return v.pipe(v.custom<v.InferInput<typeof schema>>(isObject, "must be a JSON object"), schema);
}

// Answers. A client ignores unknown members, so that a newer server can add some. -----------------

/** A time in UTC, like `2026-01-31T12:00:00.000Z`. */
export const timestamp = v.pipe(v.string(), v.metadata({ format: "date-time" }));

/** A JSON object whose exact text matters. */
export const exactObject = v.custom<ExactObject>(isObject);

export const sha256 = v.pipe(v.string(), v.metadata({ pattern: "^[0-9a-f]{64}$" }));

export const id = v.pipe(v.string(), v.metadata({ format: "uuid" }));

/** An actor as `kind:id`. */
export const actor = v.pipe(v.string(), v.metadata({ examples: ["reviewer:ID", "policy:RULE"] }));

/** An attempt to deliver an event to the receiver of an instance. */
export const deliveryAttempt = v.object({
  at: timestamp,
  /** Like `acknowledged`, `rejected` or `unreachable:timeout`. */
  outcome: v.string(),
  http_status: v.optional(v.number()),
});

export type DeliveryAttempt = v.InferOutput<typeof deliveryAttempt>;

export const named = v.object({ id, name: v.string() });

/** The cursor of the next page; null on the last page. */
export const cursor = v.nullable(v.string());

// Query parameters. -------------------------------------------------------------------------------

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;

const ONCE = "must be given once";

/** A query parameter that may be given at most once. */
export function parameter(charsMax = 4_096) {
  const rule = `must have 1 to ${charsMax} characters`;
  return v.optional(v.pipe(v.string(ONCE), v.minLength(1, rule), v.maxLength(charsMax, rule)));
}

export function wordParameter<const Words extends readonly [string, ...string[]]>(words: Words) {
  return v.pipe(v.string(ONCE), word(words));
}

/** For streams and downloads, with which browsers do not send the header Countersign-Project. */
export const projectParameter = parameter(64);

export function identifierParameter(of: string) {
  return v.optional(v.pipe(v.string(ONCE), identifier(of)));
}

/** A time; the handler receives milliseconds since 1970. */
export const timeParameter = v.optional(
  v.pipe(
    v.string(ONCE),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const { value } = dataset;
      const time = /^\d{4}-\d\d-\d\dT[0-9:.]+Z$/.test(value) ? Date.parse(value) : Number.NaN;
      if (Number.isSafeInteger(time) && time >= 0) return time;
      addIssue({ message: "must be a time like 2026-01-31T12:00:00Z" });
      return NEVER;
    }),
    v.metadata({
      format: "date-time",
      pattern: "^(19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$",
    }),
  ),
);

/** How many items a page has at most. */
export const limitParameter = v.optional(
  v.pipe(
    v.string(ONCE),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const count = /^[1-9]\d{0,2}$/.test(dataset.value) ? Number(dataset.value) : 0;
      if (count >= 1 && count <= LIMIT_MAX) return count;
      addIssue({ message: `must be a whole number from 1 to ${LIMIT_MAX}` });
      return NEVER;
    }),
    v.metadata({ pattern: "^([1-9][0-9]?|1[0-9]{2}|200)$" }),
  ),
  String(LIMIT_DEFAULT),
);

/** Where a page starts or ends. */
export interface Cursor {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly id: string;
}

/** @param member the member of an earlier answer that holds the cursor */
export function cursorParameter(member: "next" | "previous" = "next") {
  return v.optional(
    v.pipe(
      v.string(ONCE),
      v.rawTransform(({ dataset, addIssue, NEVER }): Cursor => {
        const [at = "", idText = ""] = dataset.value.split("_");
        const identifier = parseIdentifier(idText);
        if (/^\d{1,15}$/.test(at) && identifier !== undefined) {
          return { at: Number(at), id: identifier };
        }
        addIssue({ message: `must be the value of ${member} in an earlier answer` });
        return NEVER;
      }),
      v.metadata({ pattern: "^[0-9]{1,15}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" }),
    ),
  );
}

/** A cursor as an answer has it. */
export function writeCursor(cursor: Cursor | undefined): string | null {
  return cursor === undefined ? null : `${cursor.at}_${cursor.id}`;
}

/** The parameters of a listing that is paged forwards. */
export const page = { limit: limitParameter, after: cursorParameter() };

/** The parameters of a listing that is ordered by id. */
export const pageById = {
  limit: limitParameter,
  after: v.optional(
    v.pipe(
      v.string(ONCE),
      v.rawTransform(({ dataset, addIssue, NEVER }) => {
        const after = parseIdentifier(dataset.value);
        if (after !== undefined) return after;
        addIssue({ message: "must be the value of next in an earlier answer" });
        return NEVER;
      }),
      v.metadata({ format: "uuid" }),
    ),
  ),
};
