/**
 * Where agents are administered: in the local database, or at a server with a token. The contract
 * calls an agent's identity an instance.
 */

import { randomUUID } from "node:crypto";
import { CommandError, EXIT, usageError } from "@countersign/command-line";
import { formatTimestamp, parseIdentifier } from "@countersign/protocol";
import { exactText } from "@countersign/review-api";
import { type ProposedDelivery, Provisioner } from "@countersign/sdk";
import {
  createInstanceAsOperator,
  deleteInstanceAsOperator,
  listInstancesAsOperator,
  type OpenedContext,
  openKnownContext,
  type ReviewedInstance,
  toSecrets,
  toSettings,
} from "@countersign/server";
import { connectProvisioner, isProvisioner } from "./agent-delivery.ts";
import { assertSafeUrl, connectApi } from "./connect-api.ts";
import { collect } from "./reviewer-api.ts";
import { type Addresses, addressesOf, findRunningServer } from "./running-server.ts";
import type { SettingsLine } from "./settings-line.ts";

export interface ListedAgent {
  readonly id: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly owner: string | null;
  /** The agent as one JSON text. */
  readonly json: string;
}

export interface AgentOrder {
  readonly name: string;
  readonly groups: readonly string[];
  /** Name of a reviewer; null without an owner. */
  readonly owner: string | null;
  /** Webhook receiver. Only at a server, with a provisioner token. */
  readonly delivery?: ProposedDelivery | undefined;
}

export interface CreatedAgent {
  readonly id: string;
  readonly name: string;
  /** Base URL for the agent. */
  readonly url: string;
  /** Whether a server answers there, as far as this process knows. */
  readonly isServed: boolean;
  /** Secret: the agent's credential. */
  readonly key: string;
}

export interface AgentListing {
  readonly agents: readonly ListedAgent[];
  readonly hasMore: boolean;
}

export interface AgentDirectory {
  create(order: AgentOrder): Promise<CreatedAgent>;
  /** @param limit of agents; undefined: all agents */
  list(limit?: number): Promise<AgentListing>;
  delete(id: string): Promise<void>;
}

export const PROJECT_DEFAULT = "default";

/** A user waits for the result. */
const RETRY_FOR = "10s";

/**
 * With COUNTERSIGN_TOKEN set, works at the server at `--url`. Otherwise in the local database.
 *
 * @throws CommandError, Failure
 */
export async function withDirectory<T>(
  line: SettingsLine,
  work: (directory: AgentDirectory) => Promise<T>,
): Promise<T> {
  const config = line.config();
  const { url, token } = config;
  if (line.text("delivery") !== undefined) return work(atProvider(url, connectProvisioner(line)));
  if (isProvisioner(token)) {
    assertSafeUrl(url);
    return work(atProvider(url, new Provisioner({ url, token, retryFor: RETRY_FOR })));
  }
  if (token !== undefined && token !== "") return work(atServer(line, url));
  if (line.text("url") !== undefined) connectApi(line);
  const opened = await openKnownContext(toSettings(config), toSecrets(config));
  try {
    const project = line.text("project") ?? PROJECT_DEFAULT;
    return await work(inDatabase(opened, project, () => locateServer(config)));
  } finally {
    await opened.close();
  }
}

/** Where the server of a database is. */
interface Location extends Addresses {
  readonly isServed: boolean;
}

/** A database at database_url can have several servers, so only a data folder names its server. */
async function locateServer(config: ReturnType<SettingsLine["config"]>): Promise<Location> {
  const expected = addressesOf(toSettings(config));
  if (config.database_url !== undefined) return { ...expected, isServed: true };
  const running = await findRunningServer(config.data);
  return { ...(running ?? expected), isServed: running !== undefined };
}

/**
 * In a database that this process has opened.
 *
 * @param locate finds the address that a new agent uses
 */
export function inDatabase(
  { context }: Pick<OpenedContext, "context">,
  project: string,
  locate: () => Promise<Location>,
): AgentDirectory {
  return {
    async create({ name, groups, owner }) {
      const order = { name, groups, owner };
      const { id, token } = await createInstanceAsOperator(context, project, order);
      const { contractUrl, isServed } = await locate();
      return { id, name, url: contractUrl, isServed, key: token };
    },
    async list(limit = Number.POSITIVE_INFINITY) {
      const { items, hasMore } = await collect(
        limit,
        async (size, after) => {
          const page = { limit: Number(size), after };
          const { instances, next = null } = await listInstancesAsOperator(context, project, page);
          return { instances, next };
        },
        (page) => page.instances,
      );
      return { agents: items.map(toListed), hasMore };
    },
    async delete(id) {
      await deleteInstanceAsOperator(context, project, id);
    },
  };
}

function toListed({ instance, owner, activity }: ReviewedInstance): ListedAgent {
  const { id, groups, createdAt } = instance;
  const name = JSON.parse(instance.name) as string;
  const { pending, lastRequestAt } = activity;
  const json = JSON.stringify({
    id,
    name,
    groups,
    owner,
    created_at: formatTimestamp(createdAt),
    pending,
    last_request_at: lastRequestAt === undefined ? null : formatTimestamp(lastRequestAt),
  });
  return { id, name, groups, owner, json };
}

/** With a token of a reviewer who may administer agents. */
function atServer(line: SettingsLine, url: string): AgentDirectory {
  const api = connectApi(line);
  return {
    async create({ name, groups, owner }) {
      const body = { name, groups: [...groups], owner };
      const { id, credential } = await api.call("POST /instances", { body });
      return { id, name, url: withoutSlash(url), isServed: true, key: credential };
    },
    async list(limit = Number.POSITIVE_INFINITY) {
      const { items, hasMore } = await collect(
        limit,
        (size, after) => api.call("GET /instances", { query: { limit: size, after } }),
        (page) => page.instances,
      );
      const agents = items.map((item) => ({ ...item, json: exactText(item) }));
      return { agents, hasMore };
    },
    async delete(id) {
      await api.call("DELETE /instances/{id}", { path: { id } });
    },
  };
}

/** With a provisioner token, at any provider of the contract. */
function atProvider(url: string, provisioner: Provisioner): AgentDirectory {
  return {
    async create({ name, groups, owner, delivery }) {
      if (groups.length > 0 || owner !== null) {
        throw usageError("--groups and --owner need a reviewer token in COUNTERSIGN_TOKEN");
      }
      const { instance, credential } = await provisioner.create({
        name,
        delivery,
        idempotencyKey: randomUUID(),
      });
      return {
        id: instance.id,
        name,
        url: withoutSlash(url),
        isServed: true,
        key: credential.take(),
      };
    },
    async list() {
      const message = "a provisioner token cannot list agents; give the id, or a reviewer token";
      throw new CommandError(EXIT.refused, "forbidden", message);
    },
    async delete(id) {
      await provisioner.delete(id);
    },
  };
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

/**
 * Finds an agent by its id or its name.
 *
 * @throws CommandError when no agent or several agents have the name
 */
export async function findAgentId(directory: AgentDirectory, text: string): Promise<string> {
  const id = parseIdentifier(text);
  if (id !== undefined) return id;
  const { agents } = await directory.list();
  const found = agents.filter(({ name }) => name === text);
  const [agent] = found;
  if (agent === undefined) {
    const message = `no agent is named ${JSON.stringify(text)}; run agents list to see all agents`;
    throw new CommandError(EXIT.refused, "not_found", message);
  }
  if (found.length > 1) {
    const ids = found.map(({ id }) => id).join(", ");
    const message = `several agents are named ${JSON.stringify(text)}; give one of the ids: ${ids}`;
    throw new CommandError(EXIT.refused, "ambiguous", message);
  }
  return agent.id;
}
