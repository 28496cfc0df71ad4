/**
 * Adds a hook to a settings file of YAML, and removes it. Everything else stays unchanged.
 *
 * Pure. The file has a list for each event below `hooks`.
 */

import { isDeepStrictEqual } from "node:util";
import yaml, { type Document, type ParsedNode, type YAMLMap } from "yaml";
import { removeParts } from "./inserted-parts.ts";
import { type Handler, singleHandler, UnusableSettings } from "./settings-handler.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * The handlers of these events.
 *
 * @throws UnusableSettings when the text is not readable
 */
export function yamlHandlers(text: string, events: readonly string[]): Handler[] {
  const hooks = hooksIn(documentOf(text).toJS());
  return events.flatMap((event) => {
    return listOf(hooks, event).map((value, index) => singleHandler(event, index, Object(value)));
  });
}

/**
 * Adds a handler to the end of the list of an event.
 *
 * @returns the text, and the new part of it
 * @throws UnusableSettings
 */
export function insertItem(
  text: string,
  event: string,
  handler: Members,
): { readonly text: string; readonly inserted: string } {
  const { at, inserted } = insertionOf(text, event, handler);
  const edited = text.slice(0, at) + inserted + text.slice(at);
  const wanted = documentOf(text).toJS() ?? {};
  const hooks = hooksIn(wanted);
  wanted.hooks = { ...hooks, [event]: [...listOf(hooks, event), handler] };
  if (!isDeepStrictEqual(readable(edited), wanted)) {
    throw new UnusableSettings("adding the hook would change other settings");
  }
  return { text: edited, inserted };
}

interface Insertion {
  readonly at: number;
  readonly inserted: string;
}

/** Adds the item to the list, or the list to `hooks`, or `hooks` to the file. */
function insertionOf(text: string, event: string, handler: Members): Insertion {
  const root = documentOf(text).contents;
  const hooks = yaml.isMap(root) ? pairOf(root, "hooks") : undefined;
  if (hooks === undefined) {
    const lines = ["hooks:", `  ${event}:`, ...itemLines(handler, 4), ""];
    const gap = text === "" || text.endsWith("\n") ? "" : "\n";
    return { at: text.length, inserted: withLineEnds(text, `${gap}${lines.join("\n")}`) };
  }
  const { value: map } = hooks;
  if (yaml.isMap(map) && map.flow === true) {
    const list = pairOf(map as YAMLMap.Parsed, event);
    if (list !== undefined) return behindFlowItems(list, handler);
    const comma = map.items.length === 0 ? "" : ", ";
    return { at: map.range[0] + 1, inserted: `${event}: [${JSON.stringify(handler)}]${comma}` };
  }
  const list = yaml.isMap(map) ? pairOf(map as YAMLMap.Parsed, event) : undefined;
  if (list !== undefined && yaml.isSeq(list.value) && list.value.flow === true) {
    return behindFlowItems(list, handler);
  }
  const depth = yaml.isMap(map) ? columnAt(text, map.range[0]) : 2;
  if (list === undefined) {
    const lines = [`${" ".repeat(depth)}${event}:`, ...itemLines(handler, depth + 2)];
    return behindLine(text, endOf(hooks), lines);
  }
  const column = yaml.isSeq(list.value) ? columnAt(text, list.value.range[0]) : depth + 2;
  return behindLine(text, endOf(list), itemLines(handler, column));
}

interface Pair {
  readonly key: ParsedNode;
  readonly value: ParsedNode | null;
}

function pairOf(map: YAMLMap.Parsed, name: string): Pair | undefined {
  return map.items.find(({ key }) => String(key) === name);
}

/** The end of its last character that is not a comment or white space. */
function endOf({ key, value }: Pair): number {
  const last = value?.range[1] ?? key.range[1];
  return Math.max(last, key.range[1]);
}

function behindFlowItems({ value }: Pair, handler: Members): Insertion {
  if (!yaml.isSeq(value)) throw new UnusableSettings("the hooks of an event are not a list");
  const comma = value.items.length === 0 ? "" : ", ";
  return { at: value.range[1] - 1, inserted: `${comma}${JSON.stringify(handler)}` };
}

/** Adds lines behind the line of this position, or behind the line before an empty rest. */
function behindLine(text: string, position: number, lines: readonly string[]): Insertion {
  const before = text.slice(0, position).trimEnd().length;
  const lineEnd = text.indexOf("\n", before);
  if (lineEnd === -1) {
    return { at: text.length, inserted: withLineEnds(text, `\n${lines.join("\n")}`) };
  }
  return { at: lineEnd + 1, inserted: withLineEnds(text, `${lines.join("\n")}\n`) };
}

/** The item in lines, with the dash in this column. */
function itemLines(handler: Members, column: number): string[] {
  return Object.entries(handler).map(([name, value], index) => {
    const start = index === 0 ? "- " : "  ";
    return `${" ".repeat(column)}${start}${name}: ${JSON.stringify(value)}`;
  });
}

function columnAt(text: string, offset: number): number {
  return offset - (text.lastIndexOf("\n", offset - 1) + 1);
}

function withLineEnds(text: string, lines: string): string {
  return text.includes("\r\n") ? lines.replaceAll("\n", "\r\n") : lines;
}

/**
 * Removes the handlers of install: exactly the inserted texts where they are unchanged, otherwise
 * the items, because an agent may have rewritten the file. That keeps comments, but can change the
 * indentation of the file.
 *
 * @param inserted in the order of the insertions
 */
export function removeItems(
  text: string,
  events: readonly string[],
  isOwn: (value: Handler["value"]) => boolean,
  inserted: readonly string[] = [],
): string {
  const left = removeParts(text, inserted, documentOf);
  const own = yamlHandlers(left, events).filter(({ value }) => isOwn(value));
  if (own.length === 0) return left;
  const document = documentOf(left);
  // From the last one, so that the positions of the others stay valid.
  for (const { event, group } of own.toReversed()) document.deleteIn(["hooks", event, group]);
  return document.toString({ lineWidth: 0 });
}

/** @throws UnusableSettings */
function documentOf(text: string): Document.Parsed {
  const document = yaml.parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) {
    throw new UnusableSettings(`line ${error.linePos?.[0].line ?? 1} is not valid YAML`);
  }
  if (document.contents !== null && !yaml.isMap(document.contents)) {
    throw new UnusableSettings("it is not a map of settings");
  }
  return document;
}

function readable(text: string): unknown {
  try {
    return documentOf(text).toJS();
  } catch {
    return undefined;
  }
}

/** @throws UnusableSettings */
function hooksIn(settings: unknown): Members {
  const { hooks } = Object(settings);
  if (hooks === undefined || hooks === null) return {};
  if (typeof hooks !== "object" || Array.isArray(hooks)) {
    throw new UnusableSettings("hooks is not a map");
  }
  return hooks;
}

/** @throws UnusableSettings */
function listOf(hooks: Members, event: string): readonly unknown[] {
  const list = hooks[event] ?? [];
  if (!Array.isArray(list)) throw new UnusableSettings(`hooks.${event} is not a list`);
  return list;
}
