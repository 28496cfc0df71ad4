/**
 * People who sign in, as tests need them: made by the operations themselves, without a password
 * or a page where the test is about neither.
 */

import { createHash } from "node:crypto";
import type { Context } from "../../src/context.ts";
import type { ReviewerRole } from "../../src/index.ts";
import { createSession } from "../../src/steps/access/createSession.ts";
import { type BindKey, useInvitation } from "../../src/steps/sign-in/useInvitation.ts";
import { ensureProject } from "../../src/storage/sql/access/holders.ts";
import { insertInvitation } from "../../src/storage/sql/sign-in/invitations.ts";
import type { Answer, Call, TestProvider } from "./test-provider.ts";

export interface SignedInPerson {
  readonly id: string;
  readonly login: string;
  readonly projectId: string;
  /** The value of the cookie. */
  readonly cookie: string;
}

export interface PersonOrder {
  readonly login: string;
  readonly role?: ReviewerRole;
  readonly groups?: readonly string[];
  readonly project?: string;
  /** Gives them what they sign in with; nothing when undefined. */
  readonly bind?: BindKey;
}

let invitations = 0;

/** Creates a user who is a reviewer of the project by an invitation, and signs them in. */
export async function newPerson(
  { provider: { context } }: { readonly provider: { readonly context: Context } },
  { login, role = "reviewer", groups = [], project = "default", bind }: PersonOrder,
): Promise<SignedInPerson> {
  const { store, random } = context;
  const token = createHash("sha256").update(`invitation ${++invitations}`).digest("base64url");
  return store.transact(async (tx) => {
    const now = await tx.now();
    const projectId = await ensureProject(tx, project, random.uuid(), now);
    const invitation = {
      id: random.uuid(),
      projectId,
      personId: null,
      name: login,
      role,
      groups,
      createdAt: now,
      createdBy: "operator:cli" as const,
      expiresAt: now + 1_000,
      usedAt: null,
    };
    const tokenHash = createHash("sha256").update(token).digest("base64url");
    await insertInvitation(tx, invitation, tokenHash);
    const { person } = await useInvitation(tx, context, { token, login }, async (...all) =>
      bind?.(...all),
    );
    const order = { personId: person.id, method: "password", userAgent: "a test" } as const;
    const cookie = await createSession(tx, context, order);
    return { id: person.id, login, projectId, cookie };
  });
}

/** The headers of a page of ours, in the browser of this person. */
export function asPage(person?: Pick<SignedInPerson, "cookie">): Record<string, string> {
  return {
    "sec-fetch-site": "same-origin",
    ...(person !== undefined && { cookie: `__Host-countersign=${person.cookie}` }),
  };
}

/** Sends an exchange as a page of ours does. */
export function callAs<T = unknown>(
  server: TestProvider,
  person: Pick<SignedInPerson, "cookie"> | undefined,
  method: string,
  path: string,
  call: Call = {},
): Promise<Answer<T>> {
  const headers = { ...asPage(person), ...call.headers };
  return server.call(method, `/review/v1${path}`, { ...call, headers });
}

/** The value that the answer sets the session's cookie to; undefined when it sets none. */
export function cookieSet({ headers }: Answer): string | undefined {
  const set = headers.getSetCookie().find((text) => text.startsWith("__Host-countersign="));
  return set === undefined ? undefined : /=([^;]*)/.exec(set)?.[1];
}
