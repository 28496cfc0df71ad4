/** The entries in settings files that run hooks. Pure. */

/** One hook of an event in a settings file. */
export interface Handler {
  readonly event: string;
  /** Position in the list of the event, and in its group. */
  readonly group: number;
  readonly index: number;
  readonly matcher: unknown;
  /** How many handlers the group has. */
  readonly siblings: number;
  readonly value: Readonly<Record<string, unknown>>;
}

/** A handler in a list of handlers without groups. */
export function singleHandler(event: string, group: number, value: Handler["value"]): Handler {
  return {
    event,
    group,
    index: 0,
    matcher: value.matcher,
    siblings: 1,
    value,
  };
}

/** The command of a handler. A handler of another type has none. */
export function commandOf({ command }: Handler["value"]): string | undefined {
  return typeof command === "string" ? command : undefined;
}

/** Settings that install, doctor and uninstall cannot read or change. */
export class UnusableSettings extends Error {}
