/**
 * The parameters `attributes` and `excludedAttributes`.
 *
 * @see RFC 7644, section 3.4.2.5
 */

import { isObject, type ScimObject, withoutUrn } from "./scim-resource.ts";
import type { ResourceSchema } from "./scim-schema.ts";

export interface Projection {
  /** Undefined: all attributes. */
  readonly attributes: readonly string[] | undefined;
  readonly excludedAttributes: readonly string[] | undefined;
}

/** Attributes that a client cannot exclude. */
const ALWAYS = ["schemas", "id"];

/** Unknown names have no effect. */
export function project(
  schema: ResourceSchema,
  resource: ScimObject,
  { attributes, excludedAttributes }: Projection,
): ScimObject {
  const fold = (name: string) => withoutUrn(schema, name).toLowerCase();
  if (attributes !== undefined) return include(resource, attributes.map(fold));
  if (excludedAttributes !== undefined) return exclude(resource, excludedAttributes.map(fold));
  return resource;
}

function include(resource: ScimObject, names: readonly string[]): ScimObject {
  const kept = Object.entries(resource).flatMap(([name, value]) => {
    const key = name.toLowerCase();
    if (ALWAYS.includes(key) || names.includes(key)) return [[name, value]];
    const parts = names.filter((each) => each.startsWith(`${key}.`));
    const subs = parts.map((each) => each.slice(key.length + 1));
    return parts.length === 0 ? [] : [[name, mapObjects(value, (sub) => subs.includes(sub))]];
  });
  return Object.fromEntries(kept);
}

function exclude(resource: ScimObject, names: readonly string[]): ScimObject {
  const kept = Object.entries(resource).flatMap(([name, value]) => {
    const key = name.toLowerCase();
    if (ALWAYS.includes(key)) return [[name, value]];
    if (names.includes(key)) return [];
    return [[name, mapObjects(value, (sub) => !names.includes(`${key}.${sub}`))]];
  });
  return Object.fromEntries(kept);
}

/** Keeps members of an object, or of each object of a list. */
function mapObjects(value: unknown, isKept: (name: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => mapObjects(each, isKept));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => isKept(name.toLowerCase()));
  return Object.fromEntries(kept);
}
