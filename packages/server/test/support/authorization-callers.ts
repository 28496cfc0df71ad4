/**
 * The callers of authorization-profiles.ts, and what they call about.
 */

import { createHash } from "node:crypto";
import { removeReviewerNamed, revokeToken } from "../../src/index.ts";
import { drawUnknownToken, issueToken } from "./credentials.ts";
import { setReviewer, submitRequiring } from "./requirements.ts";
import type { Scene } from "./scene.ts";

/** The objects of operations: ids that exist. */
export interface AuthorizationStage {
  readonly instanceId: string;
  /** For freezes and grants. */
  readonly otherInstanceId: string;
  /** Pending. */
  readonly requestId: string;
  readonly argumentsSha256: string;
  readonly grantId: string;
  readonly channelId: string;
  /** A viewer. */
  readonly bystanderId: string;
  /** A pending request that asks the group ops. */
  freshRequest(): Promise<string>;
  freshInstance(): Promise<string>;
  freshFreeze(scope: "instance" | "server"): Promise<string>;
  /** A viewer. */
  freshReviewer(): Promise<string>;
  /** The id of a viewer's token. */
  freshToken(): Promise<string>;
  freshChannel(): Promise<string>;
  /** From version 1. */
  freshProposal(scope: "Policy" | "Floor"): Promise<string>;
  /** Takes back what was published after version 1. */
  unpublish(scope: "Policy" | "Floor"): Promise<void>;
  freshName(): string;
  liftAll(): Promise<void>;
}

export interface AuthorizationCallers {
  /** The header `Authorization`; undefined for none. */
  header(caller: string, foreignKind: string): string | undefined;
}

const OPS = { groups: ["ops"] };

export async function setCallers(scene: Scene): Promise<AuthorizationCallers> {
  const { server, clock, instance } = scene;
  const { context } = server.provider;
  const reviewer = (name: string, order: object = {}) =>
    server.token({ kind: "reviewer", name, ...OPS, ...order });
  const tokens = new Map<string, string>([
    ["unknown", drawUnknownToken(server, "reviewer")],
    ["provisioner", await server.token({ kind: "provisioner" })],
    ["instance", instance.token],
    ["bot", await reviewer("bot", { role: "admin", isBot: true })],
  ]);
  for (const role of ["viewer", "reviewer", "editor", "auditor", "admin", "operator"]) {
    tokens.set(role, await reviewer(`the ${role}`, { role }));
  }
  const scopes = ["read", "decide", "decide:ops", "freeze", "policy", "people", "audit"];
  for (const scope of scopes) {
    tokens.set(scope, await reviewer("scoped", { role: "operator", scopes: [scope] }));
  }
  tokens.set("all-scopes", await reviewer("scoped", { scopes }));

  const former = { role: "operator" } as const;
  const revoked = await issueToken(server, { kind: "reviewer", name: "revoked", ...former });
  await revokeToken(context, revoked.id);
  tokens.set("revoked", revoked.token);
  tokens.set("expired", await reviewer("expired", { ...former, expiresAt: clock.now() }));
  tokens.set("removed", await reviewer("removed", former));
  await removeReviewerNamed(context, "default", "removed");

  const elsewhere = { project: "elsewhere" };
  const foreign = await server.instance("elsewhere");
  tokens.set("foreign instance", foreign.token);
  tokens.set("foreign provisioner", foreign.provisioner);
  tokens.set("foreign reviewer", await reviewer("foreign", { role: "admin", ...elsewhere }));
  return {
    header(caller, foreignKind) {
      if (caller === "no credential") return undefined;
      if (caller === "malformed") return "Bearer cs_rev_short";
      return `Bearer ${tokens.get(caller === "foreign" ? `foreign ${foreignKind}` : caller)}`;
    },
  };
}

export async function setAuthorizationStage(scene: Scene): Promise<AuthorizationStage> {
  const { server, instance } = scene;
  const { store } = server.provider.context;
  const operator = await server.token({ kind: "reviewer", name: "stage", role: "operator" });
  const other = await server.instance();
  let count = 0;
  const freshName = (): string => `fresh ${++count}`;
  const post = async (path: string, body?: object): Promise<{ id: string }> => {
    const call = { token: operator, ...(body && { body }) };
    return (await server.call<{ id: string }>("POST", `/review/v1/${path}`, call)).json;
  };
  const freshRequest = async (): Promise<string> =>
    (await submitRequiring(scene, { from: [["group:ops"]] })).id;
  const freshReviewer = async (): Promise<string> => {
    const name = freshName();
    await server.token({ kind: "reviewer", name });
    await setReviewer(store, name, { role: "viewer" });
    return String((await store.get("select id from reviewer where name = $1", [name]))?.id);
  };
  const freshChannel = async (): Promise<string> => {
    const channel = { name: freshName(), kind: "slack", url: "https://192.0.2.1/a" };
    return (await post("channels", channel)).id;
  };
  const grant = { instance_id: other.id, tool: "nothing" };
  for (const place of ["policy", "floor"]) {
    await post(place, { source: "version: 1\nrules: []\n", expected_number: 0 });
  }
  return {
    instanceId: instance.id,
    otherInstanceId: other.id,
    requestId: await freshRequest(),
    argumentsSha256: createHash("sha256").update('{"env":"prod"}').digest("hex"),
    grantId: (await post("grants", grant)).id,
    channelId: await freshChannel(),
    bystanderId: await freshReviewer(),
    freshRequest,
    freshInstance: async () => (await server.instance()).id,
    freshFreeze: async (scope) => {
      const of = scope === "instance" ? { instance_id: other.id } : {};
      return (await post("freezes", { scope, ...of })).id;
    },
    freshReviewer,
    async freshToken() {
      const order = { kind: "reviewer", name: freshName(), role: "viewer" } as const;
      return (await issueToken(server, order)).id;
    },
    freshChannel,
    async freshProposal(scope) {
      const source = `version: 1\nrules: []\n# ${freshName()}`;
      const place = `${scope.toLowerCase()}/proposals`;
      return (await post(place, { source, expected_number: 1 })).id;
    },
    unpublish: (scope) =>
      store.transact(async (tx) => {
        const rows = scope === "Floor" ? "project_id = ''" : "project_id <> ''";
        await tx.run(`delete from policy_version where number > 1 and ${rows}`);
      }),
    freshName,
    async liftAll() {
      const rows = await store.all("select id from call_freeze where lifted_at is null");
      for (const { id } of rows) await post(`freezes/${id}/lift`);
    },
  };
}
