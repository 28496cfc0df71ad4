/**
 * The input that the killed agent and its successor share.
 */

export interface CrashOrder {
  readonly url: string;
  readonly token: string;
  readonly reviewer: string;
  readonly verdict: "approve" | "deny";
  /** Of the store. */
  readonly folder: string;
  /** A line for each time that the tool ran. */
  readonly effects: string;
  readonly key: string;
  /** Number of the point, from 1; 0 for none. */
  readonly stopAt: number;
}

export function crashCall({ key }: CrashOrder) {
  return { idempotencyKey: key, tool: "pay", arguments: { to: "A-1", cents: 5_000 } };
}

/** Decides the request that a poll is about, unless it is decided. */
export async function decide(order: CrashOrder, polled: string): Promise<void> {
  const id = /requests\/([0-9a-f-]{36})/.exec(polled)?.[1];
  const url = `${order.url}/review/v1/requests/${id}`;
  const headers = {
    authorization: `Bearer ${order.reviewer}`,
    "content-type": "application/json",
  };
  const shown = (await (await fetch(url, { headers })).json()) as {
    readonly status: string;
    readonly arguments_sha256: string;
  };
  if (shown.status !== "pending") return;
  const { arguments_sha256 } = shown;
  const body = JSON.stringify({ verdict: order.verdict, arguments_sha256 });
  const decided = await fetch(`${url}/verdict`, { method: "POST", headers, body });
  if (!decided.ok) throw new Error(`the reviewer could not decide: ${await decided.text()}`);
}
