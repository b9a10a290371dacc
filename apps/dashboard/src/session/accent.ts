/** Computes the design tokens from the operator's colour: shades with enough contrast in each theme. */

/** Red, green and blue, from 0 to 255. */
type Rgb = readonly [number, number, number];

/** The least contrast of text by WCAG 2.2 AA. */
const MIN_CONTRAST = 4.5;
/** How much darker or lighter each step makes a colour, as a share of the way to black or white. */
const STEP = 0.04;
/** The same, for the colour of a control under the pointer. */
const HOVER_STEP = 0.14;

const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [0, 0, 0];
/** In each theme, the surface on which coloured text is hardest to read: a selected row. */
const LIGHT_SURFACE: Rgb = [233, 237, 251];
const DARK_SURFACE: Rgb = [30, 38, 64];

/** Returns the tokens of `tokens.css` that depend on the operator's colour, with their values. @param hex `#rrggbb` */
export function accentTokens(hex: string): Readonly<Record<string, string>> {
  const color = parse(hex);
  // In both themes, white text is shown on this shade.
  const solid = until(color, BLACK, (shade) => contrast(shade, WHITE) >= MIN_CONTRAST);
  const onLight = until(color, BLACK, (shade) => contrast(shade, LIGHT_SURFACE) >= MIN_CONTRAST);
  const onDark = until(color, WHITE, (shade) => contrast(shade, DARK_SURFACE) >= MIN_CONTRAST);
  const byTheme = `light-dark(${format(onLight)}, ${format(onDark)})`;
  return {
    "--accent": format(solid),
    "--accent-hover": format(mix(solid, BLACK, HOVER_STEP)),
    "--accent-text": byTheme,
    "--series-1": byTheme,
  };
}

/** Returns the contrast of two colours, from 1 to 21, by the formula of WCAG 2.2. */
export function contrast(one: Rgb, other: Rgb): number {
  const [lighter, darker] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

/** Returns the colour that `#rrggbb` names. */
export function parse(hex: string): Rgb {
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16);
  return [part(1), part(3), part(5)];
}

/** Returns the first shade on the way from a colour to black or white that is enough; `towards` itself if none is. */
function until(color: Rgb, towards: Rgb, isEnough: (shade: Rgb) => boolean): Rgb {
  for (let part = 0; part < 1; part += STEP) {
    const shade = mix(color, towards, part);
    if (isEnough(shade)) return shade;
  }
  return towards;
}

/** Returns a colour between two. @param part 0: `color` itself, 1: the other one */
function mix(color: Rgb, other: Rgb, part: number): Rgb {
  const at = (index: 0 | 1 | 2) => Math.round(color[index] * (1 - part) + other[index] * part);
  return [at(0), at(1), at(2)];
}

/** Returns the relative luminance, 0 to 1, by the formula of WCAG 2.2. */
function luminance(color: Rgb): number {
  // 10 is the last value of 255 below the formula's threshold, 0.04045.
  const linear = (value: number) => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2]);
}

function format(color: Rgb): string {
  return `#${color.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
