/** Colours and shape of a client or tenant as CSS custom properties, with enough contrast to read. */

import { LRUCache } from 'lru-cache';
import {
  type Branding,
  type Client,
  canParseUrl,
  contrastRatio,
  hashSource,
  mixed,
  ownMember,
  present,
  READABLE,
  shadeOn,
  type Tenant,
} from '../../lib/extension-door.js';
import { surfaces } from './styles.js';

const defaultAccent = '#4450b8';
const defaultRadius = 10;
const black = '#000000';
const white = '#ffffff';

/**
 * Returns the colours of a scheme. Fills keep the accent while it stands out from the surface. The text of a fill identifies it, so 3:1 is not required.
 * Links and focus rings take a shade with the contrast of text. Black or white always has 4.5:1 on a fill. White is preferred.
 */
function palette(accent: string, surface: string, toward: string, visible: number): string {
  const fill = shadeOn(surface, accent, toward, visible);
  const onFill = textOn(fill);
  const properties = {
    accent: fill,
    'accent-pressed': mixed(fill, onFill === white ? black : white, 0.14),
    'on-accent': onFill,
    link: shadeOn(surface, accent, toward, 5.5),
  };
  return Object.entries(properties)
    .map(([name, color]) => `--${name}:${color};`)
    .join('');
}

/** Fonts that devices have, so that pages load none. */
const fonts: Readonly<Record<NonNullable<Branding['font']>, string>> = {
  system: "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',sans-serif",
  humanist: "Seravek,'Gill Sans Nova',Ubuntu,Calibri,'DejaVu Sans',source-sans-pro,sans-serif",
  rounded: "ui-rounded,'Hiragino Maru Gothic ProN',Quicksand,Comfortaa,Manjari,'Arial Rounded MT Bold',Calibri,sans-serif",
  serif: "ui-serif,Charter,'Bitstream Charter','Sitka Text',Cambria,Georgia,serif",
};
const fontOf = (font: Branding['font'] = 'system'): string => ownMember(fonts, font) ?? fonts.system;

/** Returns the colours of a fill and of its text, and the font, for mails, which have no style sheet. */
export function fillOf({ accentColor = defaultAccent, radius = defaultRadius, font }: Branding = {}): {
  readonly fill: string;
  readonly onFill: string;
  readonly radius: number;
  readonly font: string;
} {
  const fill = shadeOn(white, isColor(accentColor) ? accentColor.toLowerCase() : defaultAccent, black, 1.35);
  return { fill, onFill: textOn(fill), radius: isRadius(radius) ? radius : defaultRadius, font: fontOf(font) };
}

const textOn = (fill: string): string => (contrastRatio(white, fill) >= READABLE ? white : black);

const isColor = (text: string): boolean => /^#[0-9a-f]{6}$/i.test(text);
const isRadius = (value: number): boolean => Number.isInteger(value) && value >= 0 && value <= 24;

interface Brand {
  readonly css: string;
  /** CSP source that allows the style. */
  readonly source: string;
}

const brands = new LRUCache<string, Brand>({ max: 1000 });

/**
 * Returns the style of a branding. A malformed token (anything but `#rrggbb`, a radius outside 0 to 24) counts as absent. An accent too close to the
 * page's surface is darkened in the light scheme and lightened in the dark one.
 */
export function brandStyle({ accentColor = defaultAccent, radius = defaultRadius, font }: Branding = {}): Brand {
  const accent = isColor(accentColor) ? accentColor.toLowerCase() : defaultAccent;
  const corner = isRadius(radius) ? radius : defaultRadius;
  const family = fontOf(font);
  const key = `${accent} ${corner} ${family}`;
  const cached = brands.get(key);
  if (cached) return cached;
  const light = palette(accent, surfaces.light, black, 1.35);
  const dark = palette(accent, surfaces.dark, white, 2.4);
  const css = `:root{--radius:${corner}px;--font:${family};${light}}@media (prefers-color-scheme:dark){:root{${dark}}}`;
  const brand = { css, source: hashSource(css) };
  brands.set(key, brand);
  return brand;
}

/** Returns the address of an image if a page may load it: https, or a path of this origin. */
export function imageUrl(uri: string | undefined): string | undefined {
  if (uri === undefined || !canParseUrl(uri, 'https://own.invalid')) return undefined;
  const url = new URL(uri, 'https://own.invalid');
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') return undefined;
  if (uri.startsWith('/')) return url.host === 'own.invalid' ? uri : undefined;
  return /^https:\/\//i.test(uri) ? url.href : undefined;
}

/** Returns the branding of a page. Each token is the client's, else the tenant's, else the service's. An image that no page may load counts as absent. */
export function brandingOf(
  service: Branding = {},
  { client, tenant }: { readonly client?: Client | undefined; readonly tenant?: Tenant | undefined },
): Branding {
  const { logo_uri: registered } = (client?.metadata ?? {}) as { logo_uri?: string };
  const layers = [service, tenant?.branding, registered === undefined ? undefined : { logoUri: registered }, client?.styles];
  const tokens = layers.map(({ logoUri, faviconUri, ...others }: Branding = {}) => {
    const [logo, icon] = [imageUrl(logoUri), imageUrl(faviconUri)];
    return { ...others, ...present({ logoUri: logo, faviconUri: icon }) };
  });
  return Object.assign({}, ...tokens);
}
