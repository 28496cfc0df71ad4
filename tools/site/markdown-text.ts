/** Texts that were not written as Markdown for this site, made safe for a page. */

/** Text in which Vue finds no element. Inline code is unchanged. */
export function plain(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? part : part.replaceAll("<", "&lt;")))
    .join("")
    .trim();
}

/** Text for the cell of a table. */
export function cell(text: string): string {
  return plain(text).replace(/\s+/g, " ").replaceAll("|", "\\|");
}
