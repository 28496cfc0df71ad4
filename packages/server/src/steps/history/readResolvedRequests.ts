/** Reads resolved requests in full, with the names of instances and deciders. */

import { deciderId, type JsonText, type StoredRequest } from "../../core/request.ts";
import type { ResolvedOutline } from "../../core/request-filter.ts";
import { readReviewers } from "../../storage/sql/access/holders.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import { readRequests } from "../../storage/sql/requests/requests.ts";
import type { Reader } from "../../storage/store.ts";

/** A resolved request with the names of its instance and decider. */
export interface ResolvedRequest {
  readonly request: StoredRequest;
  /** Unverified: a name does not prove an identity. */
  readonly instanceName: JsonText;
  /** Name of the reviewer who decided; undefined for other deciders. */
  readonly decider: string | undefined;
}

export interface ResolvedRequestPage {
  /** Latest decision first. */
  readonly requests: readonly ResolvedRequest[];
  /** Ids of damaged requests of the page. Their contents are not returned. */
  readonly damaged: readonly string[];
}

/** How many fit into the limit, at least one. */
export function countFitting(
  outlines: readonly Pick<ResolvedOutline, "bytes">[],
  max: number,
): number {
  let bytes = 0;
  const tooMany = outlines.findIndex((outline) => {
    bytes += outline.bytes;
    return bytes > max;
  });
  return tooMany === -1 ? outlines.length : Math.max(1, tooMany);
}

/** Reads these requests in full, in the given order. */
export async function readResolvedRequests(
  reader: Reader,
  projectId: string,
  outlines: readonly ResolvedOutline[],
): Promise<ResolvedRequestPage> {
  const ids = outlines.map(({ id }) => id);
  const { requests, damaged } = await readRequests(reader, projectId, ids);
  const deciders = requests.flatMap((request) => deciderId(request) ?? []);
  const [instances, reviewers] = await Promise.all([
    readInstances(reader, projectId, [...new Set(requests.map((one) => one.instanceId))]),
    readReviewers(reader, projectId, [...new Set(deciders)]),
  ]);
  const names = new Map(reviewers.map(({ id, name }) => [id, name]));
  return {
    requests: requests.map((request) => ({
      request,
      instanceName: instances.get(request.instanceId)?.name ?? '""',
      decider: names.get(deciderId(request) ?? ""),
    })),
    damaged,
  };
}
