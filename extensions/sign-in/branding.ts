/** Colours and shape of a client or tenant, turned into custom properties that always read well. */
import { LRUCache } from 'lru-cache';
import { type Branding, hashSource } from '../../lib/extension-door.js';
import { surfaces } from './styles.js';

type Rgb = readonly [red: number, green: number, blue: number];

const defaultAccent = '#4450b8';
const defaultRadius = 10;
const black: Rgb = [0, 0, 0];
const white: Rgb = [255, 255, 255];

function parseColor(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

const formatColor = (color: Rgb): string => `#${color.map((part) => part.toString(16).padStart(2, '0')).join('')}`;

/** @see WCAG 2.2, relative luminance */
function luminance(color: Rgb): number {
  const [red, green, blue] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: Rgb, other: Rgb): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** The contrast ratio of two `#rrggbb` colours, 1 to 21. @see WCAG 2.2, contrast ratio */
export const contrastRatio = (one: string, other: string): number => contrast(parseColor(one), parseColor(other));

const mix = (color: Rgb, toward: Rgb, share: number): Rgb =>
  color.map((part, index) => Math.round(part + ((toward[index] ?? 0) - part) * share)) as unknown as Rgb;

/** The nearest shade of the colour, on its way to `toward`, that has the ratio on the surface. */
function shade(color: Rgb, surface: Rgb, toward: Rgb, ratio: number): Rgb {
  for (let step = 0; step < 50; step += 1) {
    const candidate = mix(color, toward, step / 50);
    if (contrast(candidate, surface) >= ratio) return candidate;
  }
  return toward;
}

/**
 * Fills keep the accent while they stand out from the surface (their text identifies them, so 3:1 is not asked of them);
 * links and focus rings take a shade that reads as text. Black or white always has 4.5:1 on a fill; white is preferred.
 */
function palette(accent: Rgb, surface: Rgb, toward: Rgb, visible: number): string {
  const fill = shade(accent, surface, toward, visible);
  const onFill = contrast(white, fill) >= 4.5 ? white : black;
  const properties = {
    accent: fill,
    'accent-pressed': mix(fill, onFill === white ? black : white, 0.14),
    'on-accent': onFill,
    link: shade(accent, surface, toward, 5.5),
  };
  return Object.entries(properties)
    .map(([name, color]) => `--${name}:${formatColor(color)};`)
    .join('');
}

/** Colours of a fill and of the text on it, for where no style sheet reaches: a mail. */
export function fillOf({ accentColor = defaultAccent, radius = defaultRadius }: Branding = {}): {
  readonly fill: string;
  readonly onFill: string;
  readonly radius: number;
} {
  const accent = parseColor(isColor(accentColor) ? accentColor : defaultAccent);
  const fill = shade(accent, white, black, 1.35);
  const corner = isRadius(radius) ? radius : defaultRadius;
  return { fill: formatColor(fill), onFill: formatColor(contrast(white, fill) >= 4.5 ? white : black), radius: corner };
}

const isColor = (text: string): boolean => /^#[0-9a-f]{6}$/i.test(text);
const isRadius = (value: number): boolean => Number.isInteger(value) && value >= 0 && value <= 24;

interface Brand {
  readonly css: string;
  /** The CSP source that admits the style. */
  readonly source: string;
}

const brands = new LRUCache<string, Brand>({ max: 1000 });

/**
 * The style of a branding. A value that is not a token (anything but `#rrggbb`, a radius outside 0 to 24) counts as
 * absent; an accent too close to the page's surface is darkened in the light scheme and lightened in the dark one.
 */
export function brandStyle({ accentColor = defaultAccent, radius = defaultRadius }: Branding = {}): Brand {
  const accent = isColor(accentColor) ? accentColor.toLowerCase() : defaultAccent;
  const corner = isRadius(radius) ? radius : defaultRadius;
  const key = `${accent} ${corner}`;
  const known = brands.get(key);
  if (known) return known;
  const color = parseColor(accent);
  const light = palette(color, parseColor(surfaces.light), black, 1.35);
  const dark = palette(color, parseColor(surfaces.dark), white, 2.4);
  const css = `:root{--radius:${corner}px;${light}}@media (prefers-color-scheme:dark){:root{${dark}}}`;
  const brand = { css, source: hashSource(css) };
  brands.set(key, brand);
  return brand;
}

/** The logo's address if it is one that a page may load: https, or a path of this origin. */
export function logoUrl(uri: string | undefined): string | undefined {
  if (uri === undefined || !URL.canParse(uri, 'https://own.invalid')) return undefined;
  const url = new URL(uri, 'https://own.invalid');
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') return undefined;
  if (uri.startsWith('/')) return url.host === 'own.invalid' ? uri : undefined;
  return /^https:\/\//i.test(uri) ? url.href : undefined;
}
