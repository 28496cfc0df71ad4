/** People who decide. A new one receives an invitation. */

import * as v from "valibot";
import type { Document } from "../document.ts";
import type { Kind, PlanInput } from "../kind.ts";
import { role, text } from "../schemas.ts";
import { differences, type Step, secretFileOf } from "../step.ts";
import { planMembers } from "./members.ts";

const schema = v.strictObject({ kind: v.literal("Reviewer"), name: text, role });

type ReviewerSpec = v.InferOutput<typeof schema>;

export const reviewer: Kind<ReviewerSpec> = {
  kind: "Reviewer",
  schema,
  file: "reviewers.yaml",
  nameOf: ({ name }) => name,

  plan(input) {
    return planMembers(input, {
      kind: reviewer,
      reviewerKind: "person",
      create: (document, groups) => invite(input, document, groups),
    });
  },

  export({ reviewers }) {
    const people = reviewers.filter(({ kind }) => kind === "person");
    return { documents: people.map(({ name, role }) => ({ kind: "Reviewer", name, role })) };
  },
};

function invite(
  { actual }: PlanInput,
  { name, spec }: Document<ReviewerSpec>,
  groups: readonly string[],
): readonly Step[] {
  const open = actual.invitations.filter((one) => one.name === name);
  const waitsFor = `${name} to accept the invitation`;
  const [last] = open;
  const details = differences(
    { role: last?.role, groups: last?.groups ?? [] },
    { role: spec.role, groups },
  );
  const isInvited = last !== undefined && details.length === 0;
  const step: Step = {
    verb: "create",
    kind: "Reviewer",
    name,
    details: isInvited
      ? []
      : ["sends no message: give the person the link in the secret file", ...details],
    waitsFor: isInvited ? waitsFor : undefined,
    secretFile: isInvited ? undefined : secretFileOf("Reviewer", name, "invitation"),
    async run(api) {
      for (const { id } of open) await api.call("DELETE /invitations/{id}", { path: { id } });
      const body = { name, role: spec.role, groups: [...groups] };
      const { url } = await api.call("POST /invitations", { body });
      return { waitsFor, secret: url };
    },
  };
  return [step];
}
