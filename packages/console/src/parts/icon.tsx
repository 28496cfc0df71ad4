/** Small line drawings, in the colour of the text beside them, which says what they mean. */

const PATHS: Readonly<Record<string, string>> = {
  inbox: "M3 13l3-8h12l3 8v6H3v-6zm0 0h5l2 3h4l2-3h5",
  history: "M4 12a8 8 0 1 0 3-6.2M4 4v4h4M12 8v4.5l3 2",
  dashboard: "M4 20V11m5 9V5m5 15v-6m5 6V8",
  audit: "M12 3l7 3v5c0 4.5-3 8-7 10-4-2-7-5.5-7-10V6l7-3zm-3 9l2 2 4-4.5",
  policies: "M6 3h9l4 4v14H6V3zm3 8h7M9 15h7M9 7h3",
  instances: "M4 5h16v6H4V5zm0 8h16v6H4v-6zm3-5h.01M7 16h.01",
  settings: "M4 7h9m4 0h3M4 17h3m4 0h9M15 5v4M9 15v4",
  close: "M6 6l12 12M18 6L6 18",
  back: "M14 6l-6 6 6 6",
  copy: "M8 8h11v12H8V8zM5 16V4h11",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zm5 12l5 5",
  chevron: "M9 6l6 6-6 6",
  check: "M5 12.5l4.5 4.5L19 7.5",
  minus: "M6 12h12",
  plus: "M12 5v14M5 12h14",
  download: "M12 4v11m0 0l-5-5m5 5l5-5M5 20h14",
  refresh: "M20 12a8 8 0 1 1-2.5-5.8M20 4v4h-4",
  freeze: "M12 3v18M4.2 7.5l15.6 9M19.8 7.5l-15.6 9",
};

export function Icon({ name }: { readonly name: string }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
      <path d={PATHS[name] ?? ""} />
    </svg>
  );
}
