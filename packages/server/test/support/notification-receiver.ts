/**
 * A receiver over TLS for servers in processes of their own: it proves itself, keeps every
 * notification as it arrived, and watches how many exchanges are open at one time for one event.
 */

import type { RequestResolvedEvent } from "@countersign/protocol";
import type { Lifetime } from "./test-provider.ts";
import {
  type AnswerMessage,
  type Received,
  startTlsReceiver,
  type TlsReceiver,
} from "./tls-receiver.ts";
import { answerChallenge, typeOf } from "./webhook-scene.ts";

/** A notification as it arrived, and the exchange in which it may still wait for its answer. */
export interface Notification {
  readonly event: RequestResolvedEvent;
  /** The `webhook-id`. */
  readonly id: string;
  readonly body: string;
  /** Resolves once the answer is handed to the operating system. */
  answer(status: number): Promise<void>;
  /** The server has cut the connection, or has the answer. */
  readonly over: Promise<void>;
}

export interface NotificationReceiver {
  readonly receiver: TlsReceiver;
  /** All that have arrived, in order, whichever server sent them. */
  readonly notifications: readonly Notification[];
  /** The most exchanges that were open at one time for one event. */
  readonly openAtOnceMax: number;
  /** Runs for each notification; answers 204 by default. */
  onNotification: (notification: Notification) => void;
  /** Answers a verification; proves the receiver by default. */
  onVerification: AnswerMessage;
}

/** Ends with the test. */
export async function startNotificationReceiver(t: Lifetime): Promise<NotificationReceiver> {
  const notifications: Notification[] = [];
  const open = new Map<string, number>();
  const receiver = await startTlsReceiver(t, (received, response) => {
    if (typeOf(received) === "webhook.verification") {
      notified.onVerification(received, response);
      return;
    }
    const notification = toNotification(received, response);
    const { id, over } = notification;
    const now = (open.get(id) ?? 0) + 1;
    open.set(id, now);
    notified.openAtOnceMax = Math.max(notified.openAtOnceMax, now);
    over.then(() => open.set(id, (open.get(id) ?? 0) - 1));
    notifications.push(notification);
    notified.onNotification(notification);
  });
  const notified = {
    receiver,
    notifications,
    openAtOnceMax: 0,
    onNotification: ({ answer }: Notification) => void answer(204),
    onVerification: answerChallenge,
  };
  return notified;
}

function toNotification(received: Received, response: Parameters<AnswerMessage>[1]): Notification {
  const body = received.body.toString();
  const over = new Promise<void>((resolve) => response.once("close", () => resolve()));
  return {
    event: JSON.parse(body) as RequestResolvedEvent,
    id: String(received.headers["webhook-id"]),
    body,
    over,
    answer(status) {
      return new Promise((resolve) => {
        response.writeHead(status).end(() => resolve());
      });
    },
  };
}
