/**
 * Joins the modules of a package into few files: one for each module that others import, and one
 * for each group of modules that is loaded on demand. The load of separate modules takes most of
 * the start of the server.
 */

import { dirname, join, relative } from "node:path";
import { type Plugin, rolldown } from "rolldown";

export interface JoinOrder {
  /** Folder of the sources. */
  readonly src: string;
  /** Takes the modules and their source maps. */
  readonly dist: string;
  /** Modules that others import: paths in the folder of the sources, without an extension. */
  readonly entries: readonly string[];
  /** A version of the language, like `es2024`. */
  readonly target: string;
}

/** Replaced by the folder of a module when the place of its code is known. */
const FOLDER = /__FOLDER_OF_MODULE__\("([^"]*)", "(dirname|url)"\)/g;

/**
 * Modules find their assets from their folder in the sources, which the package has as well. No
 * replacement changes a line, so the source maps stay right.
 */
function keepFolders(src: string): Plugin {
  return {
    name: "keep-folders",
    transform(code, id) {
      const folder = relative(src, dirname(id));
      const changed = code.replace(
        /\bimport\.meta\.(dirname|url)\b/g,
        (_, name: string) => `__FOLDER_OF_MODULE__("${folder}", "${name}")`,
      );
      return changed === code ? undefined : { code: changed, map: null };
    },
    renderChunk(code, { fileName }) {
      const changed = code.replace(FOLDER, (_, folder: string, name: string) => {
        const path = relative(dirname(fileName), folder) || ".";
        return name === "url"
          ? `new URL("${path}/", import.meta.url).href`
          : `(import.meta.dirname + "/${path}")`;
      });
      return changed === code ? undefined : { code: changed, map: null };
    },
  };
}

/** @throws Error if a module of the package cannot be found */
export async function joinModules({ src, dist, entries, target }: JoinOrder): Promise<void> {
  const build = await rolldown({
    cwd: src,
    input: Object.fromEntries(entries.map((entry) => [entry, join(src, `${entry}.ts`)])),
    platform: "node",
    // Other packages are dependencies, also those of this repository.
    external: (name) => !/^[./]/.test(name),
    plugins: [keepFolders(src)],
    transform: { target },
    // A module that only has effects must run where the source imports it.
    treeshake: false,
  });
  await build.write({
    dir: dist,
    format: "esm",
    sourcemap: true,
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    comments: false,
    // Names appear in logs and stack traces.
    keepNames: true,
  });
  await build.close();
}

if (import.meta.main) await joinModules(JSON.parse(process.argv[2] ?? "") as JoinOrder);
