/** Parses one entry of `rules:`. */

import { formatDuration, parseDuration } from "@countersign/protocol";
import { POLICY_KEYS } from "@countersign/review-api/policy-text";
import {
  type Condition,
  ConditionError,
  compileCondition,
  compileText,
  type TextExpression,
} from "./condition.ts";
import { historyQueriesIn } from "./expression.ts";
import { PLACE_WORDS, type Place, placesOf } from "./place.ts";
import type { PolicyDocument, YamlLocation } from "./policy-document.ts";
import { findProofFault } from "./proof.ts";
import { readGlobs } from "./read-globs.ts";
import {
  type Ask,
  type EscalationStep,
  type LoadOptions,
  type Match,
  NO_REQUIREMENT,
  type Rule,
} from "./rule.ts";

/** Upper limit of the operator's setting. */
const VALIDITY_MS_MAX = 24 * 3_600_000;

const RULE_ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** Values of `because` without a deciding rule. */
const RESERVED_IDS = ["no-match", "error", "inexact", "no-policy"];

const NOTE_CHARS_MAX = 1000;
const NAME_CHARS_MAX = 256;
const QUORUM_MAX = 10;
const STEPS_MAX = 5;

const NO_MATCH: Match = {
  tools: undefined,
  servers: undefined,
  groups: undefined,
  instanceIds: undefined,
  instanceNames: undefined,
};

/** @returns undefined for an invalid rule; the document's findings have the reason */
export function readRule(
  document: PolicyDocument,
  location: YamlLocation,
  options: LoadOptions,
): Rule | undefined {
  const members = document.map(location, POLICY_KEYS.rules, ["id", "then"]);
  if (members === undefined) return undefined;
  const reader = new RuleReader(document, members, options);
  return reader.read(location);
}

class RuleReader {
  readonly #document: PolicyDocument;
  readonly #members: ReadonlyMap<string, YamlLocation>;
  readonly #options: LoadOptions;

  constructor(
    document: PolicyDocument,
    members: ReadonlyMap<string, YamlLocation>,
    options: LoadOptions,
  ) {
    this.#document = document;
    this.#members = members;
    this.#options = options;
  }

  read(location: YamlLocation): Rule | undefined {
    const id = this.#id();
    const match = this.#match();
    const when = this.#at("when", (at) => readCondition(this.#document, at));
    const verb = this.#at("then", (at) =>
      this.#document.oneOf(at, ["approve", "deny", "ask"] as const),
    );
    const note = this.#at("note", (at) => this.#document.text(at, NOTE_CHARS_MAX));
    const validityMs = this.#at("valid_for", (at) => readDurationMs(this.#document, at));
    const ask = this.#at("ask", (at) => readAsk(this.#document, at, this.#options));
    if (verb === undefined || id === undefined || match === undefined) return undefined;
    this.#checkVerb(location, verb, validityMs);
    const whenIsMissing = this.#members.has("when") && when === undefined;
    if (verb === "approve" && !whenIsMissing) {
      const fault = findProofFault(match, when?.expression);
      if (fault !== undefined) this.#document.add(location, fault);
    }
    const line = this.#document.lineOf(location);
    const history = this.#history(when);
    return { id, line, match, when, history, verb, note, validityMs, ask };
  }

  #at<T>(key: string, read: (location: YamlLocation) => T | undefined): T | undefined {
    const location = this.#members.get(key);
    return location === undefined ? undefined : read(location);
  }

  #id(): string | undefined {
    return this.#at("id", (at) => {
      const id = this.#document.text(at, 64);
      if (id === undefined) return undefined;
      if (RULE_ID.test(id) && !RESERVED_IDS.includes(id)) return id;
      const message = RESERVED_IDS.includes(id)
        ? `the id \`${id}\` is reserved: use another one`
        : "an id has 1 to 64 characters of a-z, 0-9 and -, and starts with a letter or digit";
      this.#document.add(at, message);
      return undefined;
    });
  }

  #history(when: Condition | undefined): Rule["history"] {
    const history = when === undefined ? [] : historyQueriesIn(when.expression);
    const { keptMs = Number.POSITIVE_INFINITY } = this.#options;
    const location = this.#members.get("when");
    if (location !== undefined && history.some(({ windowMs }) => windowMs > keptMs)) {
      const kept = formatDuration(keptMs);
      this.#document.add(location, `this server keeps calls for ${kept}: use a shorter time`);
    }
    return history;
  }

  #checkVerb(location: YamlLocation, verb: Rule["verb"], validityMs: number | undefined): void {
    const document = this.#document;
    const ask = this.#members.get("ask");
    const validFor = this.#members.get("valid_for");
    if (verb !== "ask" && ask !== undefined) {
      document.add(ask, "`ask` is allowed only with `then: ask`");
    }
    if (verb === "deny" && validFor !== undefined) {
      document.add(validFor, "a denial has no validity");
    }
    if (validFor !== undefined && (validityMs ?? 0) > VALIDITY_MS_MAX) {
      document.warn(
        validFor,
        "an approval is valid for at most 24h, or less if the server says so",
      );
    }
    if (verb === "approve" && this.#options.kind === "floor") {
      const message = "a baseline policy cannot approve; it only restricts all projects";
      document.add(this.#members.get("then") ?? location, message);
    }
  }

  /** @returns undefined when a part is invalid */
  #match(): Match | undefined {
    const location = this.#members.get("match");
    if (location === undefined) return NO_MATCH;
    const document = this.#document;
    const before = document.findings.length;
    const members = document.map(location, POLICY_KEYS["rules.match"]);
    const instance = members?.get("instance");
    const fields =
      instance === undefined
        ? undefined
        : document.map(instance, POLICY_KEYS["rules.match.instance"]);
    const known = this.#options.groups?.instances;
    const match = {
      tools: readGlobs(document, members?.get("tool")),
      servers: readGlobs(document, members?.get("server")),
      groups: readNames(document, fields?.get("group"), known),
      instanceIds: readNames(document, fields?.get("id"), undefined),
      instanceNames: readGlobs(document, fields?.get("name")),
    };
    return document.findings.length === before ? match : undefined;
  }
}

export function readDurationMs(
  document: PolicyDocument,
  location: YamlLocation,
): number | undefined {
  const value = document.scalar(location)?.value;
  const ms = typeof value === "string" ? parseDuration(value) : undefined;
  if (ms !== undefined && Number.isSafeInteger(ms)) return ms;
  document.add(location, "expected a duration such as 90s, 30m or 2h");
  return undefined;
}

export function readCondition(
  document: PolicyDocument,
  location: YamlLocation,
): Condition | undefined {
  return readCel(document, location, 0, compileCondition);
}

function readCel<T>(
  document: PolicyDocument,
  location: YamlLocation,
  from: number,
  compile: (source: string) => T,
  source = cel(document, location),
): T | undefined {
  if (source === undefined) return undefined;
  try {
    return compile(source);
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    for (const { at, message } of error.faults) document.addInside(location, from + at, message);
    return undefined;
  }
}

function cel(document: PolicyDocument, location: YamlLocation): string | undefined {
  const value = document.scalar(location)?.value;
  if (typeof value === "string") return value;
  document.add(location, "a condition is a string: put it in quotes, or omit it");
  return undefined;
}

function readNames(
  document: PolicyDocument,
  location: YamlLocation | undefined,
  known: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (location === undefined) return undefined;
  const names = new Set<string>();
  for (const item of document.oneOrMore(location) ?? []) {
    const name = document.text(item, NAME_CHARS_MAX);
    if (name === undefined) continue;
    if (known !== undefined && !known.has(name)) {
      document.add(item, `unknown instance group \`${name}\``);
    }
    names.add(name);
  }
  return names;
}

export function readAsk(
  document: PolicyDocument,
  location: YamlLocation,
  options: LoadOptions,
): Ask | undefined {
  const members = document.map(location, POLICY_KEYS["rules.ask"]);
  if (members === undefined) return undefined;
  const at = <T>(key: string, read: (at: YamlLocation) => T | undefined): T | undefined => {
    const member = members.get(key);
    return member === undefined ? undefined : read(member);
  };
  const from = at("from", (each) => readFrom(document, each, options));
  const quorum = at("quorum", (each) => document.integer(each, 1, QUORUM_MAX)) ?? 1;
  const fromLocation = members.get("from");
  const people = from?.every((each) => each.startsWith("reviewer:")) === true;
  if (people && from.length > 0 && fromLocation !== undefined && from.length < quorum) {
    document.add(fromLocation, `a quorum of ${quorum} needs more than ${from.length} reviewers`);
  }
  const withinMs = at("within", (each) => readDurationMs(document, each)) ?? null;
  const { groups, timeoutMsMax = Number.POSITIVE_INFINITY } = options;
  const longestMs = Math.min(withinMs ?? timeoutMsMax, timeoutMsMax);
  const bounds = { groups, from: from ?? [], longestMs };
  return {
    from,
    quorum,
    excludeOwner: at("exclude", (each) => readExclude(document, each)) ?? false,
    confirm: at("confirm", (each) => readConfirm(document, each)) ?? { kind: "click" },
    noteRequired: at("note", (each) => readNoteRequired(document, each)) ?? false,
    withinMs,
    grants: at("grants", (each) => document.bool(each)) ?? NO_REQUIREMENT.grants,
    bots: at("bots", (each) => document.bool(each)) ?? NO_REQUIREMENT.bots,
    channels: at("channels", (each) => readChannels(document, each)),
    escalate: at("escalate", (each) => readEscalate(document, each, bounds)) ?? [],
  };
}

/** At least one place; one word needs no list. */
export function readChannels(
  document: PolicyDocument,
  location: YamlLocation,
): readonly Place[] | undefined {
  const items = document.oneOrMore(location) ?? [];
  const words = items.map((item) => document.oneOf(item, PLACE_WORDS));
  if (words.length === 0 || words.includes(undefined)) return undefined;
  return placesOf(words.filter((word) => word !== undefined));
}

/** The limits of the steps of an escalation. */
interface EscalationBounds extends Pick<LoadOptions, "groups"> {
  readonly from: readonly string[];
  /** The longest time that a request of the rule waits. */
  readonly longestMs: number;
}

export function readEscalate(
  document: PolicyDocument,
  location: YamlLocation,
  { groups, from, longestMs }: EscalationBounds,
): readonly EscalationStep[] {
  const items = document.list(location) ?? [];
  if (items.length > STEPS_MAX) {
    document.add(location, `an escalation has at most ${STEPS_MAX} steps`);
    return [];
  }
  const steps: EscalationStep[] = [];
  for (const item of items) {
    const keys = POLICY_KEYS["rules.ask.escalate"];
    const members = document.map(item, keys, keys);
    const after = members?.get("after");
    const target = members?.get("to");
    if (after === undefined || target === undefined) continue;
    const afterMs = readDurationMs(document, after);
    const to = readTarget(document, target, groups);
    if (afterMs === undefined || to === undefined) continue;
    if (steps.some((step) => step.to === to)) document.add(target, `two steps have \`${to}\``);
    if (from.includes(to))
      document.warn(target, `\`${to}\` may decide without this step: see \`from\``);
    if (afterMs >= longestMs) {
      const longest = formatDuration(longestMs);
      document.warn(after, `this step can never happen: a request waits at most ${longest}`);
    }
    steps.push({ afterMs, to });
  }
  return steps;
}

const TARGET = /^([a-z]+):(\S.*)$/;

function readTarget(
  document: PolicyDocument,
  location: YamlLocation,
  groups: LoadOptions["groups"],
): string | undefined {
  const text = document.text(location, NAME_CHARS_MAX);
  if (text === undefined) return undefined;
  const [, kind, name = ""] = TARGET.exec(text) ?? [];
  if (kind === "group") {
    if (groups === undefined || groups.reviewers.has(name)) return text;
    document.add(location, `unknown group \`${name}\``);
  } else if (kind === "oncall") {
    if (groups === undefined || groups.schedules.has(name)) return text;
    document.add(location, `unknown on-call schedule \`${name}\``);
  } else document.add(location, "expected group:NAME or oncall:NAME");
  return undefined;
}

const MEMBER = /^(group|reviewer):(\S.*)$/;

export function readFrom(
  document: PolicyDocument,
  location: YamlLocation,
  { groups }: LoadOptions,
): readonly string[] | undefined {
  const members: string[] = [];
  for (const item of document.oneOrMore(location) ?? []) {
    const text = document.text(item, NAME_CHARS_MAX);
    if (text === undefined) continue;
    const [, kind, name = ""] = MEMBER.exec(text) ?? [];
    const known = kind === "group" ? groups?.reviewers : groups?.reviewerNames;
    if (kind === undefined) document.add(item, "expected group:NAME or reviewer:NAME");
    else if (known !== undefined && !known.has(name)) {
      document.add(item, `unknown ${kind} \`${name}\``);
    }
    if (!members.includes(text)) members.push(text);
  }
  return members;
}

export function readExclude(document: PolicyDocument, location: YamlLocation): boolean | undefined {
  const items = document.oneOrMore(location);
  if (items === undefined) return undefined;
  for (const item of items) document.oneOf(item, ["owner"] as const);
  return true;
}

export function readNoteRequired(
  document: PolicyDocument,
  location: YamlLocation,
): boolean | undefined {
  const note = document.oneOf(location, ["required", "optional"] as const);
  return note === undefined ? undefined : note === "required";
}

const SIMPLE_CONFIRMS = ["click", "match", "passkey"] as const;
const TYPE_OPENS = "type(";

function readConfirm(document: PolicyDocument, location: YamlLocation): Ask["confirm"] | undefined {
  const value = document.scalar(location)?.value;
  const kind = SIMPLE_CONFIRMS.find((each) => each === value);
  if (kind !== undefined) return { kind };
  if (typeof value !== "string" || !value.startsWith(TYPE_OPENS) || !value.endsWith(")")) {
    document.add(location, "expected click, match, passkey or type(EXPRESSION)");
    return undefined;
  }
  const source = value.slice(TYPE_OPENS.length, -1);
  const text = readCel<TextExpression>(document, location, TYPE_OPENS.length, compileText, source);
  return text === undefined ? undefined : { kind: "type", text };
}
