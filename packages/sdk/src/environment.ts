/**
 * The environment variables of the SDK: COUNTERSIGN_URL and COUNTERSIGN_API_KEY, and NODE_ENV to
 * reject predefined outcomes in production. Runtimes without `process` have none of them.
 */

/** A part of `globalThis`, which is not the same in all runtimes. */
interface Environment {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
}

export function isProduction(environment: Environment = globalThis as Environment): boolean {
  return environment.process?.env?.NODE_ENV?.trim().toLowerCase() === "production";
}

/** @returns undefined for a missing or empty variable */
export function readEnvironment(
  name: "COUNTERSIGN_URL" | "COUNTERSIGN_API_KEY",
  environment: Environment = globalThis as Environment,
): string | undefined {
  return environment.process?.env?.[name]?.trim() || undefined;
}
