/** Threat I5 of the security reference: a message is accepted once during its lifetime, and invalid signatures are counted. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { reasonOf, sendPost, sendRedirect } from '../../support/saml/inbound/front-door.js';
import { countingParses } from '../../support/saml/inbound/parser-calls.js';
import { keyless, shop, useFrontDoor, wiki } from '../../support/saml/inbound/registered.js';
import {
  authnRequest,
  instant,
  logoutRequest,
  logoutResponse,
  newId,
  postFields,
  redirectQuery,
  signed,
} from '../../support/saml/inbound/sent-messages.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { atOnce } from '../../support/time/rounds.js';

afterEach(backToPresent);
const door = useFrontDoor();
const request = (parts: Partial<Parameters<typeof authnRequest>[0]> = {}) =>
  authnRequest({ issuer: wiki, destination: door.at().sso, ...parts });
const redirect = async (query: string) => reasonOf(await sendRedirect(door.at().sso, query));

describe('I5: replay', () => {
  test('the same URL, and the same form', async () => {
    const query = redirectQuery(request(), { by: door.keys.wiki });
    expect([await redirect(query), await redirect(query)]).toEqual(['accepted', 'replayed']);
    const fields = postFields(signed(request(), door.keys.wiki));
    const post = async () => reasonOf(await sendPost(door.at().sso, fields));
    expect([await post(), await post()]).toEqual(['accepted', 'replayed']);
  });

  test('the same ID by the other binding, and in another message', async () => {
    const id = newId();
    expect(await redirect(redirectQuery(request({ id }), { by: door.keys.wiki }))).toBe('accepted');
    expect(reasonOf(await sendPost(door.at().sso, postFields(signed(request({ id }), door.keys.wiki))))).toBe('replayed');
    const logout = logoutRequest({ id, issuer: wiki, destination: door.at().slo });
    expect(reasonOf(await sendRedirect(door.at().slo, redirectQuery(logout, { by: door.keys.wiki })))).toBe('replayed');
  });

  test('without a signature, too', async () => {
    const query = redirectQuery(authnRequest({ issuer: keyless }));
    expect([await redirect(query), await redirect(query)]).toEqual(['accepted', 'replayed']);
  });

  test('the same ID of another service provider is another message', async () => {
    const id = newId();
    expect(await redirect(redirectQuery(request({ id }), { by: door.keys.wiki }))).toBe('accepted');
    expect(await redirect(redirectQuery(request({ id, issuer: shop }), { by: door.keys.shop }))).toBe('accepted');
  });

  test('logout messages', async () => {
    const messages = [
      [logoutRequest({ issuer: wiki, destination: door.at().slo }), 'SAMLRequest'],
      [logoutResponse({ issuer: wiki, destination: door.at().slo }), 'SAMLResponse'],
    ] as const;
    for (const [xml, parameter] of messages) {
      const query = redirectQuery(xml, { by: door.keys.wiki, parameter });
      const send = async () => reasonOf(await sendRedirect(door.at().slo, query));
      expect([await send(), await send()]).toEqual(['accepted', 'replayed']);
    }
  });

  test('a message that is refused uses up no ID', async () => {
    const id = newId();
    const forged = redirectQuery(request({ id }), { by: door.keys.shop });
    const elsewhere = redirectQuery(request({ id, destination: 'https://other-idp.test' }), { by: door.keys.wiki });
    const late = redirectQuery(request({ id, issueInstant: instant(-3600) }), { by: door.keys.wiki });
    expect([await redirect(forged), await redirect(elsewhere), await redirect(late)]).toEqual([
      'signature_invalid',
      'destination_mismatch',
      'issue_instant',
    ]);
    expect(await redirect(redirectQuery(request({ id }), { by: door.keys.wiki }))).toBe('accepted');
  });

  test('fifty at once: one', async () => {
    const query = redirectQuery(request(), { by: door.keys.wiki });
    const reasons = await atOnce(50, () => redirect(query));
    expect(reasons.sort()).toEqual(['accepted', ...Array(49).fill('replayed')]);
  });

  test.each([
    ['the clock of the service provider is ahead', 170, [60, 300, 640]],
    ['it was under way for long', -470, [1, 5]],
    ['it was issued now', 0, [200, 470]],
  ])('as long as its time would let it in, where %s', async (_name, ahead, later) => {
    const query = redirectQuery(request({ issueInstant: instant(ahead) }), { by: door.keys.wiki });
    expect(await redirect(query)).toBe('accepted');
    for (const seconds of later) {
      passTime(seconds);
      expect(await redirect(query)).toBe('replayed');
    }
    // The ID may be forgotten by now, because the message has expired.
    passTime(2000);
    expect(await redirect(query)).toBe('issue_instant');
  });
});

describe('wrong signatures cost little', () => {
  const bogus = () => postFields(signed(request(), door.keys.shop));
  const right = () => postFields(signed(request(), door.keys.wiki));
  const post = async (fields: Record<string, string>, address: string) => reasonOf(await sendPost(door.at().sso, fields, address));

  test('after twenty from one network, nothing is verified for a minute, there and for this service provider alone', async () => {
    const [address, neighbour] = ['2001:db8:a::1', '2001:db8:a::2'];
    for (let index = 0; index < 20; index += 1) expect(await post(bogus(), address)).toBe('signature_invalid');
    const next = bogus();
    const { answer, parses } = await countingParses(() => sendPost(door.at().sso, next, neighbour));
    expect(answer).toMatchObject({ reason: 'too_many_bad_signatures', status: 429, serviceProviderId: 'wiki' });
    // The service parses the message once, to read the issuer.
    expect(parses).toBe(1);
    expect(await post(right(), neighbour)).toBe('too_many_bad_signatures');
    const ofShop = postFields(signed(request({ issuer: shop }), door.keys.shop));
    expect(await post(ofShop, address)).toBe('accepted');
    expect(await post(right(), '2001:db8:b::1')).toBe('accepted');
    passTime(61);
    expect(await post(right(), address)).toBe('accepted');
  });

  test('many at once are counted before they are verified', async () => {
    const messages = Array.from({ length: 60 }, bogus);
    const reasons = await Promise.all(messages.map((fields) => post(fields, '198.51.100.4')));
    expect(reasons.filter((reason) => reason === 'signature_invalid').length).toBeLessThanOrEqual(20);
    expect(new Set(reasons)).toEqual(new Set(['signature_invalid', 'too_many_bad_signatures']));
  });

  test('right ones are not counted', async () => {
    for (let index = 0; index < 25; index += 1) expect(await post(right(), '192.0.2.7')).toBe('accepted');
  });
});
