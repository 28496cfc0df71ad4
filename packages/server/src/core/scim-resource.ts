/**
 * Reads resources that a provider sends over SCIM. The result contains only known attributes that
 * clients may write, in the spelling of the schema.
 *
 * @see RFC 7643, section 2 (attributes), RFC 7644, section 3.3 (POST), 3.5.1 (PUT)
 */

import { ScimRefusal } from "./scim-refusal.ts";
import {
  type Attribute,
  findAttribute,
  findSubAttribute,
  type ResourceSchema,
} from "./scim-schema.ts";

export type ScimObject = Readonly<Record<string, unknown>>;

/** In UTF-16 code units. */
const TEXT_CHARS_MAX = 1_024;

const EMAILS_MAX = 50;

export function isObject(value: unknown): value is ScimObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member with this name in any case: RFC 7643, section 2.1. */
export function memberOf(object: ScimObject, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const key = Object.keys(object).find((each) => each.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : object[key];
}

/**
 * Ignores unknown and read-only attributes, and attributes without a value.
 *
 * @throws ScimRefusal for a value of another type
 */
export function readResource(schema: ResourceSchema, input: unknown): ScimObject {
  if (!isObject(input)) throw new ScimRefusal("invalidSyntax", "The body must be a JSON object.");
  const resource: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) {
    const attribute = findAttribute(schema, withoutUrn(schema, name));
    if (attribute === undefined || attribute.mutability === "readOnly") continue;
    const read = readValue(attribute, value);
    if (read !== undefined) resource[attribute.name] = read;
  }
  return resource;
}

/** Removes the URN of the schema from a name such as `urn:...:User:userName`. */
export function withoutUrn({ id }: ResourceSchema, name: string): string {
  const prefix = `${id}:`;
  return name.toLowerCase().startsWith(prefix.toLowerCase()) ? name.slice(prefix.length) : name;
}

/**
 * PUT: the new attributes replace all others. A user without `active` stays enabled or disabled: a
 * missing attribute must not enable a user.
 */
export function replaceResource(
  { attributes }: ResourceSchema,
  current: ScimObject,
  replacement: ScimObject,
): ScimObject {
  const kept = attributes.filter(({ type, required }) => type === "boolean" && required);
  const defaults = kept.map(({ name }) => [name, current[name]] as const);
  return { ...Object.fromEntries(defaults), ...replacement };
}

/** @throws ScimRefusal when a required attribute is missing */
export function assertComplete(schema: ResourceSchema, resource: ScimObject): void {
  for (const { name, required } of schema.attributes) {
    if (required && resource[name] === undefined) {
      throw new ScimRefusal("invalidValue", `${name} is missing. Send it.`);
    }
  }
}

/**
 * The value of an attribute.
 *
 * @returns undefined for null and an empty list, which mean no value: RFC 7643, section 2.5
 * @throws ScimRefusal
 */
export function readValue(attribute: Attribute, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (!attribute.multiValued) return readSingle(attribute, value);
  const values = (Array.isArray(value) ? value : [value]).flatMap(
    (each) => readSingle(attribute, each) ?? [],
  );
  assertCount(attribute, values);
  return values.length === 0 ? undefined : values;
}

/** @throws ScimRefusal for a list that is too long */
export function assertCount({ name }: Attribute, values: readonly unknown[]): void {
  if (name !== "emails" || values.length <= EMAILS_MAX) return;
  throw new ScimRefusal("invalidValue", `emails must not have more than ${EMAILS_MAX} values.`);
}

/** The value of an attribute, or one value of a list. */
export function readSingle(attribute: Attribute, value: unknown): unknown {
  switch (attribute.type) {
    case "boolean":
      return readBoolean(attribute, value);
    case "complex":
      return readComplex(attribute, value);
    default:
      return readText(attribute, value);
  }
}

/** Microsoft Entra sends `"True"` and `"False"`. */
function readBoolean({ name }: Attribute, value: unknown): boolean {
  const text = typeof value === "string" ? value.toLowerCase() : value;
  if (text === true || text === "true") return true;
  if (text === false || text === "false") return false;
  throw new ScimRefusal("invalidValue", `${name} must be true or false.`);
}

function readText({ name }: Attribute, value: unknown): string {
  const isText = typeof value === "string" && value.isWellFormed() && !value.includes("\0");
  if (isText && value.length <= TEXT_CHARS_MAX) return value;
  throw new ScimRefusal(
    "invalidValue",
    `${name} must be a string of at most ${TEXT_CHARS_MAX} characters.`,
  );
}

/** A plain string is the sub-attribute `value`, such as an id in `members`. */
function readComplex(parent: Attribute, value: unknown): ScimObject | undefined {
  const hasValue = findSubAttribute(parent, "value") !== undefined;
  const input = typeof value === "string" && hasValue ? { value } : value;
  if (!isObject(input)) {
    throw new ScimRefusal("invalidValue", `${parent.name} must be an object.`);
  }
  const read: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(input)) {
    const attribute = findSubAttribute(parent, name);
    if (attribute === undefined || attribute.mutability === "readOnly") continue;
    const single = readValue(attribute, member);
    if (single !== undefined) read[attribute.name] = single;
  }
  return Object.keys(read).length === 0 ? undefined : read;
}
