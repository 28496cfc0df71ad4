/**
 * The pages of the documentation site, found in the repository: Markdown files of docs/, the pages
 * at the root, and every other Markdown file that one of them links to.
 */

import { existsSync, globSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { outsideCode } from "./markdown.ts";

export interface SitePage {
  /** Path of the file from the root of the repository. */
  readonly source: string;
  /** Path in the site, without extension. */
  readonly route: string;
  readonly title: string;
  /** Markdown with the links of the site. */
  readonly text: string;
}

export interface SiteContent {
  readonly pages: readonly SitePage[];
  /** Paths from the root of images. They are copied. */
  readonly images: readonly string[];
  /** Links to what does not exist, as `source: target`. */
  readonly unresolved: readonly string[];
}

const ROOT_PAGES: Readonly<Record<string, string>> = {
  "ARCHITECTURE.md": "explanation/architecture",
  "SECURITY.md": "explanation/security",
  "CHANGELOG.md": "changelog",
  "CONTRIBUTING.md": "contributing",
  "README.md": "index",
};

/** Where the site shows files that are not documentation. */
export const COPIES = "repository";

const IMAGE = /\.(?:png|svg|jpe?g|webp)$/;

/** The route of a Markdown file, of another file or of a folder. */
export function routeOf(source: string): string {
  const named = ROOT_PAGES[source];
  if (named !== undefined) return named;
  if (source.startsWith("docs/") && source.endsWith(".md")) return source.slice(5, -3);
  const path = source.replace(/\.md$/, "").toLowerCase();
  // A router that finds an extension looks for a file.
  return `${COPIES}/${path.replaceAll(".", "-")}`;
}

/** Reads every page of the site. @param root of the repository */
export function readSitePages(root: string): SiteContent {
  const docs = globSync("docs/**/*.md", { cwd: root }).map((path) => path.replaceAll("\\", "/"));
  const atRoot = Object.keys(ROOT_PAGES).filter((path) => path !== "README.md");
  const queue = [...docs.sort(), ...atRoot.filter((path) => existsSync(join(root, path)))];
  const queued = new Set(queue);
  const pages: SitePage[] = [];
  const images = new Set<string>();
  const unresolved: string[] = [];
  for (const source of queue) {
    const markdown = markdownOf(root, source);
    const text = replaceLinks(markdown, (target) => {
      const found = resolveLink(root, source, target);
      if (found === undefined) {
        unresolved.push(`${source}: ${target}`);
        return target;
      }
      const { path, anchor } = found;
      if (IMAGE.test(path)) {
        images.add(path);
        return `/${COPIES}/${path}`;
      }
      if (!queued.has(path) && path !== "README.md") {
        queued.add(path);
        queue.push(path);
      }
      return `/${routeOf(path)}${anchor}`;
    });
    pages.push({ source, route: routeOf(source), title: titleOf(markdown, source), text });
  }
  return { pages, images: [...images].sort(), unresolved };
}

/** A page of the repository, or one that shows a file or the names in a folder. */
function markdownOf(root: string, source: string): string {
  const file = join(root, source);
  if (statSync(file).isDirectory()) {
    const names = readdirSync(file).filter((name) => !name.startsWith("."));
    const list = names.sort().map((name) => `- [${name}](${posix.basename(source)}/${name})`);
    return `# ${source}\n\n${list.join("\n")}\n`;
  }
  const text = readFileSync(file, "utf8");
  if (source.endsWith(".md")) return text;
  const language = LANGUAGES[posix.extname(source)] ?? "text";
  return `# ${source}\n\n\`\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\`\n`;
}

const LANGUAGES: Readonly<Record<string, string>> = {
  ".json": "json",
  ".mjs": "js",
  ".py": "python",
  ".sh": "sh",
  ".ts": "ts",
  ".yaml": "yaml",
  ".yml": "yaml",
};

/** The text of the first heading, without marks. */
export function titleOf(markdown: string, source: string): string {
  const heading = /^# (.+)$/m.exec(markdown)?.[1];
  if (heading === undefined) throw new Error(`${source} has no heading of level 1.`);
  return heading.replaceAll("`", "").trim();
}

interface ResolvedLink {
  /** From the root of the repository. */
  readonly path: string;
  /** With its number sign, or empty. */
  readonly anchor: string;
}

/** @returns undefined when the target is not a file of the repository */
function resolveLink(root: string, source: string, target: string): ResolvedLink | undefined {
  const [, relative = "", anchor = ""] = /^([^#]*)(#.*)?$/.exec(target) ?? [];
  const path = posix.normalize(posix.join(posix.dirname(source), decodeURI(relative)));
  const file = join(root, path);
  if (path.startsWith("..") || !existsSync(file)) return undefined;
  if (!statSync(file).isDirectory()) return { path, anchor };
  const readme = posix.join(path, "README.md");
  if (existsSync(join(root, readme))) return { path: readme, anchor };
  return { path: path.replace(/\/$/, ""), anchor };
}

const LINK = /(\]\()([^)\s]+)([^)]*\))/g;
const IMAGE_TAG = /(<img\b[^>]*\bsrc=")([^"]+)(")/g;
/** An address with a scheme, an anchor of the same page, or a path of the site. */
const ABSOLUTE = /^(?:[a-z][a-z+.-]*:|#|\/)/i;

/** The Markdown with the relative targets of links and images replaced. Code is unchanged. */
export function replaceLinks(markdown: string, replace: (target: string) => string): string {
  const replaced = (_: string, before: string, target: string, after: string) =>
    `${before}${ABSOLUTE.test(target) ? target : replace(target)}${after}`;
  return outsideCode(markdown, (text) => text.replace(LINK, replaced).replace(IMAGE_TAG, replaced));
}
