/** Paths of values in arguments. Pure. */

const PLAIN = /^[A-Za-z_][\w-]*$/;

/** `a.b`, or `a["b c"]` when the name needs quotes. */
export function joinPath(path: string, name: string): string {
  if (!PLAIN.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}
