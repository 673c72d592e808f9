import { type BrowserCodes, browserNames, type Text } from '../../lib/extension-door.js';

/** Returns the browser and the operating system of a record in words, such as “Firefox on Windows”. */
export const browserText = (codes: BrowserCodes): Text => namedBrowserText(browserNames(codes));

/** Returns {@link browserText} of names, as `sessions.list` has them. */
export function namedBrowserText({ browser, system }: BrowserCodes): Text {
  if (browser !== undefined && system !== undefined) return { key: 'account.browser.on', values: { browser, system } };
  if (browser !== undefined) return { plain: browser };
  return system === undefined ? 'account.browser.unknown' : { key: 'account.browser.unknownOn', values: { system } };
}
