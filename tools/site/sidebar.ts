/** The navigation of the site, from the folders of its pages. */

export interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: readonly SidebarItem[];
}

/** A page in the navigation. */
export interface NavigationPage {
  readonly route: string;
  readonly title: string;
}

interface Section {
  readonly text: string;
  /** Beginnings of routes. */
  readonly routes: readonly string[];
  readonly collapsed: boolean;
}

/** In this order. A page is in the first section that names a beginning of its route. */
const SECTIONS: readonly Section[] = [
  { text: "Quickstarts", routes: ["quickstart/"], collapsed: false },
  { text: "Tutorials", routes: ["tutorials/"], collapsed: false },
  { text: "How-to guides", routes: ["guides/"], collapsed: false },
  { text: "Troubleshooting", routes: ["troubleshooting"], collapsed: false },
  { text: "HTTP API", routes: ["reference/http/"], collapsed: true },
  { text: "SDK API", routes: ["reference/sdk-api/"], collapsed: true },
  { text: "Reference", routes: ["reference/"], collapsed: true },
  {
    text: "Explanation",
    routes: ["explanation/", "security/", "comparison", "framework-approvals"],
    collapsed: true,
  },
  { text: "Decisions", routes: ["decisions/"], collapsed: true },
  { text: "Project", routes: ["changelog", "contributing", "repository/"], collapsed: true },
];

/**
 * @param order routes that come first, in this order. The others follow by title. A route that no
 *   page has is ignored, so that a renamed page keeps the site intact.
 */
export function sidebarOf(
  pages: readonly NavigationPage[],
  order: readonly string[],
): SidebarItem[] {
  const placed = Map.groupBy(pages, ({ route }) =>
    SECTIONS.find(({ routes }) => routes.some((start) => route.startsWith(start))),
  );
  return SECTIONS.flatMap((section) => {
    const inside = placed.get(section);
    if (inside === undefined) return [];
    const items = sorted(inside, order).map(({ route, title }) => ({
      text: shortTitle(title),
      link: `/${route}`,
    }));
    const only = items.length === 1 ? items[0] : undefined;
    return [only ?? { text: section.text, collapsed: section.collapsed, items }];
  });
}

/** Without the kind of the page, which is the name of its section. */
function shortTitle(title: string): string {
  const [, rest = title] = /^(?:Quickstart|Reviewer API): (.+)$/.exec(title) ?? [];
  return rest.replace(/^./, (first) => first.toUpperCase());
}

const IN_TOP_BAR = ["Quickstarts", "How-to guides", "HTTP API", "Reference", "Troubleshooting"];

/** Links to the first page of some sections. */
export function topBarOf(sidebar: readonly SidebarItem[]): SidebarItem[] {
  return sidebar.flatMap(({ text, link, items = [] }) => {
    const first = link ?? items[0]?.link;
    return IN_TOP_BAR.includes(text) && first !== undefined ? [{ text, link: first }] : [];
  });
}

/** The name of the section of a page, or undefined for the first page of the site. */
export function sectionOf(route: string): string | undefined {
  return SECTIONS.find(({ routes }) => routes.some((start) => route.startsWith(start)))?.text;
}

export function sorted<Page extends NavigationPage>(
  pages: readonly Page[],
  order: readonly string[],
): Page[] {
  const rank = ({ route }: Page) => {
    const index = order.indexOf(route);
    return index === -1 ? order.length : index;
  };
  return pages.toSorted((a, b) => {
    // Decisions have numbers, which are their order.
    const byNumber = a.route.startsWith("decisions/") && b.route.startsWith("decisions/");
    if (byNumber) return a.route.localeCompare(b.route);
    return rank(a) - rank(b) || a.title.localeCompare(b.title);
  });
}
