/**
 * A TCP proxy in front of a database that cuts a connection at a commit: before the database
 * receives it or after it has answered, which the client cannot distinguish. It also lets
 * connections die in silence, and takes LISTEN as poolers and other engines do.
 */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Lifetime } from "./test-provider.ts";

export interface CuttingProxy {
  /** The URL of the database, through the proxy. */
  readonly url: string;
  /** Where to cut at the next commit. */
  cut: "before" | "after" | undefined;
  /** Whether connections are refused. */
  isDown: boolean;
  /**
   * The result of LISTEN: an error, as of an engine without it; nothing; or, as at a pooler that
   * lends connections, only notifications that are sent on the same connection arrive.
   */
  listen: "refused" | "ignored" | "own" | undefined;
  /** Notifications that did not arrive. */
  withheld: number;
  /** Of the client, each with one statement or several; without notifications. */
  messages: number;
  /** Ends all connections. */
  cutAll(): void;
  /** Passes on nothing any more on the connections that there are, which stay open. */
  silence(): void;
}

const COMMIT = Buffer.from("commit\0");
/** BackendKeyData in the protocol of PostgreSQL, as far as the process id. */
const BACKEND_KEY = Buffer.from([0x4b, 0, 0, 0, 12]);
/** Type of a NotificationResponse; its length and the process that notifies follow. */
const NOTIFICATION = "A".charCodeAt(0);
/** Type of a Sync, which ends a message of the client. */
const SYNC = "S".charCodeAt(0);
/**
 * The channel of the notifications, which no exchange waits for. Every notification has its name,
 * but only the first probe on a connection has the text of its statement.
 */
const CHANNEL = Buffer.from("countersign_wake");
const LISTEN = Buffer.from("listen countersign_wake");
/** As long, because the message says before how long it is. */
const REFUSED = Buffer.from("listem countersign_wake");
const IGNORED = Buffer.from("select 'listen ignored'");

export async function startCuttingProxy(t: Lifetime, url: string): Promise<CuttingProxy> {
  const target = new URL(url);
  const open = new Set<Socket>();
  const silences: (() => void)[] = [];
  const server = createServer((client) => {
    if (proxy.isDown) return client.destroy();
    const database = connect(Number(target.port), target.hostname);
    const end = () => {
      client.destroy();
      database.destroy();
    };
    for (const socket of [client, database]) {
      open.add(socket);
      socket.on("error", end).on("close", end);
    }
    const syncsIn = syncCounter();
    let isLast = false;
    let isSilent = false;
    /** Of the process of the database behind this connection. */
    let processId = 0;
    silences.push(() => {
      isSilent = true;
    });
    client.on("data", (chunk) => {
      if (isSilent) return;
      const syncs = syncsIn(chunk);
      if (!chunk.includes(CHANNEL)) proxy.messages += syncs;
      const cut = chunk.includes(COMMIT) ? proxy.cut : undefined;
      if (cut !== undefined) proxy.cut = undefined;
      if (cut === "before") return end();
      isLast = cut === "after";
      const at = chunk.indexOf(LISTEN);
      const replaces = proxy.listen === "refused" || proxy.listen === "ignored";
      if (replaces && at >= 0) chunk.set(proxy.listen === "refused" ? REFUSED : IGNORED, at);
      database.write(chunk);
    });
    database.on("data", (chunk) => {
      const keyAt = chunk.indexOf(BACKEND_KEY);
      if (keyAt >= 0) processId = chunk.readUInt32BE(keyAt + BACKEND_KEY.length);
      const isNotification = chunk[0] === NOTIFICATION && proxy.listen === "own";
      const isOfOthers = isNotification && chunk.readUInt32BE(5) !== processId;
      if (isOfOthers) proxy.withheld++;
      if (isLast) end();
      else if (!isSilent && !isOfOthers) client.write(chunk);
    });
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    proxy.cutAll();
  });
  const through = new URL(url);
  through.port = String((server.address() as AddressInfo).port);
  const proxy: CuttingProxy = {
    url: through.href,
    cut: undefined,
    isDown: false,
    listen: undefined,
    withheld: 0,
    messages: 0,
    cutAll() {
      for (const socket of open) socket.destroy();
    },
    silence() {
      for (const silence of silences) silence();
    },
  };
  return proxy;
}

/**
 * Counts the Syncs that a client sends: parts of the protocol with a type of one byte and a length
 * of four, behind a first part without a type.
 */
function syncCounter(): (chunk: Buffer) => number {
  let rest = Buffer.alloc(0);
  let typeBytes = 0;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    let syncs = 0;
    while (rest.length >= typeBytes + 4) {
      const end = typeBytes + rest.readUInt32BE(typeBytes);
      if (rest.length < end) break;
      if (typeBytes === 1 && rest[0] === SYNC) syncs++;
      rest = rest.subarray(end);
      typeBytes = 1;
    }
    return syncs;
  };
}
