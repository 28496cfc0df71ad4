/** Names a browser and its device by the user agent string. */

import { t } from "./language/t.ts";

type Names = readonly (readonly [pattern: RegExp, name: string])[];

const BROWSERS: Names = [
  [/Edg\//, "Edge"],
  [/Firefox\//, "Firefox"],
  [/Chrom(?:e|ium)\//, "Chrome"],
  [/Safari\//, "Safari"],
];

const SYSTEMS: Names = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
];

function find(names: Names, userAgent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1];
}

/** For example `Firefox on Linux`. */
export function deviceName(userAgent: string): string {
  const browser = find(BROWSERS, userAgent);
  const system = find(SYSTEMS, userAgent);
  if (browser !== undefined && system !== undefined) return t`${browser} on ${system}`;
  return browser ?? system ?? (userAgent || t`Unknown browser`);
}

/** The name of a new passkey until its owner changes it. */
export function newPasskeyName(): string {
  const system = find(SYSTEMS, navigator.userAgent);
  return system === undefined ? t`Passkey` : t`Passkey on ${system}`;
}
