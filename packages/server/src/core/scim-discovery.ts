/**
 * The documents that describe the SCIM API.
 *
 * @see RFC 7643, sections 5 to 7; RFC 7644, section 4
 */

import type { ScimObject } from "./scim-resource.ts";
import { RESOURCE_SCHEMAS } from "./scim-schema.ts";

/** Maximum resources in one answer. */
export const SCIM_PAGE_MAX = 200;

const CORE = "urn:ietf:params:scim:schemas:core:2.0";

/** @param base address of the API, without a trailing slash */
export function serviceProviderConfig(base: string): ScimObject {
  return {
    schemas: [`${CORE}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: SCIM_PAGE_MAX },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "SCIM token",
        description: "A token that `countersign tokens create scim` prints",
        primary: true,
      },
    ],
    meta: {
      resourceType: "ServiceProviderConfig",
      location: `${base}/ServiceProviderConfig`,
    },
  };
}

/** @param base address of the API, without a trailing slash */
export function resourceTypes(base: string): readonly ScimObject[] {
  return RESOURCE_SCHEMAS.map(({ id, name, description, endpoint }) => {
    return {
      schemas: [`${CORE}:ResourceType`],
      id: name,
      name,
      description,
      endpoint,
      schema: id,
      meta: {
        resourceType: "ResourceType",
        location: `${base}/ResourceTypes/${name}`,
      },
    };
  });
}

/** @param base address of the API, without a trailing slash */
export function schemaDocuments(base: string): readonly ScimObject[] {
  return RESOURCE_SCHEMAS.map(({ id, name, description, attributes }) => {
    return {
      schemas: [`${CORE}:Schema`],
      id,
      name,
      description,
      attributes,
      meta: {
        resourceType: "Schema",
        location: `${base}/Schemas/${id}`,
      },
    };
  });
}

/** A page of results: RFC 7644, section 3.4.2. */
export function listResponse(
  resources: readonly ScimObject[],
  total = resources.length,
  startIndex = 1,
): ScimObject {
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}
