/**
 * Lists of tools, resources and prompts: of one server page by page, of several all together.
 * Names get the server's prefix; tools that are not what their pin says are not shown at all,
 * because a description is read by the model.
 */

import { JsonArray, type JsonObject } from "@countersign/protocol";
import { digestOf } from "./definitions.ts";
import {
  CODE,
  errorOf,
  objectIn,
  objectsIn,
  type Reply,
  resultOf,
  textIn,
  withMembers,
} from "./exact-message.ts";
import type { IncomingRequest } from "./peer.ts";
import { explain, type Report } from "./report.ts";
import type { ResourceRoutes } from "./resource-routes.ts";
import type { McpServer } from "./server.ts";

/** By method: the member with the items, and the capability behind it. */
export const LISTS: Readonly<Record<string, { readonly key: string; readonly of: string }>> = {
  "tools/list": { key: "tools", of: "tools" },
  "prompts/list": { key: "prompts", of: "prompts" },
  "resources/list": { key: "resources", of: "resources" },
  "resources/templates/list": { key: "resourceTemplates", of: "resources" },
};

export interface ListingContext {
  readonly report: Report;
  /** Whether the client may request a task; undefined if its version has no member for it. */
  readonly hasTasks: boolean | undefined;
}

export async function answerList(
  request: IncomingRequest,
  servers: readonly McpServer[],
  routes: ResourceRoutes,
  { report, hasTasks }: ListingContext,
): Promise<Reply> {
  const { method, params, cancelled } = request;
  const { key, of } = LISTS[method] as { key: string; of: string };
  const [only] = servers;
  if (servers.length === 1 && only !== undefined) {
    const reply = await only.request(method, params, { signal: cancelled });
    if (reply.outcome === "error") return reply;
    const shown = objectsIn(reply.value, key).flatMap((item) =>
      show(only, key, item, routes, hasTasks),
    );
    // The gateway passes anything except a list of objects on unchanged.
    if (!(reply.value.members.get(key) instanceof JsonArray)) return reply;
    return resultOf(withMembers(reply.value, { [key]: `[${shown.join(",")}]` }));
  }
  const able = servers.filter((server) => server.can(of));
  if (able.length === 0) return errorOf(CODE.methodNotFound, `No server has ${of}.`);
  const lists = able.map(async (server) => {
    try {
      const signal = AbortSignal.any([cancelled, AbortSignal.timeout(server.config.listMs)]);
      return await server.listAll(method, key, signal);
    } catch (error) {
      // The others' are shown.
      if (!cancelled.aborted)
        report("list_missing", { server: server.name, method, reason: explain(error) });
      return [];
    }
  });
  const items = await Promise.all(lists);
  const shown = able.flatMap((server, index) => {
    return (items[index] ?? []).flatMap((item) => show(server, key, item, routes, hasTasks));
  });
  return resultOf({ source: `{"${key}":[${shown.join(",")}]}` });
}

/** @returns the item as the client sees it; nothing when it does not */
function show(
  server: McpServer,
  key: string,
  item: JsonObject,
  routes: ResourceRoutes,
  hasTasks: boolean | undefined,
): readonly string[] {
  const { prefix, pins } = server.config;
  if (key === "resources" || key === "resourceTemplates") {
    return routes.learn(server, item) ? [item.source] : [];
  }
  const name = textIn(item, "name");
  if (name === undefined) return [];
  if (key === "tools" && pins !== undefined && pins.get(name) !== digestOf(item)) return [];
  if (key === "tools" && server.faultOf(item) !== undefined) return [];
  const changes: Record<string, string | undefined> = {};
  if (prefix !== "") changes["name"] = JSON.stringify(prefix + name);
  if (key === "tools") changes["execution"] = executionOf(item, hasTasks);
  return [withMembers(item, changes).source];
}

/** The gateway holds the tasks of its client, and no tool requires one. */
function executionOf(tool: JsonObject, hasTasks: boolean | undefined): string | undefined {
  if (hasTasks === undefined) return undefined;
  const taskSupport = JSON.stringify(hasTasks ? "optional" : "forbidden");
  return withMembers(objectIn(tool, "execution"), { taskSupport }).source;
}
