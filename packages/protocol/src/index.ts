/** The approval provider interface as code. Zero dependencies; runs wherever fetch exists. */

export * from "./duration.ts";
export * from "./extensions.ts";
export * from "./fields.ts";
export * from "./identifier.ts";
export * from "./inputs.ts";
export * from "./json.ts";
export * from "./json-equal.ts";
export * from "./limits.ts";
export * from "./operations.ts";
export * from "./problems.ts";
export * from "./resources.ts";
export * from "./signature.ts";
export * from "./timestamp.ts";
export * from "./tool-name.ts";
export * from "./visible-text.ts";
export * from "./webhook-url.ts";
