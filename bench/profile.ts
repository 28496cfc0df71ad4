/**
 * Where the server's time goes: sums the self time of every function in V8 CPU profiles.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
}

interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  /** Id of the node that was running at each sample. */
  readonly samples: readonly number[];
  /** Microseconds between samples. */
  readonly timeDeltas: readonly number[];
}

export interface SelfTime {
  /** Function and place. */
  readonly name: string;
  /** Of the time in which the server was not idle. */
  readonly percent: number;
}

/** The functions with the most self time of all profiles in a folder, the greatest first. */
export function readProfiles(folder: string, count: number): SelfTime[] {
  const selfUs = new Map<string, number>();
  for (const file of readdirSync(folder)) {
    if (!file.endsWith(".cpuprofile")) continue;
    const profile = JSON.parse(readFileSync(join(folder, file), "utf8")) as CpuProfile;
    addSelfTimes(profile, selfUs);
  }
  for (const name of ["(idle)", "(program)"]) selfUs.delete(name);
  const totalUs = [...selfUs.values()].reduce((sum, us) => sum + us, 0);
  return [...selfUs]
    .sort(([, left], [, right]) => right - left)
    .slice(0, count)
    .map(([name, us]) => ({ name, percent: (us / totalUs) * 100 }));
}

function addSelfTimes(profile: CpuProfile, selfUs: Map<string, number>): void {
  const names = new Map(profile.nodes.map((node) => [node.id, placeOf(node)]));
  profile.samples.forEach((id, i) => {
    const name = names.get(id) ?? "";
    selfUs.set(name, (selfUs.get(name) ?? 0) + (profile.timeDeltas[i] ?? 0));
  });
}

const ROOT = join(import.meta.dirname, "..");

function placeOf({ callFrame }: ProfileNode): string {
  const { functionName, url, lineNumber } = callFrame;
  const name = functionName === "" ? "(anonymous)" : functionName;
  if (url === "") return name;
  const place = url.startsWith("file://") ? relative(ROOT, url.slice("file://".length)) : url;
  return `${name} ${place}:${lineNumber + 1}`;
}
