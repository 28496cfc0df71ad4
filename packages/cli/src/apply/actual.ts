/** The state of the project, as the reviewer API shows it. */

import { CommandError, EXIT } from "@countersign/command-line";
import type {
  Channel,
  Grant,
  Instance,
  Invitation,
  PolicyPath,
  ProposalOutline,
  Reviewer,
  ReviewerRole,
  ShownPolicy,
  Token,
} from "@countersign/review-api";
import { collect, type ReviewerApi } from "../reviewer-api.ts";

export interface PolicyState {
  readonly current: ShownPolicy;
  /** Open ones. */
  readonly proposals: readonly ProposalOutline[];
}

export interface Actual {
  readonly project: {
    readonly name: string;
    /** The caller. */
    readonly reviewer: { readonly id: string; readonly name: string };
    readonly role: ReviewerRole;
  };
  readonly reviewers: readonly Reviewer[];
  readonly instances: readonly Instance[];
  readonly channels: readonly Channel[];
  readonly policies: Readonly<Record<PolicyPath, PolicyState>>;
  /** Open ones; empty when they were not requested, like the next two. */
  readonly invitations: readonly Invitation[];
  /** Valid ones of bots, provisioners and people. */
  readonly tokens: readonly Token[];
  /** Active ones, then ended ones that the server still has, the latest first. */
  readonly grants: readonly Grant[];
}

/** Lists that need more permissions than reading, or that an export omits. */
export interface Requested {
  readonly invitations: boolean;
  readonly tokens: boolean;
  readonly grants: boolean;
}

/** More than a project has. */
const ITEMS_MAX = 100_000;

/** @throws CommandError when the server rejects a call, such as for a missing permission */
export async function readActual(
  api: ReviewerApi,
  request: (reviewers: readonly Reviewer[]) => Requested,
): Promise<Actual> {
  const project = await api.call("GET /project");
  const { reviewers } = await api.call("GET /reviewers");
  const requested = request(reviewers);
  const instances = await listInstances(api);
  const { channels } = await api.call("GET /channels");
  const policies = {
    policy: await readPolicy(api, "policy"),
    floor: await readPolicy(api, "floor"),
  };
  const invitations = requested.invitations ? await readInvitations(api) : [];
  const { tokens } = requested.tokens ? await api.call("GET /tokens") : { tokens: [] };
  const grants = requested.grants
    ? [...(await readGrants(api, "active")), ...(await readGrants(api, "ended"))]
    : [];
  return {
    project,
    reviewers,
    instances,
    channels,
    policies,
    invitations,
    tokens,
    grants,
  };
}

export async function listInstances(api: ReviewerApi): Promise<readonly Instance[]> {
  const { items } = await collect(
    ITEMS_MAX,
    (limit, after) => api.call("GET /instances", { query: { limit, after } }),
    (page) => page.instances,
  );
  return items;
}

/**
 * The ids of agents that an earlier step may have created.
 *
 * @throws CommandError when there is not exactly one agent with a name
 */
export async function agentIds(api: ReviewerApi, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const instances = await listInstances(api);
  return names.map((name) => {
    const [found, ...others] = instances.filter((one) => one.name === name);
    if (found !== undefined && others.length === 0) return found.id;
    const message = `there is not exactly one agent ${name}`;
    throw new CommandError(EXIT.refused, "not_found", message);
  });
}

async function readPolicy(api: ReviewerApi, scope: PolicyPath): Promise<PolicyState> {
  const current = await api.call(`GET /${scope}`);
  const { items: proposals } = await collect(
    ITEMS_MAX,
    (limit, after) => api.call(`GET /${scope}/proposals`, { query: { limit, after } }),
    (page) => page.proposals,
  );
  return { current, proposals };
}

async function readInvitations(api: ReviewerApi): Promise<Invitation[]> {
  const { invitations } = await api.call("GET /invitations");
  return invitations.filter(({ state }) => state === "open");
}

async function readGrants(api: ReviewerApi, state: "active" | "ended"): Promise<readonly Grant[]> {
  const { items } = await collect(
    ITEMS_MAX,
    (limit, after) => api.call("GET /grants", { query: { state, limit, after } }),
    (page) => page.grants,
  );
  return items;
}
