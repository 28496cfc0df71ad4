/**
 * Parses `renderers:` of a policy: templates for the readable line of a call. They never change a
 * result.
 */

import { type LineTemplate, readTemplate, TEMPLATE_CHARS_MAX } from "@countersign/review-api/calls";
import { POLICY_KEYS } from "@countersign/review-api/policy-text";
import { Meter, StepsExceeded } from "./meter.ts";
import type { PolicyDocument, YamlLocation } from "./policy-document.ts";
import { readGlobs } from "./read-globs.ts";
import type { Renderer } from "./rule.ts";
import { namesForRestriction, namesOfCall, type ToolName } from "./tool-names.ts";

/** @returns undefined for an invalid renderer; the document's findings have the reason */
export function readRenderer(
  document: PolicyDocument,
  location: YamlLocation,
): Renderer | undefined {
  const members = document.map(location, POLICY_KEYS.renderers, POLICY_KEYS.renderers);
  const line = members?.get("line");
  const tools = readGlobs(document, members?.get("tool"));
  const source = line === undefined ? undefined : document.text(line, TEMPLATE_CHARS_MAX);
  if (line === undefined || source === undefined || tools === undefined) return undefined;
  const template = readTemplate(source);
  if (!("fault" in template)) return { tools, template };
  document.add(line, `the line ${template.fault}`);
  return undefined;
}

/** Steps to match all renderers of a policy. */
const STEPS_MAX = 20_000;

/** The templates for a tool, in the order of the file; none after too many steps. */
export function findTemplates(
  renderers: readonly Renderer[],
  tool: ToolName,
): readonly LineTemplate[] {
  if (renderers.length === 0) return [];
  const meter = new Meter(STEPS_MAX);
  const names = namesOfCall(tool);
  try {
    return renderers.flatMap(({ tools, template }) => {
      const matching = namesForRestriction(names, { tools, fitsServer: undefined }, meter);
      return matching.length > 0 ? [template] : [];
    });
  } catch (error) {
    if (error instanceof StepsExceeded) return [];
    throw error;
  }
}
