/**
 * A scene whose server admits extensions, and the calls that it admits.
 */

import type {
  ConsumedApproval,
  ErrorResponse,
  ExtendedApprovalRequest,
} from "@countersign/protocol";
import { type Scene, startScene } from "./scene.ts";
import type { Answer, Lifetime } from "./test-provider.ts";

export const ALL_EXTENSIONS = "consume,outcome,server";

export function startExtended(
  t: Lifetime,
  extensions: string = ALL_EXTENSIONS,
  options: Parameters<typeof startScene>[1] = {},
): Promise<Scene> {
  return startScene(t, { ...options, settings: { ...options.settings, extensions } });
}

export type Extended = Answer<ExtendedApprovalRequest>;

type Calling = Pick<Scene, "server" | "instance">;

export function consumeCall(
  { server, instance: { token } }: Calling,
  id: string,
  key: string,
): Promise<Extended> {
  return server.call("POST", `/v1/requests/${id}/consume`, { token, key });
}

/** Consumes on the agent surface, which needs no extension. */
export function consumeOnAgentSurface(
  { server, instance: { token } }: Calling,
  id: string,
  key: string,
): Promise<Answer<ConsumedApproval>> {
  return server.call("POST", `/agent/v1/requests/${id}/consume`, { token, key });
}

export function reportCall(
  { server, instance: { token } }: Calling,
  id: string,
  body: object,
): Promise<Extended> {
  return server.call("POST", `/v1/requests/${id}/outcome`, { token, body });
}

/** The code of a refusal; undefined of what is none. */
export function codeOf({ json }: Answer): string | undefined {
  return (json as Partial<ErrorResponse>).error?.code;
}

/** The entries of the audit log that say that it was used. */
export async function consumed({ server }: Pick<Scene, "server">, id: string): Promise<object[]> {
  const sql = "select id from audit_entry where subject = $1 and kind = 'approval.consumed'";
  return server.provider.context.store.all(sql, [`request:${id}`]);
}
