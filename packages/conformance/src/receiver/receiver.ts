/**
 * The kit's receiver: one HTTPS server for a run, with a path for every registration. Each message
 * is checked as it arrives; what a scenario wants to happen it says with a `Registration`.
 */

import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, isIP } from "node:net";
import type { SecretList } from "../client/secret-list.ts";
import type { ReceiverOptions } from "../options.ts";
import { createAuthority, issue } from "./certificates.ts";
import { type Plan, Registration } from "./registration.ts";

/** More than any message of the contract has. */
const BODY_BYTES_MAX = 64 * 1024;

export class Receiver {
  readonly #trusted: Server;
  readonly #untrusted: Server;
  readonly #host: string;
  readonly #secrets: SecretList;
  /** By path. */
  readonly #registrations = new Map<string, Registration>();

  private constructor(trusted: Server, untrusted: Server, host: string, secrets: SecretList) {
    this.#trusted = trusted;
    this.#untrusted = untrusted;
    this.#host = host;
    this.#secrets = secrets;
    for (const server of [trusted, untrusted]) {
      server.on("request", (request, response) => void this.#receive(request, response));
    }
  }

  /** @throws Error when it cannot listen */
  static async start(options: ReceiverOptions, secrets: SecretList): Promise<Receiver> {
    const { host, port = 0, otherPort = 0, authority } = options;
    const address = options.listen ?? (isLoopback(host) ? loopbackOf(host) : undefined);
    const [trusted, untrusted] = [issue(authority, host), issue(createAuthority(), host)].map(
      ({ key, certificate }) => createServer({ key, cert: certificate }),
    ) as [Server, Server];
    await Promise.all([
      listen(trusted, port, address),
      listen(untrusted, otherPort, address),
    ]).catch((error) => {
      for (const server of [trusted, untrusted]) server.close();
      throw error;
    });
    const shown = isIP(host) === 6 ? `[${host}]` : host;
    return new Receiver(trusted, untrusted, shown, secrets);
  }

  /** A new path, registration id and secret. */
  open(plan: Plan = {}): Registration {
    const target = `/${randomBytes(12).toString("hex")}/hook?team=a%20b&x=1`;
    const secret = `whsec_${randomBytes(32).toString("base64")}`;
    const { port } = (plan.untrusted ? this.#untrusted : this.#trusted).address() as AddressInfo;
    const url = `https://${this.#host}:${port}${target}`;
    this.#secrets.add(secret);
    const identity = { url, target, registrationId: randomUUID(), secret };
    const registration = new Registration(identity, plan, this.#secrets);
    this.#registrations.set(pathOf(target), registration);
    return registration;
  }

  close(): void {
    for (const server of [this.#trusted, this.#untrusted]) {
      server.closeAllConnections();
      server.close();
    }
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        if (chunks.reduce((sum, { length }) => sum + length, 0) > BODY_BYTES_MAX) break;
      }
    } catch {
      // The sender went away within its message, so there is none.
      return;
    }
    const registration = this.#registrations.get(pathOf(url));
    if (registration === undefined) {
      response.writeHead(404).end();
      return;
    }
    const arrived = { method, target: url, headers, body: Buffer.concat(chunks) };
    await registration.receive(arrived, response);
  }
}

function pathOf(target: string): string {
  return target.split("?")[0] ?? "";
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

function loopbackOf(host: string): string {
  return host === "localhost" ? "127.0.0.1" : host;
}

async function listen(server: Server, port: number, address: string | undefined): Promise<void> {
  server.listen(port, address);
  await once(server, "listening");
}
