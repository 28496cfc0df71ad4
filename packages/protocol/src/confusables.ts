/**
 * Finds confusable characters: letters of another script inside a word, such as a Cyrillic `а` in
 * `pаypal`; words of another script with only Latin-like letters; wide and mathematical forms; and
 * homoglyphs of the punctuation in commands and addresses. Pure, so tests need no browser.
 *
 * It labels characters and does not reject text: a foreign name is not an attack. Text that is
 * entirely in another script gets no label.
 *
 * @see Unicode Technical Standard 39, mixed-script detection
 */

/** The most common scripts first. */
const SCRIPTS: readonly (readonly [string, RegExp])[] = [
  ["Latin", /\p{Script=Latin}/u],
  ["Cyrillic", /\p{Script=Cyrillic}/u],
  ["Greek", /\p{Script=Greek}/u],
  ["East Asian", /[\p{Script=Han}\p{Script=Hira}\p{Script=Kana}\p{Script=Hang}\p{Script=Bopo}]/u],
  ["Arabic", /\p{Script=Arabic}/u],
  ["Hebrew", /\p{Script=Hebrew}/u],
  ["Devanagari", /\p{Script=Devanagari}/u],
  ["Thai", /\p{Script=Thai}/u],
  ["Armenian", /\p{Script=Armenian}/u],
  ["Georgian", /\p{Script=Georgian}/u],
  ["Cherokee", /\p{Script=Cherokee}/u],
  ["Coptic", /\p{Script=Coptic}/u],
  ["Lisu", /\p{Script=Lisu}/u],
  // Digits, accents and characters that all scripts share.
  ["", /[\p{Script=Common}\p{Script=Inherited}]/u],
];

/** Scripts that are commonly mixed with Latin. */
const MIXES_WITH_LATIN = "East Asian";

/** Letters of other scripts that are confusable with Latin letters. */
const LATIN_SHAPED = new RegExp(
  `^[${[
    "аеорсухіјѕһԁԛԝӏгАВЕЗКМНОРСТУХІЈЅԌԚԜӀοναικρτυχγΑΒΕΖ",
    "ΗΙΚΜΝΟΡΤΥΧϹօսոհցզԱՍՕꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓠꓡꓢꓣꓤꓦꓪꓫꓬꓮꓰꓲꓳꓴ",
  ].join("")}]+$`,
  "u",
);

const SIGNS: ReadonlyMap<string, string> = new Map(
  [
    ["/", "\u2044\u2215\u29f8\uff0f\u1735"],
    ["\\", "\u2216\u29f5\u29f9\uff3c"],
    [".", "\u2024\uff0e\ua4f8"],
    [";", "\u037e"],
    [":", "\u2236\ua789\u02d0"],
    ["-", "\u2010\u2011\u2212\ufe63\uff0d"],
    ["!", "\u01c3"],
    ["|", "\u2223\u01c0\uff5c"],
    ["&", "\uff06"],
    ["$", "\uff04"],
    ["@", "\uff20"],
    ["<", "\u02c2\uff1c"],
    [">", "\u02c3\uff1e"],
    ["`", "\u02cb\uff40"],
    ["'", "\uff07"],
    ['"', "\uff02"],
    ["#", "\uff03"],
    ["*", "\u2217\uff0a"],
    ["=", "\uff1d"],
    ["~", "\u223c"],
    ["_", "\uff3f"],
  ].flatMap(([sign = "", others = ""]) => [...others].map((other) => [other, sign] as const)),
);

/** An invisible character does not end a word. */
const WORD = /[\p{L}\p{M}\p{N}\p{Cf}\u01c0\u01c3]+/gu;
const BEYOND_ASCII = /[\u0080-\u{10ffff}]/u;
const LETTER = /\p{L}/u;

/** @returns the label of each confusable character, by its start index */
export function findConfusables(text: string): Map<number, string> {
  const found = new Map<number, string>();
  const genuine = genuineScripts(text);
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (BEYOND_ASCII.test(word)) checkWord(word, index, genuine, found);
  }
  for (const { 0: other, index } of text.matchAll(/[\u0080-\u{10ffff}]/gu)) {
    const sign = SIGNS.get(other);
    if (sign !== undefined) found.set(index, `not ${sign}`);
  }
  return found;
}

function checkWord(
  word: string,
  start: number,
  genuine: ReadonlySet<string>,
  found: Map<number, string>,
): void {
  const letters: { readonly at: number; readonly letter: string; readonly script: string }[] = [];
  const counts = new Map<string, number>();
  let at = start;
  for (const letter of word) {
    if (isCompatible(letter)) found.set(at, `looks like ${letter.normalize("NFKC")}`);
    else if (LETTER.test(letter)) {
      const script = scriptOf(letter);
      if (script !== "") {
        letters.push({ at, letter, script });
        counts.set(script, (counts.get(script) ?? 0) + 1);
      }
    }
    at += letter.length;
  }
  const main = mainScript(counts);
  for (const { at: place, script } of letters) {
    if (isForeign(script, main)) found.set(place, script);
  }
  const isAllOther = counts.size === 1 && main !== "Latin" && !genuine.has(main);
  if (isAllOther && LATIN_SHAPED.test(letters.map(({ letter }) => letter).join(""))) {
    for (const { at: place } of letters) found.set(place, main);
  }
}

/** The script of most letters. In a tie, Latin wins. */
function mainScript(counts: ReadonlyMap<string, number>): string {
  let main = "";
  let most = 0;
  for (const [script, count] of counts) {
    if (count < most || (count === most && script !== "Latin")) continue;
    main = script;
    most = count;
  }
  return main;
}

function isForeign(script: string, main: string): boolean {
  if (script === main) return false;
  return !(
    (script === "Latin" && main === MIXES_WITH_LATIN) ||
    (main === "Latin" && script === MIXES_WITH_LATIN)
  );
}

/** A compatibility form of a letter or digit, such as `ａ` or a mathematical `𝐚`. */
function isCompatible(letter: string): boolean {
  return letter > "\x7f" && /^[A-Za-z0-9]$/.test(letter.normalize("NFKC"));
}

/** Scripts for which the text has letters that are not confusable with Latin ones. */
function genuineScripts(text: string): Set<string> {
  const scripts = new Set<string>();
  for (const [name, pattern] of SCRIPTS) {
    if (name === "Latin" || name === "") continue;
    const all = new RegExp(pattern, "gu");
    for (const [letter] of text.matchAll(all)) {
      if (LATIN_SHAPED.test(letter) || !LETTER.test(letter)) continue;
      scripts.add(name);
      break;
    }
  }
  return scripts;
}

const scripts = new Map<string, string>();
const SCRIPTS_MAX = 10_000;

function scriptOf(letter: string): string {
  if (letter <= "\x7f") return "Latin";
  const known = scripts.get(letter);
  if (known !== undefined) return known;
  const script = SCRIPTS.find(([, pattern]) => pattern.test(letter))?.[0] ?? "another script";
  if (scripts.size < SCRIPTS_MAX) scripts.set(letter, script);
  return script;
}
