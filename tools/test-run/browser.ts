/**
 * Finds a Chromium for the tests of pages: the file that CHROMIUM names, the one of the package
 * @sparticuz/chromium on Linux x64, or an installed browser. The one of the package is the same on
 * each machine, has no windows, and needs about a quarter less processor time.
 *
 * The package contains compressed files. They are unpacked once into node_modules/.cache.
 */

import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

const INSTALLED: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  linux: [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
    "/usr/bin/microsoft-edge",
    "/opt/google/chrome/chrome",
    "/snap/bin/chromium",
  ],
  darwin: [
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
  ],
};

export interface FoundBrowser {
  readonly executable: string;
  /** Variables that it needs besides those of this process. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface BrowserNeeds {
  readonly notifications?: boolean;
}

/** @returns undefined if this machine has no such browser */
export function findBrowser(
  { notifications = false }: BrowserNeeds = {},
  installed: readonly string[] = INSTALLED[process.platform] ?? [],
): FoundBrowser | undefined {
  const named = process.env.CHROMIUM;
  if (named !== undefined) {
    if (!existsSync(named)) throw new Error(`CHROMIUM names ${named}, which does not exist.`);
    return { executable: named, environment: {} };
  }
  // It is built without notifications.
  const unpacked = notifications ? undefined : unpackedBrowser();
  if (unpacked !== undefined) return unpacked;
  const executable = installed.find((file) => existsSync(file));
  return executable === undefined ? undefined : { executable, environment: {} };
}

/** Prints the paths after unpacking. The variable makes it unpack its libraries as well. */
const UNPACK = `
  const { default: chromium } = await import(process.argv[1]);
  await chromium.executablePath();
`;

function unpackedBrowser(): FoundBrowser | undefined {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  const require = createRequire(import.meta.url);
  const entry = require.resolve("@sparticuz/chromium");
  const manifest = join(ROOT, "node_modules/@sparticuz/chromium/package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string };
  const cache = join(ROOT, "node_modules/.cache");
  const home = join(cache, `chromium-${version}`);
  if (!existsSync(home)) unpack(entry, cache, home);
  return {
    executable: join(home, "chromium"),
    environment: {
      LD_LIBRARY_PATH: join(home, "al2023/lib"),
      FONTCONFIG_PATH: join(home, "fonts"),
    },
  };
}

/** Several processes may unpack at the same time: the first one to finish wins. */
function unpack(entry: string, cache: string, home: string): void {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "chromium-"));
  const env = { TMPDIR: folder, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x" };
  execFileSync(process.execPath, ["--input-type=module", "-e", UNPACK, entry], { env });
  // The file of the package names folders of another system.
  writeFileSync(join(folder, "fonts/fonts.conf"), fontsConfiguration(home));
  try {
    renameSync(folder, home);
  } catch (error) {
    if (!existsSync(home)) throw error;
    rmSync(folder, { recursive: true });
  }
}

function fontsConfiguration(home: string): string {
  const folders = [join(home, "fonts/fonts"), "/usr/share/fonts", "/usr/local/share/fonts"];
  const dirs = folders.map((folder) => `<dir>${folder}</dir>`).join("");
  return `<fontconfig>${dirs}<cachedir>${join(home, "fonts-cache")}</cachedir></fontconfig>\n`;
}
