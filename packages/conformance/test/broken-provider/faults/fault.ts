/**
 * The type of a planted fault, and helpers to create faults.
 */

import { JsonObject, type JsonValue, parseJson } from "@countersign/protocol";
import type { RequirementId } from "../../../src/index.ts";
import { CORRECT, type Conduct } from "../conduct.ts";
import type { About, Answer } from "../conduct-exchange.ts";
import type { Members, ProviderOptions } from "../ledger.ts";

export interface Fault {
  readonly id: string;
  /** Section of the contract. */
  readonly section: string;
  /** Requirements that a provider with this fault breaks. */
  readonly breaks: readonly RequirementId[];
  /** The wrong behavior, in one sentence. */
  readonly sentence: string;
  /** Replaces parts of the correct behavior. */
  readonly plant: Partial<Conduct>;
  /** Scenarios that detect it, if no scenario cites a rule that it breaks. */
  readonly seenBy?: readonly string[];
  /** Options of the provider that make the fault visible. */
  readonly options?: ProviderOptions;
}

/** Changes answers of one kind, and no others. */
export function answering(
  isMeant: (about: About, answer: Answer) => boolean,
  change: (answer: Answer, about: About) => Partial<Answer>,
): Partial<Conduct> {
  return {
    answer: (answer, about) =>
      isMeant(about, answer) ? { ...answer, ...change(answer, about) } : answer,
  };
}

/** Changes the object inside the envelope of refusals. */
export function refusing(
  change: (error: Readonly<Record<string, unknown>>, about: About) => object,
  isMeant: (about: About, answer: Answer) => boolean = () => true,
): Partial<Conduct> {
  return answering(
    (about, answer) => about.problem !== undefined && isMeant(about, answer),
    ({ body = "" }, about) => {
      const { error } = JSON.parse(body) as { error: Record<string, unknown> };
      return { body: JSON.stringify({ error: change(error, about) }) };
    },
  );
}

export const isSuccess = ({ problem }: About) => problem === undefined;

export function hasCode(code: string): (about: About) => boolean {
  return ({ problem }) => problem?.code === code;
}

/** The object with another member, or without it. */
export function withMember(body: JsonValue, name: string, value: JsonValue | undefined): JsonValue {
  if (!(body instanceof JsonObject)) return body;
  const members = new Map(body.members);
  if (value === undefined) members.delete(name);
  else members.set(name, value);
  return new JsonObject(members, body.source);
}

export function memberOf(body: JsonValue, name: string): JsonValue | undefined {
  return body instanceof JsonObject ? body.members.get(name) : undefined;
}

/** As JavaScript reads and writes it: rounded, without duplicates, reordered. */
export function throughJavaScript(text: string): string {
  return JSON.stringify(JSON.parse(text));
}

/** Leaves out what is not known, as lenient parsers do. */
export function onlyKnown(body: JsonValue, names: readonly string[]): JsonValue {
  if (!(body instanceof JsonObject)) return body;
  const members = [...body.members].filter(([name]) => names.includes(name));
  return new JsonObject(new Map(members), body.source);
}

/** Takes null for an absent member. */
export function withoutNulls(body: JsonValue): JsonValue {
  if (!(body instanceof JsonObject)) return body;
  return new JsonObject(
    new Map([...body.members].filter(([, value]) => value !== null)),
    body.source,
  );
}

export const EMPTY_OBJECT = parseJson("{}") as JsonObject;

/** Shows the arguments by another text. */
export function showingArguments(change: (source: string) => string): Partial<Conduct> {
  return {
    showRequest: (members) => ({ ...members, arguments: change(members.arguments ?? "{}") }),
  };
}

export function showing(change: (members: Members) => Members): Partial<Conduct> {
  return { showRequest: (members) => ({ ...members, ...change(members) }) };
}

/** The text of a request as it was before it ended. */
export function stillPending(body: string): string {
  return body
    .replace(/"status":"(approved|denied|expired|cancelled)"/, '"status":"pending"')
    .replace(/,"decision":\{.*\}(?=\}$)/s, "");
}

export { CORRECT };
