/** Compares the stored versions of a policy with the published ones in the audit log. */

import type { Finding } from "../audit/finding.ts";
import { UNSEALED_MS_MAX } from "../audit/verify-log.ts";
import { readPublishedVersions } from "../storage/sql/audit/audit-entries.ts";
import {
  listPolicyVersions,
  type PolicyVersionOutline,
  readPolicyVersion,
} from "../storage/sql/policy/policy-versions.ts";
import type { Reader } from "../storage/store.ts";

const VERSIONS_PER_READ = 50;

interface Published {
  readonly number: number;
  readonly sha256: string;
  readonly two_person?: string;
}

/** @returns the latest version that differs from the log */
export async function findAlteredPolicy(
  reader: Reader,
  projectId: string,
  now: number,
): Promise<Finding | undefined> {
  // Read before the versions, so that a new version cannot be reported as missing.
  const details = await readPublishedVersions(reader, projectId);
  const published = new Map(
    details.map((detail) => JSON.parse(detail) as Published).map((each) => [each.number, each]),
  );
  const ref = { projectId, kind: "policy.published" };
  let below = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const versions = await listPolicyVersions(reader, projectId, below, VERSIONS_PER_READ);
    for (const version of versions) {
      const { number, publishedAt: at } = version;
      const message = await findFault(reader, version, published.get(number), now);
      if (message !== undefined) return { fault: "altered", ...ref, at, message };
      published.delete(number);
      below = number;
    }
    if (versions.length < VERSIONS_PER_READ) break;
  }
  const [gone] = published.keys();
  if (gone === undefined) return undefined;
  return { fault: "missing", ...ref, message: `version ${gone} of the policy is missing` };
}

async function findFault(
  reader: Reader,
  { projectId, number, sha256, publishedAt, isTwoPerson }: PolicyVersionOutline,
  published: Published | undefined,
  now: number,
): Promise<string | undefined> {
  const name = `version ${number} of the policy`;
  const stored = await readPolicyVersion(reader, projectId, number);
  if (stored?.isIntact === false) return `the text of ${name} does not match its SHA-256`;
  if (published === undefined) {
    if (Math.abs(now - publishedAt) <= UNSEALED_MS_MAX) return undefined;
    return `the log has no entry that published ${name}`;
  }
  if (published.sha256 !== sha256) return `${name} has another SHA-256 than the one published`;
  const wasTwoPerson = published.two_person !== undefined;
  if (wasTwoPerson === isTwoPerson) return undefined;
  return `the two-person setting of ${name} was changed`;
}
