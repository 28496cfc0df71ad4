/** The authenticator of a device that a browser runs on: Chromium's own, set by its protocol. */

import type { CDPSession } from "playwright-core";
import type { Visitor } from "./browser.ts";

/** It can be set to recognise no user. */
export interface Device {
  readonly cdp: CDPSession;
  readonly id: string;
}

/** Gives the browser a device that recognises its person and asks for no touch. */
export async function plugIn({ context, page }: Visitor): Promise<Device> {
  const cdp = await context.newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, id: authenticatorId };
}

export async function recognise({ cdp, id }: Device, isUserVerified: boolean): Promise<void> {
  await cdp.send("WebAuthn.setUserVerified", { authenticatorId: id, isUserVerified });
}
