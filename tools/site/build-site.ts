/**
 * Builds the documentation site into site/dist and checks its links: `npm run site`. With `dev`, it
 * serves the site on a loopback port and follows changes: `npm run site:dev`.
 */

import { spawn, spawnSync } from "node:child_process";
import { existsSync, watch } from "node:fs";
import { join } from "node:path";
import { checkBuiltSite } from "./check-built-site.ts";
import { writeLanguageModelFiles } from "./language-model-files.ts";
import { ROOT, SITE, writePages } from "./write-pages.ts";

const DIST = join(SITE, "dist");
const VITEPRESS = join(SITE, "node_modules/vitepress/bin/vitepress.js");

function installOnce(): void {
  if (existsSync(VITEPRESS)) return;
  run("npm", ["ci", "--prefix", SITE]);
}

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}.`);
}

function build(): void {
  const { pages, unresolved } = writePages();
  run(process.execPath, [VITEPRESS, "build", SITE]);
  writeLanguageModelFiles(pages, DIST);
  const faults = [
    ...unresolved.map((link) => `${link}: the site cannot show this target`),
    ...checkBuiltSite(DIST),
  ];
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) throw new Error(`The site has ${faults.length} faults.`);
  console.log(`Built ${pages.length} pages into site/dist.`);
}

function develop(): void {
  writePages();
  let timer: NodeJS.Timeout | undefined;
  watch(join(ROOT, "docs"), { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(writePages, 200);
  });
  const args = [VITEPRESS, "dev", SITE, "--host", "127.0.0.1"];
  spawn(process.execPath, args, { stdio: "inherit" }).on("exit", (code) => process.exit(code ?? 1));
}

installOnce();
if (process.argv[2] === "dev") develop();
else build();
