/** Calls of the past, as conditions evaluate them. */

import { JsonObject, parseJson } from "@countersign/protocol";
import { readableContext } from "../../core/authzen-scope.ts";
import type { StoredInstance } from "../../core/instance.ts";
import type { JsonText, StoredRequest } from "../../core/request.ts";
import type { Call } from "../../policy/rule.ts";
import { readToolName } from "../../policy/tool-names.ts";
import { firstIdAt, listCreated } from "../../storage/sql/history/request-history.ts";
import { readRequests } from "../../storage/sql/requests/requests.ts";
import type { Reader } from "../../storage/store.ts";

/** Requests that are read in full at a time. */
const READ_PER_STEP = 20;

export interface PastPeriod {
  readonly projectId: string;
  /** Start and end of the creation times, epoch ms; the end is exclusive. */
  readonly since: number;
  readonly until: number;
  /** Only requests of this instance. */
  readonly instanceId?: string;
  /** Requests of the project that are read at most, the latest first. */
  readonly max: number;
}

/**
 * Visits the requests of a period, the latest first. Damaged requests are left out.
 *
 * @returns false when the period has older requests
 * @throws the reason of the signal
 */
export async function readPastRequests(
  reader: Reader,
  { projectId, since, until, instanceId, max }: PastPeriod,
  signal: AbortSignal,
  visit: (request: StoredRequest) => void,
): Promise<boolean> {
  let beforeId = firstIdAt(until);
  for (let seen = 0; seen < max; ) {
    const page = await listCreated(reader, { projectId, since, beforeId }, READ_PER_STEP);
    const last = page.at(-1);
    if (last === undefined) return true;
    const wanted = page.filter((one) => instanceId === undefined || one.instanceId === instanceId);
    const ids = wanted.map(({ id }) => id);
    for (const request of (await readRequests(reader, projectId, ids)).requests) visit(request);
    beforeId = last.id;
    seen += page.length;
    signal.throwIfAborted();
  }
  return false;
}

export type InstanceOutline = Pick<StoredInstance, "name" | "groups">;

/** The call of a request, with the present name and groups of its instance. */
export function toPastCall(
  { instanceId, tool, server, arguments: args, context, createdAt }: StoredRequest,
  { name, groups }: InstanceOutline,
): Call {
  return {
    ...readToolName({ tool, server }),
    args: parseObject(args),
    context: context === null ? undefined : readableContext(parseObject(context)),
    instance: { id: instanceId, name: JSON.parse(name) as string, groups },
    now: createdAt,
  };
}

function parseObject(text: JsonText): JsonObject {
  const value = parseJson(text);
  if (!(value instanceof JsonObject)) throw new Error("the stored value is not a JSON object");
  return value;
}
