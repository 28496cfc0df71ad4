/** The grant for the rest of a response that this page creates and can revoke. */

import type { Grant, ReviewedRequest } from "@countersign/review-api";
import { useRef, useState } from "preact/hooks";
import { api, Refusal } from "../../api.ts";
import { t } from "../../language/t.ts";
import { messageOf } from "../../parts/button.tsx";
import { type RestTools, restGrant } from "./rest-grant.ts";

export interface RestGrant {
  readonly grant: Grant | undefined;
  createGrant(request: ReviewedRequest, tools: RestTools, note: string): Promise<void>;
  /** Does nothing if the page created no grant, or if the grant ended. */
  revokeGrant(): Promise<void>;
}

export function useRestGrant(): RestGrant {
  const [grant, setGrant] = useState<Grant | undefined>();
  // A revocation can wait for the creation, and then needs the grant of a later render.
  const created = useRef<Grant | undefined>(undefined);

  function keep(next: Grant): void {
    created.current = next;
    setGrant(next);
  }

  async function revokeGrant(): Promise<void> {
    const { current } = created;
    if (current?.state !== "active") return;
    keep(await api.call("POST /grants/{id}/revoke", { path: { id: current.id } }));
  }

  return {
    grant,
    revokeGrant,
    createGrant: async (...terms) => keep(await createRestGrant(...terms)),
  };
}

async function createRestGrant(
  request: ReviewedRequest,
  tools: RestTools,
  note: string,
): Promise<Grant> {
  const body = restGrant(request, tools, note);
  const idempotencyKey = crypto.randomUUID();
  const create = () => api.call("POST /grants", { body, idempotencyKey });
  try {
    return await create().catch((error: unknown) => {
      // A second attempt with the same key creates no second grant.
      if (error instanceof Refusal && error.isUnanswered) return create();
      throw error;
    });
  } catch (error) {
    const why = messageOf(error);
    throw new Refusal(error instanceof Refusal ? error.status : 0, {
      message: t`This call is approved, but the grant for the rest of the response failed: ${why}`,
    });
  }
}
