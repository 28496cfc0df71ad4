/**
 * Reports of the public API of the packages that an agent imports: one file per entry point, with
 * the declarations that its users see. API Extractor reads the declarations that are published.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import {
  CompilerState,
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
  type ExtractorMessage,
} from "@microsoft/api-extractor";
import { linkFrameworks } from "../frameworks/link.ts";
import { build, ROOT } from "../pack/build.ts";
import { PUBLISHED, type PublishedPackage } from "../pack/packages.ts";

/** Folders under packages/, in the order in which they build on one another. */
const REPORTED = ["protocol", "sdk"];

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string>>;
}

/**
 * @returns the text of each report, by its path from the root of the repository
 * @throws Error without the frameworks, and for sources that do not build
 */
export function makeReports(): Map<string, string> {
  if (!linkFrameworks()) {
    throw new Error("The frameworks are not installed. Run: npm run frameworks");
  }
  const scratch = mkdtempSync(join(tmpdir(), "countersign-api-"));
  try {
    symlinkSync(join(ROOT, "node_modules"), join(scratch, "node_modules"));
    const packages = PUBLISHED.filter(({ folder }) => REPORTED.includes(folder));
    return new Map(packages.flatMap((entry) => [...reportPackage(entry, scratch)]));
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** @param scratch has the declarations of the packages before this one */
function reportPackage(entry: PublishedPackage, scratch: string): Map<string, string> {
  const source = join(ROOT, "packages", entry.folder);
  const manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as Manifest;
  const home = join(scratch, entry.folder);
  const staged = { "@countersign/protocol": [join(scratch, "protocol/index.d.ts")] };
  build(entry, home, entry.folder === "protocol" ? {} : staged, join(scratch, "build"));
  if (entry.folder === "sdk") {
    symlinkSync(join(source, "src/node_modules"), join(home, "node_modules"));
  }
  const modules = Object.values(manifest.exports).map((target) => basename(target, ".ts"));
  const configs = modules.map((module) => configOf(module, home, manifest.name));
  const [first] = configs;
  if (first === undefined) throw new Error(`${manifest.name} has no entry point.`);
  const compilerState = CompilerState.create(first, {
    additionalEntryPoints: configs.map((config) => config.mainEntryPointFilePath),
  });
  const reports = configs.map((config) => reportOf(config, compilerState));
  const path = (index: number) => `packages/${entry.folder}/api/${modules[index]}.api.md`;
  const main = modules.indexOf("index");
  return new Map(
    reports.map((report, index) => {
      const isMain = index === main;
      return [path(index), isMain ? report : withoutDeclarationsOf(reports[main] ?? "", report)];
    }),
  );
}

function configOf(module: string, home: string, packageName: string): ExtractorConfig {
  const entryPoint = join(home, `${module}.d.ts`);
  const compilerOptions = {
    target: "es2024",
    lib: ["es2024"],
    module: "nodenext",
    moduleResolution: "nodenext",
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    // Another package of the repository is found by its sources.
    allowImportingTsExtensions: true,
    noEmit: true,
  };
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: home,
      newlineKind: "lf",
      mainEntryPointFilePath: entryPoint,
      compiler: { overrideTsconfig: { compilerOptions, files: [entryPoint] } },
      apiReport: {
        enabled: true,
        reportFileName: module,
        reportFolder: join(home, "reports"),
        reportTempFolder: join(home, "reports"),
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: "error" as ExtractorLogLevel } },
        extractorMessageReporting: { default: { logLevel: "none" as ExtractorLogLevel } },
        tsdocMessageReporting: { default: { logLevel: "none" as ExtractorLogLevel } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(home, "package.json"),
    packageJson: { name: packageName },
  });
}

/** @throws Error with the messages of the compiler */
function reportOf(config: ExtractorConfig, compilerState: CompilerState): string {
  const errors: string[] = [];
  const messageCallback = (message: ExtractorMessage) => {
    if (message.logLevel === ExtractorLogLevel.Error) errors.push(message.text);
    message.handled = true;
  };
  mkdirSync(config.reportTempFolder, { recursive: true });
  Extractor.invoke(config, { localBuild: true, compilerState, messageCallback });
  if (errors.length > 0) throw new Error(errors.join("\n"));
  const text = readFileSync(config.reportTempFilePath, "utf8");
  // An entry point needs no comment of its own.
  return text.replace("// (No @packageDocumentation comment for this package)\n\n", "");
}

/**
 * A report contains every declaration that it refers to. This function removes those that the
 * report of the main entry point contains too, so that a change is in one report.
 */
function withoutDeclarationsOf(main: string, report: string): string {
  // Empty lines separate the declarations and do not occur in them.
  const parts = (text: string) => text.split("\n\n");
  const withoutExport = (text: string) => text.replace(/^export /m, "");
  const known = new Set(parts(main).map(withoutExport));
  const kept = parts(report)
    .filter((text) => !text.startsWith("// @public") || !known.has(withoutExport(text)))
    .join("\n\n");
  const isUsed = (name: string) => kept.split(new RegExp(`\\b${name}\\b`)).length > 2;
  return kept.replace(/^import .*?(\w+) \} from .*\n/gm, (line, name) =>
    isUsed(name) ? line : "",
  );
}
