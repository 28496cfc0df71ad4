/** Steps that people and bots have in common. */

import type { Reviewer } from "@countersign/review-api";
import type { Document, KindOf } from "../document.ts";
import { groupsFor } from "../group-documents.ts";
import type { PlanInput } from "../kind.ts";
import { differences, type Planned, type Step } from "../step.ts";

export interface MemberSpec {
  readonly name: string;
  readonly role: Reviewer["role"];
}

interface MemberPlan<Spec extends MemberSpec> {
  readonly kind: KindOf<Spec>;
  readonly reviewerKind: Reviewer["kind"];
  /** The steps for a member that the server does not have. */
  readonly create: (document: Document<Spec>, groups: readonly string[]) => readonly Step[];
}

export function planMembers<Spec extends MemberSpec>(
  input: PlanInput,
  { kind, reviewerKind, create }: MemberPlan<Spec>,
): Planned {
  const { documents, actual, report } = input;
  const steps = documents.of(kind).flatMap((document): readonly Step[] => {
    const { name, spec } = document;
    const known = actual.reviewers.find((one) => one.name === name);
    if (known === undefined) return create(document, groupsFor(documents, "reviewers", name, []));
    if (known.kind === reviewerKind) return changeMember(input, known, spec.role);
    const place = document.placeOf(["kind"]);
    const message = `${name} is a ${known.kind} on the server`;
    report({ ...place, path: "kind", message });
    return [];
  });
  const self = actual.project.reviewer.id;
  const others = actual.reviewers
    .filter((one) => documents.has(kind) && one.kind === reviewerKind && one.id !== self)
    .filter(({ name }) => documents.find(kind, name) === undefined);
  // The API does not show which accounts an identity provider manages, so all of them stay.
  const accounts = others.filter(({ signs_in }) => signs_in);
  const tokenHolders = others.filter(({ signs_in }) => !signs_in);
  return {
    steps,
    surplus: tokenHolders.map((one) => removeMember(kind.kind, one)),
    notes: accounts.map(
      ({ name }) => `${kind.kind} ${name}: no document, and kept because the person signs in.`,
    ),
  };
}

/** @param role undefined: it stays unchanged */
export function changeMember(
  { documents }: PlanInput,
  { id, kind, name, role: roleBefore, groups: groupsBefore }: Reviewer,
  role: Reviewer["role"] = roleBefore,
): readonly Step[] {
  const groups = groupsFor(documents, "reviewers", name, groupsBefore);
  const details = differences({ role: roleBefore, groups: groupsBefore }, { role, groups });
  if (details.length === 0) return [];
  const step: Step = {
    verb: "change",
    kind: kind === "bot" ? "Bot" : "Reviewer",
    name,
    details,
    async run(api) {
      await api.call("PATCH /reviewers/{id}", { path: { id }, body: { role, groups } });
      return {};
    },
  };
  return [step];
}

function removeMember(kind: string, { id, name }: Reviewer): Step {
  return {
    verb: "delete",
    kind,
    name,
    details: ["the name cannot be used again"],
    async run(api) {
      await api.call("DELETE /reviewers/{id}", { path: { id } });
      return {};
    },
  };
}
