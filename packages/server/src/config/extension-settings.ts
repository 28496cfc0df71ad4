/**
 * The protocol extensions that the operator accepts: one setting with their names.
 *
 * @see docs/reference/extensions.md
 */

import { EXTENSIONS, type Extension } from "@countersign/protocol";
import { splitList } from "./list.ts";
import type { Option } from "./option.ts";

export type ExtensionSettings = Readonly<Record<Extension, boolean>>;

export const EXTENSION_OPTIONS = [
  {
    name: "extensions",
    type: "text",
    default: "",
    value: "NAME,NAME",
    group: "server",
    help: "Protocol extensions to accept: consume, outcome, server.",
  },
] as const satisfies readonly Option[];

export function* findExtensionFaults(text: string): Generator<string> {
  const names = splitList(text);
  for (const name of names) {
    if (EXTENSIONS.some((each) => each === name)) continue;
    yield `extensions: unknown name ${JSON.stringify(name)}; use ${EXTENSIONS.join(", ")}`;
  }
  if (names.includes("outcome") && !names.includes("consume")) {
    yield "extensions: outcome requires consume; set both";
  }
}

/** @param text a list without faults */
export function toExtensionSettings(text: string): ExtensionSettings {
  const names = splitList(text);
  return {
    consume: names.includes("consume"),
    outcome: names.includes("outcome"),
    server: names.includes("server"),
  };
}
