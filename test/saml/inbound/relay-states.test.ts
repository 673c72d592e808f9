/** Threat I2: signatures over a query that is sent with other escapes than it was signed with, as node-saml does. SAML Bindings §3.4.4.1. */
import { sign } from 'node:crypto';
import { stringify } from 'node:querystring';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { SAML } from '@node-saml/node-saml';
import type { Credentials } from '../../support/saml/inbound/credentials.js';
import { type Outcome, reasonOf, sendRedirect } from '../../support/saml/inbound/front-door.js';
import { useFrontDoor, wiki } from '../../support/saml/inbound/registered.js';
import { authnRequest, joined, logoutRequest, logoutResponse, redirectParameters, uris } from '../../support/saml/inbound/sent-messages.js';

const door = useFrontDoor();
const kinds = {
  AuthnRequest: { at: 'sso', parameter: 'SAMLRequest', xml: () => authnRequest({ issuer: wiki, destination: door.at().sso }) },
  LogoutRequest: { at: 'slo', parameter: 'SAMLRequest', xml: () => logoutRequest({ issuer: wiki, destination: door.at().slo }) },
  LogoutResponse: { at: 'slo', parameter: 'SAMLResponse', xml: () => logoutResponse({ issuer: wiki, destination: door.at().slo }) },
} as const;
type Kind = keyof typeof kinds;
const everyKind = Object.keys(kinds) as Kind[];
const send = (kind: Kind, query: string): Promise<Outcome> => sendRedirect(door.at()[kinds[kind].at], query);
/** Values that a service provider means, before encoding. Service providers sign each value in one spelling. */
const relayStates = ['/a page?of=1&b=2', 'a+b c', "to (all) ~the' pages*!", 'é 日本 😀', '%20 %2B', '  ', 'plain'];

/** Returns parameters that are signed over the escapes of `encodeURIComponent`. */
function parametersOf(kind: Kind, relayState: string, by: Credentials = door.keys.wiki): [string, string][] {
  const { parameter, xml } = kinds[kind];
  return redirectParameters(xml(), { parameter, relayState, by });
}
const withRelayState = (pairs: readonly [string, string][], raw: string) =>
  joined(pairs.map(([name, value]) => [name, name === 'RelayState' ? raw : value]));
const hexOf = (value: string): string => Buffer.from(value).toString('hex').replace(/../g, '%$&');
/** Spellings of a value in a URL. */
const spellings: Readonly<Record<string, (value: string) => string>> = {
  encodeURIComponent: encodeURIComponent,
  'a form': (value) => String(new URLSearchParams({ '': value })).slice(1),
  'all escapes': hexOf,
  'small escapes': (value) => encodeURIComponent(value).replace(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase()),
};

describe.each(everyKind)('%s', (kind) => {
  test('as node-saml writes it: it signs %20, and sends +', async () => {
    const { key } = door.keys.wiki;
    const { at, parameter, xml } = kinds[kind];
    const client = new SAML({
      issuer: wiki,
      callbackUrl: `${wiki}/acs`,
      entryPoint: door.at()[at],
      logoutUrl: door.at()[at],
      idpCert: 'unused',
      privateKey: key.export({ type: 'pkcs8', format: 'pem' }) as string,
      signatureAlgorithm: 'sha256',
    });
    for (const relayState of relayStates) {
      const isRequest = parameter === 'SAMLRequest';
      const url = await client._requestToUrlAsync(
        isRequest ? xml() : null,
        isRequest ? null : xml(),
        kind === 'AuthnRequest' ? 'authorize' : 'logout',
        {
          RelayState: relayState,
        },
      );
      const outcome = await send(kind, new URL(url).search.slice(1));
      expect([relayState, outcome]).toEqual([relayState, expect.objectContaining({ isSigned: true, relayState })]);
    }
  });

  test('signed in the canonical spelling, it may be sent in any: what is read is what was signed', async () => {
    for (const signedState of relayStates)
      for (const sentState of relayStates)
        for (const [name, write] of Object.entries(spellings)) {
          const outcome = await send(kind, withRelayState(parametersOf(kind, signedState), write(sentState)));
          const expected = sentState === signedState ? { isSigned: true, relayState: signedState } : { reason: 'signature_invalid' };
          expect([name, signedState, sentState, outcome]).toEqual([name, signedState, sentState, expect.objectContaining(expected)]);
        }
  });

  test('the message, and the algorithm, as well', async () => {
    const pairs = parametersOf(kind, 'a b');
    const respelled = pairs.map(([name, raw]) => [name, name === 'Signature' ? raw : hexOf(decodeURIComponent(raw))] as [string, string]);
    expect(await send(kind, joined(respelled))).toMatchObject({ isSigned: true, relayState: 'a b' });
  });

  test('a + that was signed as a plus is no blank, and a blank no plus', async () => {
    expect(reasonOf(await send(kind, withRelayState(parametersOf(kind, 'a+b'), 'a+b')))).toBe('signature_invalid');
    expect(reasonOf(await send(kind, withRelayState(parametersOf(kind, 'a b'), 'a%2Bb')))).toBe('signature_invalid');
  });

  test('one spelling that was signed, other than the canonical one, is verified as it was sent alone', async () => {
    const { parameter, xml } = kinds[kind];
    const pairs: [string, string][] = [
      [parameter, encodeURIComponent(deflateRawSync(xml()).toString('base64'))],
      ['RelayState', 'a+b'],
      ['SigAlg', encodeURIComponent(uris.rsaSha256)],
    ];
    const signature = sign('sha256', Buffer.from(joined(pairs)), door.keys.wiki.key).toString('base64');
    const signed: [string, string][] = [...pairs, ['Signature', encodeURIComponent(signature)]];
    expect(reasonOf(await send(kind, withRelayState(signed, 'a%20b')))).toBe('signature_invalid');
    expect(await send(kind, joined(signed))).toMatchObject({ isSigned: true, relayState: 'a b' });
  });

  test('I2: nothing is smuggled: a second value, a value that was not signed, none, another key', async () => {
    const pairs = parametersOf(kind, 'a b');
    const canonical = stringify({ RelayState: 'evil' });
    const attacks: readonly (readonly [string, string])[] = [
      [`${joined(pairs)}&${canonical}`, 'duplicate_parameter'],
      [`${canonical}&${joined(pairs)}`, 'duplicate_parameter'],
      [`${joined(pairs)}&Relay%53tate=evil`, 'duplicate_parameter'],
      [withRelayState(pairs, 'a%20b&RelayState=evil'), 'duplicate_parameter'],
      [withRelayState(pairs, 'a%20b%26RelayState%3Devil'), 'signature_invalid'],
      [withRelayState(pairs, 'a%20b%00'), 'signature_invalid'],
      [withRelayState(pairs, 'a%C2%A0b'), 'signature_invalid'],
      [withRelayState(pairs, ''), 'signature_invalid'],
      [joined(pairs.filter(([name]) => name !== 'RelayState')), 'signature_invalid'],
      [joined(parametersOf(kind, 'a b', door.keys.shop)), 'signature_invalid'],
    ];
    for (const [query, reason] of attacks) expect([query, reasonOf(await send(kind, query))]).toEqual([query, reason]);
    for (const raw of ['a%20b%', 'a%20b%C0%A0', 'a%20b%ED%A0%80'])
      expect((await fetch(`${door.at()[kinds[kind].at]}?${withRelayState(pairs, raw)}`)).status).toBe(400);
  });
});
