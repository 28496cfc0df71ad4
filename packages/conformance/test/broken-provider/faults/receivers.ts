/**
 * Faults of taking what is proposed for a receiver.
 */

import { parseIdentifier } from "@countersign/protocol";
import type { Conduct } from "../conduct.ts";
import {
  answering,
  CORRECT,
  type Fault,
  hasCode,
  memberOf,
  onlyKnown,
  withMember,
} from "./fault.ts";

const INPUT = "Resources, WebhookDeliveryInput";
const URL_RULES = "Resources, WebhookURL rules";

type Body = Parameters<Conduct["readProvision"]>[0];

/** Changes a proposed delivery before the strict reader sees it. */
function readingDelivery(change: (delivery: Body) => Body): Partial<Conduct> {
  const changed = (body: Body) => {
    const delivery = memberOf(body, "delivery");
    return delivery === undefined || delivery === null
      ? body
      : withMember(body, "delivery", change(delivery));
  };
  return {
    readProvision: (body, rules) => CORRECT.readProvision(changed(body), rules),
    readUpdate: (body, rules) => CORRECT.readUpdate(changed(body), rules),
  };
}

const SECRET = `whsec_${Buffer.alloc(32).toString("base64")}`;
const ID = "0d9c7f0e-4f0c-4f0e-9f0e-0d9c7f0e4f0c";

const INPUTS: readonly Fault[] = [
  {
    id: "synchronous-only-ignores",
    section: "What the service does, 6",
    breaks: ["service.delivery.synchronous-only"],
    sentence: "A provider without webhooks ignores a delivery.",
    plant: {
      readProvision: (body, rules) =>
        CORRECT.readProvision(withMember(body, "delivery", undefined), rules),
    },
    options: { webhooks: false },
  },
  {
    id: "synchronous-only-code",
    section: "What the service does, 6",
    breaks: ["service.delivery.synchronous-only"],
    sentence: "A provider without webhooks calls a delivery an unknown field.",
    plant: answering(hasCode("unsupported_delivery_type"), ({ body }) => ({
      body: body?.replace("unsupported_delivery_type", "invalid_request"),
    })),
    options: { webhooks: false },
  },
  {
    id: "delivery-type-code",
    section: "Errors, Known codes",
    breaks: ["delivery.input.type"],
    sentence: "Another type of delivery is an `invalid_request`.",
    plant: answering(hasCode("unsupported_delivery_type"), ({ body }) => ({
      body: body?.replace("unsupported_delivery_type", "invalid_request"),
    })),
  },
  {
    id: "delivery-less",
    section: INPUT,
    breaks: ["delivery.input.shape"],
    sentence: "A registration id may be missing.",
    plant: readingDelivery((delivery) =>
      memberOf(delivery, "registration_id") === undefined
        ? withMember(delivery, "registration_id", ID)
        : delivery,
    ),
  },
  {
    id: "delivery-more",
    section: INPUT,
    breaks: ["delivery.input.shape"],
    sentence: "Unknown fields of a delivery are ignored.",
    plant: readingDelivery((delivery) =>
      onlyKnown(delivery, ["type", "url", "registration_id", "signing_secret"]),
    ),
  },
  {
    id: "registration-any",
    section: INPUT,
    breaks: ["delivery.input.registration-id"],
    sentence: "Any text is a registration id.",
    plant: readingDelivery((delivery) =>
      parseIdentifier(String(memberOf(delivery, "registration_id"))) === undefined
        ? withMember(delivery, "registration_id", ID)
        : delivery,
    ),
  },
  {
    id: "secret-any",
    section: INPUT,
    breaks: ["delivery.input.secret"],
    sentence: "A secret of any length is accepted.",
    plant: readingDelivery((delivery) =>
      /^whsec_[\w+/=-]+$/.test(String(memberOf(delivery, "signing_secret"))) &&
      String(memberOf(delivery, "signing_secret")).length !== SECRET.length
        ? withMember(delivery, "signing_secret", SECRET)
        : delivery,
    ),
  },
  {
    id: "secret-shown",
    section: "Resources, WebhookDelivery",
    breaks: ["delivery.shape", "instance.read.no-secrets"],
    sentence: "Reading an instance shows the signing secret.",
    plant: {
      showDelivery: (members, { signingSecret }) => ({
        ...members,
        signing_secret: JSON.stringify(signingSecret),
      }),
    },
  },
  {
    id: "secret-in-url",
    section: "Resources, WebhookDelivery",
    breaks: ["instance.read.no-secrets"],
    sentence: "The URL of a delivery is shown with the secret in its query.",
    plant: {
      showDelivery: (members, { url, signingSecret }) => ({
        ...members,
        url: JSON.stringify(`${url.text}&secret=${signingSecret}`),
      }),
    },
  },
  {
    id: "delivery-url-cut",
    section: "Resources, WebhookDelivery",
    breaks: ["instance.shape", "delivery.shape"],
    sentence: "A delivery shows its URL without the query.",
    plant: {
      showDelivery: (members, { url }) => ({
        ...members,
        url: JSON.stringify(url.text.replace(/\?.*/, "")),
      }),
    },
  },
  {
    id: "delivery-registration-other",
    section: "Resources, WebhookDelivery",
    breaks: ["delivery.shape", "instance.shape"],
    sentence: "A delivery shows a registration id of the provider's own.",
    plant: { showDelivery: (members) => ({ ...members, registration_id: JSON.stringify(ID) }) },
  },
];

const URLS: readonly Fault[] = [
  {
    id: "url-plain-http",
    section: `${URL_RULES}, 1`,
    breaks: ["delivery.url.syntax"],
    sentence: "A URL of plain HTTP gets as far as the verification.",
    plant: readingDelivery((delivery) => {
      const url = String(memberOf(delivery, "url"));
      return url.startsWith("http:")
        ? withMember(delivery, "url", "https://localhost:1025/")
        : delivery;
    }),
  },
  {
    id: "url-userinfo",
    section: `${URL_RULES}, 1`,
    breaks: ["delivery.url.syntax"],
    sentence: "User and password of a URL are dropped.",
    plant: readingDelivery((delivery) => {
      const url = String(memberOf(delivery, "url"));
      return withMember(delivery, "url", url.replace(/^(https:\/\/)[^/@]*@/, "$1"));
    }),
  },
  {
    id: "url-fragment",
    section: `${URL_RULES}, 1`,
    breaks: ["delivery.url.syntax"],
    sentence: "The fragment of a URL is dropped.",
    plant: readingDelivery((delivery) => {
      const url = String(memberOf(delivery, "url"));
      return withMember(delivery, "url", url.replace(/#.*$/, ""));
    }),
  },
  {
    id: "url-code",
    section: "Errors, Known codes",
    breaks: ["delivery.url.syntax", "delivery.url.addresses"],
    sentence: "A bad URL is an `invalid_request`.",
    plant: answering(hasCode("invalid_webhook_url"), ({ body }) => ({
      body: body?.replace("invalid_webhook_url", "invalid_request"),
    })),
  },
  {
    id: "address-any",
    section: `${URL_RULES}, 2`,
    breaks: ["delivery.url.addresses"],
    sentence: "The provider connects to private addresses.",
    plant: { isPublic: () => true },
    options: { attemptMs: 500 },
  },
  {
    id: "address-v6",
    section: `${URL_RULES}, 2`,
    breaks: ["delivery.url.addresses"],
    sentence: "The provider does not check IPv6 addresses.",
    plant: { isPublic: (address) => address.includes(":") || CORRECT.isPublic(address) },
    options: { attemptMs: 500 },
  },
  {
    id: "address-metadata",
    section: `${URL_RULES}, 2`,
    breaks: ["delivery.url.addresses"],
    sentence: "The provider does not check the metadata address.",
    plant: { isPublic: (address) => address === "169.254.169.254" || CORRECT.isPublic(address) },
    options: { attemptMs: 500 },
  },
  {
    id: "certificate-any",
    section: `${URL_RULES}, 1`,
    breaks: ["delivery.url.certificate"],
    sentence: "The provider does not verify a receiver's certificate.",
    plant: { judgesCertificates: () => false },
  },
];

export const RECEIVER_FAULTS: readonly Fault[] = [...INPUTS, ...URLS];
