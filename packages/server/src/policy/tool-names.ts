/**
 * The names under which rules and grants match a call.
 *
 * A tool of an MCP server has two names: its own and that of the server. Adapters either submit
 * both, or one *joined* name such as `mcp__github__create_issue`. A joined name does not show where
 * the name of the server ends: `mcp__a__b__c` is a tool of the server `a` or of `a__b`. Rules that
 * deny or ask therefore use every possible reading of a name. Approvals use only a reading without
 * an alternative.
 */

import { GLOB_CHARS_MAX, type Glob, literalPrefix, matchesGlob } from "./glob.ts";
import type { Meter } from "./meter.ts";
import type { Call } from "./rule.ts";

/** The name of a tool, and the server that the call names. */
export type ToolName = Pick<Call, "tool" | "server">;

/** The name of a tool as JSON texts, as the server stores it. */
interface StoredToolName {
  readonly tool: string;
  readonly server: string | null;
}

export function writeToolName({ tool, server }: ToolName): StoredToolName {
  return {
    tool: JSON.stringify(tool),
    server: server === undefined ? null : JSON.stringify(server),
  };
}

export function readToolName({ tool, server }: StoredToolName): ToolName {
  return {
    tool: JSON.parse(tool) as string,
    server: server === null ? undefined : (JSON.parse(server) as string),
  };
}

/** A tool of a named server. */
interface ServerTool {
  readonly server: string;
  readonly tool: string;
}

/** The calls that a rule or a grant names. */
export interface NamePatterns {
  readonly tools: readonly Glob[] | undefined;
  /** Undefined: `match` has no server. */
  readonly fitsServer: ((server: string) => boolean) | undefined;
}

const MCP = "mcp__";

/** Joined names of a tool, as adapters spell them. */
function joinedNames({ server, tool }: ServerTool): readonly string[] {
  return [
    `${MCP}${server}__${tool}`,
    `${server}/${tool}`,
    `${server}__${tool}`,
    `mcp_${server}_${tool}`,
  ];
}

/** A name with more places to split is read only at the first ones. */
const SPLITS_MAX = 64;

/** All ways to split a text at a separator, with a name on each side. */
function splits(text: string, separator: string): readonly ServerTool[] {
  const found: ServerTool[] = [];
  let at = text.indexOf(separator, 1);
  while (at !== -1 && at + separator.length < text.length && found.length < SPLITS_MAX) {
    found.push({ server: text.slice(0, at), tool: text.slice(at + separator.length) });
    at = text.indexOf(separator, at + 1);
  }
  return found;
}

/** Every tool that can have this joined name. */
function readings(name: string): readonly ServerTool[] {
  if (name.startsWith(MCP)) {
    const found = splits(name.slice(MCP.length), "__");
    if (found.length > 0) return found;
  }
  if (name.startsWith("mcp_")) return splits(name.slice("mcp_".length), "_");
  return [...splits(name, "/"), ...splits(name, "__")];
}

/** The tool of a name that starts with `mcp__` and can be split in one way only. */
function onlyReading(name: string): ServerTool | undefined {
  if (!name.startsWith(MCP)) return undefined;
  const [only, another] = splits(name.slice(MCP.length), "__");
  return another === undefined ? only : undefined;
}

/** True when no other server and tool have the same joined name. */
function isOnlyReading({ server, tool }: ServerTool, separator: string): boolean {
  if (server === "") return false;
  const [only, another] = splits(`${server}${separator}${tool}`, separator);
  return only?.server === server && another === undefined;
}

/** All names of one call, to match many rules against it. */
export interface CallNames extends ToolName {
  /** Every tool that the call can mean. */
  readonly readings: readonly Reading[];
  /** The tool of a server that the call certainly means. */
  readonly certain: ServerTool | undefined;
  /** Joined names of `certain` that no other tool has. */
  readonly certainNames: readonly MarkedName[];
}

interface Reading extends ServerTool {
  readonly joined: readonly string[];
}

export function namesOfCall({ tool, server }: ToolName): CallNames {
  const tools = server === undefined ? readings(tool) : [{ server, tool }];
  const certain = server === undefined ? onlyReading(tool) : { server, tool };
  return {
    tool,
    server,
    readings: tools.map((each) => ({ ...each, joined: joinedNames(each) })),
    certain,
    certainNames:
      certain === undefined
        ? []
        : markedNames(certain).filter(({ separator }) => isOnlyReading(certain, separator)),
  };
}

/** The names that a rule with literal names can match a call by, without duplicates. */
export function possibleNames({ tool, readings }: CallNames): readonly string[] {
  const names = readings.flatMap((each) => [each.tool, ...each.joined]);
  // A longer name equals no pattern, so it is not worth its hash.
  return [...new Set([tool, ...names].filter(({ length }) => length <= GLOB_CHARS_MAX))];
}

/**
 * The names by which a rule with `deny` or `ask` matches a call. Its condition applies if it is
 * true for one of them. A joined name counts only where the tool's own name does not match.
 */
export function namesForRestriction(
  { tool, server, readings }: CallNames,
  { tools, fitsServer }: NamePatterns,
  meter: Meter,
): readonly string[] {
  if (server === undefined && fitsServer === undefined && fitsTool(tools, tool, meter)) {
    return [tool];
  }
  const names = new Set<string>();
  for (const each of readings) {
    if (fitsServer?.(each.server) === false) continue;
    if (fitsTool(tools, each.tool, meter)) names.add(each.tool);
    else for (const name of each.joined) if (fitsTool(tools, name, meter)) names.add(name);
  }
  return [...names];
}

/**
 * The names by which a rule with `approve` or a grant matches a call. Its condition applies if it
 * is true for all of them, so that no exception such as `tool != "mcp__github__merge"` is lost.
 */
export function namesForApproval(
  { tool, server, certain, certainNames }: CallNames,
  { tools, fitsServer }: NamePatterns,
  meter: Meter,
): readonly string[] {
  if (fitsServer === undefined) {
    if (server === undefined && fitsTool(tools, tool, meter)) return [tool];
  } else {
    if (certain === undefined || !fitsServer(certain.server)) return [];
    if (fitsTool(tools, certain.tool, meter)) return [certain.tool];
  }
  if (tools === undefined) return [];
  const names: string[] = [];
  for (const { name, opening } of certainNames) {
    const spelling = tools.filter((glob) => literalPrefix(glob).startsWith(opening));
    if (fitsTool(spelling, name, meter)) names.push(name);
  }
  return names;
}

/** A joined name that a pattern or a text can show that it means. */
interface MarkedName {
  readonly name: string;
  readonly separator: string;
  /** The start of the pattern or text. Patterns such as `*` and `*_read` mean no joined name. */
  readonly opening: string;
}

function markedNames({ server, tool }: ServerTool): readonly MarkedName[] {
  return [
    { name: `${MCP}${server}__${tool}`, separator: "__", opening: MCP },
    { name: `${server}/${tool}`, separator: "/", opening: `${server}/` },
  ];
}

/** The joined names of a call with a server that a condition with these texts means. */
export function namesInTexts(
  { tool, server }: ToolName,
  texts: readonly string[],
): readonly string[] {
  if (server === undefined) return [];
  const isMeant = ({ opening }: MarkedName) => texts.some((text) => text.startsWith(opening));
  return markedNames({ server, tool })
    .filter(isMeant)
    .map(({ name }) => name);
}

/**
 * Calls with one of these names are calls of the same tool. An adapter submits both names of a
 * tool from one version on, and the joined name before.
 */
export function sameToolNames(call: ToolName): readonly ToolName[] {
  const { tool, server } = call;
  if (server === undefined) {
    const only = onlyReading(tool);
    return only === undefined ? [call] : [call, only];
  }
  if (!isOnlyReading({ server, tool }, "__")) return [call];
  return [call, { tool: `${MCP}${server}__${tool}`, server: undefined }];
}

function fitsTool(tools: readonly Glob[] | undefined, name: string, meter: Meter): boolean {
  meter.spend(1);
  return tools?.some((glob) => matchesGlob(glob, name, meter)) ?? true;
}
