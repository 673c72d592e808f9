/** SAML Core §3.3.2.2.1: RequestedAuthnContext, with every comparison. */
import { describe, expect, test } from '@jest/globals';
import type { RequestedAuthnContext } from '../../../extensions/saml/messages/inbound.js';
import { understoodContext, wantedContext } from '../../../extensions/saml/sso/authn-context.js';

const classes = 'urn:oasis:names:tc:SAML:2.0:ac:classes:';
const names: Readonly<Record<string, string>> = {
  any: `${classes}unspecified`,
  Password: `${classes}Password`,
  pwd: `${classes}PasswordProtectedTransport`,
  sfa: 'https://refeds.org/profile/sfa',
  mfa: 'https://refeds.org/profile/mfa',
  multi: 'http://schemas.microsoft.com/claims/multipleauthn',
  token: `${classes}TimeSyncToken`,
  X509: `${classes}X509`,
};
const shortOf = (uri: string | undefined): string => Object.keys(names).find((name) => names[name] === uri) ?? '-';
const wanted = (comparison: RequestedAuthnContext['comparison'], asked: string) =>
  wantedContext(understoodContext({ comparison, classRefs: asked.split(' ').map((name) => names[name] ?? name), hasDeclarations: false }));
const signIns = { key: ['pop'], password: ['pwd'], both: ['pwd', 'mfa'] };

describe('SAML Core §3.3.2.2.1', () => {
  test.each([
    // comparison, classes, whether a second factor is needed, and the class of a sign-in by key, by password, and by both
    ['exact', 'pwd', false, 'pwd pwd pwd'],
    ['exact', 'Password', false, 'Password Password Password'],
    ['exact', 'any', false, 'any any any'],
    ['exact', 'mfa', true, '- - mfa'],
    ['exact', 'token multi', true, '- - token'],
    ['exact', 'pwd mfa', false, 'pwd pwd mfa'],
    ['exact', 'X509 sfa', false, 'sfa sfa sfa'],
    ['minimum', 'any', false, 'any pwd mfa'],
    ['minimum', 'pwd', false, 'pwd pwd mfa'],
    ['minimum', 'multi', true, '- - multi'],
    ['minimum', 'X509 mfa', true, '- - mfa'],
    ['maximum', 'any', false, 'any any any'],
    ['maximum', 'pwd', false, 'pwd pwd pwd'],
    ['maximum', 'mfa', false, 'any pwd mfa'],
    ['better', 'any', false, 'pwd pwd mfa'],
    ['better', 'pwd', true, '- - mfa'],
    ['better', 'Password any', true, '- - mfa'],
  ] as const)('%s %s', (comparison, asked, mfa, called) => {
    const context = wanted(comparison, asked);
    const [byKey, byPassword, byBoth] = Object.values(signIns).map((amr) => shortOf(context?.classOf({ amr })));
    expect([context?.mfa, `${byKey} ${byPassword} ${byBoth}`]).toEqual([mfa, called]);
  });

  test.each([
    ['exact', 'X509'],
    ['minimum', 'X509'],
    ['maximum', 'X509'],
    ['better', 'mfa'],
    ['better', 'pwd X509'],
    ['exact', '__proto__'],
  ] as const)('%s %s cannot be met', (comparison, asked) => {
    expect(wanted(comparison, asked)).toBeUndefined();
  });

  test('a declaration cannot be met; who asks for nothing gets what the sign-in is', () => {
    expect(wantedContext(understoodContext({ comparison: 'exact', classRefs: [], hasDeclarations: true }))).toBeUndefined();
    const called = Object.values(signIns).map((amr) => shortOf(wantedContext(undefined)?.classOf({ amr })));
    expect(called).toEqual(['any', 'pwd', 'mfa']);
  });
});
