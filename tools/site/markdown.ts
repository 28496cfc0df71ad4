/** Reads Markdown as far as the site needs it: code blocks, anchors of headings. */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** The Markdown with every part outside of fenced code and inline code changed. */
export function outsideCode(markdown: string, change: (text: string) => string): string {
  return splitFences(markdown)
    .map(({ isCode, text }) => (isCode ? text : changeOutsideInlineCode(text, change)))
    .join("");
}

/** Inline code may be the text of a link, so it is hidden while the text is changed. */
function changeOutsideInlineCode(text: string, change: (text: string) => string): string {
  const kept: string[] = [];
  const hidden = text.replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, (code) => {
    kept.push(code);
    return `\uE000${kept.length - 1}\uE001`;
  });
  return change(hidden).replace(/\uE000(\d+)\uE001/g, (_, index) => kept[Number(index)] ?? "");
}

interface Part {
  readonly isCode: boolean;
  readonly text: string;
}

/** Fenced code with its fences, and what is between. */
function splitFences(markdown: string): Part[] {
  const parts: Part[] = [];
  let lines: string[] = [];
  let fence: string | undefined;
  const close = (isCode: boolean) => {
    if (lines.length > 0) parts.push({ isCode, text: lines.join("") });
    lines = [];
  };
  for (const line of markdown.split(/(?<=\n)/)) {
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined) {
      if (mark !== undefined) {
        close(false);
        fence = mark;
      }
      lines.push(line);
      continue;
    }
    lines.push(line);
    if (mark?.startsWith(fence) === true && line.trim() === mark) {
      close(true);
      fence = undefined;
    }
  }
  close(fence !== undefined);
  return parts;
}

/**
 * The anchors of the headings, as GitHub makes them: lower case, spaces become hyphens, other
 * punctuation is removed, and a repeated anchor gets a number.
 */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  const counts = new Map<string, number>();
  const prose = splitFences(markdown).filter(({ isCode }) => !isCode);
  for (const { text } of prose) {
    for (const [, heading = ""] of text.matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
      const base = slugOf(heading);
      const count = counts.get(base) ?? 0;
      counts.set(base, count + 1);
      anchors.add(count === 0 ? base : `${base}-${count}`);
    }
    for (const [, id = ""] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id);
  }
  return anchors;
}

function slugOf(heading: string): string {
  const text = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[*`]/g, "");
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");
}
