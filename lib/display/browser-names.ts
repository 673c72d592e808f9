/**
 * Names of browsers and operating systems, from a table.
 *
 * Records store the codes of the table, and pages show its names. The text of a header is neither stored nor shown, because the sender of a request
 * chooses it freely.
 */
import { present } from '../present.js';

/** Codes of the browser and the operating system of a request. A member is absent if the table does not have the browser or the system. */
export interface BrowserCodes {
  readonly browser?: string;
  readonly system?: string;
}

/** Client hints of a request: the values of `Sec-CH-UA` and `Sec-CH-UA-Platform`. @see User-Agent Client Hints §3 */
export interface BrowserHints {
  readonly brands?: string | undefined;
  readonly platform?: string | undefined;
}

type Row = readonly [code: string, name: string, pattern: RegExp];

/** Browsers. Most browsers name Chrome and Safari too. A browser comes before the browsers that its header names too. */
const browsers: readonly Row[] = [
  ['ed', 'Edge', /\bEdg(?:e|A|iOS)?\/|"Microsoft Edge"/],
  ['op', 'Opera', /\b(?:OPR|OPiOS|OPT|OPX|Opera)\/|"Opera/],
  ['sa', 'Samsung Internet', /\bSamsungBrowser\/|"Samsung Internet"/],
  ['ya', 'Yandex Browser', /\bYaBrowser\/|"(?:Yandex|YaBrowser)"/],
  ['vi', 'Vivaldi', /\bVivaldi\/|"Vivaldi"/],
  ['du', 'DuckDuckGo', /\b(?:DuckDuckGo|Ddg)\/|"DuckDuckGo"/],
  ['br', 'Brave', /\bBrave\/|"Brave"/],
  ['uc', 'UC Browser', /\bUCBrowser\//],
  ['mi', 'Mi Browser', /\bMiuiBrowser\//],
  ['hu', 'Huawei Browser', /\bHuaweiBrowser\/|"HuaweiBrowser"/],
  ['fx', 'Firefox', /\b(?:Firefox|FxiOS|Focus|Klar)\//],
  ['cr', 'Chrome', /(?:Chrome|\bCriOS|\bChromium)\/|"(?:Google Chrome|Chromium)"/],
  ['sf', 'Safari', /\bVersion\/[\d.]+ (?:Mobile\/\w+ )?Safari\//],
];

/** Operating systems. A system comes before the systems that its header names too. */
const systems: readonly Row[] = [
  ['wi', 'Windows', /\bWindows\b/],
  ['ip', 'iPadOS', /\biPad\b/],
  ['io', 'iOS', /\b(?:iPhone|iPod|iOS)\b/],
  ['ha', 'HarmonyOS', /\b(?:OpenHarmony|HarmonyOS)\b/],
  ['an', 'Android', /\bAndroid\b/],
  ['co', 'ChromeOS', /\bCrOS\b|\bChrom(?:e|ium) OS\b/],
  ['mc', 'macOS', /\bMacintosh\b|\bmacOS\b/],
  ['li', 'Linux', /\bLinux\b|\bX11\b/],
];

/** Maximum characters of a header that are read. Longer headers are not of a browser that the table has. */
const MAX_LENGTH = 1024;

const codeIn = (rows: readonly Row[], text: string): string | undefined => rows.find(([, , pattern]) => pattern.test(text))?.[0];
const nameIn = (rows: readonly Row[], code: string | undefined): string | undefined => rows.find(([one]) => one === code)?.[1];
const joined = (...texts: readonly (string | undefined)[]): string => texts.map((text = '') => text.slice(0, MAX_LENGTH)).join(' ');

/**
 * Returns the codes of the browser and its operating system, of at most 4 bytes together.
 * @param userAgent value of the header `User-Agent`
 * @param hints client hints, which name browsers that call themselves Chrome in `User-Agent`.
 * @example
 * ```ts
 * import { browserOf } from 'tenant-idp/extension';
 *
 * console.log(browserOf('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0')); // { browser: 'fx', system: 'li' }
 * ```
 */
export function browserOf(userAgent: string | undefined, { brands, platform }: BrowserHints = {}): BrowserCodes {
  return present({ browser: codeIn(browsers, joined(brands, userAgent)), system: codeIn(systems, joined(platform, userAgent)) });
}

/**
 * Returns {@link browserOf} of the headers of a request.
 * @example
 * ```ts
 * import { browserOfRequest, type Extension } from 'tenant-idp/extension';
 *
 * export const browsers: Extension = {
 *   name: 'browsers',
 *   routes(router) {
 *     router.get('/browser', (ctx) => void (ctx.body = browserOfRequest(ctx)));
 *   },
 * };
 * ```
 */
export function browserOfRequest({ headers }: { readonly headers: NodeJS.Dict<string | string[]> }): BrowserCodes {
  const [userAgent, brands, platform] = ['user-agent', 'sec-ch-ua', 'sec-ch-ua-platform'].map((name) => headers[name]?.toString());
  return browserOf(userAgent, { brands, platform });
}

/**
 * Returns the names of the codes in a record, such as `Firefox` and `Windows`. A member is absent if the code is absent or unknown.
 * @example
 * ```ts
 * import { browserNames } from 'tenant-idp/extension';
 *
 * console.log(browserNames({ browser: 'fx', system: 'li' })); // { browser: 'Firefox', system: 'Linux' }
 * ```
 */
export function browserNames({ browser, system }: BrowserCodes): BrowserCodes {
  return present({ browser: nameIn(browsers, browser), system: nameIn(systems, system) });
}
