/**
 * The definition of each tool at its last approved call, in one file for each server and tool.
 * A changed definition needs the decision of a person, see `tool_definition_change`.
 *
 * Promises: only the user of the gateway can read the files, and a crash leaves them whole. Several
 * gateways can share the folder. A file that cannot be read stops the calls of its tool.
 */

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { digestOfText, type ListedTool } from "./definitions.ts";

/** A definition as it was remembered. */
export type RememberedTool = Pick<ListedTool, "text" | "digest">;

/** The content of a file. */
interface Stored {
  readonly server: string;
  readonly tool: string;
  readonly digest: string;
  readonly definition: string;
}

/** The memory cannot be used. The message is for the operator. */
export class ToolMemoryError extends Error {}

export class ToolMemory {
  readonly #folder: string;

  /** @param stateFolder it deletes old files, so the definitions are in a folder beside it */
  constructor(stateFolder: string) {
    this.#folder = `${stateFolder}-tools`;
  }

  /**
   * @returns undefined when no call of this tool was approved
   * @throws ToolMemoryError
   */
  async read(server: string, tool: string): Promise<RememberedTool | undefined> {
    const path = this.#pathOf(server, tool);
    let text: string;
    try {
      text = await readFile(path, "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw new ToolMemoryError(`${path} cannot be read (${codeOf(error)}).`);
    }
    const stored = parse(text);
    if (stored === undefined || stored.server !== server || stored.tool !== tool) {
      const fix = "Review the definition of the tool, and delete the file.";
      throw new ToolMemoryError(`${path} is damaged. ${fix}`);
    }
    return { text: stored.definition, digest: stored.digest };
  }

  /**
   * Remembers the definition, unless another one than the expected one is remembered now.
   *
   * @param before the definition that the decision was based on
   * @returns false when the other one stays
   * @throws ToolMemoryError
   */
  async remember(
    server: string,
    { name, text, digest }: Omit<ListedTool, "definition">,
    before: RememberedTool | undefined,
  ): Promise<boolean> {
    const now = await this.read(server, name);
    if (now?.digest === digest) return true;
    if (now?.digest !== before?.digest) return false;
    const stored: Stored = { server, tool: name, digest, definition: text };
    const path = this.#pathOf(server, name);
    try {
      if (await this.#write(path, `${JSON.stringify(stored)}\n`, before === undefined)) return true;
    } catch (error) {
      throw new ToolMemoryError(`${path} cannot be written (${codeOf(error)}).`);
    }
    // Another gateway has remembered a definition in between.
    return (await this.read(server, name))?.digest === digest;
  }

  /** @returns false when `isNew` and the file exists */
  async #write(path: string, text: string, isNew: boolean): Promise<boolean> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const draft = `${path}.${randomUUID()}`;
    try {
      const file = await open(draft, "wx", 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      if (isNew) await link(draft, path);
      else await rename(draft, path);
      return true;
    } catch (error) {
      if (isNew && codeOf(error) === "EEXIST") return false;
      throw error;
    } finally {
      await rm(draft, { force: true });
    }
  }

  /** A digest, because names of tools can contain any characters. */
  #pathOf(server: string, tool: string): string {
    const name = createHash("sha256").update(tool).digest("hex");
    return join(this.#folder, `${server}.${name}.json`);
  }
}

/** @returns undefined for a damaged file */
function parse(text: string): Stored | undefined {
  try {
    const stored = JSON.parse(text) as Partial<Stored>;
    const { definition, digest } = stored;
    if (typeof definition !== "string" || digestOfText(definition) !== digest) return undefined;
    return stored as Stored;
  } catch {
    return undefined;
  }
}

function codeOf(error: unknown): string {
  return String((Object(error) as { readonly code?: unknown }).code);
}
