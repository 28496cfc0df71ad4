/** An OpenAPI description in YAML, as far as its pages need it, with references resolved. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";

export interface Reference {
  readonly $ref?: string;
}

export interface SchemaObject extends Reference {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly required?: readonly string[];
  readonly items?: SchemaObject;
  readonly additionalProperties?: boolean | SchemaObject;
  readonly allOf?: readonly SchemaObject[];
  readonly anyOf?: readonly SchemaObject[];
  readonly oneOf?: readonly SchemaObject[];
}

export interface MediaObject {
  readonly schema?: SchemaObject;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, ExampleObject>>;
}

export interface ExampleObject extends Reference {
  readonly summary?: string;
  readonly value?: unknown;
}

export interface ParameterObject extends Reference {
  readonly name?: string;
  readonly in?: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: SchemaObject;
}

export interface ResponseObject extends Reference {
  readonly description?: string;
  readonly content?: Readonly<Record<string, MediaObject>>;
}

export interface OperationObject {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly ParameterObject[];
  readonly requestBody?: ResponseObject;
  readonly responses?: Readonly<Record<string, ResponseObject>>;
}

type PathItem = Readonly<Record<string, OperationObject | readonly ParameterObject[]>>;

interface DocumentObject {
  readonly info: {
    readonly title: string;
    readonly summary?: string;
    readonly description?: string;
  };
  readonly security?: OperationObject["security"];
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths?: Readonly<Record<string, PathItem>>;
  readonly webhooks?: Readonly<Record<string, PathItem>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, SchemaObject>> };
}

export interface DescribedOperation {
  /** Upper case. */
  readonly method: string;
  /** A path, or the name of a webhook. */
  readonly path: string;
  readonly isWebhook: boolean;
  readonly operation: OperationObject;
}

const METHODS = ["get", "post", "put", "patch", "delete"];

export class OpenApiDocument {
  readonly content: DocumentObject;
  readonly #folder: string;
  readonly #others = new Map<string, OpenApiDocument>();

  constructor(file: string) {
    this.content = parse(readFileSync(file, "utf8")) as DocumentObject;
    this.#folder = dirname(file);
  }

  /** Every operation, with the parameters of its path. */
  operations(): DescribedOperation[] {
    const found: DescribedOperation[] = [];
    for (const part of ["paths", "webhooks"] as const) {
      for (const [path, item] of Object.entries(this.content[part] ?? {})) {
        const shared = (item.parameters ?? []) as readonly ParameterObject[];
        for (const method of METHODS) {
          const operation = item[method] as OperationObject | undefined;
          if (operation === undefined) continue;
          const parameters = [...shared, ...(operation.parameters ?? [])];
          found.push({
            method: method.toUpperCase(),
            path,
            isWebhook: part === "webhooks",
            operation: { ...operation, parameters },
          });
        }
      }
    }
    return found;
  }

  /** The object that a reference names, with the members beside the reference. */
  resolve<T extends Reference>(object: T): T {
    const { $ref, ...beside } = object;
    if ($ref === undefined) return object;
    const [file = "", pointer = ""] = $ref.split("#");
    const document = file === "" ? this : this.#other(file);
    return { ...document.#at<T>(pointer), ...beside };
  }

  #at<T extends Reference>(pointer: string): T {
    let value: unknown = this.content;
    for (const step of pointer.split("/").slice(1)) {
      value = (value as Readonly<Record<string, unknown>> | undefined)?.[step];
    }
    if (value === undefined) throw new Error(`The reference #${pointer} names nothing.`);
    return this.resolve(value as T);
  }

  #other(file: string): OpenApiDocument {
    const known = this.#others.get(file);
    if (known !== undefined) return known;
    const document = new OpenApiDocument(join(this.#folder, file));
    this.#others.set(file, document);
    return document;
  }
}
