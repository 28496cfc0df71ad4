/** The project of the token. The document prevents an apply to another project. */

import * as v from "valibot";
import type { Kind } from "../kind.ts";
import { text } from "../schemas.ts";

const schema = v.strictObject({ kind: v.literal("Project"), name: text });

export const project: Kind<v.InferOutput<typeof schema>> = {
  kind: "Project",
  schema,
  file: "project.yaml",
  nameOf: ({ name }) => name,

  plan({ documents, actual, report }) {
    const { name } = actual.project;
    for (const document of documents.of(project)) {
      if (document.name === name) continue;
      const message = `the token is for the project ${name}; use a token for ${document.name}`;
      report({ ...document.placeOf(["name"]), path: "name", message });
    }
    return { steps: [], surplus: [] };
  },

  export({ project: { name } }) {
    return { documents: [{ kind: "Project", name }] };
  },
};
