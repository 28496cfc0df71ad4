/**
 * Parses one entry of `tests:`: a call, and the expected result.
 *
 * The arguments are parsed as exactly as those of agents: from the spelling in the file, by the
 * same parser.
 */

import { JsonObject, Problem, parseJson } from "@countersign/protocol";
import { POLICY_KEYS } from "@countersign/review-api/policy-text";
import { isMap, isScalar, isSeq } from "yaml";
import { Fault } from "./fault.ts";
import type { HistoryQuery } from "./history.ts";
import type { PolicyDocument, YamlLocation } from "./policy-document.ts";
import { readTestHistory } from "./read-history.ts";
import {
  readChannels,
  readDurationMs,
  readEscalate,
  readExclude,
  readFrom,
  readNoteRequired,
} from "./read-rule.ts";
import type { Call, Expectation, ExpectedAsk, PolicyTest } from "./rule.ts";
import { readTimestamp } from "./times.ts";
import { TOOL_CHANGE } from "./tool-change.ts";

/** A test compares steps; the rule itself checks them. */
const ANY_STEPS = { groups: undefined, from: [], longestMs: Number.POSITIVE_INFINITY };
const NAMELESS = ["no-match", "error", "inexact", TOOL_CHANGE];

/** Default time of a test: noon UTC on a Thursday. */
const NOW = Date.UTC(2026, 0, 1, 12);
const INSTANCE_ID = "00000000-0000-7000-8000-000000000000";
const CHARS_MAX = 1000;

/** The rules and queries that tests of a policy may reference. */
export interface KnownRules {
  readonly ids: ReadonlySet<string>;
  /** The history queries of the rules. */
  readonly history: readonly HistoryQuery[];
}

/** @returns undefined for an invalid test; the document's findings have the reason */
export function readTest(
  document: PolicyDocument,
  location: YamlLocation,
  index: number,
  rules: KnownRules,
): PolicyTest | undefined {
  const members = document.map(location, POLICY_KEYS.tests, ["given", "expect"]);
  const name = members?.get("name");
  const given = members?.get("given");
  const expect = members?.get("expect");
  const call = given === undefined ? undefined : readGiven(document, given, rules);
  const expectation = expect === undefined ? undefined : readExpect(document, expect, rules.ids);
  const title = name === undefined ? undefined : document.text(name, CHARS_MAX);
  if (call === undefined || expectation === undefined) return undefined;
  const line = document.lineOf(location);
  return { index, name: title, line, given: call, expect: expectation };
}

function readGiven(
  document: PolicyDocument,
  location: YamlLocation,
  rules: KnownRules,
): Call | undefined {
  const members = document.map(location, POLICY_KEYS["tests.given"], ["tool"]);
  if (members === undefined) return undefined;
  const tool = members.get("tool");
  const from = members.get("server");
  const args = members.get("args");
  const context = members.get("context");
  const now = members.get("now");
  const name = tool === undefined ? undefined : document.text(tool, CHARS_MAX);
  const exactArgs = args === undefined ? EMPTY : readObject(document, args);
  const exactContext = context === undefined ? undefined : readObject(document, context);
  const nowMs = now === undefined ? NOW : readNow(document, now);
  const caller = readInstance(document, members.get("instance"));
  const server = from === undefined ? undefined : document.text(from, CHARS_MAX);
  const history = readTestHistory(document, members.get("history"), rules.history);
  if (name === undefined || exactArgs === undefined || nowMs === undefined) return undefined;
  const call = {
    tool: name,
    server,
    args: exactArgs,
    context: exactContext,
    instance: caller,
    now: nowMs,
  };
  return history.size === 0 ? call : { ...call, history };
}

const EMPTY = new JsonObject(new Map(), "{}");

function readInstance(
  document: PolicyDocument,
  location: YamlLocation | undefined,
): Call["instance"] {
  const members =
    location === undefined
      ? undefined
      : document.map(location, POLICY_KEYS["tests.given.instance"]);
  const group = members?.get("group");
  const groups = group === undefined ? [] : (document.oneOrMore(group) ?? []);
  const text = (each: YamlLocation | undefined) =>
    each === undefined ? undefined : document.text(each, CHARS_MAX);
  return {
    id: text(members?.get("id")) ?? INSTANCE_ID,
    name: text(members?.get("name")) ?? "test",
    groups: groups.map(text).filter((each) => each !== undefined),
  };
}

function readNow(document: PolicyDocument, location: YamlLocation): number | undefined {
  const text = document.text(location, CHARS_MAX);
  const time = text === undefined ? undefined : readTimestamp(text);
  if (time instanceof Fault) document.add(location, "expected a time such as 2026-11-21T10:00:00Z");
  return time === undefined || time instanceof Fault ? undefined : Number(time.nanos / 1_000_000n);
}

/** Converts YAML to the JSON that an agent would send. */
function readObject(document: PolicyDocument, location: YamlLocation): JsonObject | undefined {
  const before = document.findings.length;
  const text = jsonOf(document, location, 0);
  if (document.findings.length > before) return undefined;
  try {
    const value = parseJson(text);
    if (value instanceof JsonObject) return value;
    document.add(location, "expected a map of keys and values");
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    document.add(location, `this cannot be sent as JSON: ${error.message}`);
  }
  return undefined;
}

const DEPTH_MAX = 100;
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

function jsonOf(document: PolicyDocument, location: YamlLocation, depth: number): string {
  const { node } = location;
  if (depth > DEPTH_MAX) {
    document.add(location, `nested deeper than ${DEPTH_MAX} levels`);
    return "null";
  }
  if (isMap(node)) {
    const members = [...(document.members(location) ?? [])];
    const texts = members.map(
      ([key, value]) => `${JSON.stringify(key)}:${jsonOf(document, value, depth + 1)}`,
    );
    return `{${texts.join(",")}}`;
  }
  if (isSeq(node)) {
    const items = document.list(location) ?? [];
    return `[${items.map((item) => jsonOf(document, item, depth + 1)).join(",")}]`;
  }
  if (node === null) return "null";
  const scalar = document.scalar(location);
  if (!isScalar(scalar)) return "null";
  if (typeof scalar.value === "number" || typeof scalar.value === "bigint") {
    const source = scalar.source ?? "";
    if (NUMBER.test(source)) return source;
    document.add(location, "write numbers as JSON does, or put this in quotes");
    return "null";
  }
  return JSON.stringify(scalar.value);
}

function readExpect(
  document: PolicyDocument,
  location: YamlLocation,
  ruleIds: ReadonlySet<string>,
): Expectation | undefined {
  const members = document.map(location, POLICY_KEYS["tests.expect"], ["then"]);
  const then = members?.get("then");
  const because = members?.get("because");
  const validFor = members?.get("valid_for");
  const ask = members?.get("ask");
  const verb =
    then === undefined ? undefined : document.oneOf(then, ["approve", "deny", "ask"] as const);
  const cause = because === undefined ? undefined : document.text(because, CHARS_MAX);
  if (because !== undefined && cause !== undefined) {
    if (!ruleIds.has(cause) && !NAMELESS.includes(cause)) {
      document.add(
        because,
        `unknown rule \`${cause}\`: use the id of a rule, or one of ${NAMELESS.join(", ")}`,
      );
    }
  }
  const validityMs = validFor === undefined ? undefined : readDurationMs(document, validFor);
  const expectedAsk = ask === undefined ? undefined : readExpectedAsk(document, ask);
  if (ask !== undefined && verb !== undefined && verb !== "ask") {
    document.add(ask, "`ask` is allowed only with `then: ask`");
  }
  return verb === undefined ? undefined : { verb, because: cause, validityMs, ask: expectedAsk };
}

function readExpectedAsk(
  document: PolicyDocument,
  location: YamlLocation,
): ExpectedAsk | undefined {
  const members = document.map(location, POLICY_KEYS["rules.ask"]);
  if (members === undefined) return undefined;
  const at = <T>(key: string, read: (at: YamlLocation) => T | undefined): T | undefined => {
    const member = members.get(key);
    return member === undefined ? undefined : read(member);
  };
  return {
    from: at("from", (each) => readSets(document, each)),
    quorum: at("quorum", (each) => document.integer(each, 1, 10)),
    excludeOwner: at("exclude", (each) => readExpectedExclude(document, each)),
    confirm: at("confirm", (each) => document.text(each, CHARS_MAX)),
    noteRequired: at("note", (each) => readNoteRequired(document, each)),
    withinMs: at("within", (each) => readDurationMs(document, each)),
    grants: at("grants", (each) => document.bool(each)),
    bots: at("bots", (each) => document.bool(each)),
    channels: at("channels", (each) => readChannels(document, each)),
    escalate: at("escalate", (each) => readEscalate(document, each, ANY_STEPS)),
  };
}

/** A list of names is one set; a list of lists is several. An empty list: any reviewer. */
function readSets(
  document: PolicyDocument,
  location: YamlLocation,
): readonly (readonly string[])[] {
  const items = isSeq(location.node) ? (document.list(location) ?? []) : [location];
  const options = { kind: "project" } as const;
  if (items.some(({ node }) => isSeq(node))) {
    return items.map((item) => readFrom(document, item, options) ?? []);
  }
  return items.length === 0 ? [] : [readFrom(document, location, options) ?? []];
}

function readExpectedExclude(
  document: PolicyDocument,
  location: YamlLocation,
): boolean | undefined {
  if (isSeq(location.node) && location.node.items.length === 0) return false;
  return readExclude(document, location);
}
