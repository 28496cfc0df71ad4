/** The site: `npm run site` writes pages/ and its navigation before this file is read. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { slug } from "github-slugger";
import { defineConfig } from "vitepress";

const NAVIGATION = join(import.meta.dirname, "../pages/navigation.json");
const { sidebar, nav, version } = JSON.parse(readFileSync(NAVIGATION, "utf8"));

export default defineConfig({
  title: "Countersign",
  description: "The approval provider for AI agents' tool calls.",
  lang: "en",
  srcDir: "pages",
  outDir: "dist",
  base: process.env.SITE_BASE ?? "/",
  metaChunk: true,
  ignoreDeadLinks: "localhostLinks",
  // The anchors are those of GitHub, where the same files are read.
  markdown: { anchor: { slugify: (text: string) => slug(text) } },
  head: [
    ["meta", { name: "referrer", content: "no-referrer" }],
    // Without it, browsers request favicon.ico.
    ["link", { rel: "icon", href: "data:," }],
  ],
  themeConfig: {
    siteTitle: `Countersign ${version}`,
    search: {
      provider: "local",
      options: { miniSearch: { searchOptions: { boost: { title: 4, text: 2, titles: 1 } } } },
    },
    nav,
    sidebar,
    outline: [2, 3],
    docFooter: { prev: "Previous", next: "Next" },
  },
});
