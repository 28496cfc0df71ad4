/**
 * A running provider with an instance to send requests as, and a running baseline beside it.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Child, startChild, WATCH_LOOP } from "./children.ts";
import { Connection, openConnections } from "./connection.ts";
import { type Load, type Outcome, runLoad } from "./load-generator.ts";
import { createMessage, idOf, numberOf, provisionMessage } from "./messages.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface Target {
  readonly pid: number;
  readonly port: number;
  readonly connections: readonly Connection[];
  run(load: Load, seconds: number): Promise<Outcome>;
  stop(): Promise<void>;
}

export interface Subject extends Target {
  readonly token: string;
  readonly reviewerToken: string;
  /** A number that no request was made from yet. */
  nextNumber(): number;
  /** Makes pending requests for at most this long, and at most so many. */
  fill(limit: { readonly seconds: number; readonly count: number }): Promise<Filled[]>;
}

/** A pending request and the number of the tool call that it was made from. */
export interface Filled {
  readonly id: string;
  readonly n: number;
}

interface Ready {
  readonly port: number;
  readonly provisionerToken: string;
  readonly reviewerToken: string;
}

export interface ServerOptions {
  readonly connections: number;
  /** Folder for a CPU profile, written when it stops. */
  readonly profile?: string | undefined;
  /** A data folder to serve and keep; a fresh one is made and removed when undefined. */
  readonly folder?: string;
  /** Besides those that every benchmark has. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly environment?: NodeJS.ProcessEnv;
  /** Source of the active policy. */
  readonly policy?: string | undefined;
}

/** A provider without an instance. */
export interface Server extends Target {
  readonly provisionerToken: string;
  readonly reviewerToken: string;
  /** Measures the event loop from now on. */
  watchLoop(): Promise<unknown>;
  /** Of the event loop, in ms, since the last `watchLoop`. */
  longestIteration(): Promise<number>;
}

/** A provider with an instance. */
export type ServedSubject = Subject & Server;

export interface SubjectOptions extends ServerOptions {
  /** The first tool call to make requests from. */
  readonly firstNumber?: number;
}

export async function startFloor(connections: number): Promise<Target> {
  const child = await startChild<{ port: number }>({ file: "floor.ts" });
  return openTarget(child, child.ready.port, connections, () => {});
}

export async function startSubject(options: SubjectOptions): Promise<ServedSubject> {
  const server = await startServer(options);
  const { port, provisionerToken } = server;
  const token = await provision(port, provisionMessage(provisionerToken));
  let number = options.firstNumber ?? 0;
  const nextNumber = () => number++;
  const fill: Subject["fill"] = ({ seconds, count }) =>
    fillPending({ ...server, token, nextNumber }, seconds, count);
  return { ...server, token, nextNumber, fill };
}

export async function startServer(options: ServerOptions): Promise<Server> {
  const { connections, profile, folder = temporaryFolder(), settings = {}, environment } = options;
  const nodeArgs = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  const outputFile = join(folder, "server.log");
  const policyFile = join(folder, "policy.yaml");
  if (options.policy !== undefined) writeFileSync(policyFile, options.policy);
  const args = [
    folder,
    ...Object.entries(settings).map((setting) => setting.join("=")),
    ...(options.policy === undefined ? [] : [`policy_file=${policyFile}`]),
  ];
  const program = { file: "serve.ts", args, nodeArgs, outputFile, environment };
  const child = await startChild<Ready>(program);
  const { port, provisionerToken, reviewerToken } = child.ready;
  const target = await openTarget(child, port, connections, () => {
    if (options.folder === undefined) removeFolder(folder);
  });
  return {
    ...target,
    provisionerToken,
    reviewerToken,
    watchLoop: () => child.ask(WATCH_LOOP),
    async longestIteration() {
      const { longestMs } = await child.ask<{ readonly longestMs: number }>("longest-iteration");
      return longestMs;
    },
  };
}

export async function openTarget(
  child: Child<unknown>,
  port: number,
  count: number,
  cleanUp: () => void,
): Promise<Target> {
  const connections = await openConnections(port, count);
  return {
    pid: child.pid,
    port,
    connections,
    run: (load, seconds) => runLoad(connections, load, seconds),
    async stop() {
      for (const connection of connections) connection.close();
      await child.stop();
      cleanUp();
    },
  };
}

/** @returns the token of the instance */
export async function provision(port: number, message: string): Promise<string> {
  const connection = await Connection.open(port);
  const { status, body } = await connection.exchange(message);
  connection.close();
  if (status !== 201 && status !== 200) throw new Error(`provisioning answered ${status}: ${body}`);
  const answer = JSON.parse(body.toString("utf8")) as { credential: { token: string } };
  return answer.credential.token;
}

async function fillPending(
  { run, token, nextNumber }: Pick<Subject, "run" | "token" | "nextNumber">,
  seconds: number,
  count: number,
): Promise<Filled[]> {
  const filled: Filled[] = [];
  let left = count;
  const next = () => {
    if (left === 0) return undefined;
    left--;
    return createMessage(token, nextNumber());
  };
  const onBody = (body: Buffer) => filled.push({ id: idOf(body), n: numberOf(body) });
  await run({ next, status: 201, onBody }, seconds);
  return filled;
}
