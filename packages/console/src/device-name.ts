/** Names a browser and its device by the user agent string. */

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
  const parts = [find(BROWSERS, userAgent), find(SYSTEMS, userAgent)];
  return parts.filter((part) => part !== undefined).join(" on ") || userAgent || "Unknown browser";
}

/** The name of a new passkey until its owner changes it. */
export function newPasskeyName(): string {
  const system = find(SYSTEMS, navigator.userAgent);
  return system === undefined ? "Passkey" : `Passkey on ${system}`;
}
