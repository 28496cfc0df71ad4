/**
 * The four instance operations of any provider, with a provisioner token.
 *
 * Promises: a credential is never printed, and is returned once.
 *
 * @see contract: Endpoints, POST, GET, PATCH and DELETE /v1/instances
 */

import { Fields, type JsonValue, parseIdentifier, parseWebhookUrl } from "@countersign/protocol";
import { identifier, readAnswerPart, timestamp } from "./answer.ts";
import { type ClientOptions, readKey } from "./client.ts";
import { Connection, invalidAnswer, type OperationOptions } from "./connection.ts";
import { SdkError } from "./errors.ts";

/** A receiver to propose. Install the secret under the registration there before it is proposed. */
export interface ProposedDelivery {
  readonly url: string;
  /** A UUID: names the configuration at the receiver. New for each replacement. */
  readonly registrationId: string;
  /** A secret: `whsec_` and 32 random bytes. */
  readonly signingSecret: string;
}

/**
 * A new registration with a secret of its own.
 *
 * @param url of the receiver: https, public
 * @throws SdkError `invalid_call`
 */
export function proposeDelivery(url: string): ProposedDelivery {
  if (parseWebhookUrl(url, { internalNames: true }) === undefined) {
    const form = "https://<host>[:port][/path][?query]";
    throw new SdkError("invalid_call", `The URL of a receiver has the form ${form}.`);
  }
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const signingSecret = `whsec_${btoa(String.fromCharCode(...bytes))}`;
  return { url, registrationId: crypto.randomUUID(), signingSecret };
}

export interface Instance {
  readonly id: string;
  /** Given by the provider; proves nothing. */
  readonly name: string;
  /** The verified receiver; undefined when there is none. */
  readonly delivery: { readonly url: string; readonly registrationId: string } | undefined;
}

/** The credential of a new instance: a secret that only `take` returns. */
export class Credential {
  /** Epoch ms; undefined when no end is scheduled. */
  readonly expiresAt: number | undefined;
  #token: string | undefined;

  constructor(token: string, expiresAt: number | undefined) {
    this.#token = token;
    this.expiresAt = expiresAt;
  }

  /**
   * The token, once: put it where the agent's adapter finds it.
   *
   * @throws SdkError `credential_taken`
   */
  take(): string {
    const token = this.#token;
    if (token === undefined) {
      const advice = "Provision with the same key to get the token again.";
      throw new SdkError("credential_taken", `take() works once. ${advice}`);
    }
    this.#token = undefined;
    return token;
  }
}

export interface CreateInstanceInput {
  readonly name?: string | undefined;
  readonly delivery?: ProposedDelivery | undefined;
  /** Drawn without it. An error has it as `key`: with it, trying again makes no second one. */
  readonly key?: string | undefined;
}

export interface UpdateInstanceInput {
  readonly name?: string | undefined;
  /** Null removes the receiver; undefined leaves it as it is. */
  readonly delivery?: ProposedDelivery | null | undefined;
  /** As in {@link CreateInstanceInput}. */
  readonly key?: string | undefined;
}

export class Provisioner {
  readonly #connection: Connection;

  /**
   * @param token of a provisioner, not of an instance
   * @throws SdkError `invalid_option`
   */
  constructor(url: string, token: string, options: ClientOptions = {}) {
    this.#connection = new Connection({ ...options, url, token });
  }

  /** @throws SdkError, with the key of the attempt; the signal's reason */
  async create(
    input: CreateInstanceInput = {},
    options: OperationOptions = {},
  ): Promise<{ readonly instance: Instance; readonly credential: Credential }> {
    const { name, delivery, key = crypto.randomUUID() } = input;
    const order = { ...options, key: readKey(key), ...writeInput({ name, delivery }) };
    const body = await this.#connection.exchange("provisionInstance", order);
    return readAnswerPart(() => {
      const fields = new Fields(body ?? null, ["instance", "credential"]);
      const instance = readInstance(fields.required("instance", fields.value("instance")));
      assertDelivery(instance, delivery ?? null);
      const issued = fields.required("credential", fields.value("credential"));
      const members = new Fields(issued, ["token", "expires_at"], "credential");
      const token = members.required("token", members.text("token", 1));
      const isEnding = members.value("expires_at") !== undefined;
      const expiresAt = isEnding ? timestamp(members, "expires_at") : undefined;
      return { instance, credential: new Credential(token, expiresAt) };
    });
  }

  async read(id: string, options: OperationOptions = {}): Promise<Instance> {
    const order = { ...options, id: readId(id) };
    const body = await this.#connection.exchange("getInstance", order);
    return this.#same(order.id, body);
  }

  /** @throws SdkError, with the key of the attempt; the signal's reason */
  async update(
    id: string,
    input: UpdateInstanceInput,
    options: OperationOptions = {},
  ): Promise<Instance> {
    const { name, delivery, key = crypto.randomUUID() } = input;
    if (name === undefined && delivery === undefined) {
      throw new SdkError("invalid_call", "An update needs a name or a delivery.");
    }
    const written = writeInput({ name, delivery });
    const order = { ...options, id: readId(id), key: readKey(key), ...written };
    const instance = this.#same(order.id, await this.#connection.exchange("updateInstance", order));
    if (delivery !== undefined) assertDelivery(instance, delivery);
    return instance;
  }

  /**
   * Revokes its credentials, cancels what is pending and ends its notifications. An instance that
   * is deleted already is deleted.
   */
  async delete(id: string, options: OperationOptions = {}): Promise<void> {
    await this.#connection.exchange("deleteInstance", { ...options, id: readId(id) });
  }

  #same(id: string, body: JsonValue | undefined): Instance {
    const instance = readAnswerPart(() => readInstance(body ?? null));
    if (instance.id !== id) throw invalidAnswer("id is that of another instance");
    return instance;
  }
}

function writeInput({ name, delivery }: UpdateInstanceInput): {
  readonly body: string;
  readonly secret?: string;
} {
  const body = JSON.stringify({
    instance_name: name,
    delivery: delivery && {
      type: "webhook",
      url: delivery.url,
      registration_id: delivery.registrationId,
      signing_secret: delivery.signingSecret,
    },
  });
  return delivery ? { body, secret: delivery.signingSecret } : { body };
}

/** @throws Problem */
function readInstance(value: JsonValue): Instance {
  const fields = new Fields(value, ["id", "name", "delivery"], "instance");
  const id = identifier(fields, "id");
  const name = fields.required("name", fields.text("name", 1));
  const delivery = fields.object("delivery");
  if (delivery === undefined) return Object.freeze({ id, name, delivery: undefined });
  const members = new Fields(delivery, ["type", "url", "registration_id"], "delivery");
  if (members.text("type", 1) !== "webhook") throw members.invalid("type", "is not webhook");
  const url = members.required("url", members.text("url", 1));
  const registrationId = identifier(members, "registration_id");
  return Object.freeze({ id, name, delivery: Object.freeze({ url, registrationId }) });
}

/** @param proposed null for none */
function assertDelivery({ delivery }: Instance, proposed: ProposedDelivery | null): void {
  const isSame =
    delivery?.url === proposed?.url &&
    delivery?.registrationId === proposed?.registrationId.toLowerCase();
  if (!isSame) throw invalidAnswer("delivery is not what was proposed");
}

function readId(text: string): string {
  const id = parseIdentifier(text);
  if (id === undefined) throw new SdkError("invalid_call", "An instance id must be a UUID.");
  return id;
}
