/** Threats I3 and I4 of the security reference, and the rows about addresses, times and versions of the attack table of the reference on SAML §3. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { reasonOf, sendPost, sendRedirect } from '../../support/saml/inbound/front-door.js';
import { contoso, disabled, keyless, lax, ofTenant, shop, useFrontDoor, wiki } from '../../support/saml/inbound/registered.js';
import {
  authnRequest,
  instant,
  logoutRequest,
  logoutResponse,
  type MessageParts,
  newId,
  postFields,
  redirectQuery,
  signed,
} from '../../support/saml/inbound/sent-messages.js';
import { backToPresent } from '../../support/time/clock.js';

afterEach(backToPresent);
const door = useFrontDoor();
const sent = (parts: Partial<MessageParts> = {}) =>
  sendRedirect(door.at().sso, redirectQuery(authnRequest({ issuer: wiki, destination: door.at().sso, ...parts }), { by: door.keys.wiki }));
const refusalOf = async (parts?: Partial<MessageParts>) => reasonOf(await sent(parts));

describe('I3: where the response goes', () => {
  const acs = (url: string) => ({ attributes: `AssertionConsumerServiceURL="${url}"` });

  test('to a registered place that the request names, else to the default', async () => {
    expect(await sent(acs(`${wiki}/acs`))).toMatchObject({ acs: { url: `${wiki}/acs`, index: 3 } });
    expect(await sent({ attributes: 'AssertionConsumerServiceIndex="3"' })).toMatchObject({ acs: { url: `${wiki}/acs` } });
    expect(await sent()).toMatchObject({ acs: { url: `${wiki}/acs/default`, index: 1 } });
  });

  test.each([
    'https://evil.test/acs',
    'https://wiki.test.evil.test/saml/acs',
    'https://wiki.test@evil.test/saml/acs',
    'https://wiki.test:8443/saml/acs',
    'https://wiki.test:443/saml/acs',
    'https://WIKI.test/saml/acs',
    'http://wiki.test/saml/acs',
    'https://wiki.test/saml/acs/',
    'https://wiki.test/saml/acs?',
    'https://wiki.test/saml/acs#',
    'https://wiki.test/saml/acs?next=https://evil.test',
    'https://wiki.test/saml/other/../acs',
    'https://wiki.test/saml/%61cs',
    'https://wiki.test/saml/*',
    'https://*.wiki.test/saml/acs',
    'https://wiki.test/saml',
    ' https://wiki.test/saml/acs',
    'https://wiki.test/saml/acs&#10;',
    '//wiki.test/saml/acs',
    'javascript:alert(1)',
    `${shop}/acs`,
    '',
  ])('never to %j', async (url) => {
    expect(await refusalOf(acs(url))).toBe('acs_not_registered');
  });

  test('never to an index that there is not, nor to a place named twice', async () => {
    for (const index of ['0', '2', '65535'])
      expect(await refusalOf({ attributes: `AssertionConsumerServiceIndex="${index}"` })).toBe('acs_not_registered');
    for (const index of ['-1', '65536', '1.5', '', '0x1'])
      expect(await refusalOf({ attributes: `AssertionConsumerServiceIndex="${index}"` })).toBe('xml_structure');
    expect(await refusalOf({ attributes: `AssertionConsumerServiceURL="${wiki}/acs" AssertionConsumerServiceIndex="1"` })).toBe(
      'acs_ambiguous',
    );
  });
});

describe('I4: whose message it is', () => {
  const by = async (issuer: string, key: 'wiki' | 'shop', tid?: string) => {
    const { sso } = door.at(tid);
    const xml = authnRequest({ issuer, destination: sso });
    const outcomes = [
      await sendRedirect(sso, redirectQuery(xml, { by: door.keys[key] })),
      await sendPost(sso, postFields(signed(authnRequest({ issuer, destination: sso }), door.keys[key]))),
    ];
    return outcomes.map((outcome) => ('reason' in outcome ? outcome.reason : outcome.serviceProviderId));
  };
  const both = (value: string) => [value, value];

  test('of nobody who is registered', async () => {
    for (const issuer of ['https://evil.test', `${wiki}/`, wiki.toUpperCase(), `${wiki}#`, 'wiki', '__proto__', 'a'.repeat(1025)])
      expect(await by(issuer, 'wiki')).toEqual(both('unknown_service_provider'));
  });

  test('of one who is disabled', async () => {
    expect(await by(disabled, 'wiki')).toEqual(both('unknown_service_provider'));
  });

  test('of another one, by their own key', async () => {
    expect(await by(shop, 'wiki')).toEqual(both('signature_invalid'));
    expect(await by(wiki, 'shop')).toEqual(both('signature_invalid'));
  });

  test('of a tenant, at the entity of the tenant alone', async () => {
    expect(await by(ofTenant, 'wiki', contoso)).toEqual(both('tenant'));
    expect(await by(ofTenant, 'wiki')).toEqual(both('unknown_service_provider'));
    expect(await by(shop, 'shop', contoso)).toEqual(both('unknown_service_provider'));
  });

  test('one entityID at two entities is two, each with its key', async () => {
    expect([await by(wiki, 'wiki'), await by(wiki, 'shop', contoso)]).toEqual([both('wiki'), both('wiki-of-tenant')]);
    expect([await by(wiki, 'shop'), await by(wiki, 'wiki', contoso)]).toEqual([both('signature_invalid'), both('signature_invalid')]);
  });
});

describe('where it is for', () => {
  test.each<[string, (sso: string) => string | null, string]>([
    ['nothing', () => null, 'destination_missing'],
    ['an empty one', () => '', 'destination_mismatch'],
    ['another provider', () => 'https://other-idp.test/sso', 'destination_mismatch'],
    ['the endpoint for logouts', (sso) => sso.replace(/sso$/, 'slo'), 'destination_mismatch'],
    ['the endpoint of a tenant', (sso) => sso.replace('/saml/', `/saml/t/${contoso}/`), 'destination_mismatch'],
    ['one with a slash', (sso) => `${sso}/`, 'destination_mismatch'],
    ['one in other letters', (sso) => sso.replace('/idp/', '/IDP/'), 'destination_mismatch'],
    ['one with a query', (sso) => `${sso}?a`, 'destination_mismatch'],
    ['one with a space', (sso) => ` ${sso}`, 'destination_mismatch'],
  ])('signed, %s', async (_name, destination, reason) => {
    const parts = { destination: destination(door.at().sso) };
    expect(await refusalOf(parts)).toBe(reason);
    const inForm = postFields(signed(authnRequest({ issuer: wiki, ...parts }), door.keys.wiki));
    expect(reasonOf(await sendPost(door.at().sso, inForm))).toBe(reason);
  });

  test('not signed, it may say nothing, and nothing else', async () => {
    const to = async (destination: string | null) =>
      reasonOf(await sendRedirect(door.at().sso, redirectQuery(authnRequest({ issuer: keyless, destination }))));
    expect([await to(null), await to(door.at().sso), await to('https://other-idp.test/sso')]).toEqual([
      'accepted',
      'accepted',
      'destination_mismatch',
    ]);
  });

  test('one for the instance is not taken at a tenant', async () => {
    const xml = authnRequest({ issuer: ofTenant, destination: door.at().sso });
    expect(reasonOf(await sendRedirect(door.at(contoso).sso, redirectQuery(xml, { by: door.keys.wiki })))).toBe('destination_mismatch');
  });

  test('logout messages are for the endpoint for logouts', async () => {
    const to = async (destination: string | null) => {
      const request = redirectQuery(logoutRequest({ issuer: wiki, destination }), { by: door.keys.wiki });
      const response = redirectQuery(logoutResponse({ issuer: wiki, destination }), { by: door.keys.wiki, parameter: 'SAMLResponse' });
      return [reasonOf(await sendRedirect(door.at().slo, request)), reasonOf(await sendRedirect(door.at().slo, response))];
    };
    expect(await to(door.at().slo)).toEqual(['accepted', 'accepted']);
    expect(await to(door.at().sso)).toEqual(['destination_mismatch', 'destination_mismatch']);
    expect(await to(null)).toEqual(['destination_missing', 'destination_missing']);
  });
});

describe('when it was issued', () => {
  // The margin is ten seconds on each side, because the test takes time.
  test.each<[number, string]>([
    [0, 'accepted'],
    [170, 'accepted'],
    [190, 'issue_instant'],
    [-470, 'accepted'],
    [-490, 'issue_instant'],
    [86_400, 'issue_instant'],
    [-86_400, 'issue_instant'],
  ])('%d seconds from now: %s', async (seconds, outcome) => {
    expect(await refusalOf({ issueInstant: instant(seconds) })).toBe(outcome);
  });

  test('in other forms of the same time', async () => {
    const now = instant().replace('Z', '');
    const ahead = instant(2 * 3600).replace('Z', '+02:00');
    for (const issueInstant of [now, ahead, instant().replace(/\.\d+/, ''), instant().replace(/\.\d+/, '.123456789'), ` ${instant()} `])
      expect(await refusalOf({ issueInstant })).toBe('accepted');
    expect(await refusalOf({ issueInstant: instant().replace('Z', '+02:00') })).toBe('issue_instant');
  });

  test.each(['', 'now', '2026-11-23', '1795435200', '2026-02-30T00:00:00Z', '9999999-01-01T00:00:00Z'])('as %j', async (issueInstant) => {
    expect(await refusalOf({ issueInstant })).toBe('xml_structure');
  });

  test('a LogoutRequest that has expired', async () => {
    const until = async (seconds: number) => {
      const xml = logoutRequest({ issuer: wiki, destination: door.at().slo, attributes: `NotOnOrAfter="${instant(seconds)}"` });
      return [
        reasonOf(await sendRedirect(door.at().slo, redirectQuery(xml, { by: door.keys.wiki }))),
        reasonOf(await sendPost(door.at().slo, postFields(signed(xml.replace(/ ID="[^"]*"/, ` ID="${newId()}"`), door.keys.wiki)))),
      ];
    };
    expect([await until(60), await until(-170)]).toEqual(Array(2).fill(['accepted', 'accepted']));
    expect([await until(-190), await until(-86_400)]).toEqual(Array(2).fill(['expired', 'expired']));
  });
});

test.each(['1.1', '1.0', '2', '2.1', '', ' 2.0', '2.0.0'])('version %j', async (version) => {
  expect(await refusalOf({ version })).toBe('version');
});

test.each(['1abc', 'a b', 'a:b', 'é', 'a'.repeat(257), '&#39;', '../a', '-a', ' a'])('the ID %j', async (id) => {
  expect(await refusalOf({ id })).toBe('message_id');
});

test('no ID', async () => {
  expect(await refusalOf({ id: '' })).toBe('xml_structure');
});

test('values that are none', async () => {
  for (const attributes of ['ForceAuthn="yes"', 'IsPassive="TRUE"', 'ForceAuthn=""'])
    expect(reasonOf(await sendRedirect(door.at().sso, redirectQuery(authnRequest({ issuer: lax, attributes }))))).toBe('xml_structure');
});
