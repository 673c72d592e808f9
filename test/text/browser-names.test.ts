/** Browsers and operating systems of real and of invented `User-Agent` headers. */
import { expect, test } from '@jest/globals';
import { browserNames, browserOf, browserOfRequest } from '../../lib/display/browser-names.js';

const webKit = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const chrome = 'Chrome/141.0.0.0 Safari/537.36';

const headers: Readonly<Record<string, readonly [browser: string | undefined, system: string | undefined, userAgent: string]>> = {
  firefox: ['Firefox', 'Windows', 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0'],
  'firefox on linux': ['Firefox', 'Linux', 'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0'],
  'firefox on android': ['Firefox', 'Android', 'Mozilla/5.0 (Android 15; Mobile; rv:144.0) Gecko/144.0 Firefox/144.0'],
  'firefox on ios': [
    'Firefox',
    'iOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/144.0 Mobile/15E148 Safari/605.1.15',
  ],
  chrome: ['Chrome', 'Windows', `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} ${chrome}`],
  'headless chrome': ['Chrome', 'Linux', `Mozilla/5.0 (X11; Linux x86_64) ${webKit} HeadlessChrome/141.0.0.0 Safari/537.36`],
  'chrome on android': ['Chrome', 'Android', `Mozilla/5.0 (Linux; Android 10; K) ${webKit} Chrome/141.0.0.0 Mobile Safari/537.36`],
  'chrome on ios': [
    'Chrome',
    'iOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/141.0.0.0 Mobile/15E148 Safari/604.1',
  ],
  chromebook: ['Chrome', 'ChromeOS', `Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${webKit} ${chrome}`],
  edge: ['Edge', 'Windows', `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} ${chrome} Edg/141.0.0.0`],
  'edge on android': [
    'Edge',
    'Android',
    `Mozilla/5.0 (Linux; Android 10; K) ${webKit} Chrome/141.0.0.0 Mobile Safari/537.36 EdgA/141.0.0.0`,
  ],
  opera: ['Opera', 'macOS', `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webKit} ${chrome} OPR/122.0.0.0`],
  samsung: ['Samsung Internet', 'Android', `Mozilla/5.0 (Linux; Android 10; K) ${webKit} SamsungBrowser/28.0 ${chrome}`],
  yandex: [
    'Yandex Browser',
    'Windows',
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} Chrome/138.0.0.0 YaBrowser/25.8.0.0 Safari/537.36`,
  ],
  huawei: [
    'Huawei Browser',
    'HarmonyOS',
    `Mozilla/5.0 (Phone; OpenHarmony 5.0) ${webKit} Chrome/114.0.0.0 Safari/537.36 HuaweiBrowser/5.1.5`,
  ],
  safari: [
    'Safari',
    'macOS',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15',
  ],
  'safari on ipad': [
    'Safari',
    'iPadOS',
    'Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1',
  ],
  'a program': [undefined, undefined, 'curl/8.5.0'],
  'a program on linux': [undefined, 'Linux', 'MyApp/1.0 (Linux)'],
  nothing: [undefined, undefined, ''],
  'invented markup': [undefined, undefined, '<script>alert(1)</script>'],
};

test.each(Object.entries(headers))('%s', (_, [browser, system, userAgent]) => {
  expect(browserNames(browserOf(userAgent))).toEqual({ ...(browser && { browser }), ...(system && { system }) });
});

test('a browser that calls itself Chrome is known by its client hints', () => {
  const [, , userAgent] = headers.chrome ?? [];
  expect(
    browserNames(browserOf(userAgent, { brands: '"Brave";v="141", "Chromium";v="141", "Not?A_Brand";v="8"', platform: '"Linux"' })),
  ).toEqual({
    browser: 'Brave',
    system: 'Windows',
  });
  expect(browserNames(browserOf(undefined, { brands: '"Chromium";v="141", "Google Chrome";v="141"', platform: '"Chrome OS"' }))).toEqual({
    browser: 'Chrome',
    system: 'ChromeOS',
  });
});

test('a request names both by its headers', () => {
  const request = {
    headers: { 'user-agent': headers.edge?.[2], 'sec-ch-ua': '"Microsoft Edge";v="141"', 'sec-ch-ua-platform': '"Windows"' },
  };
  expect(browserNames(browserOfRequest(request))).toEqual({ browser: 'Edge', system: 'Windows' });
  expect(browserOfRequest({ headers: {} })).toEqual({});
});

test('a record has four bytes at most, whatever the header has', () => {
  const long = `${'x'.repeat(100_000)} Firefox/144.0`;
  for (const userAgent of [...Object.values(headers).map(([, , text]) => text), long, 'Edg/'.repeat(9999)])
    expect(Object.values(browserOf(userAgent)).join('').length).toBeLessThanOrEqual(4);
  expect(browserOf(long)).toEqual({});
});

test('a code that the table does not have has no name', () => {
  expect(browserNames({ browser: 'zz', system: '<b>' })).toEqual({});
  expect(browserNames({})).toEqual({});
});
