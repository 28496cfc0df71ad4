/**
 * Applies a PATCH request to a resource. Accepts the forms of RFC 7644, and those of Microsoft
 * Entra ID and Okta: `"op": "Add"`, `"value": "False"`, dotted names without a path, and a `remove`
 * with the values to remove.
 *
 * @see RFC 7644, section 3.5.2
 */

import { type Filter, matchesValue, parseFilter } from "./scim-filter.ts";
import { ScimRefusal } from "./scim-refusal.ts";
import {
  assertCount,
  isObject,
  memberOf,
  readSingle,
  readValue,
  type ScimObject,
  withoutUrn,
} from "./scim-resource.ts";
import {
  type Attribute,
  findAttribute,
  findSubAttribute,
  isNotStored,
  isNotStoredPart,
  type ResourceSchema,
} from "./scim-schema.ts";

/** Operations of one request, which change the resource one after another. */
const OPERATIONS_MAX = 100;

/** Length of a filter in a path, which each operation applies to all values of a list. */
const PATH_FILTER_CHARS_MAX = 200;

type Operation = "add" | "remove" | "replace";

interface Target {
  readonly attribute: Attribute;
  /** Of the values of a list. */
  readonly filter: Filter | undefined;
  readonly sub: Attribute | undefined;
}

/** An attribute that this server does not store. */
const IGNORED = Symbol("ignored");

/**
 * @param resource as readResource returns it
 * @returns the changed resource; all operations apply, or none
 * @throws ScimRefusal
 */
export function applyPatch(
  schema: ResourceSchema,
  resource: ScimObject,
  body: unknown,
): ScimObject {
  const operations = isObject(body) ? memberOf(body, "Operations") : undefined;
  if (!Array.isArray(operations) || operations.length === 0) {
    throw new ScimRefusal("invalidSyntax", "Operations must be a list of at least one operation.");
  }
  if (operations.length > OPERATIONS_MAX) {
    const message = `A request must not have more than ${OPERATIONS_MAX} operations.`;
    throw new ScimRefusal("invalidValue", message);
  }
  return operations.reduce<ScimObject>(
    (current, operation) => applyOne(schema, current, operation),
    resource,
  );
}

function applyOne(schema: ResourceSchema, resource: ScimObject, input: unknown): ScimObject {
  if (!isObject(input)) throw new ScimRefusal("invalidSyntax", "An operation must be an object.");
  const operation = operationOf(memberOf(input, "op"));
  const path = memberOf(input, "path");
  const value = memberOf(input, "value");
  if (typeof path === "string" && path !== "") {
    const target = parsePath(schema, path);
    return target === IGNORED ? resource : applyTo(resource, operation, target, value);
  }
  if (path !== undefined && path !== null && path !== "") {
    throw new ScimRefusal("invalidPath", "path must be a string.");
  }
  if (operation === "remove") throw new ScimRefusal("noTarget", "remove needs a path.");
  if (!isObject(value)) {
    throw new ScimRefusal("invalidValue", "Without a path, value must be an object.");
  }
  return Object.entries(value).reduce<ScimObject>((current, [name, member]) => {
    const target = parsePath(schema, name);
    // Okta repeats the id of the resource.
    const isSkipped = target === IGNORED || target.attribute.mutability === "readOnly";
    return isSkipped ? current : applyTo(current, operation, target, member);
  }, resource);
}

function operationOf(value: unknown): Operation {
  const name = typeof value === "string" ? value.toLowerCase() : "";
  if (name === "add" || name === "remove" || name === "replace") return name;
  throw new ScimRefusal("invalidSyntax", "op must be add, remove or replace.");
}

/** `attribute`, `attribute.sub` or `attribute[filter].sub`. */
const PATH = /^([$\w:.-]+?)(?:\[(.*)\])?(?:\.([$\w-]+))?$/s;

function parsePath(schema: ResourceSchema, path: string): Target | typeof IGNORED {
  const [, name, filterText, subName] = PATH.exec(withoutUrn(schema, path)) ?? [];
  if (name === undefined) {
    throw new ScimRefusal("invalidPath", `Invalid path ${path.slice(0, 80)}.`);
  }
  // Extensions, and attributes of the core schema that the server does not store.
  if (/^urn:/i.test(path) && name.toLowerCase().startsWith("urn:")) return IGNORED;
  if (isNotStored(name)) return IGNORED;
  const attribute = findAttribute(schema, name);
  if (attribute === undefined) {
    throw new ScimRefusal("invalidPath", `Unknown attribute ${path.slice(0, 80)}.`);
  }
  if (filterText !== undefined && !attribute.multiValued) {
    throw new ScimRefusal("invalidPath", `${attribute.name} is not a list.`);
  }
  if ((filterText?.length ?? 0) > PATH_FILTER_CHARS_MAX) {
    const message = `The filter of a path must not exceed ${PATH_FILTER_CHARS_MAX} characters.`;
    throw new ScimRefusal("invalidFilter", message);
  }
  if (subName !== undefined && isNotStoredPart(attribute, subName)) return IGNORED;
  const sub = subName === undefined ? undefined : findSubAttribute(attribute, subName);
  if (subName !== undefined && sub === undefined) {
    throw new ScimRefusal("invalidPath", `Unknown attribute ${path.slice(0, 80)}.`);
  }
  const filter = filterText === undefined ? undefined : parseFilter(filterText);
  if (filter !== undefined) matchesValue(attribute, filter, {});
  return { attribute, filter, sub };
}

function applyTo(
  resource: ScimObject,
  operation: Operation,
  target: Target,
  value: unknown,
): ScimObject {
  const { attribute } = target;
  if (attribute.mutability === "readOnly" || target.sub?.mutability === "readOnly") {
    throw new ScimRefusal("mutability", `${attribute.name} is read-only.`);
  }
  const before = resource[attribute.name];
  const after = attribute.multiValued
    ? changeList(asList(before), operation, target, value)
    : changeSingle(before, operation, target, value);
  const { [attribute.name]: _, ...others } = resource;
  return after === undefined ? others : { ...others, [attribute.name]: after };
}

function asList(value: unknown): readonly ScimObject[] {
  return Array.isArray(value) ? (value as ScimObject[]) : [];
}

function changeSingle(
  before: unknown,
  operation: Operation,
  { attribute, sub }: Target,
  value: unknown,
): unknown {
  const object = isObject(before) ? before : {};
  if (sub !== undefined) {
    const single = operation === "remove" ? undefined : readValue(sub, value);
    return orNothing(withMember(object, sub.name, single));
  }
  if (operation === "remove") return undefined;
  const after = readValue(attribute, value);
  return attribute.type === "complex" && isObject(after) ? { ...object, ...after } : after;
}

function withMember(object: ScimObject, name: string, value: unknown): ScimObject {
  const { [name]: _, ...others } = object;
  return value === undefined ? others : { ...others, [name]: value };
}

function orNothing(object: ScimObject): ScimObject | undefined {
  return Object.keys(object).length === 0 ? undefined : object;
}

function changeList(
  before: readonly ScimObject[],
  operation: Operation,
  target: Target,
  value: unknown,
): readonly ScimObject[] | undefined {
  const { attribute, filter, sub } = target;
  const values =
    filter === undefined && sub === undefined
      ? changeWhole(before, operation, attribute, value)
      : changeSelected(before, operation, target, value);
  assertCount(attribute, values);
  return values.length === 0 ? undefined : values;
}

function changeWhole(
  before: readonly ScimObject[],
  operation: Operation,
  attribute: Attribute,
  value: unknown,
): readonly ScimObject[] {
  const given = asList(readValue(attribute, value));
  if (operation === "replace") return given;
  if (operation === "add") return addValues(before, given);
  // Entra names the members to remove in `value`.
  if (value === undefined || value === null) return [];
  const removed = new Set(given.map((each) => each.value));
  return before.filter((each) => !removed.has(each.value));
}

/** Adds values that the list does not contain. A new primary value replaces the other one. */
function addValues(
  before: readonly ScimObject[],
  added: readonly ScimObject[],
): readonly ScimObject[] {
  const keys = new Set(before.map(keyOf));
  const fresh = added.filter((each) => !keys.has(keyOf(each)));
  const hasPrimary = fresh.some(({ primary }) => primary === true);
  const kept = hasPrimary ? before.map((each) => withMember(each, "primary", undefined)) : before;
  return [...kept, ...fresh];
}

function keyOf({ value, type }: ScimObject): string {
  return JSON.stringify([value, type]);
}

function changeSelected(
  before: readonly ScimObject[],
  operation: Operation,
  { attribute, filter, sub }: Target,
  value: unknown,
): readonly ScimObject[] {
  const isSelected = (each: ScimObject) =>
    filter === undefined || matchesValue(attribute, filter, each);
  if (operation === "remove" && sub === undefined)
    return before.filter((each) => !isSelected(each));
  const change = changeOf(operation, attribute, sub, value);
  if (before.some(isSelected) || operation === "remove") {
    return before.flatMap((each) => {
      const changed = isSelected(each) ? orNothing(change(each)) : each;
      return changed === undefined ? [] : [changed];
    });
  }
  // Entra replaces `emails[type eq "work"].value` of a user without such an address.
  const wanted = filter === undefined ? {} : equalitiesOf(filter);
  if (wanted === undefined || sub === undefined) {
    throw new ScimRefusal("noTarget", `No value of ${attribute.name} matches the path.`);
  }
  const empty = (readSingle(attribute, wanted) ?? {}) as ScimObject;
  return [...before, change(empty)];
}

function changeOf(
  operation: Operation,
  attribute: Attribute,
  sub: Attribute | undefined,
  value: unknown,
): (each: ScimObject) => ScimObject {
  if (sub !== undefined) {
    const single = operation === "remove" ? undefined : readValue(sub, value);
    return (each) => withMember(each, sub.name, single);
  }
  const whole = readSingle(attribute, value);
  return (each) => ({ ...each, ...(whole as ScimObject) });
}

/** The members that a new value needs to match; undefined for filters with other operators. */
function equalitiesOf(filter: Filter): ScimObject | undefined {
  if (filter.kind === "compare" && filter.operator === "eq") {
    return { [filter.path]: filter.value };
  }
  if (filter.kind !== "and") return undefined;
  const left = equalitiesOf(filter.left);
  const right = equalitiesOf(filter.right);
  return left && right && { ...left, ...right };
}
