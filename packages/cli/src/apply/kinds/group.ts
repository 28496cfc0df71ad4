/**
 * Groups. A group exists while it has members: the steps change the members without documents of
 * their own. The kinds Reviewer, Bot and Agent change the other members.
 */

import { listInstances } from "../actual.ts";
import type { Document, KindOf } from "../document.ts";
import { GROUP, type GroupSpec, groupSchema } from "../group-documents.ts";
import type { Kind, PlanInput } from "../kind.ts";
import { sorted } from "../schemas.ts";
import type { Step, StepResult } from "../step.ts";
import { agent, changeAgent, findAgent, SECOND_PERSON, uniquelyNamed } from "./agent.ts";
import { bot } from "./bot.ts";
import { changeMember } from "./members.ts";
import { reviewer } from "./reviewer.ts";

export const group: Kind<GroupSpec> = {
  kind: "Group",
  schema: groupSchema,
  file: "groups.yaml",
  nameOf: ({ name }) => name,

  plan(input) {
    const { documents, actual } = input;
    for (const document of documents.of(GROUP)) reportUnknown(input, document);
    const isFree = (name: string, ...kinds: KindOf<unknown>[]) =>
      kinds.every((kind) => documents.find(kind, name) === undefined);
    const steps = [
      ...actual.reviewers
        .filter(({ name }) => isFree(name, reviewer, bot))
        .flatMap((one) => changeMember(input, one)),
      ...uniquelyNamed(actual.instances)
        .filter(({ name }) => isFree(name, agent))
        .flatMap((one) => changeAgent(input, one)),
    ];
    const surplus = namesOf(actual)
      .filter((name) => documents.has(GROUP) && documents.find(GROUP, name) === undefined)
      .map(dissolve);
    return { steps, surplus, notes: notCompared(input) };
  },

  export(actual) {
    const documents = namesOf(actual).map((name) => {
      const reviewers = membersOf(actual.reviewers, name);
      const agents = membersOf(uniquelyNamed(actual.instances), name);
      return {
        kind: "Group",
        name,
        ...(reviewers.length > 0 && { reviewers }),
        ...(agents.length > 0 && { agents }),
      };
    });
    return { documents };
  },
};

interface Member {
  readonly name: string;
  readonly groups: readonly string[];
}

function membersOf(members: readonly Member[], group: string): string[] {
  return sorted(members.filter(({ groups }) => groups.includes(group)).map(({ name }) => name));
}

function namesOf({ reviewers, instances }: PlanInput["actual"]): string[] {
  return sorted([...reviewers, ...instances].flatMap(({ groups }) => groups));
}

/** Agents with equal names cannot be in files. Without the note, their drift would be silent. */
function notCompared({ documents, actual }: PlanInput): string[] {
  const unique = new Set(uniquelyNamed(actual.instances));
  return sorted(
    actual.instances
      .filter((one) => !unique.has(one))
      .flatMap(({ name, groups }) => groups.map((group) => ({ name, group })))
      .filter(({ group }) => documents.find(GROUP, group) !== undefined)
      .map(
        ({ name, group }) => `Group ${group}: several agents have the name ${name}; not compared.`,
      ),
  );
}

function reportUnknown(input: PlanInput, document: Document<GroupSpec>): void {
  const { documents, actual, report } = input;
  for (const [index, name] of document.spec.reviewers.entries()) {
    const isKnown = actual.reviewers.some((one) => one.name === name);
    if (isKnown || documents.find(reviewer, name) || documents.find(bot, name)) continue;
    const message = `there is no reviewer ${name}; add a document of the kind Reviewer or Bot`;
    report({ ...document.placeOf(["reviewers", index]), path: "reviewers", message });
  }
  for (const [index, name] of document.spec.agents.entries()) {
    const known = findAgent(input, name, document, ["agents", index]);
    if (known !== undefined || documents.find(agent, name)) continue;
    const message = `there is no agent ${name}; add a document of the kind Agent`;
    report({ ...document.placeOf(["agents", index]), path: "agents", message });
  }
}

/** Removes all members. */
function dissolve(name: string): Step {
  return {
    verb: "delete",
    kind: "Group",
    name,
    details: ["removes all members"],
    async run(api): Promise<StepResult> {
      const { reviewers } = await api.call("GET /reviewers");
      for (const { id, groups } of reviewers.filter(({ groups }) => groups.includes(name))) {
        const body = { groups: groups.filter((one) => one !== name) };
        await api.call("PATCH /reviewers/{id}", { path: { id }, body });
      }
      const instances = await listInstances(api);
      let isWaiting = false;
      for (const { id, groups } of instances.filter(({ groups }) => groups.includes(name))) {
        const body = { groups: groups.filter((one) => one !== name) };
        const changed = await api.call("PATCH /instances/{id}", { path: { id }, body });
        isWaiting ||= changed.groups.includes(name);
      }
      return isWaiting ? { waitsFor: SECOND_PERSON } : {};
    },
  };
}
