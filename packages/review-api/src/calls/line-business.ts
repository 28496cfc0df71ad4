/** Lines of payments, e-mails, web requests and Kubernetes. Pure. */

import { JsonArray, JsonNumber, type JsonValue } from "@countersign/protocol";
import { type Call, isNamed, nameWords, onlyTextKey } from "./call.ts";
import type { Rendered } from "./call-line.ts";
import { quoted, scalarWord, word } from "./call-words.ts";
import { moneyIn } from "./money.ts";
import { hostsIn } from "./urls.ts";

const PAYMENTS: readonly (readonly [RegExp, string])[] = [
  [/^refunds?$/, "Refund"],
  [/^payouts?$/, "Pay out"],
  [/^transfers?$/, "Transfer"],
  [/^charges?$/, "Charge"],
  [/^(?:pay|payments?)$/, "Pay"],
];
const RECEIVER_KEYS = ["to", "customer", "customer_id", "recipient", "destination", "account"];

/** Currencies with two decimals in every list of Stripe. */
const HUNDREDTHS = new Set(
  "AUD BRL CAD CHF CZK DKK EUR GBP HKD INR MXN NOK NZD PLN SEK SGD USD ZAR".split(" "),
);

/** Like `Refund 49.00 GBP (amount 4900) to cus_123`; the unit is named only where it is certain. */
export function paymentLine(call: Call): Rendered | undefined {
  const { members } = call.args;
  const verb = PAYMENTS.find(([name]) => nameWords(call.tool).some((one) => name.test(one)))?.[1];
  const money = moneyIn(call.args);
  const [only] = money;
  if (verb === undefined || only === undefined || money.length !== 1) return undefined;
  if (!members.has(only.path)) return undefined;
  const currencyKey = [...members.keys()].find((key) => /^currency(?:[_-]?code)?$/i.test(key));
  const receiverKey = onlyTextKey(call.args, RECEIVER_KEYS);
  const receiver = receiverKey === undefined ? undefined : scalarWord(members.get(receiverKey));
  const sent = `${word(only.amount)} ${only.currency}`;
  const decimal = isMinor(call, only.path) ? decimalOf(only.amount, only.currency) : undefined;
  const label = decimal === undefined ? sent : `${decimal} (${only.path} ${word(only.amount)})`;
  return {
    kind: "payment",
    text: `${verb} ${label}${receiver === undefined ? "" : ` to ${receiver}`}`,
    used: [only.path, currencyKey, receiverKey],
  };
}

function isMinor(call: Call, name: string): boolean {
  return /[_-](?:cents|minor)$/i.test(name) || isNamed(call, /^stripe$/);
}

function decimalOf(amount: string, currency: string): string | undefined {
  if (!/^\d{1,15}$/.test(amount) || !HUNDREDTHS.has(currency)) return undefined;
  const digits = amount.padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)} ${currency}`;
}

const MAIL_KEYS = ["to", "recipients", "recipient", "cc", "bcc"];

/** Named in the line; the others are counted. */
const RECEIVERS_NAMED = 3;

/** Like `E-mail to a@b.example, c@d.example: "Subject"`. Copies count as receivers. */
export function mailLine({ args: { members } }: Call): Rendered | undefined {
  const subject = members.get("subject");
  const keys = MAIL_KEYS.filter((key) => members.has(key));
  const receivers = keys.map((key) => receiversOf(members.get(key)));
  const all = receivers.flatMap((one) => one ?? []);
  if (typeof subject !== "string" || all.length === 0) return undefined;
  if (receivers.some((one) => one === undefined)) return undefined;
  const named = all.slice(0, RECEIVERS_NAMED).map(word).join(", ");
  const rest = all.length - RECEIVERS_NAMED;
  const more = rest > 0 ? ` and ${rest.toLocaleString("en")} more` : "";
  return {
    kind: "mail",
    text: `E-mail to ${named}${more}: ${quoted(subject)}`,
    used: ["subject", ...keys],
  };
}

/** @returns undefined for receivers in another shape */
export function receiversOf(value: JsonValue | undefined): string[] | undefined {
  const items = value instanceof JsonArray ? value.items : [value];
  const texts = items.flatMap((item) =>
    typeof item === "string" ? item.split(/[,;]/).map((one) => one.trim()) : [undefined],
  );
  const known = texts.filter((one) => one !== undefined && one !== "") as string[];
  const isComplete = texts.every((one) => one !== undefined);
  return isComplete && known.every((one) => one.includes("@")) ? known : undefined;
}

const URL_KEYS = ["url", "uri", "endpoint"];
const METHOD_KEYS = ["method", "http_method", "verb"];
const METHOD = /^[A-Za-z]{1,20}$/;

/** Like `POST api.stripe.com/refunds`. */
export function webLine({ tool, args }: Call): Rendered | undefined {
  const { members } = args;
  const urlKey = onlyTextKey(args, URL_KEYS);
  const url = urlKey === undefined ? undefined : members.get(urlKey);
  if (typeof url !== "string") return undefined;
  const methodKey = onlyTextKey(args, METHOD_KEYS);
  const method = methodKey === undefined ? undefined : members.get(methodKey);
  const isMethod = typeof method === "string" && METHOD.test(method);
  const verb = isMethod ? method.toUpperCase() : word(tool);
  return {
    kind: "web",
    text: `${verb} ${addressOf(url, args)}`,
    used: [urlKey, isMethod ? methodKey : undefined],
  };
}

/** Without `https://` when every client reads the same host from it. */
function addressOf(url: string, args: JsonValue): string {
  const prefix = "https://";
  const hosts = hostsIn(args).map(({ host, user }) => (user === undefined ? host : undefined));
  const rest = url.slice(prefix.length);
  const [authority = ""] = rest.split(/[/?#]/, 1);
  const isPlain = url.startsWith(prefix) && hosts.includes(authority);
  return word(isPlain ? rest : url);
}

const KUBE = /^(?:kubectl|kubernetes|k8s|kube)$/;
const KUBE_VERB =
  /^(?:delete|scale|apply|patch|create|get|list|describe|rollout|restart|drain|cordon|logs?)$/;
const RESOURCE_KEYS = ["resource", "resource_type", "resourceType", "kind"];

/** Like `kubectl delete deployment/web in prod`. */
export function kubernetesLine(call: Call): Rendered | undefined {
  const { members } = call.args;
  if (!isNamed(call, KUBE)) return undefined;
  const verb = nameWords(call.tool).find((one) => KUBE_VERB.test(one));
  const resourceKey = onlyTextKey(call.args, RESOURCE_KEYS);
  const resource = resourceKey === undefined ? undefined : scalarWord(members.get(resourceKey));
  const name = members.get("name");
  if (verb === undefined || resource === undefined || typeof name !== "string") return undefined;
  const namespace = scalarWord(members.get("namespace"));
  const replicas = members.get("replicas");
  const size = replicas instanceof JsonNumber ? `, replicas: ${word(replicas.source)}` : "";
  const place = namespace === undefined ? "" : ` in ${namespace}`;
  return {
    kind: "kubernetes",
    text: `kubectl ${verb} ${resource}/${word(name)}${place}${size}`,
    used: [resourceKey, "name", namespace && "namespace", size && "replicas"],
  };
}
