/**
 * Serializes policies between the examiner thread and the server. The parsed policy is plain data;
 * functions and indexes are built by the receiver. It is split into pieces, so that the server can
 * serve exchanges between them.
 */

import { deserialize, serialize } from "node:v8";
import { type Condition, conditionOf, type TextExpression, textOf } from "../policy/condition.ts";
import type { Ask, Policy, Rule } from "../policy/rule.ts";

/** A policy without its source, which the receiver has, and without its tests. */
export interface PackedPolicy {
  readonly sha256: string;
  readonly isTwoPerson: boolean;
  readonly warnings: Policy["warnings"];
  readonly renderers: Policy["renderers"];
  /** Serialized rules, several in each piece. */
  readonly pieces: readonly Uint8Array[];
}

type Packed<T> = Omit<T, "evaluate">;

interface PackedRule extends Omit<Rule, "when" | "ask"> {
  readonly when: Packed<Condition> | undefined;
  readonly ask: PackedAsk | undefined;
}

interface PackedAsk extends Omit<Ask, "confirm"> {
  readonly confirm: Exclude<Ask["confirm"], { kind: "type" }> | PackedConfirm;
}

interface PackedConfirm {
  readonly kind: "type";
  readonly text: Packed<TextExpression>;
}

/** Characters of conditions in a piece, which takes a few milliseconds to unpack. */
const PIECE_CHARS = 4_096;

/** The size of a rule without its condition, in the same unit. */
const RULE_CHARS = 64;

export function packPolicy({
  sha256,
  isTwoPerson,
  warnings,
  renderers,
  rules,
}: Policy): PackedPolicy {
  const pieces: Uint8Array[] = [];
  let piece: PackedRule[] = [];
  let chars = 0;
  for (const rule of rules) {
    piece.push(packRule(rule));
    chars += RULE_CHARS + (rule.when?.source.length ?? 0);
    if (chars < PIECE_CHARS) continue;
    pieces.push(serialize(piece));
    piece = [];
    chars = 0;
  }
  if (piece.length > 0) pieces.push(serialize(piece));
  return { sha256, isTwoPerson, warnings, renderers, pieces };
}

/** @param breathe called between the pieces, to yield to the event loop */
export async function unpackPolicy(
  source: string,
  { pieces, ...rest }: PackedPolicy,
  pause: () => Promise<void>,
): Promise<Policy> {
  const rules: Rule[] = [];
  for (const piece of pieces) {
    await pause();
    for (const rule of deserialize(piece) as PackedRule[]) rules.push(unpackRule(rule));
  }
  return Object.freeze({ ...rest, source, rules, tests: [] });
}

function packRule({ when, ask, ...rest }: Rule): PackedRule {
  return { ...rest, when: when && pack(when), ask: ask && packAsk(ask) };
}

function packAsk({ confirm, ...rest }: Ask): PackedAsk {
  if (confirm.kind !== "type") return { ...rest, confirm };
  return { ...rest, confirm: { kind: "type", text: pack(confirm.text) } };
}

function pack<T extends { readonly evaluate: unknown }>({ evaluate: _, ...data }: T): Packed<T> {
  return data;
}

function unpackRule({ when, ask, ...rest }: PackedRule): Rule {
  return {
    ...rest,
    when: when && conditionOf(when.source, when.expression),
    ask: ask && unpackAsk(ask),
  };
}

function unpackAsk({ confirm, ...rest }: PackedAsk): Ask {
  if (confirm.kind !== "type") return { ...rest, confirm };
  const { source, expression } = confirm.text;
  return { ...rest, confirm: { kind: "type", text: textOf(source, expression) } };
}
