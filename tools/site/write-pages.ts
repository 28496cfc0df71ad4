/**
 * Writes the Markdown that VitePress builds into site/pages: the pages of the repository, those of
 * the HTTP API and of the SDK, copies of linked files, and the navigation.
 */

import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { BASE } from "./check-built-site.ts";
import { httpPages } from "./http-pages.ts";
import { sidebarOf, topBarOf } from "./sidebar.ts";
import { COPIES, readSitePages, type SitePage, titleOf } from "./site-pages.ts";

export const ROOT = resolve(import.meta.dirname, "../..");
export const SITE = join(ROOT, "site");
export const PAGES = join(SITE, "pages");

export interface WrittenPage {
  readonly route: string;
  readonly title: string;
  readonly text: string;
}

/** @returns every page, and the links that lead to nothing that the site can show */
export function writePages(): { pages: readonly WrittenPage[]; unresolved: readonly string[] } {
  rmSync(PAGES, { recursive: true, force: true });
  const { pages: own, images, unresolved } = readSitePages(ROOT);
  for (const path of images) copy(path, join(PAGES, "public", COPIES, path));
  for (const name of ["openapi.yaml", "extensions.yaml", "review.openapi.yaml"]) {
    copy(`contract/${name}`, join(PAGES, "public", COPIES, "contract", name));
  }
  const pages: WrittenPage[] = [...own, ...httpPages(ROOT, BASE)];
  for (const { route, text } of pages) {
    writeFile(join(PAGES, `${route}.md`), frontmatterOf(route) + text);
  }
  pages.push(...writeSdkPages());
  const order = JSON.parse(readFileSync(join(SITE, "order.json"), "utf8")) as string[];
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const shown = pages.filter(({ route }) => !isCopy(route, own));
  const sidebar = sidebarOf(shown, order);
  const nav = topBarOf(sidebar);
  writeFile(join(PAGES, "navigation.json"), JSON.stringify({ sidebar, nav, version }, null, 2));
  return { pages, unresolved };
}

const FIRST_PAGE =
  "---\nsidebar: false\naside: false\nprev: false\nnext: false\npageClass: home\n---\n\n";

/** Whether the page shows a file that is not documentation. */
function isCopy(route: string, own: readonly SitePage[]): boolean {
  if (!route.startsWith(`${COPIES}/`)) return false;
  return own.some((page) => page.route === route && !page.source.endsWith(".md"));
}

/** The settings of a page for VitePress. GitHub would show them, so they are not in the files. */
function frontmatterOf(route: string): string {
  if (route === "index") return FIRST_PAGE;
  return route.startsWith(`${COPIES}/`) ? "---\nsearch: false\n---\n\n" : "";
}

/** @returns the pages that TypeDoc wrote */
function writeSdkPages(): WrittenPage[] {
  const command = join(SITE, "node_modules/typedoc/bin/typedoc");
  const { status } = spawnSync(process.execPath, [command], { cwd: SITE, stdio: "inherit" });
  if (status !== 0) throw new Error("TypeDoc failed. Its messages are above.");
  const names = globSync("reference/sdk-api/**/*.md", { cwd: PAGES });
  return names.sort().map((name) => {
    const file = join(PAGES, name);
    const text = readFileSync(file, "utf8").replace(/^# (.+)$/m, (_, module: string) =>
      module === "SDK API" ? "# SDK API" : `# @countersign/sdk${moduleOf(module)}`,
    );
    writeFileSync(file, text);
    return { route: name.replace(/\.md$/, ""), title: titleOf(text, name), text };
  });
}

/** The subpath after the name of the package in an import. */
function moduleOf(name: string): string {
  return name === "index" ? "" : `/${name}`;
}

function copy(path: string, target: string): void {
  mkdirSync(dirname(target), { recursive: true });
  cpSync(join(ROOT, path), target);
}

function writeFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
