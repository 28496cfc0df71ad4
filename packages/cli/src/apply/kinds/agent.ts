/** Agents: identities under which programs submit calls. A new one receives a credential. */

import type { Instance } from "@countersign/review-api";
import * as v from "valibot";
import type { Document } from "../document.ts";
import { groupsFor } from "../group-documents.ts";
import type { Kind, PlanInput } from "../kind.ts";
import { text } from "../schemas.ts";
import { differences, type Step, secretFileOf } from "../step.ts";

const schema = v.strictObject({
  kind: v.literal("Agent"),
  name: text,
  /** Name of a reviewer. */
  owner: v.optional(v.nullable(text), null),
});

type AgentSpec = v.InferOutput<typeof schema>;

export const agent: Kind<AgentSpec> = {
  kind: "Agent",
  schema,
  file: "agents.yaml",
  nameOf: ({ name }) => name,

  plan(input) {
    const steps = input.documents.of(agent).flatMap((document) => {
      const known = findAgent(input, document.name, document, []);
      if (known === "ambiguous") return [];
      if (known === undefined) return [create(input, document)];
      return changeAgent(input, known, document.spec.owner);
    });
    // Provisioners create agents at run time, so an agent without a document is not surplus.
    return { steps, surplus: [] };
  },

  export({ instances }) {
    const documents = uniquelyNamed(instances).map(({ name, owner }) => {
      return owner === null ? { kind: "Agent", name } : { kind: "Agent", name, owner };
    });
    const omitted = instances.length - documents.length;
    if (omitted === 0) return { documents };
    return {
      documents,
      notes: [`Omitted ${omitted} agents that share a name with another agent.`],
    };
  },
};

/** Of a change of groups or owner that needs two people. */
export const SECOND_PERSON = "another person to apply the same change";

/** The agents that documents can name. */
export function uniquelyNamed(instances: readonly Instance[]): readonly Instance[] {
  const byName = Map.groupBy(instances, ({ name }) => name);
  return instances.filter(({ name }) => byName.get(name)?.length === 1);
}

/** Reports several agents with the name at a member of a document. */
export function findAgent(
  { actual, report }: PlanInput,
  name: string,
  document: Document,
  path: readonly (string | number)[],
): Instance | "ambiguous" | undefined {
  const [first, ...others] = actual.instances.filter((one) => one.name === name);
  if (others.length === 0) return first;
  const message = `${others.length + 1} agents have the name ${name}; rename or delete the others`;
  report({ ...document.placeOf(path), path: path.join("."), message });
  return "ambiguous";
}

/** @param owner undefined: it stays unchanged */
export function changeAgent(
  { documents, actual }: PlanInput,
  instance: Instance,
  owner: string | null = instance.owner,
): readonly Step[] {
  const { id, name, proposed_change: proposed } = instance;
  const groups = groupsFor(documents, "agents", name, instance.groups);
  const after = { owner, groups };
  const details = differences(instance, after);
  if (details.length === 0) return [];
  const isProposed = proposed !== undefined && differences(proposed, after).length === 0;
  const waitsFor = SECOND_PERSON;
  const isOwn = proposed?.proposer === actual.project.reviewer.name;
  const step: Step = {
    verb: "change",
    kind: "Agent",
    name,
    details,
    waitsFor: isProposed && isOwn ? waitsFor : undefined,
    async run(api) {
      const body = { owner, groups };
      const changed = await api.call("PATCH /instances/{id}", { path: { id }, body });
      return differences(changed, after).length === 0 ? {} : { waitsFor };
    },
  };
  return [step];
}

function create({ documents }: PlanInput, { name, spec }: Document<AgentSpec>): Step {
  const { owner } = spec;
  const groups = groupsFor(documents, "agents", name, []);
  return {
    verb: "create",
    kind: "Agent",
    name,
    details: differences({ groups: [] }, { owner, groups }),
    secretFile: secretFileOf("Agent", name, "token"),
    async run(api) {
      const { credential } = await api.call("POST /instances", { body: { name, owner, groups } });
      return { secret: credential };
    },
  };
}
