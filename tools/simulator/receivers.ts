/**
 * The other side of webhooks: services that have saved a registration, and do with what they get
 * whatever chance says. They speak HTTP over streams that the server's egress client gets in
 * place of TLS connections.
 */

import { createHmac } from "node:crypto";
import { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Dial } from "../../packages/server/src/egress/pinned-connection.ts";
import type { Resolver } from "../../packages/server/src/egress/resolve-host.ts";
import type { Faults } from "./faults.ts";
import type { Actor, World } from "./world.ts";

/** A message as it arrived. */
export interface Arrival {
  readonly replica: Actor;
  readonly id: string;
  readonly registrationId: string;
  readonly body: string;
  readonly timestampS: number;
  readonly signature: string;
}

/** How the receiver handled the message. */
export type Handling = "saved" | "refused" | "dropped";

/** Receives everything that receivers see. */
export interface ReceiverWatch {
  /** It is there as a whole. @returns what is wrong with it, for a 401 */
  arrived(arrival: Arrival, connection: object): void;
  /** The receiver has durably received it, whether its answer arrives or not. */
  saved(id: string): void;
  /** The receiver has answered a challenge as it must. */
  proved(registrationId: string): void;
  /** Nothing more is sent or received for it. */
  over(connection: object): void;
}

export interface ReceiverParts {
  readonly world: World;
  readonly faults: () => Faults;
  readonly watch: ReceiverWatch;
}

/** How a notification is handled; what saves it is a 2xx, whether that arrives or not. */
const WAYS = {
  reject: 3,
  redirect: 1,
  slowDown: 3,
  unavailable: 2,
  dropBefore: 2,
  dropAfter: 3,
  slowHeaders: 2,
  never: 2,
  garbage: 1,
  hugeHeaders: 1,
  interim: 1,
  bigBody: 1,
};

const LIES = { wrong: 2, bare: 2, extra: 1, redirect: 1, late: 2, never: 1, dropBefore: 1 };

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

const PUBLIC_ADDRESSES = ["8.8.4.4", "2001:4860:4860::8844"];

export class Receivers {
  readonly #parts: ReceiverParts;
  readonly #wire: Actor = { name: "receiver", isAlive: true, isFrozen: false };
  /** Signing secrets by registration, installed before anything is proposed. */
  readonly secrets = new Map<string, string>();

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  /** Name servers, as one replica sees them. */
  resolver(replica: Actor): Resolver {
    const { world, faults } = this.#parts;
    return {
      resolve: async (_, signal) => {
        await world.turn(replica, "resolves a name");
        signal.throwIfAborted();
        if (!world.draw.happens(faults().names)) return PUBLIC_ADDRESSES;
        if (world.draw.happens(0.5)) throw new Error("no answer");
        return [...PUBLIC_ADDRESSES, world.draw.among(["10.0.0.1", "169.254.169.254", "::1"])];
      },
    };
  }

  /** The function with which a replica opens connections. */
  dial(replica: Actor): Dial {
    const { world, faults } = this.#parts;
    return async (url, address, timeoutMs, signal) => {
      world.assert(PUBLIC_ADDRESSES.includes(address), "I14", () => `${address} was dialled`);
      await world.turn(replica, `dials ${url.host}`);
      if (signal.aborted) return "connect";
      if (!world.draw.happens(faults().receiver / 10)) {
        return new Line(this.#parts, this.#wire, this.secrets, replica) as unknown as TLSSocket;
      }
      if (world.draw.happens(0.5)) {
        // No receiver answers, and no error comes back.
        await new Promise<void>((give) => {
          signal.addEventListener("abort", () => give(), { once: true });
          world.after(replica, timeoutMs, "gives up dialling", give);
        });
        return "connect";
      }
      return world.draw.among(["connect", "tls"] as const);
    };
  }
}

/** One connection, with the receiver at its other end. */
class Line extends Duplex {
  readonly #parts: ReceiverParts;
  readonly #wire: Actor;
  readonly #replica: Actor;
  readonly #secrets: ReadonlyMap<string, string>;
  #text = "";

  constructor(
    parts: ReceiverParts,
    wire: Actor,
    secrets: ReadonlyMap<string, string>,
    replica: Actor,
  ) {
    super();
    this.#parts = parts;
    this.#wire = wire;
    this.#secrets = secrets;
    this.#replica = replica;
    this.on("error", () => undefined);
  }

  // Further methods of TLS sockets that the egress client uses.
  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: () => void): void {
    const { world, watch } = this.#parts;
    if (this.#text === "") world.exposed.add(this.#replica);
    this.#text += chunk.toString("latin1");
    done();
    const message = readMessage(this.#text);
    if (message === undefined) return;
    this.#text = "";
    const { headers, path, body } = message;
    const arrival: Arrival = {
      replica: this.#replica,
      id: headers.get("webhook-id") ?? "",
      registrationId: path.slice(1),
      body,
      timestampS: Number(headers.get("webhook-timestamp")),
      signature: headers.get("webhook-signature") ?? "",
    };
    watch.arrived(arrival, this);
    world.schedule(this.#wire, `handles ${arrival.id}`, () => this.#handle(arrival));
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#parts.watch.over(this);
    done(error);
  }

  #handle(arrival: Arrival): void {
    const { type, challenge } = JSON.parse(arrival.body) as Record<string, string>;
    if (type === "webhook.verification") this.#verify(arrival, challenge ?? "");
    else this.#receive(arrival);
  }

  #verify({ registrationId }: Arrival, challenge: string): void {
    const { world, faults, watch } = this.#parts;
    const proof = (members: object) => {
      const body = JSON.stringify(members);
      return `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    };
    // Most receivers pass one verification. Otherwise no instance would have a receiver.
    if (!world.draw.happens(faults().receiver / 5)) {
      watch.proved(registrationId);
      this.#answer(proof({ challenge }));
      return;
    }
    const way = world.draw.weighted(LIES);
    world.note(this.#wire, `answers the challenge: ${way}`);
    if (way === "wrong") this.#answer(proof({ challenge: world.draw.uuid() }));
    if (way === "extra") this.#answer(proof({ challenge, type: "webhook.verification" }));
    if (way === "bare") this.#answer("HTTP/1.1 204 No Content\r\n\r\n");
    if (way === "redirect") this.#answer(redirect());
    if (way === "dropBefore") this.#cut();
    if (way === "late") {
      const late = () => this.#answer(proof({ challenge }));
      world.after(this.#wire, 11_000, "answers the challenge too late", late);
    }
  }

  #receive(arrival: Arrival): void {
    const { world, faults, watch } = this.#parts;
    const secret = this.#secrets.get(arrival.registrationId) ?? "";
    if (signatureOf(secret, arrival) !== arrival.signature) {
      this.#answer("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    if (!world.draw.happens(faults().receiver)) {
      watch.saved(arrival.id);
      this.#answer(world.draw.happens(0.5) ? OK : "HTTP/1.1 204 No Content\r\n\r\n");
      return;
    }
    const way = world.draw.weighted(WAYS);
    world.note(this.#wire, `handles ${arrival.id}: ${way}`);
    if (way === "dropAfter" || way === "slowHeaders" || way === "bigBody" || way === "interim") {
      watch.saved(arrival.id);
    }
    this.#misbehave(way);
  }

  #misbehave(way: keyof typeof WAYS): void {
    const { world } = this.#parts;
    const after = world.draw.among(["1", "7", "60", "3600", "-5", "soon", "1e9"]);
    const status = (line: string, headers = "") =>
      this.#answer(`HTTP/1.1 ${line}\r\n${headers}content-length: 0\r\n\r\n`);
    if (way === "reject") status("500 Internal Server Error");
    if (way === "redirect") this.#answer(redirect());
    if (way === "slowDown") status("429 Too Many Requests", `retry-after: ${after}\r\n`);
    if (way === "unavailable") status("503 Service Unavailable", `retry-after: ${after}\r\n`);
    if (way === "dropBefore" || way === "dropAfter") this.#cut();
    if (way === "garbage") this.#answer("220 smtp.example ESMTP\r\n");
    if (way === "hugeHeaders") this.#answer(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(20_000)}\r\n\r\n`);
    if (way === "interim") this.#answer(`HTTP/1.1 103 Early Hints\r\n\r\n${OK}`);
    if (way === "bigBody") {
      this.#answer(`HTTP/1.1 200 OK\r\ncontent-length: 40000\r\n\r\n${"z".repeat(40_000)}`);
    }
    if (way === "slowHeaders") {
      this.#say(OK.slice(0, 20));
      const ms = world.draw.between(100, 15_000);
      world.after(this.#wire, ms, "goes on with its headers", () => this.#answer(OK.slice(20)));
    }
  }

  /** As a whole; it may be on its way for a while. */
  #answer(text: string): void {
    this.#parts.watch.over(this);
    this.#say(text);
  }

  #say(text: string): void {
    const { world } = this.#parts;
    world.exposed.add(this.#replica);
    world.schedule(this.#replica, `hears ${JSON.stringify(text.slice(0, 24))}`, () => {
      if (!this.destroyed) this.push(Buffer.from(text, "latin1"));
    });
  }

  #cut(): void {
    const { world } = this.#parts;
    world.schedule(this.#replica, "is cut off", () => {
      this.destroy(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
    });
  }
}

function redirect(): string {
  return "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n";
}

/** @see contract: Authentication, 5 */
export function signatureOf(secret: string, { id, timestampS, body }: Arrival): string {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${timestampS}.${body}`).digest("base64");
  return `v1,${mac}`;
}

function readMessage(text: string) {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const body = text.slice(end + 4);
  if (body.length < Number(headers.get("content-length") ?? 0)) return undefined;
  return { headers, path: first.split(" ")[1] ?? "", body };
}
