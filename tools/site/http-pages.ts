/** The pages of the HTTP API, from the OpenAPI descriptions in contract/. */

import { join } from "node:path";
import { cell, plain } from "./markdown-text.ts";
import {
  type DescribedOperation,
  type ExampleObject,
  type MediaObject,
  OpenApiDocument,
  type OperationObject,
  type ResponseObject,
  type SchemaObject,
} from "./openapi-document.ts";

export interface GeneratedPage {
  readonly route: string;
  readonly title: string;
  readonly text: string;
}

const FOLDER = "reference/http";

interface Api {
  readonly document: OpenApiDocument;
  /** Route of the page with the schemas. */
  readonly schemas: string;
}

/**
 * @param root of the repository
 * @param base path of the site on its host; VitePress adds it to Markdown links only
 */
export function httpPages(root: string, base = "/"): GeneratedPage[] {
  const open = (name: string) => new OpenApiDocument(join(root, "contract", name));
  const agent = { document: open("openapi.yaml"), schemas: `${FOLDER}/agent` };
  const extensions = { document: open("extensions.yaml"), schemas: `${FOLDER}/agent` };
  const reviewer = {
    document: open("review.openapi.yaml"),
    schemas: `${FOLDER}/reviewer-schemas`,
  };
  const features = reviewerPages(reviewer);
  return [
    agentPage(agent, extensions),
    ...features,
    page(reviewer.schemas, "Reviewer API: schemas", schemaSections(reviewer, "##")),
    indexPage(features, base),
  ];
}

function page(route: string, title: string, ...parts: readonly string[]): GeneratedPage {
  return { route, title, text: `# ${title}\n\n${parts.join("\n\n")}\n` };
}

function indexPage(features: readonly GeneratedPage[], base: string): GeneratedPage {
  const list = features.map(({ title, route }) => `- [${title}](/${route})`).join("\n");
  return page(
    `${FOLDER}/index`,
    "HTTP API",
    "These pages show every operation with its parameters, bodies, answers and errors. They are " +
      "generated from the OpenAPI descriptions, which you can also download.",
    "- [Agent API](/reference/http/agent): the public contract. Adapters and provisioners use it.",
    "- Reviewer API: the console, the command line and bots of reviewers use it.",
    `## Reviewer API\n\n${list}\n- [Schemas](/reference/http/reviewer-schemas)`,
    "## OpenAPI files\n\n" +
      [
        ["openapi.yaml", "agent API"],
        ["extensions.yaml", "agent surface and extensions, outside the contract"],
        ["review.openapi.yaml", "reviewer API"],
      ]
        .map(
          ([name, text]) =>
            `- <a href="${base}repository/contract/${name}" download>${name}</a>: ${text}`,
        )
        .join("\n"),
  );
}

function agentPage(agent: Api, extensions: Api): GeneratedPage {
  return page(
    `${FOLDER}/agent`,
    "Agent API",
    plain(agent.document.content.info.description ?? ""),
    ...tagSections(agent, "##"),
    "## Beyond the contract\n\nThe contract does not define these operations. " +
      "[Beyond the contract](/reference/extensions) explains them.",
    ...tagSections(extensions, "###"),
    "## Schemas",
    schemaSections(agent, "###"),
    schemaSections(extensions, "###"),
  );
}

/** A section for each tag, with its operations. */
function tagSections(api: Api, level: string): string[] {
  const operations = api.document.operations();
  const { tags = [] } = api.document.content;
  return tags.flatMap(({ name, description = "" }) => [
    `${level} ${name}\n\n${plain(description)}`,
    ...operations
      .filter(({ operation }) => operation.tags?.includes(name))
      .map((each) => operationSection(api, each, `${level}#`)),
  ]);
}

function reviewerPages(api: Api): GeneratedPage[] {
  const byTag = Map.groupBy(
    api.document.operations(),
    ({ operation }) => operation.tags?.[0] ?? "",
  );
  return [...byTag]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([tag, operations]) => {
      const name = tag.replace(/([A-Z])/g, " $1").toLowerCase();
      return page(
        `${FOLDER}/reviewer-${name.replaceAll(" ", "-")}`,
        `Reviewer API: ${name}`,
        "This API is not part of the public contract. [Reviewer API](/reference/review-api) " +
          "explains authentication and versions.",
        ...operations.map((each) => operationSection(api, each, "##")),
      );
    });
}

function operationSection(api: Api, described: DescribedOperation, level = "###"): string {
  const { method, path, isWebhook, operation } = described;
  const line = isWebhook ? `${method} to the receiver's URL: ${path}` : `${method} ${path}`;
  return [
    `${level} ${operation.summary ?? operation.operationId}`,
    `\`\`\`http\n${line}\n\`\`\``,
    plain(operation.description ?? ""),
    credentials(api, operation, isWebhook),
    parameterTable(api, operation),
    requestBody(api, operation),
    responseTable(api, operation),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

const CREDENTIALS: Readonly<Record<string, string>> = {
  provisionerToken: "a provisioner token",
  instanceCredential: "an instance credential",
  reviewerToken: "a reviewer token",
  session: "a session",
};

function credentials(api: Api, operation: OperationObject, isWebhook: boolean): string {
  if (isWebhook) return "Authentication: the signature of the message.";
  const names = (operation.security ?? api.document.content.security ?? []).flatMap(Object.keys);
  if (names.length === 0) return "Authentication: none.";
  return `Authentication: ${names.map((name) => CREDENTIALS[name] ?? name).join(" or ")}.`;
}

function parameterTable(api: Api, { parameters = [] }: OperationObject): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map((parameter) => {
    const {
      name,
      in: place,
      required,
      description = "",
      schema = {},
    } = api.document.resolve(parameter);
    const text = [required === true ? "Required." : "", description].join(" ").trim();
    return `| \`${name}\` | ${place} | ${typeOf(api, schema)} | ${cell(text)} |`;
  });
  return ["| Parameter | In | Type | Description |", "| --- | --- | --- | --- |", ...rows].join(
    "\n",
  );
}

function requestBody(api: Api, { requestBody: body }: OperationObject): string {
  if (body === undefined) return "";
  const { content = {} } = api.document.resolve(body);
  return Object.entries(content)
    .map(([type, media]) =>
      [
        `**Request body** (\`${type}\`): ${typeOf(api, media.schema ?? {})}`,
        inlineProperties(api, media.schema),
        ...examplesOf(api, media),
      ]
        .filter((part) => part !== "")
        .join("\n\n"),
    )
    .join("\n\n");
}

/** The properties of a schema without a name of its own. */
function inlineProperties(api: Api, schema: SchemaObject | undefined): string {
  if (schema?.properties === undefined) return "";
  return propertyTable(api, schema);
}

function responseTable(api: Api, { responses = {} }: OperationObject): string {
  const examples: string[] = [];
  const rows = Object.entries(responses).map(([status, response]) => {
    const { description = "", content = {} } = api.document.resolve<ResponseObject>(response);
    const media = Object.entries(content);
    const body = media
      .map(([type, { schema }]) => (schema === undefined ? `\`${type}\`` : typeOf(api, schema)))
      .join(", ");
    const [first] = media.flatMap(([, each]) => examplesOf(api, each));
    if (first !== undefined && status.startsWith("2")) examples.push(`Answer ${status}: ${first}`);
    return `| ${status} | ${body} | ${cell(description)} |`;
  });
  const table = ["| Status | Body | Description |", "| --- | --- | --- |", ...rows].join("\n");
  return ["**Answers**", table, ...examples].join("\n\n");
}

function examplesOf(api: Api, { example, examples = {} }: MediaObject): string[] {
  const all: ExampleObject[] = example === undefined ? [] : [{ value: example }];
  all.push(...Object.values(examples).map((each) => api.document.resolve(each)));
  return all.map(({ summary, value }) => {
    const title = summary === undefined ? "example" : plain(summary);
    return `${title}\n\n\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
  });
}

function schemaSections(api: Api, level: string): string {
  const schemas = Object.entries(api.document.content.components?.schemas ?? {});
  return schemas
    .map(([name, schema]) =>
      [
        `${level} ${name}`,
        plain(schema.description ?? ""),
        schema.properties === undefined ? `Type: ${typeOf(api, schema)}` : "",
        propertyTable(api, schema),
      ]
        .filter((part) => part !== "")
        .join("\n\n"),
    )
    .join("\n\n");
}

function propertyTable(api: Api, { properties = {}, required = [] }: SchemaObject): string {
  const entries = Object.entries(properties);
  if (entries.length === 0) return "";
  const rows = entries.map(([name, schema]) => {
    const needed = required.includes(name) ? "yes" : "no";
    const meaning = cell(schema.description ?? "");
    return `| \`${name}\` | ${typeOf(api, schema)} | ${needed} | ${meaning} |`;
  });
  return ["| Field | Type | Required | Description |", "| --- | --- | --- | --- |", ...rows].join(
    "\n",
  );
}

/** The type in words, with links to named schemas. */
function typeOf(api: Api, schema: SchemaObject): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return `[${name}](/${api.schemas}#${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) {
    return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(" or ");
  }
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return alternatives.map((each) => typeOf(api, each)).join(" or ");
  if (schema.allOf !== undefined) {
    return schema.allOf.map((each) => typeOf(api, each)).join(" and ");
  }
  if (schema.items !== undefined) return `array of ${typeOf(api, schema.items)}`;
  if (typeof schema.additionalProperties === "object") {
    return `map of ${typeOf(api, schema.additionalProperties)}`;
  }
  const types = schema.type === undefined ? ["any JSON"] : [schema.type].flat();
  return [types.join(" or "), ...constraintsOf(schema)].join(", ");
}

function constraintsOf(schema: SchemaObject): string[] {
  const { format, minLength, maxLength, minimum, maximum } = schema;
  return [
    format ?? "",
    minLength === undefined ? "" : `at least ${minLength} characters`,
    maxLength === undefined ? "" : `at most ${maxLength} characters`,
    minimum === undefined ? "" : `at least ${minimum}`,
    maximum === undefined ? "" : `at most ${maximum}`,
  ].filter((text) => text !== "");
}
