/** Plans as text and as JSON. */

import { visibleText } from "../visible-text.ts";
import type { Plan } from "./make-plan.ts";
import type { Step, Verb } from "./step.ts";

const SIGNS: Readonly<Record<Verb, string>> = { create: "+", change: "~", delete: "-" };

/** `+ Channel ops`. */
export function nameStep({ verb, kind, name }: Step): string {
  return `${SIGNS[verb]} ${kind} ${visibleText(name)}`;
}

/** @param prunes whether the plan includes the deletions of what has no document */
export function renderPlan({ steps, surplus, notes }: Plan, prunes: boolean): string {
  const all = prunes ? [...steps, ...surplus] : steps;
  const kept = prunes ? [] : surplus.map(({ kind, name }) => `  ${kind} ${visibleText(name)}`);
  const parts = [
    ...all.map(renderStep),
    ...(kept.length === 0 ? [] : [["No document, kept without --prune:", ...kept].join("\n")]),
    ...notes.map((note) => `Note: ${visibleText(note)}`),
    all.length === 0 ? "No differences." : countSteps(all),
  ];
  return parts.join("\n");
}

function renderStep(step: Step): string {
  const waits = step.waitsFor === undefined ? "" : `: waits for ${visibleText(step.waitsFor)}`;
  const details = step.details.map((detail) => `    ${visibleText(detail)}`);
  return [nameStep(step) + waits, ...details].join("\n");
}

function countSteps(steps: readonly Step[]): string {
  const waiting = steps.filter(({ waitsFor }) => waitsFor !== undefined).length;
  const count = (verb: Verb) =>
    steps.filter((step) => step.verb === verb && step.waitsFor === undefined).length;
  const waits = waiting === 0 ? "" : `, ${waiting} waiting for people`;
  const [created, changed, deleted] = [count("create"), count("change"), count("delete")];
  return `Plan: ${created} to create, ${changed} to change, ${deleted} to delete${waits}.`;
}

export function planToJson(project: string, plan: Plan, prunes: boolean): object {
  const { steps, surplus, notes } = plan;
  const all = prunes ? [...steps, ...surplus] : steps;
  return {
    project,
    differs: all.length > 0,
    steps: all.map(stepToJson),
    without_document: prunes ? [] : surplus.map(({ kind, name }) => ({ kind, name })),
    notes,
  };
}

export function stepToJson({ verb, kind, name, details, waitsFor }: Step): object {
  return { verb, kind, name, details, waits_for: waitsFor };
}
