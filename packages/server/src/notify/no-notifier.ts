import type { ChannelTarget, SendOutcome } from "../core/channel.ts";
import type { Notifier } from "./notifier.ts";
import type { TargetFault } from "./target.ts";

/** Sends nothing. For commands beside a server. */
export class NoNotifier implements Notifier {
  faultOf(_: ChannelTarget): TargetFault | undefined {
    return { field: "kind", rule: "needs a running server" };
  }

  pushFault(): string {
    return "needs a running server";
  }

  async push(): Promise<SendOutcome> {
    return { kind: "off" };
  }

  get canPush(): boolean {
    return false;
  }

  async send(): Promise<SendOutcome> {
    return { kind: "off" };
  }

  platformOf(): undefined {
    return undefined;
  }

  addressesOf(): never {
    throw new Error("only a server sends messages");
  }

  connectChat(): never {
    throw new Error("only a server connects to chats");
  }

  async callChat(): Promise<SendOutcome> {
    return { kind: "off" };
  }

  async update(): Promise<SendOutcome> {
    return { kind: "off" };
  }

  close(): void {}
}
