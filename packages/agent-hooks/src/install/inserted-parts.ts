/** Removes the parts that install added to a text. Pure. */

/**
 * @param parts in the order of their insertion
 * @param read throws if the text is not readable
 * @returns the text without those parts that occur once, and leave a readable rest
 */
export function removeParts(
  text: string,
  parts: readonly string[],
  read: (text: string) => unknown,
): string {
  return parts.reduceRight((left, part) => {
    const at = left.indexOf(part);
    if (at === -1 || left.indexOf(part, at + 1) !== -1) return left;
    const rest = left.slice(0, at) + left.slice(at + part.length);
    return isReadable(rest, read) ? rest : left;
  }, text);
}

function isReadable(text: string, read: (text: string) => unknown): boolean {
  try {
    if (text.trim() !== "") read(text);
    return true;
  } catch {
    return false;
  }
}
