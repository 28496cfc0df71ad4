/**
 * The files for language models: llms.txt lists the pages, llms-full.txt contains those that a
 * reader needs to use the product, and every page also exists as Markdown.
 *
 * @see https://llmstxt.org
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { sectionOf } from "./sidebar.ts";
import type { WrittenPage } from "./write-pages.ts";

const TITLE = `# Countersign

> The approval provider for AI agents' tool calls: it records the exact call, asks policy and
> people, and keeps one final decision that the agent's adapter enforces.
`;

/** Sections that explain the project itself. llms-full.txt leaves them out. */
const NOT_IN_FULL = new Set(["Decisions", "Project", "Explanation", "SDK API"]);

export function writeLanguageModelFiles(pages: readonly WrittenPage[], dist: string): void {
  for (const { route, text } of pages) {
    const file = join(dist, `${route}.md`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  writeFileSync(join(dist, "llms.txt"), listOfPages(pages));
  writeFileSync(join(dist, "llms-full.txt"), fullText(pages));
}

export function listOfPages(pages: readonly WrittenPage[]): string {
  const sections = Map.groupBy(pages, ({ route }) => sectionOf(route) ?? "Start");
  const lists = [...sections].map(([name, inside]) => {
    const rows = inside.map(
      ({ route, title, text }) => `- [${title}](/${route}.md): ${firstSentence(text)}`,
    );
    return `## ${name}\n\n${rows.join("\n")}\n`;
  });
  return [TITLE, ...lists].join("\n");
}

export function fullText(pages: readonly WrittenPage[]): string {
  const chosen = pages.filter(({ route }) => !NOT_IN_FULL.has(sectionOf(route) ?? ""));
  return [TITLE, ...chosen.map(({ text }) => text.trimEnd())].join("\n\n---\n\n").concat("\n");
}

/** The first sentence after the heading, without links. */
export function firstSentence(text: string): string {
  const paragraphs = text
    .replace(/<!--[\s\S]*?-->/g, "")
    .split(/\n{2,}/)
    .filter((part) => /^[A-Z`*["]/.test(part.trim()));
  const first = (paragraphs[0] ?? "").replace(/\s+/g, " ").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return /^.*?[.:](?= |$)/.exec(first)?.[0] ?? first;
}
