/**
 * The SCIM API: an identity provider creates, changes and removes users and groups.
 *
 * @see RFC 7644, sections 3 (protocol) and 4 (discovery)
 */

import { Problem } from "@countersign/protocol";
import { toPlain } from "@countersign/review-api";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import {
  listResponse,
  resourceTypes,
  schemaDocuments,
  serviceProviderConfig,
} from "../core/scim-discovery.ts";
import { applyPatch } from "../core/scim-patch.ts";
import { writeGroup, writeUser } from "../core/scim-person.ts";
import { project } from "../core/scim-projection.ts";
import { ScimRefusal, scimError } from "../core/scim-refusal.ts";
import {
  assertComplete,
  readResource,
  replaceResource,
  type ScimObject,
} from "../core/scim-resource.ts";
import { GROUP_SCHEMA, type ResourceSchema, USER_SCHEMA } from "../core/scim-schema.ts";
import type { ScimCaller } from "../identity/caller.ts";
import { changeScimGroup } from "../operations/scim/changeScimGroup.ts";
import { changeScimUser } from "../operations/scim/changeScimUser.ts";
import { createScimGroup } from "../operations/scim/createScimGroup.ts";
import { createScimUser } from "../operations/scim/createScimUser.ts";
import { deleteScimGroup } from "../operations/scim/deleteScimGroup.ts";
import { deleteScimUser } from "../operations/scim/deleteScimUser.ts";
import { listScimGroups, showScimGroup } from "../operations/scim/listScimGroups.ts";
import {
  listScimUsers,
  type ScimPage,
  type ScimQuery,
  showScimUser,
} from "../operations/scim/listScimUsers.ts";
import type { Gate } from "./authenticate.ts";
import { jsonBody, pathIdentifier, SCIM_CONTENT_TYPE } from "./exchange.ts";
import { pageOf, projectionOf } from "./scim-query.ts";

export const SCIM_PATH = "/scim/v2";

const SCIM_TYPE = "application/scim+json";

type Change = (current: ScimObject) => ScimObject;

/** The operations on a kind of resource. */
interface Collection<View> {
  readonly schema: ResourceSchema;
  /** Attributes of a new resource that the client may omit. */
  readonly defaults: ScimObject;
  write(view: View, base: string): ScimObject;
  show(context: Context, id: string): Promise<View>;
  list(context: Context, query: ScimQuery): Promise<ScimPage<View>>;
  create(context: Context, caller: ScimCaller, resource: ScimObject): Promise<View>;
  change(context: Context, caller: ScimCaller, id: string, change: Change): Promise<View>;
  remove(context: Context, caller: ScimCaller, id: string): Promise<void>;
}

/** @param publicUrl base URL of this server; called once it listens */
export function addScimRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  publicUrl: () => string,
): void {
  const routes = new ScimRoutes(app, context, gate, () => `${publicUrl()}${SCIM_PATH}`);
  routes.addDiscovery("/ServiceProviderConfig", (base) => serviceProviderConfig(base));
  routes.addDocuments("/ResourceTypes", resourceTypes);
  routes.addDocuments("/Schemas", schemaDocuments);
  routes.addCollection("User", {
    schema: USER_SCHEMA,
    defaults: { active: true },
    write: writeUser,
    show: showScimUser,
    list: listScimUsers,
    create: createScimUser,
    change: changeScimUser,
    remove: deleteScimUser,
  });
  routes.addCollection("Group", {
    schema: GROUP_SCHEMA,
    defaults: {},
    write: writeGroup,
    show: showScimGroup,
    list: listScimGroups,
    create: createScimGroup,
    change: changeScimGroup,
    remove: deleteScimGroup,
  });
  routes.addOthers();
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

class ScimRoutes {
  readonly #app: FastifyInstance;
  readonly #context: Context;
  readonly #gate: Gate;
  readonly #base: () => string;

  constructor(app: FastifyInstance, context: Context, gate: Gate, base: () => string) {
    this.#app = app;
    this.#context = context;
    this.#gate = gate;
    this.#base = base;
  }

  addDiscovery(path: string, describe: (base: string) => ScimObject): void {
    this.#add("GET", path, "readScimDescription", async (request, reply) => {
      assertNoFilter(request);
      return send(reply, 200, describe(this.#base()));
    });
    for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
      this.#add(method, path, "rejectScimMethod", async (_, reply) => {
        reply.header("allow", "GET");
        throw new Problem("method_not_allowed");
      });
    }
  }

  /** A list of documents, and each of them by its id. */
  addDocuments(path: string, list: (base: string) => readonly ScimObject[]): void {
    this.addDiscovery(path, (base) => listResponse(list(base)));
    this.#add("GET", `${path}/:id`, "readScimDescription", async (request, reply) => {
      const { id } = request.params as { readonly id: string };
      const document = list(this.#base()).find((each) => each.id === id);
      if (document === undefined) throw new Problem("not_found");
      return send(reply, 200, document);
    });
  }

  addCollection<View>(name: "User" | "Group", collection: Collection<View>): void {
    const { schema } = collection;
    const context = this.#context;
    const path = schema.endpoint;
    const written = (request: FastifyRequest, view: View) =>
      project(schema, collection.write(view, this.#base()), projectionOf(request));
    this.#add("GET", path, `listScim${name}s`, async (request, reply) => {
      const { query, startIndex } = pageOf(request);
      const { total, resources } = await collection.list(context, query);
      const answers = resources.map((view) => written(request, view));
      return send(reply, 200, listResponse(answers, total, startIndex));
    });
    this.#add("POST", path, `createScim${name}`, async (request, reply) => {
      const resource = { ...collection.defaults, ...readResource(schema, scimBody(request)) };
      assertComplete(schema, resource);
      const view = await collection.create(context, callerOf(request), resource);
      const answer = collection.write(view, this.#base());
      reply.header("location", (answer.meta as { readonly location: string }).location);
      return send(reply, 201, written(request, view));
    });
    this.#add("GET", `${path}/:id`, `showScim${name}`, async (request, reply) => {
      const view = await collection.show(context, pathIdentifier(request));
      return send(reply, 200, written(request, view));
    });
    const change = async (request: FastifyRequest, reply: FastifyReply, apply: Change) => {
      const id = pathIdentifier(request);
      const view = await collection.change(context, callerOf(request), id, apply);
      return send(reply, 200, written(request, view));
    };
    this.#add("PUT", `${path}/:id`, `replaceScim${name}`, async (request, reply) => {
      const resource = readResource(schema, scimBody(request));
      return change(request, reply, (current) => replaceResource(schema, current, resource));
    });
    this.#add("PATCH", `${path}/:id`, `changeScim${name}`, async (request, reply) => {
      const body = scimBody(request);
      return change(request, reply, (current) => applyPatch(schema, current, body));
    });
    this.#add("DELETE", `${path}/:id`, `deleteScim${name}`, async (request, reply) => {
      await collection.remove(context, callerOf(request), pathIdentifier(request));
      return reply.code(204).send();
    });
  }

  /** Optional parts of the protocol, and unknown addresses. */
  addOthers(): void {
    for (const path of ["/Bulk", "/.search", "/Users/.search", "/Groups/.search"]) {
      this.#add("POST", path, "rejectScimMethod", notImplemented);
    }
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"] as const) {
      this.#add(method, "/Me", "rejectScimMethod", notImplemented);
      this.#add(method, "/*", "rejectScimMethod", async () => {
        throw new Problem("not_found");
      });
    }
  }

  #add(method: Method, path: string, operation: string, handler: Handler): void {
    this.#app.route({
      method,
      url: `${SCIM_PATH}${path}`,
      config: { operation },
      onRequest: this.#gate.admitScim,
      preHandler: this.#gate.charge,
      errorHandler: sendScimError,
      handler,
    });
  }
}

async function notImplemented(_: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  return send(reply, 501, scimError(501, "This server does not support this operation."));
}

/** RFC 7644, section 4: a filter on these addresses is forbidden. */
function assertNoFilter({ query }: FastifyRequest): void {
  if ((query as { readonly filter?: unknown }).filter === undefined) return;
  throw new Problem("forbidden", "This address does not support filters.");
}

function scimBody(request: FastifyRequest): unknown {
  return toPlain(jsonBody(request, SCIM_CONTENT_TYPE));
}

function callerOf({ scimCaller }: FastifyRequest): ScimCaller {
  if (scimCaller === null) throw new Error("a route was reached past its gate");
  return scimCaller;
}

function send(reply: FastifyReply, status: number, body: ScimObject): FastifyReply {
  const json = JSON.stringify(body);
  return reply.code(status).header("content-type", SCIM_TYPE).serializer(asWritten).send(json);
}

/** With a custom serializer, Fastify adds no charset to the content type. */
function asWritten(json: string): string {
  return json;
}

/** Answers any error in the form of SCIM. */
function sendScimError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof ScimRefusal) {
    request.errorCode = error.scimType;
    const { status, message, scimType } = error;
    return send(reply, status, scimError(status, message, scimType));
  }
  const problem = reply.server.toProblem(error, request.id);
  request.errorCode = problem.code;
  if (problem.retryAfterS !== undefined) reply.header("retry-after", problem.retryAfterS);
  if (problem.status === 401) reply.header("www-authenticate", 'Bearer realm="countersign"');
  if (problem.code === "sign_in_refused") {
    return send(reply, 400, scimError(400, problem.message, "invalidValue"));
  }
  const scimType = problem.status === 400 ? "invalidSyntax" : undefined;
  return send(reply, problem.status, scimError(problem.status, problem.message, scimType));
}
