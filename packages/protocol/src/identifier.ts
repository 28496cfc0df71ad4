/** @see contract: Resources, Scalar formats, Identifier */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * @returns the identifier in the spelling in which we store it, or undefined when the text is no
 *   UUID (and so names nothing)
 */
export function parseIdentifier(text: string): string | undefined {
  return UUID.test(text) ? text.toLowerCase() : undefined;
}

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0"),
);

/**
 * A UUIDv7: identifiers made later sort later, so rows are appended rather than scattered.
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
