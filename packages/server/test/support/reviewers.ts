/**
 * Reviewers and tokens as tests about them need them.
 */

import type { ErrorResponse } from "@countersign/protocol";
import type { TokenOrder } from "../../src/index.ts";
import type { Scene } from "./scene.ts";
import type { Answer, TestProvider } from "./test-provider.ts";

export interface WireReviewer {
  readonly id: string;
  readonly name: string;
  readonly kind: "person" | "bot";
  readonly role: string;
  readonly groups: readonly string[];
  readonly signs_in: boolean;
}

export interface WireToken {
  readonly id: string;
  readonly kind: string;
  readonly holder: { readonly id: string; readonly name: string; readonly kind?: string };
  readonly scopes: readonly string[] | null;
  readonly expires_at: string | null;
  /** Displayed once, to its issuer. */
  readonly token: string;
}

type Answered<T> = T & ErrorResponse;

export interface People {
  /** A reviewer's token, made beside the server. */
  token(name: string, order?: Partial<TokenOrder>): Promise<string>;
  reviewers(token: string): Promise<readonly WireReviewer[]>;
  idOf(name: string): Promise<string>;
  issue(token: string, body: object): Promise<Answer<Answered<WireToken>>>;
  change(token: string, name: string, body: object): Promise<Answer<Answered<WireReviewer>>>;
  remove(token: string, name: string): Promise<Answer<ErrorResponse>>;
  withdraw(token: string, id: string): Promise<Answer<Answered<{ withdrawn: boolean }>>>;
}

export function peopleOf({ server }: { readonly server: TestProvider }): People {
  const idOf = async (name: string): Promise<string> => {
    const { store } = server.provider.context;
    return String((await store.get("select id from reviewer where name = $1", [name]))?.id);
  };
  return {
    idOf,
    token: (name, order) => server.token({ kind: "reviewer", name, ...order }),
    async reviewers(token) {
      const path = "/review/v1/reviewers";
      type Page = { readonly reviewers: readonly WireReviewer[] };
      return (await server.call<Page>("GET", path, { token })).json.reviewers;
    },
    issue: (token, body) => server.call("POST", "/review/v1/tokens", { token, body }),
    async change(token, name, body) {
      return server.call("PATCH", `/review/v1/reviewers/${await idOf(name)}`, { token, body });
    },
    async remove(token, name) {
      return server.call("DELETE", `/review/v1/reviewers/${await idOf(name)}`, { token });
    },
    withdraw: (token, id) => server.call("DELETE", `/review/v1/requests/${id}/vote`, { token }),
  };
}

/** Whether a token is still one. */
export async function isLive({ server }: Pick<Scene, "server">, token: string): Promise<boolean> {
  const body = { verdict: "approve" };
  const path = "/review/v1/requests/01a1fb6b-1c22-7d0e-9c37-52b8f0a1d6e4/verdict";
  return (await server.call("POST", path, { token, body })).status !== 401;
}
