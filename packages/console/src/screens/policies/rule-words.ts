/** A rule as a sentence, for users who do not read YAML. */

import type { RuleOutline } from "@countersign/review-api";
import { locale } from "../../language/language.ts";
import { plural, rich, t } from "../../language/t.ts";

/** Words, or a text of the rule. */
export type Words = readonly Word[];

type Word = string | { readonly code: string };

/** Like `Denies calls of db.* when args.env is prod.` */
export function ruleWords(rule: RuleOutline): Words {
  return [...sentence(rule), ...extra(rule)];
}

function sentence({ verb, ask, when, ...restrictions }: RuleOutline): Words {
  const calls = callWords(restrictions);
  const condition = when === undefined ? undefined : conditionWords(when);
  if (verb === "ask") {
    const people = approverWords(ask);
    return condition === undefined
      ? rich`Asks ${people} about ${calls}.`.flat()
      : rich`Asks ${people} about ${calls} when ${condition}.`.flat();
  }
  if (condition === undefined) {
    return verb === "approve" ? rich`Approves ${calls}.`.flat() : rich`Denies ${calls}.`.flat();
  }
  return verb === "approve"
    ? rich`Approves ${calls} when ${condition}.`.flat()
    : rich`Denies ${calls} when ${condition}.`.flat();
}

function approverWords(ask: RuleOutline["ask"]): Words {
  const { from = [], quorum = 1 } = ask ?? {};
  const number = [plural(quorum, { one: "a reviewer", other: "# reviewers" })];
  if (from.length === 0) return number;
  return rich<Words>`${number} from ${listed(from.map(memberWord))}`.flat();
}

/** Of `group:finance` the name of the group. */
function memberWord(member: string): string {
  return member.slice(member.indexOf(":") + 1);
}

type Restrictions = Pick<
  RuleOutline,
  "tools" | "servers" | "groups" | "instance_ids" | "instance_names"
>;

function callWords({
  tools,
  servers,
  groups,
  instance_ids: ids,
  instance_names: names,
}: Restrictions): Words {
  const isAny = tools === undefined || tools.includes("*");
  let words: Words = isAny ? [t`any call`] : rich`calls of ${listed(tools)}`.flat();
  if (servers !== undefined) words = rich`${words} on the server ${listed(servers)}`.flat();
  if (groups !== undefined)
    words = rich`${words} from instances in the group ${listed(groups)}`.flat();
  if (ids !== undefined) words = rich`${words} from the instance ${listed(ids)}`.flat();
  if (names !== undefined) words = rich`${words} from instances named ${listed(names)}`.flat();
  return words;
}

const alternatives = new Intl.ListFormat(locale, { type: "disjunction" });

/** Like `a, b or c`. */
function listed(values: readonly string[]): Words {
  return alternatives
    .formatToParts(values)
    .map(({ type, value }) => (type === "element" ? { code: value } : value));
}

function conditionWords(when: string): Words {
  const [first, ...more] = simpleConditions(when) ?? [];
  if (first === undefined) return [{ code: when.trim() }];
  return more.reduce<Words>((words, next) => rich`${words} and ${next}`.flat(), first);
}

type Comparison = (member: Word, value: Word) => Words;

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  "==": (member, value) => rich`${member} is ${value}`,
  "!=": (member, value) => rich`${member} is not ${value}`,
  "<": (member, value) => rich`${member} is less than ${value}`,
  "<=": (member, value) => rich`${member} is at most ${value}`,
  ">": (member, value) => rich`${member} is more than ${value}`,
  ">=": (member, value) => rich`${member} is at least ${value}`,
};

const SIMPLE =
  /^\s*([a-z]+(?:\.[A-Za-z_]\w*)*)\s*(==|!=|<=|>=|<|>)\s*("[^"\\&|]*"|-?\d[\d.]*|true|false)\s*$/;

const EXISTS = /^\s*has\(([\w.]+)\)\s*$/;

/** Comparisons with plain values, joined by `&&`; undefined for all other conditions. */
function simpleConditions(when: string): readonly Words[] | undefined {
  const found: Words[] = [];
  const compared: string[] = [];
  const existing: string[] = [];
  for (const part of when.split("&&")) {
    const [, exists] = EXISTS.exec(part) ?? [];
    if (exists !== undefined) {
      existing.push(exists);
      continue;
    }
    const [, member = "", operator = "", value = ""] = SIMPLE.exec(part) ?? [];
    const comparison = COMPARISONS[operator];
    if (comparison === undefined) return undefined;
    compared.push(member);
    found.push(comparison({ code: member }, { code: value.replace(/^"(.+)"$/, "$1") }));
  }
  // A comparison implies that its member exists.
  const isImplied = existing.every((each) => compared.includes(each));
  return isImplied ? found : undefined;
}

const CONFIRMATIONS: Readonly<Record<string, string>> = {
  type: t`type a confirmation`,
  match: t`type the end of the request id`,
  passkey: t`confirm with a passkey`,
};

function extra({ verb, ask, valid_for: validFor }: RuleOutline): Words {
  const sentences: string[] = [];
  const duty = dutyWords(ask);
  if (duty !== undefined) sentences.push(t`Approvers must ${duty}.`);
  if (ask?.exclude_owner) sentences.push(t`The owner of the instance cannot approve.`);
  if (ask?.within !== undefined) sentences.push(t`The decision must be made within ${ask.within}.`);
  if (validFor !== undefined) {
    sentences.push(
      verb === "ask"
        ? t`An approval is valid for at most ${validFor}.`
        : t`An approval is valid for ${validFor}.`,
    );
  }
  return sentences.map((each) => ` ${each}`);
}

function dutyWords(ask: RuleOutline["ask"]): string | undefined {
  const confirmation = CONFIRMATIONS[ask?.confirm ?? ""];
  if (!ask?.note_required) return confirmation;
  return confirmation === undefined ? t`add a note` : t`${confirmation} and add a note`;
}
