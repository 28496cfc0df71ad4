/**
 * Names of groups, which rules of policy go by: those of reviewers and those of instances.
 *
 * Called by: operations that put somebody into groups.
 */

/** At most so many for one reviewer or instance. */
export const GROUPS_MAX = 32;

const GROUP_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/**
 * What is wrong with these names, so that it completes a sentence that begins with `groups`;
 * undefined when nothing is.
 */
export function groupsFault(names: readonly string[]): string | undefined {
  if (!names.every((name) => GROUP_NAME.test(name))) {
    return "must be names of 1 to 64 of a-z, 0-9, dot, underscore and hyphen, not led by a sign";
  }
  return new Set(names).size > GROUPS_MAX ? `must not be more than ${GROUPS_MAX}` : undefined;
}

/** Each once, in the order in which they are stored. */
export function toGroups(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
