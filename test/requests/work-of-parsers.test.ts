/**
 * T3-DOS-CUTS, T3-DOS-NFKC: the work of parsers of anonymous input grows no faster than the length of the text. With `PROVE`, their CPU
 * time is compared for n, 2n and 4n characters; `npm test` calls each parser once. `work-of-requests.test.ts` reaches parsers through the
 * routes. This file has the parsers that a signature, a client or an encoding hides there.
 */
import { expect, test } from '@jest/globals';
import { isPresentable } from '../../extensions/ciba/person/binding-message.js';
import { domainOf, foldedDomain } from '../../extensions/connections/email-domains.js';
import { parseStrict } from '../../extensions/saml/xml/strict.js';
import { parseAcrValues } from '../../lib/acr-values.js';
import { problemsOf } from '../../lib/directory/input.js';
import { recordForms } from '../../lib/directory/record-forms.js';
import { browserOf } from '../../lib/display/browser-names.js';
import { wantedLocale } from '../../lib/display/wanted-locale.js';
import { basicCredentials } from '../../lib/http/clients/basic-credentials.js';
import { addressBlock, createAddressOf } from '../../lib/http/clients/client-address.js';
import { loggedPath } from '../../lib/http/requests/request-id.js';
import { carryParameters, customMembers } from '../../lib/oidc/authorize/parameters.js';
import { comparedText } from '../../lib/text/compared.js';
import { normalForm } from '../../lib/text/normal-form.js';
import { badTexts } from '../support/requests/work/bad-texts.js';
import { silentLogger } from '../support/service/test-directory.js';

const addressOf = createAddressOf(1, silentLogger);
const limits = { maxBytes: 1_000_000, maxNodes: 100_000, maxDepth: 50 };
const xml = (document: string): void => {
  try {
    parseStrict(document, limits);
  } catch {
    // Most documents are refused.
  }
};

const parsers: Readonly<Record<string, (text: string) => unknown>> = {
  'name of a custom parameter': (text) => carryParameters('authorization', { [text]: '1' }, {}),
  'value of a custom parameter': (text) => carryParameters('authorization', { a: text }, {}),
  'name of a returned parameter': (text) => customMembers([[text, '1']], ['a', text]),
  'repeated parameter': (text) =>
    customMembers(
      Array.from(text, (each) => [text[0] ?? '', each] as const),
      ['b'],
    ),
  acr_values: parseAcrValues,
  ui_locales: (text) => wantedLocale({ uiLocales: text }, ['en']),
  'Accept-Language': (text) => wantedLocale({ acceptLanguage: text }, ['en']),
  'user name': comparedText,
  password: (text) => normalForm(text, 'NFC'),
  domain: foldedDomain,
  'domain of an address': (text) => domainOf(`a@${text}`),
  address: (text) => problemsOf(recordForms.person.email, text),
  'credentials of Basic': (text) => basicCredentials(`Basic ${text}`),
  'logged path': loggedPath,
  'X-Forwarded-For': (text) => addressOf({ socket: {}, headers: { 'x-forwarded-for': text } } as never),
  'block of an address': addressBlock,
  'User-Agent': (text) => browserOf(text),
  'Sec-CH-UA': (text) => browserOf(undefined, { brands: text, platform: text }),
  'binding message': (text) => isPresentable(text, 'plaintext'),
  'formatted binding message': (text) => isPresentable(text, 'simpleMarkdownV1'),
  'attribute of XML': (text) => xml(`<a b="${text}"/>`),
  'attributes of XML': (text) => xml(`<a ${text}/>`),
  'text of XML': (text) => xml(`<a>${text}</a>`),
  'declaration of XML': (text) => xml(`<?xml version="1.0"${text}`),
};

/** Characters of the shortest measured text. */
const LENGTH = 4000;
/** Milliseconds that are too short for a comparison. */
const CHEAP_MS = 5;
const MOST = 3;
const BEST_OF = 5;

function bestOf(parse: (text: string) => unknown, text: string): number {
  const costs = Array.from({ length: BEST_OF }, () => {
    const before = process.cpuUsage();
    parse(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...costs);
}

/**
 * Returns undefined for work that grows no faster than the text. Otherwise returns the measured values, which two consecutive measurements
 * confirmed.
 */
function excess(parse: (text: string) => unknown, textOf: (length: number) => string): readonly number[] | undefined {
  let measured: readonly number[] = [];
  for (let rounds = 0; rounds < 2; rounds += 1) {
    const [n = 0, twice = 0, fourTimes = 0] = [1, 2, 4].map((times) => bestOf(parse, textOf(times * LENGTH)));
    if (fourTimes < CHEAP_MS || (twice <= MOST * n && fourTimes <= MOST * twice)) return undefined;
    measured = [n, twice, fourTimes];
  }
  return measured;
}

test.each(Object.entries(parsers))('T3-DOS-CUTS T3-DOS-NFKC: the work of %s grows no faster than the text', (_name, parse) => {
  for (const [kind, textOf] of Object.entries(badTexts)) {
    if (process.env.PROVE === undefined) parse(textOf(LENGTH));
    else expect({ kind, measured: excess(parse, textOf) }).toEqual({ kind, measured: undefined });
  }
});
