/**
 * Short messages between the processes that share a database. They carry hints and no truth: any
 * may be lost, and any user of the database can send one.
 */

export interface ReplicaBusListener {
  /** @param message what some process sent, this one included; not checked in any way */
  onMessage(message: string): void;

  /** From now on messages arrive; what was sent before may have been lost. */
  onListening(): void;

  /** No message arrives or leaves. Called once, until it listens again. */
  onLost(error: Error): void;
}

export interface ReplicaBus {
  /** Of one message. */
  readonly messageBytesMax: number;

  /** Begins to listen, and tries again for as long as it takes; nothing waits for it. */
  open(listener: ReplicaBusListener): void;

  /** @returns false when the message was not sent; it is not kept */
  send(message: string): Promise<boolean>;

  /** Closes it: no more calls to the listener. */
  close(): Promise<void>;
}
