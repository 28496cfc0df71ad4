/** The signal of a write outside of the agent's working folder. Pure; links are not resolved. */

import type { Call } from "./call.ts";
import { word } from "./call-words.ts";
import { fileEditsIn } from "./file-edit.ts";
import { filesOfPatch } from "./line-edit.ts";
import { type Signal, signal } from "./signal.ts";

const PATH_KEYS = ["file_path", "path", "filename", "patch", "diff", "input"];

/** Only for the file edits of agents that report their folder. */
export function outsideSignal({ tool, args, cwd }: Call): Signal | undefined {
  if (cwd === undefined || !isAbsolute(cwd)) return undefined;
  const files = fileEditsIn(tool, args).flatMap(({ path, kind, after }) =>
    kind === "patch" && path === "" ? filesOfPatch(after) : [path],
  );
  const outside = files.find((file) => !isWithin(file, cwd));
  if (outside === undefined) return undefined;
  const key = PATH_KEYS.find((one) => args.members.has(one));
  const text = `The call writes ${word(outside)}, which is outside of ${word(cwd)}.`;
  return signal("outside_project", text, key);
}

function isAbsolute(path: string): boolean {
  return /^(?:[\\/]|[A-Za-z]:[\\/])/.test(path);
}

function isWithin(path: string, folder: string): boolean {
  // A shell and some tools expand it to the home folder.
  if (path.startsWith("~")) return false;
  const all = namesOf(folder);
  const names = namesOf(isAbsolute(path) ? path : `${folder}/${path}`);
  return all.every((name, index) => names[index] === name);
}

/** The names of an absolute path, without `.` and `..`. */
function namesOf(path: string): string[] {
  const names: string[] = [];
  for (const name of path.split(/[\\/]+/)) {
    if (name === "..") names.pop();
    else if (name !== "." && name !== "")
      names.push(/^[A-Za-z]:$/.test(name) ? name.toLowerCase() : name);
  }
  return names;
}
