/**
 * Decides whether a path is below a folder from its text. The path may still lead through a
 * symbolic link.
 *
 * Guarantees: false for any path that another program could resolve differently.
 */

/** Characters that some programs do not treat as part of a file name. */
const READ_OTHERWISE = /[\p{Cc}\p{Zl}\p{Zp}\\]|^~/u;

/** Besides `.` and `..`: some systems drop trailing dots and spaces, and `:` names a drive. */
const NAMED_OTHERWISE = /[. ]$|:/;

/**
 * @param folder absolute or relative, like the path; `.` is the base of relative paths
 * @returns undefined for an invalid folder: empty, or with `..`
 */
export function isWithin(path: string, folder: string): boolean | undefined {
  const start = folder.endsWith("/") ? folder : `${folder}/`;
  if (folder === "" || start.split("/").includes("..")) return undefined;
  if (READ_OTHERWISE.test(path)) return false;
  const isHere = start === "./";
  if (isHere ? path.startsWith("/") : !path.startsWith(start)) return false;
  const rest = isHere ? path : path.slice(start.length);
  return rest.split("/").every((name) => name !== "" && !NAMED_OTHERWISE.test(name));
}
