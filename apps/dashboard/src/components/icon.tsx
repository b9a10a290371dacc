import "./icon.css";

/** Outlines on a grid of 16, drawn in the colour of the text. */
const paths = {
  check: "M3 8.5 6.5 12 13 4.5",
  chevronDown: "m4 6 4 4 4-4",
  chevronLeft: "m10 4-4 4 4 4",
  chevronRight: "m6 4 4 4-4 4",
  close: "m4 4 8 8m0-8-8 8",
  copy: "M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z",
  external: "M9.5 2.5h4v4m0-4-6 6m-1-5h-4v10h10v-4",
  menu: "M2 4h12M2 8h12M2 12h12",
  minus: "M3 8h10",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5Z",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  plus: "M8 3v10M3 8h10",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.5-1.5L14 14",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5m0 11V15M1 8h1.5m11 0H15M3 3l1 1m8 8 1 1m0-10-1 1m-8 8-1 1",
  screen: "M2 3h12v8H2zm4 11h4m-2-3v3",
  user: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm-6 6c0-3 2.7-4.5 6-4.5s6 1.5 6 4.5",
} as const;

export type IconName = keyof typeof paths;

/** An icon next to a text. It has no meaning of its own: the text says the same. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
