import { createToken, type TokenOrder } from "../../src/index.ts";
import { createToken as drawToken, hashToken } from "../../src/secrets/token.ts";
import { insertCredential } from "../../src/storage/sql/access/credentials.ts";
import type { TestProvider } from "./test-provider.ts";

/** A token with its id, by which it can be revoked. */
export function issueToken(
  server: TestProvider,
  order: Partial<TokenOrder> & Pick<TokenOrder, "kind">,
): Promise<{ readonly id: string; readonly token: string }> {
  const { context } = server.provider;
  return createToken(context, {
    name: order.kind,
    project: "default",
    role: "reviewer",
    expiresAt: null,
    ...order,
  });
}

/** A further credential of an instance, with the end that provisioning does not schedule. */
export async function issueInstanceCredential(
  server: TestProvider,
  instanceId: string,
  expiresAt: number,
): Promise<string> {
  const { store, random, clock } = server.provider.context;
  const instance = await store.get("select project_id from instance where id = $1", [instanceId]);
  const token = drawToken("instance", random);
  const credential = {
    id: random.uuid(),
    kind: "instance",
    holderId: instanceId,
    projectId: String(instance?.project_id),
    createdAt: clock.now(),
    expiresAt,
    revokedAt: null,
    scopes: null,
  } as const;
  await store.transact((tx) => insertCredential(tx, credential, hashToken(token)));
  return token;
}

/** A token of the right form that was never issued. */
export function drawUnknownToken(
  server: TestProvider,
  kind: "instance" | "provisioner" | "reviewer",
): string {
  return drawToken(kind, server.provider.context.random);
}
