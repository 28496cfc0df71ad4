/** The few ASN.1 types that a certificate is made of, in DER. */

const TAG = { bool: 0x01, integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, utf8: 0x0c } as const;
const UTC_TIME = 0x17;
const SEQUENCE = 0x30;
const SET = 0x31;

/** One element: tag, length in the shortest form, content. */
export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8];
  if (length >= 0x100) head.push(length & 0xff);
  return Buffer.concat([Buffer.of(tag, ...head), content]);
}

export function sequence(...contents: readonly Uint8Array[]): Buffer {
  return element(SEQUENCE, ...contents);
}

export function set(...contents: readonly Uint8Array[]): Buffer {
  return element(SET, ...contents);
}

/** @param hex the encoded identifier */
export function oid(hex: string): Buffer {
  return element(TAG.oid, Buffer.from(hex, "hex"));
}

export function octets(content: Uint8Array): Buffer {
  return element(TAG.octets, content);
}

export function bits(content: Uint8Array, unused = 0): Buffer {
  return element(TAG.bits, Buffer.of(unused), content);
}

/** @param content big-endian, its first bit clear */
export function integer(content: Uint8Array): Buffer {
  return element(TAG.integer, content);
}

export const TRUE = element(TAG.bool, Buffer.of(0xff));

export function utf8(text: string): Buffer {
  return element(TAG.utf8, Buffer.from(text));
}

/** @param ms epoch ms, before 2050 */
export function utcTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/^\d{2}|[-:T]|\.\d+/g, "");
  return element(UTC_TIME, Buffer.from(text));
}
