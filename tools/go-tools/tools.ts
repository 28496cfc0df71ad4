/**
 * Programs and schemas of others that are Go modules. Go verifies them with its checksum database.
 * For the files of deploy/: Helm, kubeconform, the library of `docker compose`, and the schemas of
 * Kubernetes, the Gateway API and the Prometheus operator. For the audit log: the library of that
 * checksum database.
 */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const HOME = resolve(import.meta.dirname, "installed");

export type ProgramName = "helm" | "kubeconform" | (typeof MODULES)[number];

/** Packages for `go install`, which writes a program with the last part of the path. */
export const PACKAGES: readonly string[] = [
  "helm.sh/helm/v4/cmd/helm@v4.3.1",
  "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0",
];

/** Modules of this repository. Their go.sum fixes what they need. */
export const MODULES = ["compose", "transparency"] as const;

/** The folder of a module. */
export function moduleOf(name: (typeof MODULES)[number]): string {
  return resolve(import.meta.dirname, name);
}

/** The oldest version that the chart supports, and the latest one. */
export const KUBERNETES_VERSIONS: readonly string[] = ["1.30.14", "1.37.2"];

/** Custom resource definitions in Go modules. */
export const CUSTOM_RESOURCES: readonly { readonly module: string; readonly file: string }[] = [
  {
    module: "sigs.k8s.io/gateway-api@v1.6.3",
    file: "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
  },
  {
    module: "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    file: "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
  },
  {
    module: "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    file: "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
  },
];

/** An installation from other files or versions does not count. */
export function installationId(): string {
  const modules = MODULES.flatMap((name) => [`${name}/go.sum`, `${name}/main.go`]);
  const files = ["../kubernetes/schemas.ts", "tools.ts", ...modules];
  const texts = files.map((file) => readFileSync(join(import.meta.dirname, file), "utf8"));
  return createHash("sha256").update(texts.join("\n")).digest("hex");
}

export interface Tools {
  /** Folders with one JSON schema for each kind, as `SCHEMA_FILE` names them. */
  readonly schemas: string;
  /** The path of a program. */
  program(name: ProgramName): string;
}

/** The name of a schema, in the template language of kubeconform. */
export const SCHEMA_FILE = "{{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json";

/** The same name. kubeconform writes kinds in lower case, and the core group as its version. */
export function schemaFile(kind: string, group: string, version: string): string {
  return `${kind.toLowerCase()}-${group === "" ? version : group}-${version}.json`;
}

export function toolsIn(home: string): Tools & { readonly marker: string } {
  return {
    schemas: join(home, "schemas"),
    marker: join(home, "installation.sha256"),
    program: (name) => join(home, "bin", name),
  };
}

/** @returns undefined if `npm run go-tools` did not run with these versions */
export function findGoTools(home: string = HOME): Tools | undefined {
  const tools = toolsIn(home);
  if (!existsSync(tools.marker)) return undefined;
  return readFileSync(tools.marker, "utf8") === installationId() ? tools : undefined;
}

/** @throws Error without the programs */
export function goTools(): Tools {
  const tools = findGoTools();
  if (tools === undefined) throw new Error("Run: npm run go-tools (needs Go)");
  return tools;
}
