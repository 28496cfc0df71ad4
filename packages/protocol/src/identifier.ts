/** @see contract: Resources, Scalar formats, Identifier */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Parses an identifier.
 *
 * @returns the identifier in lower case, which is the stored form; undefined for text that is not a
 *   UUID
 */
export function parseIdentifier(text: string): string | undefined {
  return UUID.test(text) ? text.toLowerCase() : undefined;
}

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0"),
);

/**
 * Creates a UUIDv7. Later identifiers sort later, so a database appends rows.
 *
 * @param ms milliseconds since the epoch
 * @param random at least 10 unpredictable bytes
 * @see RFC 9562 section 5.7
 */
export function uuidV7(ms: number, random: Uint8Array): string {
  const time = ms.toString(16).padStart(12, "0");
  const hex = (i: number, mask = 0xff, bits = 0) => HEX[((random[i] ?? 0) & mask) | bits];
  return (
    `${time.slice(0, 8)}-${time.slice(8)}-${hex(0, 0x0f, 0x70)}${hex(1)}` +
    `-${hex(2, 0x3f, 0x80)}${hex(3)}` +
    `-${hex(4)}${hex(5)}${hex(6)}${hex(7)}${hex(8)}${hex(9)}`
  );
}

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Epoch ms of a UUIDv7; undefined for anything else. */
export function timeOfId(id: string): number | undefined {
  const [, high, low] = UUID_V7.exec(id) ?? [];
  return high === undefined ? undefined : Number.parseInt(`${high}${low}`, 16);
}

/** The lowest UUIDv7 of a time: sorts after every UUIDv7 of an earlier time. */
export function firstIdAt(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}
