/**
 * Routes of resources to servers. With several servers, the first that lists a resource, or a
 * template with its beginning, gets the request. A resource that no server lists is not routed: a
 * server does not learn of resources of another one.
 */

import type { JsonObject } from "@countersign/protocol";
import { textIn } from "./exact-message.ts";
import type { McpServer } from "./server.ts";

/** Of one session: a server that lists without end fills no memory. */
const ROUTES_MAX = 100_000;

export class ResourceRoutes {
  readonly #servers: readonly McpServer[];
  readonly #uris = new Map<string, McpServer>();
  /** The text before the first variable of a template. */
  readonly #beginnings = new Map<string, McpServer>();

  constructor(servers: readonly McpServer[]) {
    this.#servers = servers;
  }

  /** @returns false when it is another server's already */
  learn(server: McpServer, listed: JsonObject): boolean {
    const uri = textIn(listed, "uri");
    const template = textIn(listed, "uriTemplate");
    const beginning = template?.split("{")[0];
    // A template that begins with a variable would take everything.
    if (beginning) this.#add(this.#beginnings, beginning, server);
    const name = uri ?? template;
    return name === undefined || this.#add(this.#uris, name, server);
  }

  find(uri: string): McpServer | undefined {
    if (this.#servers.length === 1) return this.#servers[0];
    const exact = this.#uris.get(uri);
    if (exact !== undefined) return exact;
    const beginnings = [...this.#beginnings.keys()].filter((text) => uri.startsWith(text));
    const longest = beginnings.sort((a, b) => b.length - a.length)[0];
    if (longest !== undefined) return this.#beginnings.get(longest);
    const having = this.#servers.filter((server) => server.can("resources"));
    return having.length === 1 ? having[0] : undefined;
  }

  #add(routes: Map<string, McpServer>, name: string, server: McpServer): boolean {
    const before = routes.get(name);
    if (before === undefined && routes.size < ROUTES_MAX) routes.set(name, server);
    return before === undefined || before === server;
  }
}
