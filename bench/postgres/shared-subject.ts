/**
 * Providers on PostgreSQL for the benchmark.
 */

import { randomBytes } from "node:crypto";
import { type ServedSubject, type Subject, type SubjectOptions, startSubject } from "../subject.ts";

/** The settings that all replicas of one database share. */
export type SharedSettings = Readonly<Record<"database_url" | "secret_key", string>>;

export function sharedSettings(url: string): SharedSettings {
  return { database_url: url, secret_key: randomBytes(32).toString("base64") };
}

export function startShared(
  url: string,
  connections: number,
  options: Partial<SubjectOptions> = {},
): Promise<ServedSubject> {
  return startSubject({ connections, settings: sharedSettings(url), ...options });
}

/** Far from the calls of the first replica: they share the keys of one instance. */
const SECOND_NUMBER = 100_000_000;

/** @returns two providers of one database, with the same instance */
export async function startReplicas(
  url: string,
  connections: number,
): Promise<readonly [Subject, Subject]> {
  const settings = sharedSettings(url);
  const first = await startSubject({ connections, settings });
  const firstNumber = SECOND_NUMBER;
  return [first, await startSubject({ connections, settings, firstNumber })];
}
