/**
 * Counting rows of the table `request`: the calls of an instance within a span of time, all of
 * them or those of one tool. Both come from an index that holds all that is asked, so they cost
 * what lies in the span, up to a bound, and nothing for what lies before it.
 */

import type { Reader, SqlValue } from "../../store.ts";
import type { InstanceKey } from "../keys.ts";

export interface CountedCalls {
  /** Epoch ms; what was made later than this counts. */
  readonly since: number;
  readonly status: "approved" | "denied" | undefined;
}

/** The name of a tool, as JSON texts. */
export interface ToolKey {
  readonly tool: string;
  /** Null: the calls name no server. */
  readonly server: string | null;
}

export interface CountQuery {
  /** Undefined: every tool. */
  readonly tool: ToolKey | undefined;
  /** At least one. */
  readonly spans: readonly CountedCalls[];
  /** At most so many calls are counted, the latest. */
  readonly callsMax: number;
  /** Epoch ms; only what was made before, as it was decided by then. Undefined: as of now. */
  readonly asOf?: number | undefined;
}

/** Length of the indexed prefix of a name, in code points. */
const INDEXED_CHARS = 200;

const OF_INSTANCE = `select created_at as made, status as ended from request
  where project_id = $1 and instance_id = $2 and created_at > $3`;

const OF_TOOL = `${OF_INSTANCE} and substr(tool, 1, 200) = $4
  and coalesce(substr(server, 1, 200), '') = $5`;

/** A name that is longer than its indexed prefix. */
const OF_LONG_TOOL = `${OF_TOOL} and tool = $6 and coalesce(server, '') = $7`;

/**
 * To be sent behind the lock of the instance, against everybody, where two calls that are made at
 * the same time must not both be the last that is allowed.
 *
 * @returns for each span, in their order; null: too many calls lie in it to be counted
 */
export async function countCalls(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
  { tool, spans, callsMax, asOf }: CountQuery,
): Promise<readonly (number | null)[]> {
  const earliest = Math.min(...spans.map(({ since }) => since));
  const values: SqlValue[] = [projectId, instanceId, earliest];
  const bind = (value: SqlValue): string => `$${values.push(value)}`;
  let calls = OF_INSTANCE;
  if (tool !== undefined) {
    values.push(...indexedPrefixes(tool));
    if (!isFullyIndexed(tool)) values.push(tool.tool, tool.server ?? "");
    calls = isFullyIndexed(tool) ? OF_TOOL : OF_LONG_TOOL;
  }
  if (asOf !== undefined) {
    const then = bind(asOf);
    calls = calls.replace("status as", `case when decided_at <= ${then} then status end as`);
    calls += ` and created_at < ${then}`;
  }
  const limit = bind(callsMax + 1);
  const sums = spans.map(({ since, status }, index) => {
    const ended = status === undefined ? "" : ` and ended = ${bind(status)}`;
    return `sum(case when made > ${bind(since)}${ended} then 1 else 0 end) as span_${index}`;
  });
  const row = await reader.get(
    ["select", ["count(*) as looked_at", "min(made) as oldest", ...sums].join(", ")]
      .concat(`from (${calls} order by created_at desc limit ${limit}) as newest`)
      .join(" "),
    values,
  );
  const isAll = Number(row?.looked_at) <= callsMax;
  const oldest = Number(row?.oldest);
  return spans.map(({ since }, index) =>
    isAll || since >= oldest ? Number(row?.[`span_${index}`] ?? 0) : null,
  );
}

/** True when the index contains both names: a longer name has no shorter prefix. */
export function isFullyIndexed({ tool, server }: ToolKey): boolean {
  return [tool, server ?? ""].every(
    (name) => indexedPrefix(name).length === name.length && [...name].length < INDEXED_CHARS,
  );
}

/** The indexed texts of tool and server. No server is an empty text, which is not JSON. */
export function indexedPrefixes({ tool, server }: ToolKey): readonly [string, string] {
  return [indexedPrefix(tool), indexedPrefix(server ?? "")];
}

function indexedPrefix(name: string): string {
  return [...name.slice(0, 2 * INDEXED_CHARS)].slice(0, INDEXED_CHARS).join("");
}
