/**
 * Display: the languages of the pages (`locales`), colours that can be read, and names of browsers.
 *
 * Readability of colours (`#rrggbb`) on one another. An accent colour is checked when it is written: in an option, a tenant, a client. The pages use shades
 * of the accent colour that can be read in each colour scheme.
 */

type Rgb = readonly [red: number, green: number, blue: number];

/** Minimum contrast of text against its background. @see WCAG 2.2, 1.4.3 */
export const READABLE = 4.5;

const white = '#ffffff';
const black = '#000000';

function parse(color: string): Rgb {
  const value = Number.parseInt(color.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** @see WCAG 2.2, relative luminance */
function luminance(color: string): number {
  const [red, green, blue] = parse(color).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/**
 * Returns the contrast of two colours, 1 to 21.
 * @see WCAG 2.2, contrast ratio
 * @example
 * ```ts
 * import { contrastRatio } from 'tenant-idp/extension';
 *
 * export const isReadable = contrastRatio('#0b6e4f', '#ffffff') >= 4.5;
 * ```
 */
export function contrastRatio(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/**
 * Returns a colour between two colours.
 * @param share of the way from `color` to `toward`, 0 to 1.
 * @example
 * ```ts
 * import { mixed } from 'tenant-idp/extension';
 *
 * export const pressed = mixed('#0b6e4f', '#000000', 0.14);
 * ```
 */
export function mixed(color: string, toward: string, share: number): string {
  const end = parse(toward);
  const parts = parse(color).map((part, index) => Math.round(part + ((end[index] ?? 0) - part) * share));
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * Returns the shade of the colour, nearest to it in the direction of `toward`, that has the ratio on the surface.
 * @example
 * ```ts
 * import { shadeOn } from 'tenant-idp/extension';
 *
 * export const link = shadeOn('#1a1c22', '#0b6e4f', '#ffffff', 4.5);
 * ```
 */
export function shadeOn(surface: string, color: string, toward: string, ratio: number): string {
  for (let step = 0; step < 128; step += 1) {
    const candidate = mixed(color, toward, step / 128);
    if (contrastRatio(candidate, surface) >= ratio) return candidate;
  }
  return toward;
}

/**
 * Returns the expected form of an accent colour. White text on the accent, and links in the accent colour on white, have to be readable. Undefined for a
 * valid accent.
 */
export function expectedAccent(color: string): string | undefined {
  const ratio = contrastRatio(color, white);
  if (ratio >= READABLE) return undefined;
  // Rounds down, because 4.49 must not be shown as 4.5.
  const measured = (Math.floor(ratio * 100) / 100).toFixed(2);
  const nearest = shadeOn(white, color.toLowerCase(), black, READABLE);
  return `a colour with a contrast of ${READABLE}:1 to white or more; this one has ${measured}:1, and the nearest that fits is ${nearest}`;
}
