/**
 * Texts of the console are in its catalogues: every text of the code has its translation with the
 * same values, no translation is left over, and no element has an untranslatable text.
 */

import { basename, dirname } from "node:path/posix";
import {
  type Expression,
  isCallExpression,
  isIdentifier,
  isJsxAttribute,
  isJsxElement,
  isJsxText,
  isNoSubstitutionTemplateLiteral,
  isObjectLiteralExpression,
  isPropertyAssignment,
  isStringLiteral,
  isTaggedTemplateExpression,
  isTemplateExpression,
  type Node,
} from "typescript/unstable/ast";
import { isTest, lineOf, type Source, type Violation } from "./source.ts";

const CONSOLE = "packages/console/src/";
const CATALOGUES = `${CONSOLE}language/`;

/** Attributes and properties of components whose text a person reads. */
const READ_ATTRIBUTES = new Set([
  "alt",
  "aria-description",
  "aria-label",
  "done",
  "hint",
  "label",
  "lead",
  "placeholder",
  "submit",
  "title",
]);

/** Names and commands: they are the same in all languages. */
const UNTRANSLATED_ELEMENTS = new Set(["code", "kbd", "pre"]);
const NAMES = new Set(["Countersign"]);

/** A text in the code, by its key in the catalogues. */
interface CodeText {
  readonly key: string;
  readonly isPlural: boolean;
  readonly file: string;
  readonly line: number;
}

type Catalogue = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

/** @param texts of all files by path; catalogues are the JSON files beside `t.ts` */
export function translations(
  sources: readonly Source[],
  texts: ReadonlyMap<string, string>,
): Violation[] {
  const ours = sources.filter(({ path }) => path.startsWith(CONSOLE) && !isTest(path));
  const found = ours.flatMap(codeTexts);
  const catalogues = [...texts].filter(
    ([path]) => dirname(path) === dirname(`${CATALOGUES}t.ts`) && path.endsWith(".json"),
  );
  return [
    ...ours.flatMap(untranslatable),
    ...catalogues.flatMap(([path, text]) => compare(path, JSON.parse(text), found)),
  ];
}

function compare(path: string, catalogue: Catalogue, found: readonly CodeText[]): Violation[] {
  const language = basename(path, ".json");
  const byKey = new Map(found.map((text) => [text.key, text]));
  const missing = [...byKey.values()].flatMap((text) => {
    const fault = faultOf(text, catalogue[text.key], language);
    return fault === undefined ? [] : [{ file: text.file, line: text.line, message: fault }];
  });
  const unused = Object.keys(catalogue)
    .filter((key) => !byKey.has(key))
    .map((key) => ({ file: path, line: 1, message: `no text of the console is “${key}”` }));
  return [...missing, ...unused];
}

function faultOf(
  { key, isPlural }: CodeText,
  translation: Catalogue[string] | undefined,
  language: string,
): string | undefined {
  const file = `${language}.json`;
  if (translation === undefined) return `“${key}” has no translation in ${file}`;
  if (isPlural === (typeof translation === "string")) {
    return `“${key}” in ${file} must ${isPlural ? "have a text for each number" : "be one text"}`;
  }
  const forms = typeof translation === "string" ? { other: translation } : translation;
  const category = isPlural ? missingCategory(language, forms) : undefined;
  if (category !== undefined) return `“${key}” in ${file} has no text for “${category}”`;
  const differs = Object.values(forms).some((form) => placesOf(form) !== placesOf(key));
  return differs ? `the translation of “${key}” in ${file} has other values` : undefined;
}

function missingCategory(language: string, forms: Readonly<Record<string, string>>) {
  const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
  return pluralCategories.find((category) => !Object.hasOwn(forms, category));
}

/** A plural form may leave its number out: “one call”. */
function placesOf(text: string): string {
  return (text.match(/\{\d\}/g) ?? []).toSorted().join();
}

function codeTexts(source: Source): CodeText[] {
  const { path } = source;
  return source.nodes.flatMap((node) => {
    const found = templateText(node) ?? pluralText(node);
    return found === undefined ? [] : [{ ...found, file: path, line: lineOf(source, node) }];
  });
}

type FoundText = Pick<CodeText, "key" | "isPlural">;

/** `` t`…` `` and `` rich`…` ``. */
function templateText(node: Node): FoundText | undefined {
  if (!isTaggedTemplateExpression(node) || !isIdentifier(node.tag)) return undefined;
  if (node.tag.text !== "t" && node.tag.text !== "rich") return undefined;
  const { template } = node;
  if (isNoSubstitutionTemplateLiteral(template)) return { key: template.text, isPlural: false };
  if (!isTemplateExpression(template)) return undefined;
  const rest = template.templateSpans.map(({ literal }, index) => `{${index}}${literal.text}`);
  return { key: template.head.text + rest.join(""), isPlural: false };
}

/** `plural(count, { one: "…", other: "…" })`. */
function pluralText(node: Node): FoundText | undefined {
  if (!isCallExpression(node) || !isIdentifier(node.expression)) return undefined;
  if (node.expression.text !== "plural") return undefined;
  const forms = node.arguments[1];
  const key = forms === undefined ? undefined : propertyText(forms, "other");
  return key === undefined ? undefined : { key, isPlural: true };
}

function propertyText(object: Expression, name: string): string | undefined {
  if (!isObjectLiteralExpression(object)) return undefined;
  for (const property of object.properties) {
    if (!isPropertyAssignment(property) || !isIdentifier(property.name)) continue;
    const { initializer } = property;
    if (property.name.text === name && isStringLiteral(initializer)) return initializer.text;
  }
  return undefined;
}

function untranslatable(source: Source): Violation[] {
  return source.nodes.flatMap((node) => {
    const text = fixedText(node);
    if (text === undefined || !isWords(text)) return [];
    const line = lineOf(source, node);
    return [{ file: source.path, line, message: `“${text}” cannot be translated: use t` }];
  });
}

/** A text of an element that is in the code as it is displayed. */
function fixedText(node: Node): string | undefined {
  if (isJsxText(node)) return isNameOrCode(node.parent) ? undefined : node.text.trim();
  if (!isJsxAttribute(node) || !READ_ATTRIBUTES.has(node.name.getText())) return undefined;
  const value = node.initializer;
  return value !== undefined && isStringLiteral(value) ? value.text : undefined;
}

function isNameOrCode(parent: Node): boolean {
  if (!isJsxElement(parent)) return false;
  return UNTRANSLATED_ELEMENTS.has(parent.openingElement.tagName.getText());
}

function isWords(text: string): boolean {
  return /\p{L}{2}/u.test(text) && !NAMES.has(text);
}
