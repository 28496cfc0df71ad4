/** @param globs tool names in which `*` matches any characters */

export function matchesAny(tool: string, globs: readonly string[]): boolean {
  return globs.some((glob) => {
    const parts = glob.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`, "s").test(tool);
  });
}
