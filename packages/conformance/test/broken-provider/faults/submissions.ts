/**
 * Faults of reading what agents submit: arguments, fields, keys.
 */

import {
  canonicalJson,
  JsonArray,
  type JsonValue,
  Problem,
  parseJson,
} from "@countersign/protocol";
import type { Conduct } from "../conduct.ts";
import {
  CORRECT,
  EMPTY_OBJECT,
  type Fault,
  memberOf,
  onlyKnown,
  showing,
  showingArguments,
  throughJavaScript,
  withMember,
  withoutNulls,
} from "./fault.ts";

const SCALARS = "Resources, Scalar formats";
const INPUT = "Resources, CreateApprovalRequest";
const CREATE = "Endpoints, POST /v1/requests";

/** Members that a lenient reader changes before the strict one sees them. */
function readingCreate(change: (body: JsonValue) => JsonValue): Partial<Conduct> {
  return { readCreate: (body) => CORRECT.readCreate(change(body)) };
}

/** Takes more spellings of a duration than there are. */
function takingTimeout(pattern: RegExp): Partial<Conduct> {
  return {
    readCreate(body) {
      const timeout = memberOf(body, "timeout");
      if (typeof timeout !== "string" || !pattern.test(timeout)) return CORRECT.readCreate(body);
      return CORRECT.readCreate(withMember(body, "timeout", "60s"));
    },
  };
}

/** Keeps the last value of a duplicate key, like a JavaScript object. */
function keepingLast(bytes: Buffer): JsonValue {
  try {
    return parseJson(throughJavaScript(bytes.toString()));
  } catch {
    return CORRECT.readJson(bytes);
  }
}

const EXACTNESS: readonly Fault[] = [
  {
    id: "numbers-rounded",
    section: SCALARS,
    breaks: ["scalar.arguments.numbers", "scalar.arguments.spelling"],
    sentence: "Numbers of the arguments pass through a binary double: 9007199254740993 is rounded.",
    plant: showingArguments(throughJavaScript),
  },
  {
    id: "numbers-respelled",
    section: SCALARS,
    breaks: ["scalar.arguments.spelling"],
    sentence: "Numbers keep their value and lose their spelling: 1.10 comes back as 1.1.",
    plant: showingArguments((source) => source.replace(/(\.\d*?[1-9])0+(?=[,\]}\s])/g, "$1")),
  },
  {
    id: "numbers-as-strings",
    section: SCALARS,
    breaks: ["scalar.arguments.exact", "scalar.arguments.numbers"],
    sentence: "Long numbers come back as strings.",
    plant: showingArguments((source) => source.replace(/(?<=[:[,]\s*)(\d{16,})/g, '"$1"')),
  },
  {
    id: "duplicates-accepted",
    section: SCALARS,
    breaks: ["scalar.arguments.ambiguous"],
    sentence: "Of two members with one key the last is kept, and the first is lost.",
    plant: { readJson: keepingLast },
  },
  {
    id: "strings-normalised",
    section: SCALARS,
    breaks: ["scalar.arguments.strings"],
    sentence: "Strings of the arguments come back in normal form C.",
    plant: showingArguments((source) =>
      JSON.stringify(JSON.parse(source), (_, value) =>
        typeof value === "string" ? value.normalize("NFC") : value,
      ),
    ),
  },
  {
    id: "nul-dropped",
    section: SCALARS,
    breaks: ["scalar.arguments.strings"],
    sentence: "NUL characters disappear from strings.",
    plant: showingArguments((source) => source.replaceAll("\\u0000", "")),
  },
  {
    id: "proto-dropped",
    section: SCALARS,
    breaks: ["scalar.arguments.strings", "scalar.arguments.exact"],
    sentence: "A key `__proto__` disappears.",
    plant: showingArguments((source) =>
      source.replace(/"__proto__"\s*:\s*("[^"]*"|\{[^{}]*\}|[\w.+-]+)\s*,?/g, ""),
    ),
  },
  {
    id: "nulls-dropped",
    section: SCALARS,
    breaks: ["scalar.arguments.exact"],
    sentence: "Members of the arguments that are null disappear.",
    plant: showingArguments((source) => source.replace(/"[^"]*"\s*:\s*null\s*,?/g, "")),
  },
  {
    id: "keys-renamed",
    section: SCALARS,
    breaks: ["scalar.arguments.exact", "scalar.arguments.strings"],
    sentence: "Keys of the arguments come back in snake case.",
    plant: showingArguments((source) =>
      source.replace(/"(\w*)"(?=\s*:)/g, (key) =>
        key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
      ),
    ),
  },
  {
    id: "deep-flattened",
    section: SCALARS,
    breaks: ["scalar.arguments.nesting", "scalar.arguments.exact"],
    sentence: "Values nested deeper than 20 levels come back as null.",
    plant: showingArguments((source) => cutDeep(source, 20)),
  },
  {
    id: "arguments-empty-refused",
    section: SCALARS,
    breaks: ["scalar.arguments.object"],
    sentence: "Empty arguments are refused.",
    plant: {
      readCreate(body) {
        const isEmpty = canonicalJson(memberOf(body, "arguments") ?? null) === "{}";
        return CORRECT.readCreate(isEmpty ? withMember(body, "arguments", null) : body);
      },
    },
  },
  {
    id: "arguments-array",
    section: SCALARS,
    breaks: ["scalar.arguments.object", "request.create.types"],
    sentence: "An array is accepted for arguments.",
    plant: readingCreate((body) =>
      memberOf(body, "arguments") instanceof JsonArray
        ? withMember(body, "arguments", EMPTY_OBJECT)
        : body,
    ),
  },
  {
    id: "context-rounded",
    section: SCALARS,
    breaks: ["scalar.context.exact"],
    sentence: "Numbers of the context are rounded.",
    plant: showing(({ context }) => ({ context: context && throughJavaScript(context) })),
  },
  {
    id: "context-any",
    section: SCALARS,
    breaks: ["scalar.context.object", "request.create.types"],
    sentence: "The provider ignores a context that is not an object.",
    plant: readingCreate((body) =>
      typeof memberOf(body, "context") === "string" ||
      memberOf(body, "context") instanceof JsonArray
        ? withMember(body, "context", undefined)
        : body,
    ),
  },
];

/** Null in place of what has more than `depthMax` open brackets around it. */
function cutDeep(source: string, depthMax: number): string {
  let depth = 0;
  let kept = "";
  for (const [token] of source.matchAll(/"(?:[^"\\]|\\.)*"|[^"]/gs)) {
    const opens = token === "{" || token === "[";
    const closes = token === "}" || token === "]";
    if (opens) depth += 1;
    if (depth <= depthMax) kept += token;
    else if (opens && depth === depthMax + 1) kept += "null";
    if (closes) depth -= 1;
  }
  return kept;
}

const FIELDS: readonly Fault[] = [
  {
    id: "duration-lenient",
    section: SCALARS,
    breaks: ["scalar.duration.refused"],
    sentence: "The provider accepts days as a unit.",
    plant: takingTimeout(/^[1-9]\d*d$/),
  },
  {
    id: "duration-fraction",
    section: SCALARS,
    breaks: ["scalar.duration.refused"],
    sentence: "Fractions of a unit are accepted.",
    plant: takingTimeout(/^\d+\.\d+[smh]$/),
  },
  {
    id: "duration-leading-zero",
    section: SCALARS,
    breaks: ["scalar.duration.refused"],
    sentence: "Leading zeros are accepted.",
    plant: takingTimeout(/^0\d+[smh]$/),
  },
  {
    id: "duration-trimmed",
    section: SCALARS,
    breaks: ["scalar.duration.refused"],
    sentence: "Spaces around a duration are cut off.",
    plant: takingTimeout(/^\s*[1-9]\d*\s*[smh]\s*$/),
  },
  {
    id: "duration-without-hours",
    section: SCALARS,
    breaks: ["scalar.duration.accepted"],
    sentence: "The provider rejects hours as a unit.",
    plant: readingCreate((body) =>
      String(memberOf(body, "timeout")).endsWith("h") ? withMember(body, "timeout", "1 h") : body,
    ),
  },
  {
    id: "tool-empty",
    section: SCALARS,
    breaks: ["scalar.tool.length"],
    sentence: "An empty tool name is accepted.",
    plant: readingCreate((body) =>
      memberOf(body, "tool") === "" ? withMember(body, "tool", "unnamed") : body,
    ),
  },
  {
    id: "tool-lower-case",
    section: "Resources, ApprovalRequest",
    breaks: ["request.as-submitted", "scalar.tool.length"],
    sentence: "The tool name comes back in lower case.",
    plant: showing(({ tool }) => ({ tool: tool?.toLowerCase() })),
  },
  {
    id: "timeout-normalised",
    section: "Resources, ApprovalRequest",
    breaks: ["request.timeout.as-submitted", "scalar.duration.accepted"],
    sentence: "A timeout of `60m` comes back as `1h`.",
    plant: showing(({ timeout = "" }) => ({
      timeout: timeout.replace(/^"(\d+)m"$/, (whole, minutes) =>
        Number(minutes) % 60 === 0 ? `"${Number(minutes) / 60}h"` : whole,
      ),
    })),
  },
  {
    id: "reasoning-trimmed",
    section: SCALARS,
    breaks: ["scalar.reasoning.string", "request.as-submitted"],
    sentence: "White space around the agent's reasoning is cut off, and empty reasoning with it.",
    plant: showing(({ agent_reasoning: text }) => {
      const trimmed = text === undefined ? "" : String(JSON.parse(text)).trim();
      return { agent_reasoning: trimmed === "" ? undefined : JSON.stringify(trimmed) };
    }),
  },
  {
    id: "required-defaulted",
    section: INPUT,
    breaks: ["request.create.required"],
    sentence: "A submission without a timeout gets one of five minutes.",
    plant: readingCreate((body) =>
      memberOf(body, "timeout") === undefined ? withMember(body, "timeout", "5m") : body,
    ),
  },
  {
    id: "arguments-optional",
    section: INPUT,
    breaks: ["request.create.required"],
    sentence: "A submission without arguments has empty ones.",
    plant: readingCreate((body) =>
      memberOf(body, "arguments") === undefined
        ? withMember(body, "arguments", EMPTY_OBJECT)
        : body,
    ),
  },
  {
    id: "null-is-absent",
    section: INPUT,
    breaks: ["request.create.types"],
    sentence: "A null field counts as absent.",
    plant: readingCreate(withoutNulls),
  },
  {
    id: "body-of-null-fails",
    section: INPUT,
    breaks: ["request.create.body-object"],
    sentence: "A submission of null makes the provider fail.",
    plant: readingCreate((body) => {
      if (body === null) throw new Problem("internal");
      return body;
    }),
  },
  {
    id: "unknown-ignored",
    section: INPUT,
    breaks: ["request.create.additional-properties"],
    sentence: "Unknown fields of a submission are ignored.",
    plant: readingCreate((body) =>
      onlyKnown(body, ["tool", "arguments", "timeout", "agent_reasoning", "context"]),
    ),
  },
  {
    id: "delivery-on-request",
    section: INPUT,
    breaks: ["request.create.no-delivery"],
    sentence: "A submission accepts a delivery and ignores it.",
    plant: readingCreate((body) => withMember(body, "delivery", undefined)),
  },
];

const KEYS: readonly Fault[] = [
  {
    id: "key-optional",
    section: CREATE,
    breaks: ["request.create.key-required"],
    sentence: "A submission without a key gets one of the provider's.",
    plant: {
      key: (operation, headers) =>
        operation === "createApprovalRequest" && headers["idempotency-key"] === undefined
          ? `drawn-${performance.now()}`
          : CORRECT.key(operation, headers),
    },
  },
  {
    id: "key-empty",
    section: CREATE,
    breaks: ["request.create.key-required"],
    sentence: "An empty key is a key.",
    plant: {
      key: (operation, headers) =>
        operation === "createApprovalRequest" && headers["idempotency-key"] === ""
          ? "empty"
          : CORRECT.key(operation, headers),
    },
  },
  {
    id: "key-length",
    section: "Limits",
    breaks: ["limit.key.one-character"],
    sentence: "A key has to have eight characters.",
    plant: {
      key: (operation, headers) => {
        const key = CORRECT.key(operation, headers);
        return key.length > 0 && key.length < 8 ? CORRECT.key(operation, {}) : key;
      },
    },
  },
  {
    id: "key-scope-global",
    section: CREATE,
    breaks: ["request.create.key-scope"],
    sentence: "A key is one for all instances.",
    plant: { submissionScope: (_, key) => key },
  },
  {
    id: "key-without-case",
    section: CREATE,
    breaks: ["request.create.key-distinct"],
    sentence: "The provider compares keys case-insensitively.",
    plant: { submissionScope: ({ id }, key) => `${id} ${key.toLowerCase()}` },
  },
  {
    id: "key-cut",
    section: CREATE,
    breaks: ["request.create.key-distinct"],
    sentence: "The provider compares only the first 64 characters of a key.",
    plant: { submissionScope: ({ id }, key) => `${id} ${key.slice(0, 64)}` },
  },
];

export const SUBMISSION_FAULTS: readonly Fault[] = [...EXACTNESS, ...FIELDS, ...KEYS];
