/** Compares the members of a SCIM group before and after a change. Pure. */

/** Ids of users. */
export interface ComparedMembers {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly kept: readonly string[];
}

/** In linear time: a group can have many thousands of members. */
export function compareMembers(
  before: readonly string[],
  after: readonly string[],
): ComparedMembers {
  const [old, wanted] = [new Set(before), new Set(after)];
  return {
    added: after.filter((id) => !old.has(id)),
    removed: before.filter((id) => !wanted.has(id)),
    kept: before.filter((id) => wanted.has(id)),
  };
}
