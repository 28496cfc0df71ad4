/** Which connections to chats this process owns. One process owns each of them at a time. */

import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import { type ChatTarget, isChatKind } from "../../core/chat.ts";
import { sha256Hex } from "../../core/digest.ts";
import type { ChatConnection } from "../../notify/chat-platform.ts";
import { openTarget } from "../../steps/channels/openTarget.ts";
import { readDecidingChannels } from "../../storage/sql/channels/channels.ts";
import {
  type ChatConnectionRow,
  type ConnectionKey,
  claimConnection,
  readConnection,
  releaseConnection,
  writeConnectionState,
} from "../../storage/sql/chat/chat-connections.ts";
import type { RowKey } from "../../storage/sql/keys.ts";

export type { ChatConnection, ConnectionKey };

/** The connection of an app. Its channels share its events. */
export interface ConnectableApp extends ConnectionKey {
  /** Receives the events. */
  readonly channel: RowKey;
  readonly target: ChatTarget;
}

/** After a process ended, another one connects at the end of this time. */
const OWNED_MS = 10_000;

/**
 * The apps that need a connection: those of enabled channels where people can decide, without
 * events over HTTP.
 */
export async function listConnectableApps(context: Context): Promise<ConnectableApp[]> {
  const apps = new Map<string, ConnectableApp>();
  for (const channel of await readDecidingChannels(context.store)) {
    const app = connectableApp(context, channel);
    if (app !== undefined) apps.set(`${app.projectId} ${app.app}`, app);
  }
  return [...apps.values()];
}

function connectableApp(context: Context, channel: StoredChannel): ConnectableApp | undefined {
  const { kind, projectId, id } = channel;
  const platform = isChatKind(kind) ? context.notifier.platformOf(kind) : undefined;
  if (platform === undefined) return undefined;
  const target = openTarget(context, channel) as ChatTarget;
  if (!platform.needsConnection(target)) return undefined;
  const app = sha256Hex(platform.appSecret(target));
  return { projectId, app, channel: { projectId, id }, target };
}

/** Claims or renews a connection. @returns false while another process owns it */
export function claimChatConnection(
  { store }: Pick<Context, "store">,
  key: ConnectionKey,
  owner: string,
): Promise<boolean> {
  return store.transact(async (tx) => {
    const now = await tx.now();
    return claimConnection(tx, key, owner, now, now + OWNED_MS);
  }, "process");
}

export function recordChatConnection(
  { store }: Pick<Context, "store">,
  key: ConnectionKey,
  owner: string,
  state: string,
): Promise<void> {
  return store.transact(
    async (tx) => writeConnectionState(tx, key, owner, state, await tx.now()),
    "process",
  );
}

export function releaseChatConnection(
  { store }: Pick<Context, "store">,
  key: ConnectionKey,
  owner: string,
): Promise<void> {
  return store.transact((tx) => releaseConnection(tx, key, owner), "process");
}

/** The state of the connection of a channel; undefined when it has none. */
export async function showChatConnection(
  context: Context,
  channel: StoredChannel,
): Promise<Pick<ChatConnectionRow, "state" | "changedAt"> | undefined> {
  if (!channel.decides || channel.disabledAt !== null) return undefined;
  const app = connectableApp(context, channel);
  if (app === undefined) return undefined;
  const row = await readConnection(context.store, app);
  if (row === undefined || row.ownedUntil <= context.clock.now()) {
    return { state: "not_connected", changedAt: row?.ownedUntil ?? channel.createdAt };
  }
  return row;
}
