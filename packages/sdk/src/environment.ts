/**
 * What the SDK reads of the environment, where there is one: whether this is production, so that
 * canned outcomes are refused there. Nothing else is configured behind a program's back.
 */

interface Environment {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
}

export function isProduction(environment: Environment = globalThis as Environment): boolean {
  return environment.process?.env?.NODE_ENV?.trim().toLowerCase() === "production";
}
