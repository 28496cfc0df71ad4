import { join } from "node:path";
import { configPage } from "@countersign/server/config/config-reference";

export interface Page {
  readonly file: string;
  readonly text: () => string;
}

export const CONFIG_PAGE: Page = {
  file: join(import.meta.dirname, "../../docs/reference/config.md"),
  text: configPage,
};
