/**
 * Texts of strangers as they are: nothing rounded, nothing that hides or moves what stands beside
 * it. Pure, so that it is tested without a browser.
 */

/**
 * The source of a member of the outermost object, letter for letter: a parsed number would be
 * another text than the one that was stored and is signed.
 *
 * @param {string} json valid, as the server writes it
 * @param {string} name
 * @returns {string | undefined}
 */
export function memberSource(json, name) {
  let at = skipSpace(json, json.indexOf("{") + 1);
  while (json[at] === '"') {
    const keyEnd = endOfString(json, at);
    const key = JSON.parse(json.slice(at, keyEnd));
    const start = skipSpace(json, skipSpace(json, keyEnd) + 1);
    const end = endOfValue(json, start);
    if (key === name) return json.slice(start, end);
    at = skipSpace(json, skipSpace(json, end) + 1);
  }
  return undefined;
}

/**
 * The sources of the members of an array, letter for letter.
 *
 * @param {string} json valid, as the server writes it
 * @returns {string[]}
 */
export function itemSources(json) {
  const items = [];
  let at = skipSpace(json, json.indexOf("[") + 1);
  while (at < json.length && json[at] !== "]") {
    const end = endOfValue(json, at);
    items.push(json.slice(at, end));
    at = skipSpace(json, skipSpace(json, end) + 1);
  }
  return items;
}

function skipSpace(json, from) {
  let at = from;
  while (" \t\n\r".includes(json[at] ?? "x")) at++;
  return at;
}

/** @returns {number} behind the closing quote */
function endOfString(json, from) {
  let at = from + 1;
  while (json[at] !== '"') {
    if (at >= json.length) throw new Error("a string has no end");
    at += json[at] === "\\" ? 2 : 1;
  }
  return at + 1;
}

/** @returns {number} behind the last letter of the value, without space */
function endOfValue(json, from) {
  let depth = 0;
  let at = from;
  while (at < json.length) {
    const letter = json[at];
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

/** As the command line writes it. */
function codeOf(letter) {
  return `\\u{${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}}`;
}

/** What shows nothing, or changes the order or the place of what is shown. */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

/**
 * A text in pieces: as it is, and what cannot be seen as `\u{...}`. Ends of lines stay.
 *
 * @param {string} text
 * @returns {{text: string, isUnseen: boolean}[]}
 */
export function visiblePieces(text) {
  const pieces = [];
  for (const letter of text) {
    const isUnseen = letter !== "\n" && UNSEEN.test(letter);
    const shown = isUnseen ? codeOf(letter) : letter;
    const last = pieces.at(-1);
    if (last?.isUnseen === isUnseen && !isUnseen) last.text += shown;
    else pieces.push({ text: shown, isUnseen });
  }
  return pieces;
}
