/**
 * Registers the operations of the reviewer API. One loop over the table gives every route its
 * authentication, its validated input and its answer. A handler only maps and calls an operation.
 *
 * @see ../../../review-api/src/operations.ts
 */

import { Problem, parseIdentifier } from "@countersign/protocol";
import {
  type Answered,
  assertKnownParameters,
  type BodyReceived,
  type Operation,
  type PathOf,
  type QueryReceived,
  REVIEW_PATH,
  readBody,
  readQuery,
  type Schema,
  toPlain,
  writeJson,
} from "@countersign/review-api";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ReviewerCaller, SignedIn } from "../identity/caller.ts";
import { callerOf, type Gate, signedInBy } from "./authenticate.ts";
import { jsonBody, optionalIdempotencyKey, sendJson } from "./exchange.ts";

/** The caller type that the row permits. */
type CallerOf<Row extends Operation> = Row["caller"] extends "reviewer"
  ? ReviewerCaller
  : Row["caller"] extends "person"
    ? SignedIn
    : undefined;

/** Input of a handler, validated against the row. */
export interface Exchange<Row extends Operation> {
  readonly caller: CallerOf<Row>;
  readonly path: PathOf<Row>;
  readonly query: QueryReceived<Row>;
  readonly body: BodyReceived<Row>;
  readonly idempotencyKey: string | undefined;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Returns the answer, or sends the reply itself for a stream or redirect. */
export type Handler<Row extends Operation> = (
  exchange: Exchange<Row>,
) => Promise<Answered<Row> | FastifyReply>;

export type OperationTable = Readonly<Record<string, Operation>>;

/** One handler for each operation of a table. The compiler reports missing ones. */
export type Handlers<Rows extends OperationTable> = {
  readonly [Name in keyof Rows]: Handler<Rows[Name]>;
};

/** The handler without its row's types, which the table has checked. */
type AnyHandler = (exchange: object) => Promise<unknown>;

/** @param bodyBytesMax the operator's limit of a body, in bytes */
export function addOperationRoutes<Rows extends OperationTable>(
  app: FastifyInstance,
  gate: Gate,
  rows: Rows,
  handlers: Handlers<Rows>,
  bodyBytesMax: number,
): void {
  for (const [name, row] of Object.entries(rows)) {
    const handler = handlers[name] as AnyHandler;
    const { power, background } = row;
    app.route({
      method: row.method,
      url: REVIEW_PATH + row.path.replace(/\{(\w+)\}/g, ":$1"),
      config: {
        operation: name,
        ...(power !== undefined && { requiredPower: power }),
        ...(background && { isBackground: true }),
      },
      onRequest: hookOf(gate, row),
      preHandler: gate.charge,
      bodyLimit: Math.min(row.bodyBytesMax ?? bodyBytesMax, bodyBytesMax),
      handler: (request, reply) => answer(row, handler, request, reply),
    });
  }
}

function hookOf(gate: Gate, { caller }: Operation) {
  switch (caller) {
    case "reviewer":
      return gate.admit("reviewer");
    case "person":
      return gate.admitPerson;
    case "anonymous":
      return gate.admitAnonymous;
  }
}

async function answer(
  row: Operation,
  handler: AnyHandler,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const answered = await handler({
    caller: callerFor(row, request),
    query: queryFor(row, request),
    path: pathFor(request),
    idempotencyKey: row.idempotencyKey && optionalIdempotencyKey(request),
    body: row.body && readBody(row.body, toPlain(jsonBody(request))),
    request,
    reply,
  });
  if (answered === reply) return reply;
  const { status, body } = statusAndBody(row, answered);
  return body === undefined ? reply.code(status).send() : sendJson(reply, status, writeJson(body));
}

function callerFor({ caller }: Operation, request: FastifyRequest): unknown {
  if (caller === "reviewer") return callerOf(request, "reviewer");
  return caller === "person" ? signedInBy(request) : undefined;
}

/** @throws Problem `not_found` for an invalid identifier */
function pathFor(request: FastifyRequest): Readonly<Record<string, string>> {
  const params = request.params as Readonly<Record<string, string>>;
  if (params.id === undefined) return params;
  const id = parseIdentifier(params.id);
  if (id === undefined) throw new Problem("not_found");
  request.subjectId = id;
  return { ...params, id };
}

/** Only a GET has parameters; elsewhere they are ignored. */
function queryFor({ method, query }: Operation, request: FastifyRequest): unknown {
  if (method !== "GET" || query === "any") return request.query;
  if (query !== undefined) return readQuery(query as Schema, request.query);
  assertKnownParameters(request.query as object, []);
  return undefined;
}

function statusAndBody(
  { answers }: Operation,
  answered: unknown,
): { readonly status: number; readonly body: unknown } {
  const statuses = Object.keys(answers).map(Number);
  const [status = 200, ...others] = statuses;
  if (others.length === 0) return { status, body: answered };
  return answered as { status: number; body: unknown };
}
