/**
 * Prints the bill of materials of what is shipped, in the CycloneDX format: `npm run sbom`.
 *
 * `npm sbom --omit dev` leaves out a package that is shipped and is also a direct development
 * dependency. So this takes all packages, and removes those that only development needs.
 */

import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

interface Component {
  readonly "bom-ref": string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

export interface Bill {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

export function withoutDevelopment<T extends Bill>(bill: T): T {
  const removed = new Set(bill.components.filter(isDevelopment).map((each) => each["bom-ref"]));
  const components = bill.components.filter((each) => !removed.has(each["bom-ref"]));
  const dependencies = bill.dependencies
    .filter(({ ref }) => !removed.has(ref))
    .map((each) => ({ ...each, dependsOn: each.dependsOn.filter((ref) => !removed.has(ref)) }));
  return { ...bill, components, dependencies };
}

function isDevelopment({ properties = [] }: Component): boolean {
  return properties.some(
    ({ name, value }) => name === "cdx:npm:package:development" && value === "true",
  );
}

export function readBill(): Bill {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"];
  const printed = execFileSync("npm", args, {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return withoutDevelopment(JSON.parse(printed) as Bill);
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(readBill(), undefined, 2)}\n`);
