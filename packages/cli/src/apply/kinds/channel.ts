/** Channels: their settings. channel-target.ts has the addresses and secrets. */

import type { Channel } from "@countersign/review-api";
import type { ReviewerApi } from "../../reviewer-api.ts";
import { agentIds } from "../actual.ts";
import type { Document } from "../document.ts";
import type { Kind, PlanInput } from "../kind.ts";
import { sorted } from "../schemas.ts";
import { differences, type Planned, type Step, secretFileOf } from "../step.ts";
import { agent, findAgent } from "./agent.ts";
import { type ChannelSpec, channelSchema } from "./channel-schema.ts";
import {
  describeTarget,
  exportTarget,
  type ReadTarget,
  readTarget,
  variableNamer,
} from "./channel-target.ts";

export const channel: Kind<ChannelSpec> = {
  kind: "Channel",
  schema: channelSchema,
  file: "channels.yaml",
  nameOf: ({ name }) => name,

  plan(input) {
    const { documents, actual } = input;
    const planned = documents.of(channel).map((document) => planOne(input, document));
    return {
      steps: planned.flatMap(({ steps }) => steps),
      notes: planned.flatMap(({ notes = [] }) => notes),
      surplus: actual.channels
        .filter(({ name }) => documents.has(channel) && !documents.find(channel, name))
        .map(remove),
    };
  },

  export(actual) {
    const nameVariable = variableNamer();
    const targetOf = (one: Channel) => exportTarget(one, nameVariable);
    return {
      documents: actual.channels.map((one) => exportChannel(one, actual, targetOf(one))),
    };
  },
};

function planOne(input: PlanInput, document: Document<ChannelSpec>): Planned {
  const { actual, setsSecrets } = input;
  const { name, spec } = document;
  reportUnknownAgents(input, document);
  const target = readTarget(input, document);
  const known = actual.channels.find((one) => one.name === name);
  if (known === undefined) return { steps: [create(spec, target)], surplus: [] };
  if (known.kind !== spec.type) {
    const rule = "cannot change; delete the channel first";
    const message = `the channel ${name} has the type ${known.kind}, which ${rule}`;
    input.report({ ...document.placeOf(["type"]), path: "type", message });
    return { steps: [], surplus: [] };
  }
  const shown = describeTarget(spec, target);
  const isOther = shown !== undefined && shown !== known.target;
  const details = [
    ...(isOther ? [`target: ${known.target} -> ${shown}`] : []),
    ...(setsSecrets && !isOther ? ["sets the target and its secrets again"] : []),
    ...differences(settingsIn(known, actual), settingsOf(spec)),
  ];
  const secrets = target.missing.join(" and ");
  const notes =
    shown === undefined ? [`Channel ${name}: target not compared, without ${secrets}.`] : [];
  const sent = isOther || setsSecrets ? target : undefined;
  const steps = details.length === 0 ? [] : [change(known, spec, sent, details)];
  return { steps, surplus: [], notes };
}

function reportUnknownAgents(input: PlanInput, document: Document<ChannelSpec>): void {
  for (const [index, name] of document.spec.agents.entries()) {
    const found = findAgent(input, name, document, ["agents", index]);
    if (found !== undefined || input.documents.find(agent, name)) continue;
    const message = `there is no agent ${name}; add a document of the kind Agent`;
    input.report({ ...document.placeOf(["agents", index]), path: "agents", message });
  }
}

function create(spec: ChannelSpec, { members, missing }: ReadTarget): Step {
  const { name, type } = spec;
  const isGenerated = type === "webhook" && spec.signing_secret_from === undefined;
  return {
    verb: "create",
    kind: "Channel",
    name,
    details: [`type: ${type}`, ...differences(DEFAULTS, settingsOf(spec))],
    missing: missing[0],
    secretFile: isGenerated ? secretFileOf("Channel", name, "signing-secret") : undefined,
    async run(api) {
      const settings = await toWire(api, spec);
      const body = { name, kind: type, ...members, ...settings };
      const { id, signing_secret: secret } = await api.call("POST /channels", { body });
      if (!spec.enabled) {
        await api.call("PATCH /channels/{id}", { path: { id }, body: { disabled: true } });
      }
      return secret === undefined ? {} : { secret };
    },
  };
}

/** @param target undefined: the target stays unchanged */
function change(
  { id, name }: Channel,
  spec: ChannelSpec,
  target: ReadTarget | undefined,
  details: readonly string[],
): Step {
  const isGenerated = spec.type === "webhook" && spec.signing_secret_from === undefined;
  const isSecretShown = target !== undefined && isGenerated;
  return {
    verb: "change",
    kind: "Channel",
    name,
    details,
    missing: target?.missing[0],
    secretFile: isSecretShown ? secretFileOf("Channel", name, "signing-secret") : undefined,
    async run(api) {
      const settings = await toWire(api, spec);
      const body = { ...target?.members, ...settings, disabled: !spec.enabled };
      const changed = await api.call("PATCH /channels/{id}", { path: { id }, body });
      const { signing_secret: secret } = changed;
      return secret === undefined ? {} : { secret };
    },
  };
}

function remove({ id, name }: Channel): Step {
  return {
    verb: "delete",
    kind: "Channel",
    name,
    details: [],
    async run(api) {
      await api.call("DELETE /channels/{id}", { path: { id } });
      return {};
    },
  };
}

type Settings = Pick<
  ChannelSpec,
  | "groups"
  | "agents"
  | "include_arguments"
  | "decide"
  | "on_decision"
  | "digest"
  | "remind_before"
  | "enabled"
>;

const DEFAULTS: Settings = {
  groups: [],
  agents: [],
  include_arguments: false,
  decide: false,
  on_decision: false,
  digest: "off",
  remind_before: "off",
  enabled: true,
};

function settingsOf(spec: Settings): Settings {
  const { groups, agents, include_arguments, decide, on_decision } = spec;
  const { digest, remind_before, enabled } = spec;
  return {
    groups,
    agents,
    include_arguments,
    decide,
    on_decision,
    digest,
    remind_before,
    enabled,
  };
}

/** The settings on the server. An agent that was deleted has no name: its id is displayed. */
function settingsIn(channel: Channel, { instances }: PlanInput["actual"]): Settings {
  const nameOf = (id: string) => instances.find((one) => one.id === id)?.name ?? id;
  const { groups, include_arguments, decide, on_decision } = channel;
  const { digest = "off", remind_before = "off", state } = channel;
  return {
    groups: sorted(groups),
    agents: sorted(channel.instances.map(nameOf)),
    include_arguments,
    decide,
    on_decision,
    digest,
    remind_before,
    enabled: state === "enabled",
  };
}

async function toWire(api: ReviewerApi, spec: ChannelSpec) {
  const { agents, enabled: _, ...settings } = settingsOf(spec);
  return { ...settings, instances: await agentIds(api, agents) };
}

/** Settings with their default value are left out. */
function exportChannel(channel: Channel, actual: PlanInput["actual"], target: object): object {
  const settings = settingsIn(channel, actual);
  const chosen = Object.entries(settings).filter(([key, value]) => {
    return String(value) !== String(DEFAULTS[key as keyof Settings]);
  });
  const { name, kind: type } = channel;
  return { kind: "Channel", name, type, ...target, ...Object.fromEntries(chosen) };
}
