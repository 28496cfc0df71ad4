/**
 * The four instance operations of a provider, with a provisioner token.
 *
 * Promises: the SDK never prints a credential, and returns it once.
 *
 * @see contract: Endpoints, POST, GET, PATCH and DELETE /v1/instances
 */

import {
  Fields,
  type JsonValue,
  OPERATIONS,
  parseIdentifier,
  parseWebhookUrl,
} from "@countersign/protocol";
import { identifier, readAnswerPart, timestamp } from "./answer.ts";
import { readKey } from "./approval-client.ts";
import { readToken } from "./base-url.ts";
import {
  CONNECTION_OPTIONS,
  Connection,
  type ConnectionOptions,
  invalidAnswer,
  type OperationOptions,
} from "./connection.ts";
import { readUrl } from "./environment.ts";
import { SdkError } from "./errors.ts";
import { assertKnownOptions } from "./known-options.ts";

/** A webhook receiver to propose. Add the secret to the receiver before proposing it. */
export interface ProposedDelivery {
  /** URL of the receiver: https, public. */
  readonly url: string;
  /** UUID of the registration at the receiver. Use a new one for each replacement. */
  readonly registrationId: string;
  /** Signing secret: `whsec_` and 32 random bytes in Base64. */
  readonly signingSecret: string;
}

/**
 * Creates a registration with a random id and a random signing secret. Contacts no provider.
 *
 * @param url URL of the receiver: https, public
 * @throws SdkError `invalid_call` for an invalid URL
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

/** An agent instance that is registered at a provider. */
export interface Instance {
  /** UUID in lower case. */
  readonly id: string;
  /** Display name from the provider. It does not authenticate the instance. */
  readonly name: string;
  /** The verified webhook receiver; undefined when there is none. */
  readonly delivery: { readonly url: string; readonly registrationId: string } | undefined;
}

/** The credential of a new instance. Only {@link Credential.take} returns its token. */
export class Credential {
  /** Expiry time, epoch ms; undefined when no expiry is scheduled. */
  readonly expiresAt: number | undefined;
  #token: string | undefined;

  constructor(token: string, expiresAt: number | undefined) {
    this.#token = token;
    this.expiresAt = expiresAt;
  }

  /**
   * Returns the token once. Store it where the agent's adapter reads it.
   *
   * @throws SdkError `credential_taken` on the second call
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

/** Input of {@link Provisioner.create}. */
export interface CreateInstanceInput {
  /** Proposed display name. */
  readonly name?: string | undefined;
  /** Proposed webhook receiver. */
  readonly delivery?: ProposedDelivery | undefined;
  /**
   * Idempotency key. Default: a random UUID. An error contains it as `idempotencyKey`: a retry
   * with it and the same input does not create a second instance.
   */
  readonly idempotencyKey?: string | undefined;
}

/** Input of {@link Provisioner.update}. It needs a name or a delivery. */
export interface UpdateInstanceInput {
  /** New display name; undefined keeps the current name. */
  readonly name?: string | undefined;
  /** New webhook receiver; null removes the receiver; undefined keeps it. */
  readonly delivery?: ProposedDelivery | null | undefined;
  /** Idempotency key. Default: a random UUID. */
  readonly idempotencyKey?: string | undefined;
}

/** Options of a {@link Provisioner}. */
export interface ProvisionerOptions extends Omit<ConnectionOptions, "url" | "apiKey"> {
  /** Base URL of the provider, with https except on this machine. Default: COUNTERSIGN_URL. */
  readonly url?: string | undefined;
  /** A provisioner token. It is not the credential of an instance. */
  readonly token: string;
}

/** Creates, reads, updates and deletes instances at a provider. */
export class Provisioner {
  readonly #connection: Connection;

  /** @throws SdkError `invalid_option` for a missing, invalid or unknown option */
  constructor(options: ProvisionerOptions) {
    assertKnownOptions("new Provisioner()", options, [...CONNECTION_OPTIONS, "token"]);
    const { token, ...others } = options;
    const apiKey = readToken("provisioner token", token);
    this.#connection = new Connection({ ...others, url: readUrl(options), apiKey });
  }

  /**
   * Creates an instance with a credential.
   *
   * @throws SdkError with the key of the attempt, or the signal's reason
   */
  async create(
    input: CreateInstanceInput = {},
    options: OperationOptions = {},
  ): Promise<{ readonly instance: Instance; readonly credential: Credential }> {
    const { name, delivery, idempotencyKey = crypto.randomUUID() } = input;
    const order = { ...options, key: readKey(idempotencyKey), ...writeInput({ name, delivery }) };
    const body = await this.#connection.exchange(OPERATIONS.provisionInstance, order);
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

  /**
   * Reads an instance.
   *
   * @throws SdkError, or the signal's reason
   */
  async read(id: string, options: OperationOptions = {}): Promise<Instance> {
    const order = { ...options, id: readId(id) };
    const body = await this.#connection.exchange(OPERATIONS.getInstance, order);
    return this.#same(order.id, body);
  }

  /**
   * Changes the name or the webhook receiver of an instance.
   *
   * @throws SdkError with the key of the attempt, or the signal's reason
   */
  async update(
    id: string,
    input: UpdateInstanceInput,
    options: OperationOptions = {},
  ): Promise<Instance> {
    const { name, delivery, idempotencyKey = crypto.randomUUID() } = input;
    if (name === undefined && delivery === undefined) {
      throw new SdkError("invalid_call", "An update needs a name or a delivery.");
    }
    const written = writeInput({ name, delivery });
    const order = { ...options, id: readId(id), key: readKey(idempotencyKey), ...written };
    const instance = this.#same(
      order.id,
      await this.#connection.exchange(OPERATIONS.updateInstance, order),
    );
    if (delivery !== undefined) assertDelivery(instance, delivery);
    return instance;
  }

  /**
   * Deletes an instance. The provider revokes its credentials, cancels its pending requests and
   * stops its notifications. A repeated deletion succeeds.
   *
   * @throws SdkError, or the signal's reason
   */
  async delete(id: string, options: OperationOptions = {}): Promise<void> {
    await this.#connection.exchange(OPERATIONS.deleteInstance, { ...options, id: readId(id) });
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

/** @param proposed null for no delivery */
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
