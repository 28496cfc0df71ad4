import { JsonObject, type JsonValue, parseJson } from "@countersign/protocol";

const DEPTH_MAX = 3;
const NAME_CHARS_MAX = 64;

/**
 * The members of a JSON object and of the objects in it, as paths of names. Without values, and
 * without the members of lists.
 *
 * @param source JSON text of an object
 */
export function fieldsOf(source: string): readonly (readonly string[])[] {
  const value = parseStored(source);
  return value instanceof JsonObject ? pathsIn(value, []) : [];
}

/** @returns undefined for a damaged row */
function parseStored(source: string): JsonValue | undefined {
  try {
    return parseJson(source);
  } catch {
    return undefined;
  }
}

function pathsIn(object: JsonObject, before: readonly string[]): readonly (readonly string[])[] {
  const paths: (readonly string[])[] = [];
  for (const [name, value] of object.members) {
    if (name.length > NAME_CHARS_MAX) continue;
    const path = [...before, name];
    paths.push(path);
    if (value instanceof JsonObject && path.length < DEPTH_MAX) paths.push(...pathsIn(value, path));
  }
  return paths;
}
