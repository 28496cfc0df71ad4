/**
 * Reads questions of the OpenID Authorization API 1.0 as tool calls. The action is the tool, unless
 * the resource is one. Policies and reviewers see the subject, the action and the resource in the
 * context of the call, as `authzen`. Unknown members are ignored, as the API requires.
 *
 * @see https://openid.net/specs/authorization-api-1_0.html, Information Model
 */

import {
  invalidField,
  JsonArray,
  JsonNumber,
  JsonObject,
  type JsonValue,
  Problem,
  parseJson,
  quoted,
} from "@countersign/protocol";

/** One question: may the subject do the action on the resource? */
export interface AuthzenQuestion {
  /** Without `properties.act`, which a client may move: policies do not receive it. */
  readonly subject: JsonObject;
  /** `subject.properties.act`: who acts for the subject. */
  readonly act: JsonValue | undefined;
  readonly action: JsonObject;
  readonly resource: JsonObject;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** `context.business_justification`. Policies do not receive it. */
  readonly reasoning: string | undefined;
  /** The members of `context` that policies receive; an approval is for these values. */
  readonly context: ReadonlyMap<string, JsonValue>;
  /** The reference to an approval, at a re-evaluation. Unchecked. */
  readonly approval: JsonValue | undefined;
}

/** The member of the call's context that contains the question. */
const MEMBER = "authzen";

/**
 * Members of `context` that policies do not receive: those of the protocol, and the time, which the
 * server reads from its own clock.
 */
const UNREAD = ["access_request", "approval", "evaluated_at", "evaluation_id", "reason", "time"];

/** Types of resources that are tools; clients then send an action such as `tools/call`. */
const TOOL_TYPES = ["mcp_tool", "tool"];

const NO_ARGUMENTS = new JsonObject(new Map(), "{}");

type Members = ReadonlyMap<string, JsonValue>;

/** @throws Problem `invalid_request` for a missing or malformed member */
export function parseQuestion(body: JsonValue): AuthzenQuestion {
  return readQuestion(membersOf(body, "body"));
}

function readQuestion(members: Members): AuthzenQuestion {
  const action = readAction(members.get("action"));
  const context = optionalObject(members, "context")?.members ?? new Map<string, JsonValue>();
  if (context.has(MEMBER)) {
    throw invalidField(`context.${MEMBER}`, "is a reserved name. Use another name");
  }
  const { subject, act } = splitActor(readEntity(members.get("subject"), "subject"));
  const resource = readEntity(members.get("resource"), "resource");
  const justification = context.get("business_justification");
  const reasoning = typeof justification === "string" ? justification : undefined;
  const read = [...context].filter(([name]) => {
    if (name === "arguments" || UNREAD.includes(name)) return false;
    return name !== "business_justification" || reasoning === undefined;
  });
  return {
    subject,
    act,
    action,
    resource,
    ...readCall(action, resource, context),
    reasoning,
    context: new Map(read),
    approval: context.get("approval"),
  };
}

/**
 * The tool and its arguments. A question about a tool must have the arguments, because rules about
 * arguments would otherwise decide about another call.
 */
function readCall(
  action: JsonObject,
  resource: JsonObject,
  context: Members,
): Pick<AuthzenQuestion, "tool" | "arguments"> {
  const args = optionalObject(context, "arguments", "context.arguments");
  const isTool = TOOL_TYPES.some((type) => type === resource.members.get("type"));
  if (!isTool) {
    return { tool: action.members.get("name") as string, arguments: args ?? NO_ARGUMENTS };
  }
  const tool = resource.members.get("id") as string;
  if (tool === "") throw invalidField("resource.id", "must not be empty");
  const param = "resource.properties.arguments";
  const properties = optionalObject(resource.members, "properties")?.members;
  const own = properties && optionalObject(properties, "arguments", param);
  if (own !== undefined && args !== undefined) {
    throw invalidField("context.arguments", `must be omitted when ${param} is present`);
  }
  const given = own ?? args;
  if (given === undefined) {
    throw invalidField(param, "or context.arguments is required for a tool");
  }
  return { tool, arguments: given };
}

/** A subject or a resource. */
function readEntity(value: JsonValue | undefined, param: string): JsonObject {
  const entity = requiredObject(value, param);
  requiredText(entity.members, "type", param);
  requiredText(entity.members, "id", param);
  optionalObject(entity.members, "properties", `${param}.properties`);
  return entity;
}

/** `properties` without other members are omitted, as if the client had moved `act`. */
function splitActor(subject: JsonObject): Pick<AuthzenQuestion, "subject" | "act"> {
  const properties = optionalObject(subject.members, "properties")?.members;
  const act = properties?.get("act");
  if (properties === undefined || act === undefined) return { subject, act };
  const others = new Map(properties);
  others.delete("act");
  const members = new Map(subject.members);
  if (others.size > 0) members.set("properties", objectOf(others));
  else members.delete("properties");
  return { subject: objectOf(members), act };
}

function readAction(value: JsonValue | undefined): JsonObject {
  const action = requiredObject(value, "action");
  if (requiredText(action.members, "name", "action") === "") {
    throw invalidField("action.name", "must not be empty");
  }
  optionalObject(action.members, "properties", "action.properties");
  return action;
}

/** When a batch ends before its last question. */
export type BatchSemantic = "execute_all" | "deny_on_first_deny" | "permit_on_first_permit";

const SEMANTICS: readonly BatchSemantic[] = [
  "execute_all",
  "deny_on_first_deny",
  "permit_on_first_permit",
];

export interface AuthzenBatch {
  readonly semantic: BatchSemantic;
  /** A malformed question of a well-formed batch is a problem at its place. */
  readonly questions: readonly (AuthzenQuestion | Problem)[];
}

/** Questions of one batch. */
export const BATCH_MAX = 50;

/** Characters that the questions of one batch inherit, counted again for each further question. */
export const INHERITED_CHARS_MAX = 1_048_576;

/** The members that a question of a batch inherits if it omits them. */
const INHERITED = ["subject", "action", "resource", "context"];

/**
 * Reads the body of the Access Evaluations API. Each question inherits the members that it omits.
 *
 * @returns one question for a body without `evaluations`, or with an empty list
 * @throws Problem `invalid_request` when the whole body is malformed
 */
export function parseBatch(body: JsonValue): AuthzenBatch | AuthzenQuestion {
  const members = membersOf(body, "body");
  const list = members.get("evaluations");
  if (list !== undefined && !(list instanceof JsonArray)) {
    throw invalidField("evaluations", "must be an array");
  }
  if (list === undefined || list.items.length === 0) return readQuestion(members);
  if (list.items.length > BATCH_MAX) {
    throw invalidField("evaluations", `must not have more than ${BATCH_MAX} items`);
  }
  const defaults = readDefaults(members);
  assertInheritedSize(defaults, list.items);
  return {
    semantic: readSemantic(members),
    questions: list.items.map((item, index) => readItem(defaults, item, index)),
  };
}

/** @throws Problem for a malformed member, because it invalidates the whole batch */
function readDefaults(members: Members): Members {
  const [subject, action, resource, context] = INHERITED.map((name) => members.get(name));
  if (subject !== undefined) readEntity(subject, "subject");
  if (action !== undefined) readAction(action);
  if (resource !== undefined) readEntity(resource, "resource");
  if (context !== undefined) requiredObject(context, "context");
  return members;
}

/** Each question is evaluated with its own copy, so a small body could cause unlimited work. */
function assertInheritedSize(defaults: Members, items: readonly JsonValue[]): void {
  let total = 0;
  for (const name of INHERITED) {
    const value = defaults.get(name);
    if (value === undefined) continue;
    const inherits = (item: JsonValue) => item instanceof JsonObject && !item.members.has(name);
    const copies = items.filter(inherits).length;
    total += sourceOf(value).length * Math.max(0, copies - 1);
  }
  if (total <= INHERITED_CHARS_MAX) return;
  const limit = `The limit is ${INHERITED_CHARS_MAX}. Send smaller batches`;
  throw invalidField("evaluations", `inherit ${total} characters. ${limit}`);
}

function readSemantic(members: Members): BatchSemantic {
  const options = optionalObject(members, "options")?.members;
  const given = options?.get("evaluations_semantic") ?? "execute_all";
  const semantic = SEMANTICS.find((each) => each === given);
  if (semantic !== undefined) return semantic;
  throw invalidField("options.evaluations_semantic", `must be one of ${SEMANTICS.join(", ")}`);
}

function readItem(defaults: Members, item: JsonValue, index: number): AuthzenQuestion | Problem {
  try {
    const own = membersOf(item, `evaluations[${index}]`);
    return readQuestion(inherit(defaults, own));
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Only the members of a question: a body can have very many others. */
function inherit(defaults: Members, own: Members): Members {
  const members = new Map<string, JsonValue>();
  for (const name of INHERITED) {
    const value = own.has(name) ? own.get(name) : defaults.get(name);
    if (value !== undefined) members.set(name, value);
  }
  return members;
}

/**
 * The context of the call: the members that policies receive, and the question as `authzen`.
 *
 * @param extras further members of `authzen`
 * @throws Problem `too_deep`
 */
export function contextOf(
  question: AuthzenQuestion,
  extras: ReadonlyMap<string, JsonValue> = new Map(),
): JsonObject {
  const { subject, action, resource } = question;
  const members = new Map<string, JsonValue>([
    ["subject", subject],
    ["action", action],
    ["resource", resource],
    ...extras,
  ]);
  // Only this part is nested deeper than in the body. The other members are already parsed.
  const authzen = objectOf(new Map([[MEMBER, objectOf(members)]]));
  return joinMembers(new Map([...question.context, ...authzen.members]));
}

/** An object from members that were parsed as members of one object. */
export function joinMembers(members: Members): JsonObject {
  return new JsonObject(members, textOf(members));
}

/** An object from members, each with its exact text. @throws Problem `too_deep` */
export function objectOf(members: Members): JsonObject {
  return parseJson(textOf(members)) as JsonObject;
}

function textOf(members: Members): string {
  const texts = [...members].map(([name, value]) => `${JSON.stringify(name)}:${sourceOf(value)}`);
  return `{${texts.join(",")}}`;
}

function sourceOf(value: JsonValue): string {
  const hasSource =
    value instanceof JsonObject || value instanceof JsonArray || value instanceof JsonNumber;
  return hasSource ? value.source : JSON.stringify(value);
}

function membersOf(value: JsonValue, param: string): Members {
  return requiredObject(value, param).members;
}

function requiredObject(value: JsonValue | undefined, param: string): JsonObject {
  if (value === undefined) throw invalidField(param, "is required");
  if (!(value instanceof JsonObject)) throw invalidField(param, "must be a JSON object");
  return value;
}

export function optionalObject(
  members: Members,
  name: string,
  param = name,
): JsonObject | undefined {
  const value = members.get(name);
  return value === undefined ? undefined : requiredObject(value, param);
}

function requiredText(members: Members, name: string, param: string): string {
  const value = members.get(name);
  if (typeof value === "string") return value;
  const rule = value === undefined ? "is required" : `must be a string, not ${quoted(kind(value))}`;
  throw invalidField(`${param}.${name}`, rule);
}

function kind(value: JsonValue): string {
  if (value === null) return "null";
  if (value instanceof JsonArray) return "array";
  if (value instanceof JsonObject) return "object";
  return value instanceof JsonNumber ? "number" : typeof value;
}
