/** Standing grants. A grant cannot change, so all of its members are its identity. */

import { formatDuration } from "@countersign/protocol";
import type { Grant } from "@countersign/review-api";
import * as v from "valibot";
import { agentIds } from "../actual.ts";
import type { Kind } from "../kind.ts";
import { duration, flag, text } from "../schemas.ts";
import type { Step } from "../step.ts";
import { agent, findAgent } from "./agent.ts";

const CALLS = "must be a whole number from 1";

const schema = v.strictObject({
  kind: v.literal("Grant"),
  /** Name of an agent. */
  agent: text,
  tool: text,
  server: v.optional(text),
  any_server: v.optional(flag, false),
  when: v.optional(text),
  session: v.optional(text),
  valid_for: v.optional(duration),
  calls: v.optional(v.pipe(v.number(CALLS), v.integer(CALLS), v.minValue(1, CALLS)), 10),
  lasts: v.optional(duration, "30m"),
  note: v.optional(text),
});

type GrantSpec = v.InferOutput<typeof schema>;

export const grant: Kind<GrantSpec> = {
  kind: "Grant",
  schema,
  file: "grants.yaml",
  nameOf: keyOf,

  plan(input) {
    const { documents, actual, report } = input;
    const active = actual.grants.filter(({ state }) => state === "active");
    const notes: string[] = [];
    const steps = documents.of(grant).flatMap((document) => {
      const known = findAgent(input, document.spec.agent, document, ["agent"]);
      if (known === "ambiguous") return [];
      if (known === undefined && !documents.find(agent, document.spec.agent)) {
        const message = `there is no agent ${document.spec.agent}`;
        report({ ...document.placeOf(["agent"]), path: "agent", message });
      }
      const last = actual.grants.find((one) => {
        // Documents cannot limit a grant to a turn of a session.
        const isComparable = one.turn === undefined && one.instance.id === known?.id;
        return isComparable && keyOf(specOf(one)) === document.name;
      });
      if (last?.state === "active") return [];
      if (last?.state === "revoked" || last?.state === "exhausted") {
        const ended = last.state === "revoked" ? "was revoked" : "was used up";
        notes.push(`Grant ${document.name}: ${ended}, and is not created again.`);
        return [];
      }
      return [create(document.spec)];
    });
    const surplus = active
      .filter((one) => documents.has(grant) && !documents.find(grant, keyOf(specOf(one))))
      .map(revoke);
    return { steps, surplus, notes };
  },
};

/** Members that are not given have no part in it. */
function keyOf(spec: GrantSpec): string {
  const { agent, tool, server, any_server, when, session, valid_for, calls, lasts } = spec;
  const parts = [
    `${tool} of ${agent}`,
    server && `server ${server}`,
    any_server && "any server",
    when && `when ${when}`,
    session && `session ${session}`,
    valid_for && `valid for ${valid_for}`,
    `${calls} calls in ${lasts}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** A grant of the server as a document. */
function specOf(grant: Grant): GrantSpec {
  const { instance, tool, server, any_server = false, when, session, valid_for } = grant;
  const lasts = formatDuration(Date.parse(grant.expires_at) - Date.parse(grant.created_at));
  return {
    kind: "Grant",
    agent: instance.name,
    tool,
    server,
    any_server,
    when,
    session,
    valid_for,
    calls: grant.calls_max,
    lasts,
  };
}

function create(spec: GrantSpec): Step {
  return {
    verb: "create",
    kind: "Grant",
    name: keyOf(spec),
    details: [],
    async run(api) {
      const { kind: _, agent, any_server, ...rest } = spec;
      const [instance_id] = await agentIds(api, [agent]);
      const body = {
        ...rest,
        instance_id,
        ...(any_server && { any_server }),
        ...(spec.session === undefined && { any_session: true }),
      };
      await api.call("POST /grants", { body });
      return {};
    },
  };
}

function revoke(grant: Grant): Step {
  return {
    verb: "delete",
    kind: "Grant",
    name: keyOf(specOf(grant)),
    details: [],
    async run(api) {
      await api.call("POST /grants/{id}/revoke", { path: { id: grant.id } });
      return {};
    },
  };
}
