/**
 * Prints the errors of an agent that may neither read environment variables nor use the network.
 */

import { Countersign, DevelopmentProvider } from "@countersign/sdk";

function messageOf(create: () => unknown): string {
  try {
    create();
    return "no error";
  } catch (error) {
    return String(error);
  }
}

console.log(messageOf(() => new Countersign()));
console.log(messageOf(() => new DevelopmentProvider({ outcomes: {} })));

const sleep = () => Promise.reject(new Error("The SDK tried again."));
const timing = { now: Date.now, monotonic: () => 0, after: () => () => {}, random: () => 0, sleep };
const url = "https://approvals.example.com:8443/path";
const approvals = new Countersign({ url, apiKey: "unused", logger: false, timing });
const pay = approvals.tool("pay", () => "paid");
const result = await pay({});
console.log(result.status === "executed" ? "executed" : result.messageForModel);
