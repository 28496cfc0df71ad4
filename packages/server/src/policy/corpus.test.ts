import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type CelInput, isCelError, run } from "@bufbuild/cel";
import { create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { JsonObject, parseJson } from "@countersign/protocol";
import { parse } from "yaml";
import { ConditionError, compileCondition, NOT_BOOL_FAULT } from "./condition.ts";
import { Fault } from "./fault.ts";
import { Meter } from "./meter.ts";
import { type CelValue, fromJson, isMap, Timestamp } from "./values.ts";

/** The result of a condition; `not-bool` is a value that is neither true nor false. */
type Result = "true" | "false" | "error" | "inexact" | "not-bool" | "refused";

interface Case {
  readonly file: string;
  readonly when: string;
  readonly args: string;
  readonly gives: Result;
  /** Result of the second engine; undefined: it defines none, or cannot evaluate it. */
  readonly other: Result | undefined;
}

interface CorpusFile {
  readonly about: string;
  readonly args: string;
  /** false: the arguments hold what the second engine has no value for */
  readonly second?: boolean;
  readonly cases: Readonly<Record<Result, readonly string[]>> & {
    readonly differs?: readonly {
      when: string;
      gives: unknown;
      other?: unknown;
      because?: string;
    }[];
    readonly ours?: readonly { when: string; gives: unknown }[];
  };
}

const FOLDER = join(import.meta.dirname, "corpus");
const RESULTS: readonly Result[] = ["true", "false", "error", "inexact", "not-bool", "refused"];
/** The second engine has no `inexact` and `refused`: they are specific to Countersign. */
const SHARED: readonly Result[] = ["true", "false", "error", "not-bool"];

const corpus = readdirSync(FOLDER).flatMap(readCases);
const NOW = Date.UTC(2026, 10, 21, 22, 30, 0, 250);
const INSTANCE = { id: "0190aaaa", name: "bot-1", groups: ["support-bots", "eu"] };

function readCases(file: string): Case[] {
  const {
    args,
    cases,
    second = true,
  }: CorpusFile = parse(readFileSync(join(FOLDER, file), "utf8"));
  const found: Case[] = [];
  for (const gives of RESULTS) {
    const other = second && SHARED.includes(gives) ? gives : undefined;
    for (const when of cases[gives] ?? []) found.push({ file, when, args, gives, other });
  }
  for (const { when, gives } of cases.ours ?? []) {
    found.push({ file, when, args, gives: toResult(gives), other: undefined });
  }
  for (const { when, gives, other } of cases.differs ?? []) {
    const opinion = other === undefined ? undefined : toResult(other);
    found.push({ file, when, args, gives: toResult(gives), other: opinion });
  }
  return found;
}

function toResult(value: unknown): Result {
  const found = RESULTS.find((each) => each === String(value));
  if (found === undefined) throw new Error(`no outcome ${value}`);
  return found;
}

function ours({ when, args }: Case): Result {
  try {
    const answer = compileCondition(when).evaluate({
      tool: "stripe.refund",
      args: celOf(args),
      context: new Map(),
      instance: new Map<string, CelValue>(Object.entries(INSTANCE)),
      now: new Timestamp(BigInt(NOW) * 1_000_000n),
      history: undefined,
      signals: () => [],
      meter: new Meter(100_000),
      local: null,
    });
    if (answer === NOT_BOOL_FAULT) return "not-bool";
    if (answer instanceof Fault) return answer.inexact ? "inexact" : "error";
    return toResult(answer);
  } catch (error) {
    assert.ok(error instanceof ConditionError, `${when}: ${error}`);
    return "refused";
  }
}

function second({ when, args }: Case): Result {
  const answer = run(when, {
    tool: "stripe.refund",
    args: inputOf(celOf(args)),
    context: new Map(),
    instance: new Map<string, CelInput>(Object.entries(INSTANCE)),
    now: create(TimestampSchema, {
      seconds: BigInt(Math.floor(NOW / 1000)),
      nanos: (NOW % 1000) * 1_000_000,
    }),
  });
  if (isCelError(answer)) return "error";
  return typeof answer === "boolean" ? toResult(answer) : "not-bool";
}

function celOf(json: string): CelValue {
  const value = parseJson(json);
  assert.ok(value instanceof JsonObject);
  return fromJson(value);
}

function inputOf(value: CelValue): CelInput {
  if (Array.isArray(value)) return value.map(inputOf);
  if (!isMap(value)) return value as CelInput;
  return new Map([...value].map(([key, each]) => [key, inputOf(each)]));
}

function wrong(cases: readonly Case[], gives: (each: Case) => [Result, Result]): string[] {
  return cases.flatMap((each) => {
    const [wanted, got] = gives(each);
    return wanted === got ? [] : [`${each.file}: ${each.when}: ${got}, not ${wanted}`];
  });
}

test("[ours.policy.condition.corpus] every condition of the corpus gives what it says", () => {
  assert.ok(corpus.length >= 500, `${corpus.length} cases`);
  assert.deepEqual(
    wrong(corpus, (each) => [each.gives, ours(each)]),
    [],
  );
});

test("[ours.policy.condition.corpus] a second engine gives the same, or the case says what else", () => {
  const shared = corpus.filter(({ other }) => other !== undefined);
  assert.ok(shared.length >= 400, `${shared.length} cases`);
  assert.deepEqual(
    wrong(shared, (each) => [each.other ?? "error", second(each)]),
    [],
  );
});

test("no case is there twice", () => {
  const keys = corpus.map(({ file, when }) => `${file}: ${when}`);
  const twice = keys.filter((key, index) => keys.indexOf(key) !== index);
  assert.deepEqual(twice, []);
});
