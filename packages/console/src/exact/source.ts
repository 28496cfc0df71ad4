/**
 * JSON letter for letter: a parsed number would be another text than the one that was stored and
 * is signed. Pure, so that it is tested without a browser.
 */

/**
 * The source of a member of the outermost object, letter for letter: a parsed number would be
 * another text than the one that was stored and is signed.
 *
 * @param json valid, as the server writes it
 */
export function memberSource(json: string, name: string): string | undefined {
  for (const member of eachMember(json)) if (member.name === name) return member.source;
  return undefined;
}

export interface MemberSource {
  readonly name: string;
  readonly source: string;
}

/**
 * All members of the outermost object, in their order, letter for letter.
 *
 * @param json valid, as the server writes it
 */
export function memberSources(json: string): MemberSource[] {
  return [...eachMember(json)];
}

function* eachMember(json: string): Generator<MemberSource> {
  let at = skipSpace(json, json.indexOf("{") + 1);
  while (json[at] === '"') {
    const keyEnd = endOfString(json, at);
    const name = JSON.parse(json.slice(at, keyEnd));
    const start = skipSpace(json, skipSpace(json, keyEnd) + 1);
    const end = endOfValue(json, start);
    yield { name, source: json.slice(start, end) };
    at = skipSpace(json, skipSpace(json, end) + 1);
  }
}

/**
 * The sources of the members of an array, letter for letter.
 *
 * @param json valid, as the server writes it
 */
export function itemSources(json: string): string[] {
  const items: string[] = [];
  let at = skipSpace(json, json.indexOf("[") + 1);
  while (at < json.length && json[at] !== "]") {
    const end = endOfValue(json, at);
    items.push(json.slice(at, end));
    at = skipSpace(json, skipSpace(json, end) + 1);
  }
  return items;
}

function skipSpace(json: string, from: number): number {
  let at = from;
  while (" \t\n\r".includes(json[at] ?? "x")) at++;
  return at;
}

/** @returns behind the closing quote */
function endOfString(json: string, from: number): number {
  let at = from + 1;
  while (json[at] !== '"') {
    if (at >= json.length) throw new Error("a string has no end");
    at += json[at] === "\\" ? 2 : 1;
  }
  return at + 1;
}

/** @returns behind the last letter of the value, without space */
function endOfValue(json: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < json.length) {
    const letter = json.charAt(at);
    if (letter === '"') at = endOfString(json, at) - 1;
    else if (letter === "{" || letter === "[") depth++;
    else if (letter === "}" || letter === "]") depth--;
    // A comma, a bracket or space ends a number; a bracket of its own ends what it opened.
    if (depth < 0 || (depth === 0 && " \t\n\r,".includes(letter))) return at;
    at++;
    if (depth === 0 && '"}]'.includes(letter)) return at;
  }
  return at;
}
