/**
 * A name server on loopback, over UDP: enough of RFC 1035 for questions of one name.
 */

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { parseAddress } from "../../src/core/address.ts";
import type { Lifetime } from "./test-provider.ts";

export type QuestionType = "A" | "AAAA";

export interface DnsAnswer {
  /** 0 without it; 2 is SERVFAIL, 3 is NXDOMAIN. */
  readonly code?: number;
  /** Of the family that was asked for; none is NODATA. */
  readonly addresses?: readonly string[];
  /** The name that the addresses belong to. */
  readonly alias?: string;
}

/** @returns undefined: silence */
export type AnswerQuestion = (name: string, type: QuestionType) => DnsAnswer | undefined;

export interface DnsServer {
  /** For `setServers`. */
  readonly address: string;
  /** `A receiver.example`, in the order of arrival. */
  readonly questions: readonly string[];
}

const HEADER_BYTES = 12;
const TYPE = { A: 1, CNAME: 5, AAAA: 28 };
const CLASS_INTERNET = 1;
const TTL_S = 60;
const ANSWER_FLAGS = 0x8180;
/** Points to the name in the question. */
const SAME_NAME = Buffer.of(0xc0, HEADER_BYTES);

export async function startDnsServer(t: Lifetime, answer: AnswerQuestion): Promise<DnsServer> {
  const questions: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, peer) => {
    const { name, type, end } = readQuestion(query);
    questions.push(`${type} ${name}`);
    const given = answer(name, type);
    if (given === undefined) return;
    socket.send(writeAnswer(query.subarray(0, end), type, given), peer.port, peer.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  t.after(() => {
    socket.close();
  });
  return { address: `127.0.0.1:${socket.address().port}`, questions };
}

function readQuestion(query: Buffer): { name: string; type: QuestionType; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("ascii", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1) === TYPE.A ? "A" : "AAAA";
  return { name: labels.join("."), type, end: at + 5 };
}

function writeAnswer(question: Buffer, type: QuestionType, answer: DnsAnswer): Buffer {
  const { code = 0, addresses = [], alias } = answer;
  const aliasName = alias === undefined ? undefined : writeName(alias);
  const records = addresses.map((address) =>
    writeRecord(aliasName ?? SAME_NAME, TYPE[type], parseAddress(address) ?? Buffer.of()),
  );
  if (aliasName !== undefined) records.unshift(writeRecord(SAME_NAME, TYPE.CNAME, aliasName));
  const head = Buffer.from(question);
  head.writeUInt16BE(ANSWER_FLAGS | code, 2);
  head.writeUInt16BE(records.length, 6);
  // No further section: neither authorities nor the question's own options.
  head.fill(0, 8, HEADER_BYTES);
  return Buffer.concat([head, ...records]);
}

function writeRecord(name: Uint8Array, type: number, data: Uint8Array): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(CLASS_INTERNET, 2);
  fixed.writeUInt32BE(TTL_S, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([name, fixed, data]);
}

function writeName(name: string): Buffer {
  const labels = name
    .split(".")
    .map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.of(0)]);
}
