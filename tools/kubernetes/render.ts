/** Renders the chart with Helm, and validates the result with kubeconform. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { goTools, KUBERNETES_VERSIONS, SCHEMA_FILE } from "../go-tools/tools.ts";
import { type KubernetesObject, parseObjects } from "./objects.ts";
import { CHART, GUIDE_FILE } from "./values-reference.ts";

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The text of a code block of a guide with this name after its language. */
export function guideBlock(name: string, guide: string = GUIDE_FILE): string {
  const blocks = readFileSync(guide, "utf8").matchAll(/^```\w+ (\S+)\n(.*?)^```$/gms);
  const block = [...blocks].find(([, title]) => title === name);
  if (block?.[2] === undefined) throw new Error(`${guide} has no block "${name}"`);
  return block[2];
}

/** @param values files of values, as text. A later file overrides an earlier one. */
export function helm(command: readonly string[], values: readonly string[]): Ended {
  const home = mkdtempSync(join(tmpdir(), "countersign-helm-"));
  try {
    const files = values.map((text, index) => {
      const file = join(home, `values-${index}.yaml`);
      writeFileSync(file, text);
      return ["--values", file];
    });
    // Without the settings and plugins of the user.
    const env = { HOME: home, PATH: process.env.PATH ?? "" };
    const args = [...command, "--namespace", "countersign", ...files.flat()];
    return spawnSync(goTools().program("helm"), args, { env, encoding: "utf8" });
  } finally {
    rmSync(home, { recursive: true });
  }
}

/** The output of `helm template`. */
export function template(
  values: readonly string[],
  version = KUBERNETES_VERSIONS.at(-1),
  release = "countersign",
): Ended {
  return helm(["template", release, CHART, "--kube-version", String(version)], values);
}

/** @throws Error with the message of Helm */
export function render(values: readonly string[], release?: string): KubernetesObject[] {
  const { status, stdout, stderr } = template(values, undefined, release);
  if (status !== 0) throw new Error(stderr);
  return parseObjects(stdout);
}

/** Validates objects strictly. An object without a schema is a fault. */
export function kubeconform(objects: string, version: string): Ended {
  const { schemas, program } = goTools();
  const args = [
    "-strict",
    "-summary",
    "-kubernetes-version",
    version,
    "-schema-location",
    join(schemas, `v${version}`, SCHEMA_FILE),
    "-schema-location",
    join(schemas, "custom", SCHEMA_FILE),
  ];
  return spawnSync(program("kubeconform"), args, { input: objects, encoding: "utf8" });
}
