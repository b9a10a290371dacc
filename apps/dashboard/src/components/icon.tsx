import "./icon.css";

/** Outlines on a grid of 16, drawn in the colour of the text. */
const paths = {
  activity: "M1.5 8H4l2-5 4 10 2-5h2.5",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1.5 1.5h-11zm3 3h2",
  bike: "M4 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm8 0a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM4 10l2.5-5h4L12 10M6 6.5h4.7L8 10zM10 5l-.5-1.5H8",
  book: "M8 4C6.5 2.8 4.5 2.5 2 2.5v10c2.5 0 4.5.3 6 1.5 1.5-1.2 3.5-1.5 6-1.5v-10c-2.5 0-4.5.3-6 1.5Zm0 0v10",
  building: "M3 14V2.5h7V14m0-8h3v8M1.5 14h13M5.5 5.5h2m-2 3h2m-2 3h2",
  check: "M3 8.5 6.5 12 13 4.5",
  checks: "m2 4.5 1.5 1.5L6 3m-4 8 1.5 1.5L6 9.5M8.5 4.5h5.5m-5.5 6.5h5.5",
  chevronDown: "m4 6 4 4 4-4",
  chevronLeft: "m10 4-4 4 4 4",
  chevronRight: "m6 4 4 4-4 4",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Zm0-9.5V8l2.5 1.5",
  close: "m4 4 8 8m0-8-8 8",
  code: "m5 4.5L1.5 8 5 11.5m6-7L14.5 8 11 11.5M9 3 7 13",
  copy: "M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z",
  external: "M9.5 2.5h4v4m0-4-6 6m-1-5h-4v10h10v-4",
  feed: "M3 13h.01M3 8.5A4.5 4.5 0 0 1 7.5 13M3 3.5A9.5 9.5 0 0 1 12.5 13",
  file: "M4 1.5h5l3.5 3.5v9.5h-8.5zm5 0V5h3.5",
  filter: "M2 4h12M4.5 8h7M7 12h2",
  home: "m2 7.5 6-5 6 5M3.5 6.5V13.5h9V6.5M6.5 13.5v-4h3v4",
  inbox: "M2 9.5 4 3h8l2 6.5V13H2zm0 0h3.5L6.5 11h3l1-1.5H14",
  key: "M10.5 9a3.5 3.5 0 1 0-3.3-2.3L2 12v2h2.5v-1.5H6V11h1.5l1.3-1.3c.5.2 1.1.3 1.7.3ZM11 5.5h.01",
  map: "M1.5 4 6 2.5l4 1.5 4.5-1.5V12L10 13.5 6 12l-4.5 1.5zM6 2.5V12m4-8v9.5",
  fit: "M2.5 6v-3.5H6m4 0h3.5V6m0 4v3.5H10m-4 0H2.5V10",
  layers: "m8 2 6 3.2-6 3.2-6-3.2Zm-6 6 6 3.2L14 8M2 10.8 8 14l6-3.2",
  menu: "M2 4h12M2 8h12M2 12h12",
  minus: "M3 8h10",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5Z",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  pin: "M8 14.5S3 10 3 6.5a5 5 0 0 1 10 0c0 3.5-5 8-5 8ZM8 8a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Z",
  pause: "M5 3v10m6-10v10",
  play: "M5 3v10l8-5Z",
  plus: "M8 3v10M3 8h10",
  route:
    "M4 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Zm8-8a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM5.5 12h5a2 2 0 0 0 0-4h-5a2 2 0 0 1 0-4h5",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.5-1.5L14 14",
  send: "M14 2 7 9m7-7-4.5 12L7 9 2 6.5z",
  settings: "M2 4.5h6m4 0h2m-4-2v4M2 11.5h2m4 0h6m-8-2v4",
  star: "m8 2 1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5z",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5m0 11V15M1 8h1.5m11 0H15M3 3l1 1m8 8 1 1m0-10-1 1m-8 8-1 1",
  screen: "M2 3h12v8H2zm4 11h4m-2-3v3",
  upload: "M8 10.5V2.5m-3 3 3-3 3 3M2.5 10v3.5h11V10",
  user: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm-6 6c0-3 2.7-4.5 6-4.5s6 1.5 6 4.5",
  users:
    "M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm-5 5.5c0-2.5 2-4 5-4s5 1.5 5 4M11 3.2a2.5 2.5 0 0 1 0 4.6m1.5 2.2c1.5.6 2.5 1.8 2.5 3.5",
} as const;

export type IconName = keyof typeof paths;

/**
 * An icon. It is hidden from screen readers, which read the text beside it or, of a button that shows only an icon, the name
 * of the button.
 */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
