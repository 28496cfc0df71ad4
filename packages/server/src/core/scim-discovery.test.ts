import assert from "node:assert/strict";
import { test } from "node:test";
import {
  listResponse,
  resourceTypes,
  schemaDocuments,
  serviceProviderConfig,
} from "./scim-discovery.ts";
import { GROUP_SCHEMA, USER_SCHEMA } from "./scim-schema.ts";

test("[ours.scim.protocol] the documents state what the server supports, with their addresses", () => {
  const base = "https://h/scim/v2";
  const config = serviceProviderConfig(base);
  const supported = Object.entries(config).flatMap(([name, value]) =>
    (value as { readonly supported?: boolean }).supported ? name : [],
  );
  assert.deepEqual(supported, ["patch", "filter"]);
  const ids = (documents: readonly object[]) => documents.map((each) => "id" in each && each.id);
  assert.deepEqual(ids(resourceTypes(base)), ["User", "Group"]);
  assert.deepEqual(ids(schemaDocuments(base)), [USER_SCHEMA.id, GROUP_SCHEMA.id]);
  assert.deepEqual(schemaDocuments(base)[0]?.meta, {
    resourceType: "Schema",
    location: `${base}/Schemas/${USER_SCHEMA.id}`,
  });
  const { totalResults, startIndex, itemsPerPage } = listResponse([{}], 5, 3);
  assert.deepEqual([totalResults, startIndex, itemsPerPage], [5, 3, 1]);
});
