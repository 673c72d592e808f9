import { describe, expect, test } from '@jest/globals';
import { brandingOf, brandStyle, imageUrl } from '../../extensions/sign-in/branding.js';
import { surfaces } from '../../extensions/sign-in/styles.js';
import { contrastRatio, expectedAccent } from '../../lib/display/contrast.js';
import type { Client, Tenant } from '../../lib/store/records/records.js';

function palettes(accentColor: string) {
  const { css } = brandStyle({ accentColor });
  return css.split('@media').map((rule) => {
    const properties = Object.fromEntries([...rule.matchAll(/--([\w-]+):(#[0-9a-f]{6});/g)].map((match) => match.slice(1, 3)));
    return properties as Record<'accent' | 'accent-pressed' | 'on-accent' | 'link', string>;
  });
}

describe('brandStyle', () => {
  const corners = ['00', '33', '77', 'bb', 'ff'];
  const colors = corners.flatMap((r) => corners.flatMap((g) => corners.map((b) => `#${r}${g}${b}`)));

  test('pages §3.4: text on any accent, pressed or not, and links have at least 4.5:1 in both schemes', () => {
    for (const color of colors) {
      const schemes = palettes(color);
      expect(schemes).toHaveLength(2);
      schemes.forEach((palette, index) => {
        const surface = index === 0 ? surfaces.light : surfaces.dark;
        const ratios = [
          contrastRatio(palette['on-accent'], palette.accent),
          contrastRatio(palette['on-accent'], palette['accent-pressed']),
          contrastRatio(palette.link, surface),
        ];
        expect([color, Math.min(...ratios) >= 4.5]).toEqual([color, true]);
      });
    }
  });

  test('an accent that reads well is kept; one that vanishes in the surface is not', () => {
    expect(palettes('#0b6e4f')[0]?.accent).toBe('#0b6e4f');
    expect(palettes('#ffffff')[0]?.accent).not.toBe('#ffffff');
    expect(palettes(surfaces.dark)[1]?.accent).not.toBe(surfaces.dark);
  });

  test.each(['red', '#fff', '#12345g', '#123456;}*{display:none}', '</style><script>alert(1)</script>', 'url(//evil.example)', ''])(
    'G7: the accent %j is not a token and counts as absent',
    (accentColor) => {
      expect(brandStyle({ accentColor })).toEqual(brandStyle());
    },
  );

  test.each([-1, 24.5, 25, Number.NaN, Number.POSITIVE_INFINITY, '1px}*{x:y' as unknown as number])(
    'G7: the radius %p is not a token and counts as absent',
    (radius) => {
      expect(brandStyle({ radius })).toEqual(brandStyle());
    },
  );
});

describe('imageUrl', () => {
  test('G7: https URLs and paths of this origin, nothing else', () => {
    expect(imageUrl('https://cdn.example/logo.png')).toBe('https://cdn.example/logo.png');
    expect(imageUrl('/idp/logo/1')).toBe('/idp/logo/1');
    const refused = [
      'http://cdn.example/l.png',
      'data:image/svg+xml,<svg/>',
      'javascript:1',
      '//evil.example/l',
      '/\\evil.example',
      'logo.png',
      'https:logo',
      'https://u:p@cdn.example/l',
      '',
    ];
    expect(refused.map(imageUrl)).toEqual(refused.map(() => undefined));
  });
});

describe('brandingOf', () => {
  const of = (styles: object | undefined, branding: object | undefined, metadata: object = {}) =>
    brandingOf(
      { logoUri: 'https://own.test/l.png', accentColor: '#111111', radius: 1 },
      {
        client: { metadata, ...(styles && { styles }) } as Client,
        tenant: { ...(branding && { branding }) } as Tenant,
      },
    );

  test('pages §3.4: the client’s tokens are over the tenant’s, and these over the service’s, token by token', () => {
    expect(of(undefined, undefined)).toEqual({ logoUri: 'https://own.test/l.png', accentColor: '#111111', radius: 1 });
    expect(of({ radius: 3 }, { accentColor: '#222222', radius: 2 })).toEqual({
      logoUri: 'https://own.test/l.png',
      accentColor: '#222222',
      radius: 3,
    });
    expect(of(undefined, { logoUri: '/tenant.png' }, { logo_uri: 'https://client.test/l.png' }).logoUri).toBe('https://client.test/l.png');
    expect(of({ logoUri: '/styles.png' }, undefined, { logo_uri: 'https://client.test/l.png' }).logoUri).toBe('/styles.png');
  });

  test('G7: an icon is loaded as a logo is, and a font is one of those that devices have', () => {
    expect(of({ faviconUri: 'http://client.test/f.png', font: 'serif' }, { faviconUri: '/f.svg', font: 'rounded' })).toMatchObject({
      faviconUri: '/f.svg',
      font: 'serif',
    });
    expect(brandStyle({ font: 'serif' }).css).toContain('--font:ui-serif,');
    expect(brandStyle({ font: 'x;}body{display:none' as never })).toEqual(brandStyle());
    expect(brandStyle({ font: '__proto__' as never })).toEqual(brandStyle());
  });

  test('G7: a logo that no page may load leaves the one before it', () => {
    expect(of({ logoUri: 'http://client.test/l.png' }, { logoUri: '/tenant.png' }, { logo_uri: 'javascript:1' }).logoUri).toBe(
      '/tenant.png',
    );
  });
});

describe('expectedAccent', () => {
  test('pages §3.4: contrast below 4.5:1 is refused with the measured ratio and the nearest colour that passes', () => {
    expect(expectedAccent('#0b6e4f')).toBeUndefined();
    const refused = expectedAccent('#FFD400') ?? '';
    const [, measured, nearest = ''] = /this one has ([\d.]+):1, and the nearest that fits is (#[0-9a-f]{6})$/.exec(refused) ?? [];
    expect(Number(measured)).toBe(Math.floor(contrastRatio('#ffd400', '#ffffff') * 100) / 100);
    expect(expectedAccent(nearest)).toBeUndefined();
    expect(contrastRatio(nearest, '#ffffff')).toBeLessThan(4.7);
    // `#767676` is the lightest grey with enough contrast.
    expect([expectedAccent('#767676'), expectedAccent('#777777')]).toEqual([undefined, expect.stringContaining('4.47:1')]);
  });
});
