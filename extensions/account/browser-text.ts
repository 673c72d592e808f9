import type { BrowserCodes, Text } from '../../lib/extension-door.js';

/** Returns a browser and an operating system in words, such as “Firefox on Windows”. @param names as `sessions.list` has them */
export function browserText({ browser, system }: BrowserCodes): Text {
  if (browser !== undefined && system !== undefined) return { key: 'account.browser.on', values: { browser, system } };
  if (browser !== undefined) return { plain: browser };
  return system === undefined ? 'account.browser.unknown' : { key: 'account.browser.unknownOn', values: { system } };
}
