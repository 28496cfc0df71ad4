/**
 * The authentication of http alone: on its real server and a real store, in front of routes that
 * return the caller.
 */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Context } from "../../src/context.ts";
import { callerOf, createGate, type Gate, signedInBy } from "../../src/http/authenticate.ts";
import { createHttpServer } from "../../src/http/create-http-server.ts";
import { createToken, type TokenOrder } from "../../src/operations/tokens/createToken.ts";
import { Report } from "../../src/report.ts";
import { createToken as drawToken, hashToken } from "../../src/secrets/token.ts";
import { insertCredential } from "../../src/storage/sql/access/credentials.ts";
import { ManualClock } from "./manual-clock.ts";
import { newPerson, type SignedInPerson } from "./people.ts";
import { openTestContext } from "./test-context.ts";
import type { Lifetime } from "./test-provider.ts";

export const ORIGIN = "https://approvals.test";

export const NO_RATES = {
  instance: 0,
  accountSubmissions: 0,
  provisioner: 0,
  reviewer: 0,
  unauthenticated: 0,
};

export interface Issued {
  readonly id: string;
  readonly token: string;
}

export interface GateScene {
  readonly clock: ManualClock;
  readonly context: Context;
  /** Where nothing is slowed. */
  readonly gateServer: GateServer;
  /** A door of its own, of another context. */
  openGate(of: Context): Promise<GateServer>;
  issue(order?: Partial<TokenOrder>): Promise<Issued>;
  issueInstance(): Promise<Issued>;
  signIn(order?: Partial<Parameters<typeof newPerson>[1]>): Promise<SignedInPerson>;
  /** Runs in the handler of /again from now on, before its second check. */
  meanwhile(happens: () => Promise<unknown>): void;
}

export interface GateServer {
  readonly url: string;
  call(method: string, path: string, call?: GateCall): Promise<GateAnswer>;
}

export interface GateCall {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface GateAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export async function startGate(t: Lifetime): Promise<GateScene> {
  const clock = new ManualClock();
  const opened = await openTestContext(t, clock);
  const context = { ...opened, settings: { ...opened.settings, rates: NO_RATES } };
  let happening: () => Promise<unknown> = async () => {};
  const openGate = (of: Context) => openGateOf(t, of, () => happening());
  let names = 0;
  return {
    clock,
    context,
    openGate,
    gateServer: await openGate(context),
    issue(order = {}) {
      const name = `holder ${++names}`;
      const defaults = { kind: "reviewer", name, project: "default", expiresAt: null } as const;
      return createToken(context, { ...defaults, ...order });
    },
    issueInstance: () => issueInstance(context),
    signIn: (order = {}) =>
      newPerson({ provider: { context } }, { login: `person${++names}`, ...order }),
    meanwhile(happens) {
      happening = happens;
    },
  };
}

/** As provisioning would; there has to be a project. */
async function issueInstance({ store, random }: Context): Promise<Issued> {
  const [id, token] = [random.uuid(), drawToken("instance", random)];
  const row = await store.get("select id from project where name = 'default'");
  const credential = {
    id,
    kind: "instance" as const,
    holderId: "the instance",
    projectId: String(row?.id),
    createdAt: 0,
    expiresAt: null,
    revokedAt: null,
    scopes: null,
  };
  await store.transact((tx) => insertCredential(tx, credential, hashToken(token)));
  return { id, token };
}

async function openGateOf(
  t: Lifetime,
  context: Context,
  meanwhile: () => Promise<unknown>,
): Promise<GateServer> {
  const report = new Report("silent", { write: () => {} });
  const app = createHttpServer(context.settings, report);
  const gate = createGate(context, () => ORIGIN);
  addRoutes(app, gate, meanwhile);
  await app.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => app.close());
  const url = app.listeningOrigin;
  return {
    url,
    async call(method, path, { token, headers, body } = {}) {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const answer = await fetch(url + path, {
        method,
        headers: { ...authorization, ...headers },
        ...(body !== undefined && { body }),
      });
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    },
  };
}

function addRoutes(app: FastifyInstance, gate: Gate, meanwhile: () => Promise<unknown>): void {
  for (const kind of ["instance", "provisioner", "reviewer"] as const) {
    const hooks = { onRequest: gate.admit(kind), preHandler: gate.charge };
    const showCaller = async (request: FastifyRequest) => callerOf(request, kind);
    app.get(`/${kind}`, hooks, showCaller);
    app.post(`/${kind}`, hooks, showCaller);
  }
  const onRequest = gate.admit("reviewer");
  const again = async (request: FastifyRequest) => {
    await meanwhile();
    return gate.reauthenticate(request);
  };
  const showCaller = async (request: FastifyRequest) => callerOf(request, "reviewer");
  app.get("/audit", { config: { requiredPower: "audit" }, onRequest }, showCaller);
  app.get("/background", { config: { isBackground: true }, onRequest }, showCaller);
  app.get("/again", { onRequest }, again);
  app.get("/again/audit", { config: { requiredPower: "audit" }, onRequest }, again);
  const person = { onRequest: gate.admitPerson, preHandler: gate.charge };
  app.get("/person", person, async (request) => signedInBy(request));
  app.post("/person", person, async (request) => signedInBy(request));
  app.post("/stranger", { onRequest: gate.admitAnonymous }, async () => ({}));
}
