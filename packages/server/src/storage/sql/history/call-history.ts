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

export interface CountQuery {
  /** JSON text; undefined: whatever tool. */
  readonly tool: string | undefined;
  /** At least one. */
  readonly spans: readonly CountedCalls[];
  /** At most so many calls are counted, the latest. */
  readonly callsMax: number;
  /** Epoch ms; only what was made before, as it was decided by then. Undefined: as of now. */
  readonly asOf?: number | undefined;
}

/** Length of the indexed prefix of a tool name, in code points. */
const INDEXED_CHARS = 200;

const OF_INSTANCE = `select created_at as made, status as ended from request
  where project_id = $1 and instance_id = $2 and created_at > $3`;

const OF_TOOL = `${OF_INSTANCE} and substr(tool, 1, 200) = $4`;

/** A name that is longer than what the index has of it. */
const OF_LONG_TOOL = `${OF_TOOL} and tool = $5`;

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
    values.push(indexedPrefix(tool));
    if (!isFullyIndexed(tool)) values.push(tool);
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

/** Whether the index has all of a name: nothing longer begins with what is shorter than that. */
export function isFullyIndexed(tool: string): boolean {
  return indexedPrefix(tool).length === tool.length && [...tool].length < INDEXED_CHARS;
}

export function indexedPrefix(tool: string): string {
  return [...tool.slice(0, 2 * INDEXED_CHARS)].slice(0, INDEXED_CHARS).join("");
}
