/**
 * The sections of CHANGELOG.md: one for each version, with the latest first.
 */

export interface Change {
  readonly bump: "major" | "minor" | "patch";
  /** Markdown, without a bullet. */
  readonly summary: string;
}

const TITLE = "# Changelog\n\n";

/** @throws Error if the changelog does not start with its title */
export function addSection(changelog: string, version: string, changes: readonly Change[]): string {
  if (!changelog.startsWith(TITLE))
    throw new Error('CHANGELOG.md does not start with "# Changelog"');
  const fixes = changes.filter(({ bump }) => bump === "patch");
  const others = changes.filter(({ bump }) => bump !== "patch");
  const section = [`## ${version}`, ...list("Changes", others), ...list("Fixes", fixes)];
  return `${TITLE}${section.join("\n\n")}\n\n${changelog.slice(TITLE.length)}`;
}

function list(title: string, changes: readonly Change[]): string[] {
  if (changes.length === 0) return [];
  const items = changes.map(({ summary }) => `- ${summary.trim().replace(/\n(?=.)/g, "\n  ")}`);
  return [`### ${title}`, items.join("\n")];
}

/**
 * @returns the text of a version, without its heading
 * @throws Error if the changelog has no section of this version, or it is marked as unreleased
 */
export function readSection(changelog: string, version: string): string {
  const [, heading, text] =
    changelog
      .split(/^(?=## )/m)
      .map((section) => /^## (.+)\n([\s\S]*)$/.exec(section) ?? [])
      .find(([, title]) => title?.split(" ")[0] === version) ?? [];
  if (text === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}".`);
  if (heading !== version) {
    throw new Error(`CHANGELOG.md has "## ${heading}". For a release, write "## ${version}".`);
  }
  return text.trim();
}
