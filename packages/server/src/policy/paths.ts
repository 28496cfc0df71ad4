/**
 * Whether a path lies below a folder, judged by its text alone: the path may still lead through a
 * symbolic link.
 *
 * Promises: false for whatever could be read as another place.
 */

/** What systems or programs read as something else than the name of a file. */
const READ_OTHERWISE = /[\p{Cc}\p{Zl}\p{Zp}\\]|^~/u;

/** Besides `.` and `..`: some systems drop dots and spaces at the end, and `:` names a drive. */
const NAMED_OTHERWISE = /[. ]$|:/;

/**
 * @param folder absolute or relative, as the path must be; `.` is wherever relative paths begin
 * @returns undefined when the folder is none: empty, or with `..` in it
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
