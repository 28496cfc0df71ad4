/**
 * Reads the only environment variable of the SDK: NODE_ENV, to reject predefined outcomes in
 * production.
 */

interface Environment {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
}

export function isProduction(environment: Environment = globalThis as Environment): boolean {
  return environment.process?.env?.NODE_ENV?.trim().toLowerCase() === "production";
}
