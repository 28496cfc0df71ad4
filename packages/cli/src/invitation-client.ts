/**
 * Invitations as the reviewer surface answers them.
 */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { text } from "./json-members.ts";
import type { ReviewClient } from "./review-client.ts";

export interface Invitation {
  readonly id: string;
  /** open, used or expired */
  readonly state: string;
  /** Empty where who uses it chooses it. */
  readonly name: string;
  readonly role: string;
  readonly groups: readonly string[];
  readonly expiresAt: string;
  /** Of one that was just made; nobody can read it later. */
  readonly url: string | undefined;
  /** The whole answer as it was received. */
  readonly source: string;
}

export interface InvitationOrder {
  readonly name: string;
  readonly role: string | undefined;
  readonly groups: readonly string[] | undefined;
  readonly lasts: string | undefined;
}

const INVITATIONS = "/invitations";

export class InvitationClient {
  readonly #review: ReviewClient;

  constructor(review: ReviewClient) {
    this.#review = review;
  }

  async create(order: InvitationOrder): Promise<Invitation> {
    return this.#invitation(
      await this.#review.exchange("POST", INVITATIONS, JSON.stringify(order)),
    );
  }

  async list(): Promise<readonly Invitation[]> {
    const answer = await this.#review.exchange("GET", INVITATIONS);
    const invitations = answer.members.get("invitations");
    if (!(invitations instanceof JsonArray)) throw this.#review.stranger();
    return invitations.items.map((item) => this.#invitation(item));
  }

  async revoke(id: string): Promise<void> {
    await this.#review.exchange("DELETE", `${INVITATIONS}/${encodeURIComponent(id)}`);
  }

  /** @throws CommandError when the answer is no invitation */
  #invitation(value: JsonValue): Invitation {
    const invitation = value instanceof JsonObject ? toInvitation(value) : undefined;
    if (invitation === undefined) throw this.#review.stranger();
    return invitation;
  }
}

/** @returns undefined when it is not an invitation as the reviewer surface shows one */
function toInvitation(value: JsonObject): Invitation | undefined {
  const names = ["id", "state", "name", "role", "expires_at"] as const;
  const [id, state, name, role, expiresAt] = names.map((key) => text(value, key));
  const groups = value.members.get("groups");
  if (!id || !state || name === undefined || !role || !expiresAt) return undefined;
  const items = groups instanceof JsonArray ? groups.items : [];
  return {
    id,
    state,
    name,
    role,
    expiresAt,
    groups: items.map(String),
    url: text(value, "url"),
    source: value.source,
  };
}
